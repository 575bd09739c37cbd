//! Whether the cluster has an external cloud provider, and whether this operator runs it.

use crate::platforms::Platform;
use operator_api::infrastructure::PlatformStatus;
use std::collections::BTreeMap;

/// An annotation of the Infrastructure: false deletes the operands, true or empty counts as external on any platform.
pub const ANNOTATION: &str = "infrastructure.openshift.io/external-cloud-provider";

/// What a value of the annotation requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A cloud controller manager.
    External,
    /// The in-tree cloud provider.
    InTree,
    /// Unclear: neither true nor false.
    Unclear,
}

/// Reads a value of the annotation, as Go reads booleans.
#[must_use]
pub fn requested(value: &str) -> Request {
    match value.trim() {
        "" | "1" | "t" | "T" | "true" | "True" | "TRUE" => Request::External,
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Request::InTree,
        _ => Request::Unclear,
    }
}

/// What the operator does for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// It runs the operands.
    Provision,
    /// Nothing: the platform needs no cloud provider, or has an in-tree one. Existing operands are deleted.
    NotExternal,
    /// Nothing: the user installs a manager.
    BroughtAlong,
    /// Nothing: the platform's cloud provider is external, but this operator has no manager for it.
    NoOperands,
    /// Nothing: an annotation requests the in-tree cloud provider. Existing operands are deleted.
    SwitchedOff,
}

/// The Infrastructure has no `status.platformStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("status.platformStatus of the Infrastructure is not set")]
pub struct NoPlatform;

/// What the operator does for a cluster of this platform with these annotations on its Infrastructure.
///
/// # Errors
/// If the platform is not known.
pub fn provisioning(
    platform: Option<&PlatformStatus>,
    annotations: &BTreeMap<String, String>,
) -> Result<Provisioning, NoPlatform> {
    let status = platform.ok_or(NoPlatform)?;
    let requested = annotations.get(ANNOTATION).map(|value| requested(value));
    Ok(match requested {
        Some(Request::InTree) => Provisioning::SwitchedOff,
        _ if status.type_ == "External" => Provisioning::BroughtAlong,
        None | Some(Request::Unclear) if !is_external(status) => Provisioning::NotExternal,
        _ if Platform::find(status).is_none() => Provisioning::NoOperands,
        _ => Provisioning::Provision,
    })
}

/// Whether `OpenShift` supports this platform, with or without operands.
pub fn is_known(status: &PlatformStatus) -> bool {
    const WITHOUT_CLOUD: [&str; 6] = ["BareMetal", "EquinixMetal", "External", "Libvirt", "None", "oVirt"];
    WITHOUT_CLOUD.contains(&status.type_.as_str()) || is_external(status)
}

/// Whether the platform's cloud provider is external. For the platform `External` the Infrastructure names
/// whether the user installs a manager.
pub fn is_external(status: &PlatformStatus) -> bool {
    // In addition to the platforms with operands: their cloud provider is external, and this operator does not run it.
    const FURTHER: [&str; 2] = ["AlibabaCloud", "KubeVirt"];
    let external = status.external.as_ref();
    match status.type_.as_str() {
        "External" => external.is_some_and(|external| external.cloud_controller_manager.state == "External"),
        type_ => FURTHER.contains(&type_) || crate::platforms::ALL.iter().any(|platform| platform.type_ == type_),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use operator_api::infrastructure::platform_status::{Azure, External};
    use rstest::rstest;

    fn status(platform: &str) -> PlatformStatus {
        let (type_, detail) = platform.split_once('/').unwrap_or((platform, ""));
        let mut external = External::default();
        detail.clone_into(&mut external.cloud_controller_manager.state);
        let cloud_name = detail.to_owned();
        PlatformStatus {
            type_: type_.to_owned(),
            azure: (type_ == "Azure" && !detail.is_empty()).then(|| Azure {
                cloud_name,
                ..Azure::default()
            }),
            external: (type_ == "External" && !detail.is_empty()).then_some(external),
            ..PlatformStatus::default()
        }
    }

    // The platforms, whether they are external, and the effect of the annotation.
    #[rstest]
    #[case::aws("AWS", true, Provisioning::Provision)]
    #[case::azure("Azure/AzurePublicCloud", true, Provisioning::Provision)]
    #[case::azure_without_details("Azure", true, Provisioning::Provision)]
    #[case::azure_stack_hub("Azure/AzureStackCloud", true, Provisioning::Provision)]
    #[case::gcp("GCP", true, Provisioning::Provision)]
    #[case::ibm("IBMCloud", true, Provisioning::Provision)]
    #[case::powervs("PowerVS", true, Provisioning::Provision)]
    #[case::openstack("OpenStack", true, Provisioning::Provision)]
    #[case::vsphere("VSphere", true, Provisioning::Provision)]
    #[case::nutanix("Nutanix", true, Provisioning::Provision)]
    #[case::external("External/External", true, Provisioning::BroughtAlong)]
    #[case::external_without_a_manager("External/None", false, Provisioning::BroughtAlong)]
    #[case::external_without_an_annotation("External", false, Provisioning::BroughtAlong)]
    #[case::alibaba("AlibabaCloud", true, Provisioning::NoOperands)]
    #[case::kubevirt("KubeVirt", true, Provisioning::NoOperands)]
    #[case::bare_metal("BareMetal", false, Provisioning::NotExternal)]
    #[case::none("None", false, Provisioning::NotExternal)]
    #[case::libvirt("Libvirt", false, Provisioning::NotExternal)]
    #[case::ovirt("oVirt", false, Provisioning::NotExternal)]
    #[case::equinix("EquinixMetal", false, Provisioning::NotExternal)]
    #[case::of_tomorrow("Tomorrow", false, Provisioning::NotExternal)]
    #[case::another_spelling("aws", false, Provisioning::NotExternal)]
    #[case::empty("", false, Provisioning::NotExternal)]
    fn decides(#[case] platform: &str, #[case] external: bool, #[case] expected: Provisioning) {
        let status = status(platform);
        assert_eq!(is_external(&status), external);
        assert_eq!(provisioning(Some(&status), &BTreeMap::new()), Ok(expected));
    }

    #[rstest]
    #[case::provisioned("AWS", "true", Provisioning::Provision)]
    #[case::present_is_enough("AWS", "", Provisioning::Provision)]
    #[case::switched_off("AWS", "false", Provisioning::SwitchedOff)]
    #[case::spelt_otherwise("AWS", " False", Provisioning::SwitchedOff)]
    #[case::neither("AWS", "off", Provisioning::Provision)]
    #[case::neither_anywhere("BareMetal", "on", Provisioning::NotExternal)]
    #[case::off_for_any("None", "false", Provisioning::SwitchedOff)]
    #[case::on_without_operands("BareMetal", "true", Provisioning::NoOperands)]
    #[case::not_ours("External", "true", Provisioning::BroughtAlong)]
    fn reads_the_annotation(#[case] platform: &str, #[case] value: &str, #[case] expected: Provisioning) {
        let annotations = [(ANNOTATION.to_owned(), value.to_owned())].into();
        assert_eq!(provisioning(Some(&status(platform)), &annotations), Ok(expected));
    }

    #[test]
    fn needs_a_platform() {
        assert_eq!(provisioning(None, &BTreeMap::new()), Err(NoPlatform));
    }
}
