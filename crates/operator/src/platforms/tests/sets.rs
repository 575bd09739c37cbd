//! The objects of each platform.

use super::*;
use rstest::rstest;

const DEPLOYMENT: &str = "Deployment openshift-cloud-controller-manager/";
const BUDGET: &str = "PodDisruptionBudget openshift-cloud-controller-manager/";
const SERVICE: &str = "Service openshift-cloud-controller-manager/";

#[rstest]
#[case::aws("AWS", "aws", "aws", &[
    "ValidatingAdmissionPolicy openshift-cloud-controller-manager-cloud-provider-aws",
    "ValidatingAdmissionPolicyBinding openshift-cloud-controller-manager-cloud-provider-aws",
])]
#[case::azure("Azure", "azure", "azure", &[
    "DaemonSet openshift-cloud-controller-manager/azure-cloud-node-manager",
    "Role kube-system/azure-cloud-provider",
    "RoleBinding kube-system/azure-cloud-provider:azure-cloud-provider",
    "ClusterRole azure-cloud-controller-manager",
    "ClusterRoleBinding cloud-controller-manager:azure-cloud-controller-manager",
    "ValidatingAdmissionPolicy openshift-cloud-controller-manager-cloud-provider-azure-node-admission",
    "ValidatingAdmissionPolicyBinding openshift-cloud-controller-manager-cloud-provider-azure-node-admission",
    "ValidatingAdmissionPolicyBinding azure-load-balancer-tcp-idle-timeout-validation-annotation-binding",
    "ValidatingAdmissionPolicy azure-load-balancer-tcp-idle-timeout-annotation-validation-policy",
])]
#[case::azure_stack_hub("AzureStackHub", "azure", "azure", &[
    "DaemonSet openshift-cloud-controller-manager/azure-cloud-node-manager",
    "Role kube-system/azure-cloud-provider",
    "RoleBinding kube-system/azure-cloud-provider:azure-cloud-provider",
])]
#[case::gcp("GCP", "gcp", "gcp", &[
    "ClusterRole gcp-cloud-controller-manager",
    "ClusterRoleBinding gcp-cloud-controller-manager:cloud-provider",
    "ValidatingAdmissionPolicyBinding network-tier-annotation-binding",
    "ValidatingAdmissionPolicy network-tier-annotation-validation-policy",
])]
#[case::ibm("IBMCloud", "ibm", "ibmcloud", &[])]
#[case::powervs("PowerVS", "powervs", "powervs", &[])]
#[case::openstack("OpenStack", "openstack", "openstack", &[])]
#[case::vsphere("VSphere", "vsphere", "vsphere", &[
    "Role openshift-cloud-controller-manager/vsphere-cloud-controller-manager",
    "RoleBinding openshift-cloud-controller-manager/vsphere-cloud-controller-manager:vsphere-cloud-controller-manager",
    "RoleBinding openshift-cloud-controller-manager/vsphere-cloud-controller-manager:cloud-controller-manager",
    "ClusterRole vsphere-cloud-controller-manager",
    "ClusterRoleBinding vsphere-cloud-controller-manager:vsphere-cloud-controller-manager",
    "ClusterRoleBinding vsphere-cloud-controller-manager:cloud-controller-manager",
])]
#[case::nutanix("Nutanix", "nutanix", "nutanix", &[
    "Role openshift-cloud-controller-manager/nutanix-cloud-controller-manager",
    "RoleBinding openshift-cloud-controller-manager/nutanix-cloud-controller-manager:nutanix-cloud-controller-manager",
    "ClusterRole nutanix-cloud-controller-manager",
    "ClusterRoleBinding nutanix-cloud-controller-manager:nutanix-cloud-controller-manager",
])]
fn has(#[case] platform: &str, #[case] deployment: &str, #[case] service: &str, #[case] others: &[&str]) {
    let manager = |kind: &str, name: &str| format!("{kind}{name}-cloud-controller-manager");
    let mut expected = vec![manager(DEPLOYMENT, deployment)];
    expected.extend(others.iter().map(|&name| name.to_owned()));
    expected.push(manager(SERVICE, service));
    let single = setting(platform, Topology::Single);
    assert_eq!(names(&resources(&single).unwrap()), expected);

    expected.insert(expected.len() - 1, manager(BUDGET, service));
    let highly_available = setting(platform, Topology::HighlyAvailable);
    assert_eq!(names(&resources(&highly_available).unwrap()), expected);
}

#[rstest]
fn has_nothing(
    #[values(
        "External",
        "None",
        "BareMetal",
        "AlibabaCloud",
        "KubeVirt",
        "Libvirt",
        "oVirt",
        "EquinixMetal",
        "aws",
        ""
    )]
    platform: &str,
) {
    let setting = Setting {
        platform: status(platform),
        ..Setting::default()
    };
    assert_eq!(resources(&setting), Ok(Vec::new()));
    assert_eq!(bootstrap_resources(&setting), Ok(Vec::new()));
}

#[rstest]
#[case("SingleReplica", Topology::Single)]
#[case("HighlyAvailable", Topology::HighlyAvailable)]
#[case("HighlyAvailableArbiter", Topology::HighlyAvailable)]
#[case("DualReplica", Topology::HighlyAvailable)]
#[case("External", Topology::HighlyAvailable)]
#[case("", Topology::HighlyAvailable)]
fn reads_topologies(#[case] text: &str, #[case] expected: Topology) {
    assert_eq!(Topology::of(text), expected);
}

