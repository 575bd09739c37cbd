use super::*;
use feature_gate::{Details, Gate};
use operator_api::infrastructure::platform_status::{Azure, External, ExternalManager};
use rstest::rstest;

/// Every platform, on a Kubernetes with in-tree providers and on one without, with each value of the annotation.
/// An exclamation mark: there is a message for the user.
const PLACES: &str = "
    platform         1.    none      empty      true       false      maybe
    AWS              24    external  external   external   aws        external!
    AWS              35    external  external   external   external!  external!
    Azure            24    external  external   external   azure      external!
    Azure            35    external  external   external   external!  external!
    AzureStackHub    24    external  external   external   external!  external!
    AzureStackHub    35    external  external   external   external!  external!
    GCP              24    external  external   external   gce        external!
    GCP              35    external  external   external   external!  external!
    OpenStack        24    external  external   external   openstack  external!
    OpenStack        26    external  external   external   external!  external!
    OpenStack        35    external  external   external   external!  external!
    VSphere          24    external  external   external   vsphere    external!
    VSphere          30    external  external   external   vsphere    external!
    VSphere          31    external  external   external   external!  external!
    IBMCloud         24    external  external   external   external!  external!
    PowerVS          35    external  external   external   external!  external!
    Nutanix          35    external  external   external   external!  external!
    AlibabaCloud     35    external  external   external   external!  external!
    KubeVirt         35    external  external   external   external!  external!
    External         35    nowhere   external   external   nowhere    nowhere!
    External+CCM     35    external  external   external   external!  external!
    BareMetal        35    nowhere   external!  external!  nowhere    nowhere!
    None             35    nowhere   external!  external!  nowhere    nowhere!
    Libvirt          24    nowhere   external!  external!  nowhere    nowhere!
    oVirt            35    nowhere   external!  external!  nowhere    nowhere!
    EquinixMetal     35    nowhere   external!  external!  nowhere    nowhere!
    Tomorrow         35    nowhere   external!  external!  nowhere    nowhere!
    -                35    nowhere   external!  external!  nowhere    nowhere!
";

fn platform(name: &str) -> PlatformStatus {
    let of = |type_: &str| PlatformStatus {
        type_: type_.to_owned(),
        ..PlatformStatus::default()
    };
    match name {
        "-" => of(""),
        "AzureStackHub" => PlatformStatus {
            azure: Some(Azure {
                cloud_name: "AzureStackCloud".to_owned(),
                ..Azure::default()
            }),
            ..of("Azure")
        },
        "External+CCM" => PlatformStatus {
            external: Some(External {
                cloud_controller_manager: ExternalManager {
                    state: "External".to_owned(),
                },
            }),
            ..of("External")
        },
        other => of(other),
    }
}

fn inputs(platform: &PlatformStatus) -> Inputs<'_> {
    Inputs {
        platform: Some(platform),
        annotation: None,
        gates: None,
        kubernetes: 24,
        cloud_config: Some("cloud.conf"),
        volumes: Volumes::Csi,
        owner: Owner::None,
    }
}

fn word(outcome: &Outcome) -> String {
    let place = match outcome.place {
        Place::External => "external",
        Place::InTree(name) => name,
        Place::Nowhere => "nowhere",
    };
    format!("{place}{}", if outcome.problem.is_some() { "!" } else { "" })
}

#[test]
fn every_platform_and_every_annotation() {
    let values = [None, Some(""), Some("true"), Some("false"), Some("maybe")];
    let rows = PLACES.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    for row in rows.filter(|row| !row.is_empty()).skip(1) {
        let [name, kubernetes, expected @ ..] = row.as_slice() else {
            panic!("{row:?}");
        };
        let platform = platform(name);
        let observed = values.map(|annotation| {
            word(&observe(&Inputs {
                annotation,
                kubernetes: kubernetes.parse().unwrap(),
                ..inputs(&platform)
            }))
        });
        assert_eq!(observed.as_slice(), expected, "{name} on 1.{kubernetes}");
    }
}

#[rstest]
#[case("1")]
#[case("t")]
#[case("True")]
#[case("TRUE")]
#[case(" true ")]
fn words_for_yes(#[case] value: &str) {
    let platform = platform("AWS");
    let gates = gates("-ExternalCloudProvider");
    let inputs = Inputs {
        annotation: Some(value),
        gates: Some(&gates),
        ..inputs(&platform)
    };
    assert_eq!(word(&observe(&inputs)), "external");
}

