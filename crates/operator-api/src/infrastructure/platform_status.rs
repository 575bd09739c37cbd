//! The platform and its properties.

use super::ServiceEndpoint;
use serde::{Deserialize, Serialize};

/// The platform; one of the parts is set, if any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlatformStatus {
    /// `AWS`, `OpenStack` and so on; it may be empty or unknown to this version.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// For `AWS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Aws>,
    /// For `Azure`; without it, it is Azure's public cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// For `External`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<External>,
    /// For `GCP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<Gcp>,
    /// For `IBMCloud`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibmcloud: Option<IbmCloud>,
    /// For `Nutanix`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nutanix: Option<VirtualIps>,
    /// For `OpenStack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openstack: Option<OpenStack>,
    /// For `PowerVS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powervs: Option<PowerVs>,
    /// For `VSphere`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsphere: Option<VirtualIps>,
}

/// AWS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Aws {
    /// `eu-central-1`
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Addresses to use instead of AWS's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_endpoints: Vec<ServiceEndpoint>,
}

/// Azure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Azure {
    /// `AzurePublicCloud` and the like; `AzureStackCloud` is Azure Stack Hub; empty is the public cloud.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_name: String,
    /// The resource group of the cluster's machines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_group_name: String,
    /// The resource group of the cluster's network, if it is another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network_resource_group_name: String,
    /// The endpoint of an Azure Stack Hub.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arm_endpoint: String,
}

/// A cloud with an external cloud controller manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct External {
    /// Whether the user installs a cloud controller manager.
    #[serde(skip_serializing_if = "crate::is_empty")]
    pub cloud_controller_manager: ExternalManager,
}

/// The external cloud controller manager.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExternalManager {
    /// `External`, `None` or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
}

/// GCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Gcp {
    /// The project.
    #[serde(rename = "projectID", skip_serializing_if = "String::is_empty")]
    pub project_id: String,
    /// The region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
}

/// IBM Cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IbmCloud {
    /// The region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// The resource group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_group_name: String,
    /// `VPC`
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider_type: String,
    /// Addresses to use instead of IBM's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_endpoints: Vec<ServiceEndpoint>,
}

/// `OpenStack`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenStack {
    /// The cloud's name in the installer's `clouds.yaml`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_name: String,
    /// The addresses of the API server.
    #[serde(rename = "apiServerInternalIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_server_internal_ips: Vec<String>,
    /// The addresses of the ingress.
    #[serde(rename = "ingressIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_ips: Vec<String>,
}

/// Power Virtual Server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PowerVs {
    /// The region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// The zone.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub zone: String,
    /// The resource group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_group: String,
    /// Addresses to use instead of IBM's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_endpoints: Vec<ServiceEndpoint>,
}

/// Addresses that the cluster moves between nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VirtualIps {
    /// The addresses of the API server.
    #[serde(rename = "apiServerInternalIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_server_internal_ips: Vec<String>,
    /// The addresses of the ingress.
    #[serde(rename = "ingressIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_ips: Vec<String>,
}
