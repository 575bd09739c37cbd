//! Whether the cluster's cloud code runs outside of Kubernetes' own programs, and whether it is ours to run.

use super::Platform;
use operator_api::infrastructure::PlatformStatus;
use std::collections::BTreeMap;

/// On an Infrastructure: false deletes the operands, true or empty counts as external whatever the platform.
pub const ANNOTATION: &str = "infrastructure.openshift.io/external-cloud-provider";

/// What a value of the annotation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// A cloud controller manager.
    External,
    /// The cloud provider of Kubernetes itself.
    InTree,
    /// It is neither true nor false.
    Unclear,
}

/// Reads a value of the annotation, as Go reads booleans.
#[must_use]
pub fn wish(value: &str) -> Wish {
    match value.trim() {
        "" | "1" | "t" | "T" | "true" | "True" | "TRUE" => Wish::External,
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Wish::InTree,
        _ => Wish::Unclear,
    }
}

/// What the operator does for a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Runs the operands.
    Provision,
    /// Nothing: the platform needs no cloud code, or has it inside of Kubernetes. What was there goes.
    NotExternal,
    /// Nothing: the cluster's owner brings a manager along.
    BroughtAlong,
    /// Nothing: the platform's cloud code is outside, but nobody has given us any for it.
    NoOperands,
    /// Nothing: an annotation says that Kubernetes' own cloud code is to be used. What was there goes.
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
pub fn verdict(
    platform: Option<&PlatformStatus>,
    annotations: &BTreeMap<String, String>,
) -> Result<Verdict, NoPlatform> {
    let status = platform.ok_or(NoPlatform)?;
    let wish = annotations.get(ANNOTATION).map(|value| wish(value));
    Ok(match wish {
        Some(Wish::InTree) => Verdict::SwitchedOff,
        _ if status.type_ == "External" => Verdict::BroughtAlong,
        None | Some(Wish::Unclear) if !is_external(status) => Verdict::NotExternal,
        _ if Platform::find(status).is_none() => Verdict::NoOperands,
        _ => Verdict::Provision,
    })
}

/// Whether `OpenShift` has such a platform, with or without operands.
pub fn is_known(status: &PlatformStatus) -> bool {
    const WITHOUT_CLOUD: [&str; 6] = ["BareMetal", "EquinixMetal", "External", "Libvirt", "None", "oVirt"];
    WITHOUT_CLOUD.contains(&status.type_.as_str()) || is_external(status)
}

/// Whether the platform's cloud code is outside of Kubernetes' own programs. Of the platform `External` the Infrastructure says
/// whether somebody brings a manager along.
pub fn is_external(status: &PlatformStatus) -> bool {
    // Beside the platforms that have operands: their cloud code is outside, and not ours to run.
    const FURTHER: [&str; 2] = ["AlibabaCloud", "KubeVirt"];
    let external = status.external.as_ref();
    match status.type_.as_str() {
        "External" => external.is_some_and(|external| external.cloud_controller_manager.state == "External"),
        type_ => FURTHER.contains(&type_) || super::ALL.iter().any(|platform| platform.type_ == type_),
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

    // The platforms, whether they are external, and what happens with the annotation.
    #[rstest]
    #[case::aws("AWS", true, Verdict::Provision)]
    #[case::azure("Azure/AzurePublicCloud", true, Verdict::Provision)]
    #[case::azure_without_details("Azure", true, Verdict::Provision)]
    #[case::azure_stack_hub("Azure/AzureStackCloud", true, Verdict::Provision)]
    #[case::gcp("GCP", true, Verdict::Provision)]
    #[case::ibm("IBMCloud", true, Verdict::Provision)]
    #[case::powervs("PowerVS", true, Verdict::Provision)]
    #[case::openstack("OpenStack", true, Verdict::Provision)]
    #[case::vsphere("VSphere", true, Verdict::Provision)]
    #[case::nutanix("Nutanix", true, Verdict::Provision)]
    #[case::external("External/External", true, Verdict::BroughtAlong)]
    #[case::external_without_a_manager("External/None", false, Verdict::BroughtAlong)]
    #[case::external_without_a_word("External", false, Verdict::BroughtAlong)]
    #[case::alibaba("AlibabaCloud", true, Verdict::NoOperands)]
    #[case::kubevirt("KubeVirt", true, Verdict::NoOperands)]
    #[case::bare_metal("BareMetal", false, Verdict::NotExternal)]
    #[case::none("None", false, Verdict::NotExternal)]
    #[case::libvirt("Libvirt", false, Verdict::NotExternal)]
    #[case::ovirt("oVirt", false, Verdict::NotExternal)]
    #[case::equinix("EquinixMetal", false, Verdict::NotExternal)]
    #[case::of_tomorrow("Tomorrow", false, Verdict::NotExternal)]
    #[case::another_spelling("aws", false, Verdict::NotExternal)]
    #[case::empty("", false, Verdict::NotExternal)]
    fn judges(#[case] platform: &str, #[case] external: bool, #[case] expected: Verdict) {
        let status = status(platform);
        assert_eq!(is_external(&status), external);
        assert_eq!(verdict(Some(&status), &BTreeMap::new()), Ok(expected));
    }

    #[rstest]
    #[case::provisioned("AWS", "true", Verdict::Provision)]
    #[case::present_is_enough("AWS", "", Verdict::Provision)]
    #[case::switched_off("AWS", "false", Verdict::SwitchedOff)]
    #[case::spelt_otherwise("AWS", " False", Verdict::SwitchedOff)]
    #[case::neither("AWS", "off", Verdict::Provision)]
    #[case::neither_anywhere("BareMetal", "on", Verdict::NotExternal)]
    #[case::off_for_any("None", "false", Verdict::SwitchedOff)]
    #[case::on_without_operands("BareMetal", "true", Verdict::NoOperands)]
    #[case::not_ours("External", "true", Verdict::BroughtAlong)]
    fn heeds_the_annotation(#[case] platform: &str, #[case] value: &str, #[case] expected: Verdict) {
        let annotations = [(ANNOTATION.to_owned(), value.to_owned())].into();
        assert_eq!(verdict(Some(&status(platform)), &annotations), Ok(expected));
    }

    #[test]
    fn needs_a_platform() {
        assert_eq!(verdict(None, &BTreeMap::new()), Err(NoPlatform));
    }
}