#[rstest]
#[case("0")]
#[case("f")]
#[case("False")]
#[case("FALSE\n")]
fn words_for_no(#[case] value: &str) {
    let platform = platform("AWS");
    let inputs = Inputs {
        annotation: Some(value),
        ..inputs(&platform)
    };
    assert_eq!(word(&observe(&inputs)), "aws");
}

fn gates(text: &str) -> Details {
    let list = |sign: char| {
        let names = text.split_whitespace().filter_map(|word| word.strip_prefix(sign));
        names.map(|name| Gate { name: name.to_owned() }).collect()
    };
    Details {
        version: "4.10.0".to_owned(),
        enabled: list('+'),
        disabled: list('-'),
    }
}

#[rstest]
#[case::no_annotation("AWS", "", 24, "external")]
#[case::off("AWS", "-ExternalCloudProvider", 24, "aws")]
#[case::on("AWS", "+ExternalCloudProvider", 24, "external")]
#[case::off_beats_on("Azure", "+ExternalCloudProvider -ExternalCloudProviderAzure", 24, "azure")]
#[case::another_platforms("GCP", "-ExternalCloudProviderAzure", 24, "external")]
#[case::its_own("GCP", "-ExternalCloudProviderGCP", 24, "gce")]
#[case::nothing_to_go_back_to("AWS", "-ExternalCloudProvider", 35, "external")]
#[case::never_in_the_tree("IBMCloud", "-ExternalCloudProvider", 24, "external")]
#[case::no_cloud("BareMetal", "+ExternalCloudProvider", 24, "nowhere")]
fn gates_of_older_clusters(#[case] name: &str, #[case] gated: &str, #[case] kubernetes: u32, #[case] place: &str) {
    let (platform, gates) = (platform(name), gates(gated));
    let inputs = Inputs {
        gates: Some(&gates),
        kubernetes,
        ..inputs(&platform)
    };
    assert_eq!(word(&observe(&inputs)), place);
}

const FILE: &str = "--cloud-config=/etc/kubernetes/static-pod-resources/configmaps/cloud-config/";

/// kubelet, kube-controller-manager, kube-apiserver.
fn reported(outcome: &Outcome) -> [String; 3] {
    let programs = [
        &outcome.kubelet,
        &outcome.kube_controller_manager,
        &outcome.kube_apiserver,
    ];
    programs.map(|flags| flags.to_string().replace(FILE, "--cloud-config=…/"))
}

#[rstest]
#[case::outside("true", Some("cloud.conf"), ["--cloud-provider=external", "", ""])]
#[case::inside("false", Some("cloud.conf"), [
    "--cloud-provider=openstack --cloud-config=/etc/kubernetes/cloud.conf",
    "--cloud-provider=openstack --cloud-config=…/cloud.conf",
    "--cloud-provider=openstack --cloud-config=…/cloud.conf",
])]
#[case::inside_with_a_key_of_its_own("false", Some("config"), [
    "--cloud-provider=openstack --cloud-config=/etc/kubernetes/cloud.conf",
    "--cloud-provider=openstack --cloud-config=…/config",
    "--cloud-provider=openstack --cloud-config=…/config",
])]
#[case::inside_without_configuration("false", None, [
    "--cloud-provider=openstack",
    "--cloud-provider=openstack",
    "--cloud-provider=openstack",
])]
fn flags(#[case] annotation: &str, #[case] cloud_config: Option<&str>, #[case] expected: [&str; 3]) {
    let platform = platform("OpenStack");
    let inputs = Inputs {
        annotation: Some(annotation),
        cloud_config,
        ..inputs(&platform)
    };
    assert_eq!(reported(&observe(&inputs)), expected);
}

#[rstest]
#[case(
    "AWS",
    "true",
    "--cloud-provider=external --cloud-config=…/cloud.conf --external-cloud-volume-plugin=aws"
)]
#[case(
    "GCP",
    "true",
    "--cloud-provider=external --cloud-config=…/cloud.conf --external-cloud-volume-plugin=gce"
)]
#[case("AWS", "false", "--cloud-provider=aws --cloud-config=…/cloud.conf")]
#[case("IBMCloud", "true", "")]
fn volumes_in_the_tree(#[case] name: &str, #[case] annotation: &str, #[case] controller_manager: &str) {
    let platform = platform(name);
    let outcome = observe(&Inputs {
        annotation: Some(annotation),
        volumes: Volumes::InTree,
        ..inputs(&platform)
    });
    let [kubelet, reported, apiserver] = reported(&outcome);
    assert_eq!(reported, controller_manager);
    assert!(
        !kubelet.contains("volume") && !apiserver.contains("external"),
        "{kubelet} {apiserver}"
    );
}

