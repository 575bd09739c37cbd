//! The keys that the operand reads, and the kinds of their values: with another kind it does not start.

use crate::cloud_config::{Invalid, json::Document};
use serde_json::Value;
use std::collections::BTreeMap;

const TEXTS: [&str; 40] = [
    "cloud",
    "userAgent",
    "resourceManagerEndpoint",
    "tenantId",
    "networkResourceTenantID",
    "aadClientId",
    "aadClientSecret",
    "aadClientCertPath",
    "aadClientCertPassword",
    "aadMSIDataPlaneIdentityPath",
    "userAssignedIdentityID",
    "aadFederatedTokenFile",
    "subscriptionId",
    "identitySystem",
    "networkResourceSubscriptionID",
    "cloudConfigType",
    "resourceGroup",
    "location",
    "extendedLocationName",
    "extendedLocationType",
    "vnetName",
    "vnetResourceGroup",
    "subnetName",
    "securityGroupName",
    "securityGroupResourceGroup",
    "routeTableName",
    "routeTableResourceGroup",
    "primaryAvailabilitySetName",
    "vmType",
    "primaryScaleSetName",
    "tags",
    "systemTags",
    "loadBalancerSku",
    "loadBalancerName",
    "loadBalancerResourceGroup",
    "preConfiguredBackendPoolLoadBalancerTypes",
    "loadBalancerBackendPoolConfigurationType",
    "privateLinkServiceResourceGroup",
    "clusterServiceLoadBalancerHealthProbeMode",
    "clusterServiceSharedLoadBalancerHealthProbePath",
];
const TRUTHS: [&str; 10] = [
    "cloudProviderBackoff",
    "disableAzureStackCloud",
    "useManagedIdentityExtension",
    "useFederatedWorkloadIdentityExtension",
    "disableAvailabilitySetNodes",
    "enableVmssFlexNodes",
    "useInstanceMetadata",
    "excludeMasterFromStandardLB",
    "disableOutboundSNAT",
    "enableMigrateToIPBasedBackendPoolAPI",
];
const WHOLE: [&str; 6] = [
    "cloudProviderBackoffRetries",
    "cloudProviderBackoffDuration",
    "maximumLoadBalancerRuleCount",
    "putVMSSVMBatchSize",
    "routeUpdateIntervalInSeconds",
    "loadBalancerBackendPoolUpdateIntervalInSeconds",
];
/// The only 32-bit number.
const PORT: &str = "clusterServiceSharedLoadBalancerHealthProbePort";
const NUMBERS: [&str; 2] = ["cloudProviderBackoffExponent", "cloudProviderBackoffJitter"];
const TAGS: &str = "tagsMap";

/// Names a value of another kind, in one sentence without the value: it may be a secret.
pub(super) fn check(document: &Document) -> Result<(), Invalid> {
    let texts: fn(&str) -> bool = |raw| serde_json::from_str::<BTreeMap<String, Option<String>>>(raw).is_ok();
    let text: fn(&str) -> bool = |raw| raw.starts_with('"');
    let truth: fn(&str) -> bool = |raw| serde_json::from_str::<bool>(raw).is_ok();
    let whole: fn(&str) -> bool = |raw| serde_json::from_str::<i64>(raw).is_ok();
    let port: fn(&str) -> bool = |raw| serde_json::from_str::<i32>(raw).is_ok();
    let number: fn(&str) -> bool = |raw| serde_json::from_str::<Value>(raw).is_ok_and(|value| value.is_number());
    for (keys, fits, expected) in [
        (&TEXTS[..], text, "a text: write it in quotes"),
        (&TRUTHS, truth, "true or false: write one of them, without quotes"),
        (&WHOLE, whole, "a whole number: write one, without quotes"),
        (&[PORT], port, "a port: write its number, without quotes"),
        (&NUMBERS, number, "a number: write one, without quotes"),
        (&[TAGS], texts, "an object of texts: write {\"name\":\"value\"}"),
    ] {
        let wrong = |key: &&&str| document.find(key).is_some_and(|value| !fits(value.get()));
        if let Some(key) = keys.iter().find(wrong) {
            return Err(Invalid(format!("{key:?} is not {expected}")));
        }
    }
    Ok(())
}