#[test]
fn w3_azure_without_its_details_is_the_public_cloud() {
    let setting = setting("Azure", Topology::HighlyAvailable);
    assert_eq!(setting.platform.azure, None);
    assert_eq!(resources(&setting).unwrap().len(), 12);
}

#[test]
fn rendering_is_deterministic_and_stays_in_its_namespace() {
    for (platform, _) in PLATFORMS {
        let setting = setting(platform, Topology::HighlyAvailable);
        let first = resources(&setting).unwrap();
        for object in resources(&setting).unwrap() {
            object.into_value()["metadata"]["name"] = "changed".into();
        }
        assert_eq!(resources(&setting).unwrap(), first, "{platform}");
    }
}

#[rstest]
#[case("AWS", false)]
#[case("Azure", true)]
#[case("AzureStackHub", true)]
#[case("GCP", true)]
#[case("IBMCloud", false)]
#[case("PowerVS", false)]
#[case("OpenStack", true)]
#[case("VSphere", true)]
#[case("Nutanix", true)]
fn needs_a_name(#[case] platform: &str, #[case] needed: bool) {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    setting.infrastructure_name.clear();
    match resources(&setting) {
        Ok(_) => assert!(!needed),
        Err(error) => {
            let platform = status(platform).type_;
            let message =
                format!("status.infrastructureName of the Infrastructure is empty, and platform {platform} needs it");
            assert_eq!((error.to_string(), needed), (message, true));
        }
    }
}

#[test]
fn only_the_platform_s_own_images_are_needed() {
    let mut setting = setting("AWS", Topology::Single);
    setting.images = Images::parse(r#"{"cloudControllerManagerAWS": "aws:1"}"#).unwrap();
    assert_eq!(resources(&setting).unwrap().len(), 4);
    setting.platform = status("GCP");
    assert_eq!(
        resources(&setting).unwrap_err().to_string(),
        "images.json names no image for platform GCP: missing cloudControllerManagerGCP"
    );
}

/// Namespaced objects are in the namespace of `--namespace`, and so is everything that refers to them.
#[test]
fn w20_every_object_and_reference_moves_with_the_namespace() {
    for (platform, _) in PLATFORMS {
        let mut setting = setting(platform, Topology::HighlyAvailable);
        setting.namespace = "elsewhere".to_owned();
        setting.proxy.http_proxy = "http://proxy.test".to_owned();
        let objects = resources(&setting).unwrap();
        for object in &objects {
            let text = object.value().to_string();
            // The name of the policies contains it as a prefix; it is not a reference.
            let text = text.replace("openshift-cloud-controller-manager-cloud-provider", "");
            assert!(
                !text.contains(NAMESPACE),
                "{platform}: {} is or refers to another namespace: {text}",
                object.key()
            );
        }
        let namespaces: std::collections::BTreeSet<_> = objects
            .iter()
            .filter_map(|object| object.key().namespace.as_deref())
            .collect();
        let rest: Vec<_> = namespaces.into_iter().filter(|name| *name != "kube-system").collect();
        assert_eq!(rest, ["elsewhere"], "{platform}");
    }
}

#[test]
fn vsphere_labels_its_nodes_where_others_are_possible() {
    let mut setting = setting("VSphere", Topology::HighlyAvailable);
    let script = |setting: &Setting| at(&deployment(setting), "/spec/template/spec/containers/0/command/2").to_string();
    assert!(script(&setting).contains(r#"--node-labels=\"$(ADDITIONAL_NODE_LABELS)\""#));
    setting.gates.clear();
    assert!(!script(&setting).contains("node-labels"));
    let deployment = deployment(&setting);
    let env = at(&deployment, "/spec/template/spec/containers/0/env")
        .as_array()
        .unwrap();
    let labels = env.iter().find(|variable| variable["name"] == "ADDITIONAL_NODE_LABELS");
    assert_eq!(labels.unwrap()["value"], "");
}

#[rstest]
fn gates_are_passed(#[values("OpenStack", "VSphere")] platform: &str) {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    let script = |setting: &Setting| at(&deployment(setting), "/spec/template/spec/containers/0/command/2").clone();
    assert!(script(&setting).as_str().unwrap().contains("\n--feature-gates= \\\n"));
    setting.gates = [
        "CloudControllerManagerWebhook",
        "SomethingElse",
        "ControllerManagerReleaseLeaderElectionLockOnExit",
    ]
    .map(str::to_owned)
    .into();
    let gates =
        "--feature-gates=CloudControllerManagerWebhook=true,ControllerManagerReleaseLeaderElectionLockOnExit=true";
    assert!(script(&setting).as_str().unwrap().contains(gates));
}

/// Values are inserted after the YAML was parsed.
#[rstest]
fn no_value_breaks_a_manifest(
    #[values(
        "a: b",
        "'",
        "\"",
        "- x\n- y",
        "${namespace}",
        "{{ .images }}",
        "# no",
        "yes",
        "0x1F",
        "\u{7}"
    )]
    name: &str,
) {
    let mut setting = setting("OpenStack", Topology::HighlyAvailable);
    let usual = resources(&setting).unwrap();
    setting.infrastructure_name = name.to_owned();
    let objects = resources(&setting).unwrap();
    assert_eq!(
        at(objects[0].value(), "/spec/template/spec/containers/0/env/1/value"),
        name
    );
    assert_eq!(objects[1..], usual[1..]);
    let written = serde_saphyr::to_string(objects[0].value()).unwrap();
    assert_eq!(
        &serde_saphyr::from_str::<Value>(&written).unwrap(),
        objects[0].value(),
        "{written}"
    );
}