/// The flags in short: `-` no flags, `x` external, `n` the cloud's name, for kubelet, kube-controller-manager and
/// kube-apiserver; then what the operands do.
fn short(outcome: &Outcome) -> String {
    let programs = [
        &outcome.kubelet,
        &outcome.kube_controller_manager,
        &outcome.kube_apiserver,
    ];
    let letters = programs.map(|flags| match flags.cloud_provider {
        None => "-",
        Some("external") => "x",
        Some(_) => "n",
    });
    format!("{} {:?}", letters.concat(), outcome.operands)
}

#[rstest]
#[case::new_cluster("true", Owner::None, "x-- Run")]
#[case::upgrade_begins("true", Owner::InTree, "n-- Wait")]
#[case::upgrade_let_go("true", Owner::None, "x-- Run")]
#[case::upgrade_is_done("true", Owner::External, "x-- Run")]
#[case::new_cluster_inside("false", Owner::None, "nnn Remove")]
#[case::downgrade_begins("false", Owner::External, "x-- Remove")]
#[case::downgrade_operands_gone("false", Owner::None, "nnn Remove")]
#[case::downgrade_is_done("false", Owner::InTree, "nnn Remove")]
fn one_step_after_the_other(#[case] annotation: &str, #[case] owner: Owner, #[case] expected: &str) {
    let platform = platform("OpenStack");
    let inputs = Inputs {
        annotation: Some(annotation),
        owner,
        ..inputs(&platform)
    };
    assert_eq!(short(&observe(&inputs)), expected);
}

#[rstest]
#[case::bootstrapping(None, None, Owner::None)]
#[case::before(Some("True"), None, Owner::InTree)]
#[case::let_go(Some("False"), None, Owner::None)]
#[case::after(Some("False"), Some("True"), Owner::External)]
#[case::both_claim_it(Some("True"), Some("True"), Owner::External)]
#[case::unknown(Some("Unknown"), Some("Unknown"), Owner::None)]
fn owners(#[case] kcm: Option<&str>, #[case] co: Option<&str>, #[case] owner: Owner) {
    assert_eq!(Owner::of(kcm, co), owner);
}

/// The user removes the operands although no other program replaces them; kubelet would not start with the name of an unknown cloud.
#[test]
fn without_an_in_tree_provider_flags_are_kept() {
    let platform = platform("OpenStack");
    for owner in [Owner::External, Owner::None, Owner::InTree] {
        let outcome = observe(&Inputs {
            annotation: Some("false"),
            kubernetes: 35,
            owner,
            ..inputs(&platform)
        });
        assert_eq!(short(&outcome), "x-- Remove");
    }
}

#[test]
fn without_a_platform_there_are_no_flags() {
    let outcome = observe(&Inputs {
        platform: None,
        ..inputs(&platform("AWS"))
    });
    assert_eq!(short(&outcome), "--- Remove");
    assert_eq!(outcome.problem.as_deref(), Some("the Infrastructure has no platform"));
}

#[rstest]
#[case(
    "AWS",
    "false",
    "infrastructure.openshift.io/external-cloud-provider is false, so the cloud controller manager is deleted; but Kubernetes 1.35 has no cloud provider for platform \"AWS\": new nodes stay uninitialized until another manager is installed"
)]
#[case(
    "AWS",
    "yes",
    "infrastructure.openshift.io/external-cloud-provider is \"yes\", which is neither true nor false: it is ignored"
)]
#[case(
    "BareMetal",
    "true",
    "infrastructure.openshift.io/external-cloud-provider makes the cloud provider of platform \"BareMetal\" external, and the operator has no cloud controller manager for it: nodes stay uninitialized until another one is installed"
)]
fn problems_are_sentences(#[case] name: &str, #[case] annotation: &str, #[case] sentence: &str) {
    let platform = platform(name);
    let outcome = observe(&Inputs {
        annotation: Some(annotation),
        kubernetes: 35,
        ..inputs(&platform)
    });
    assert_eq!(outcome.problem.as_deref(), Some(sentence));
}
