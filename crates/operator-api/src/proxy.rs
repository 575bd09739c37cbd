//! The proxy of the cluster, and the certificate authorities that it trusts.

use serde::{Deserialize, Serialize};

kind! {
    /// The cluster's proxy. The operator reads the one named `cluster`.
    Proxy = "Proxy", "proxies" { spec: Spec, status: Status }
}

/// The spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// The `ConfigMap` in `openshift-config` with certificates to trust.
    #[serde(rename = "trustedCA", skip_serializing_if = "crate::is_empty")]
    pub trusted_ca: ConfigMapName,
}

/// A `ConfigMap` by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigMapName {
    /// Empty for none.
    pub name: String,
}

/// The effective settings: `no_proxy` contains the cluster's own addresses. Programs use these, never the spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    /// For `http://`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    /// For `https://`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    /// Hosts that are called directly.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
}
