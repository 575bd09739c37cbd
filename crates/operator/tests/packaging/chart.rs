//! The chart by itself: everything that it renders, and what it rejects.

use crate::tools::{documents, helm, one, read, root, template};
use rstest::rstest;
use serde_json::json;
use std::fs;

const REGENERATE: &str = "OUTRIGGER_REGENERATE_GOLDEN";

#[test]
fn passes_lint() {
    helm(&["lint", "--strict", "charts/outrigger"]).printed();
    for values in ["operator", "manager", "daemonset", "memory"] {
        let file = format!("--values=charts/outrigger/ci/{values}-values.yaml");
        helm(&["lint", "--strict", "charts/outrigger", &file]).printed();
    }
}

/// A change of this is a change of installed releases, and is visible in a review.
#[rstest]
fn renders(#[values("operator", "manager", "daemonset", "memory")] values: &str) {
    let text = template(&[&format!("--values=charts/outrigger/ci/{values}-values.yaml")]).printed();
    let path = format!("charts/outrigger/ci/{values}-golden.yaml");
    if std::env::var_os(REGENERATE).is_some() {
        fs::write(root().join(&path), &text).unwrap();
    }
    assert!(
        text == read(&path),
        "{path} differs: if that is meant, run the test again with {REGENERATE}=1 and read the diff"
    );
}

#[rstest]
#[case::a_name_that_is_unknown(&["--set=imagePullSecret=x"], "imagePullSecret")]
#[case::a_type(&["--set=replicas=two"], "replicas")]
#[case::a_number_that_is_too_big(&["--set=replicas=10"], "replicas")]
#[case::a_mode(&["--set=mode=both"], "mode")]
#[case::a_field_of_a_manager(&["--set=managers.lab.provider=memory", "--set=managers.lab.replicas=none"], "managers")]
#[case::a_name_of_a_manager(&["--set=managers.Lab.provider=memory"], "'Lab' does not match")]
#[case::a_manager_without_a_provider(&["--set=managers.lab.replicas=1"], "provider")]
#[case::the_placeholder(&["--set=mode=manager,provider=openstack,cluster.name=CHANGE-ME"], "cluster")]
#[case::no_provider(&["--set=mode=manager"], "set provider to the name of the cloud")]
#[case::no_cluster(&["--set=mode=manager,provider=openstack"], "needs cluster.name")]
#[case::values_of_the_other_mode(&["--set=cloudConfig.global.region=x"], "are for mode=manager")]
#[case::values_of_the_operator(&["--set=mode=manager,provider=memory,managers.lab.provider=memory"], "are for mode=operator")]
#[case::the_image_of_another(
    &["--set=image.repository=registry.k8s.io/provider-os/openstack-cloud-controller-manager"],
    "is the image of the Go program"
)]
#[case::flags_that_are_no_list(&["--set=mode=manager,provider=memory,controllerExtraArgs=--v"], "controllerExtraArgs is not a list")]
fn refuses(#[case] args: &[&str], #[case] expected: &str) {
    let why = template(args).refused();
    assert!(why.contains(expected), "{why}");
}

/// The rules are the operator's own.
#[test]
fn schema_describes_every_value() {
    let schema: serde_json::Value = serde_json::from_str(&read("charts/outrigger/values.schema.json")).unwrap();
    let values = &documents(&read("charts/outrigger/values.yaml"))[0];
    let described = schema["properties"].as_object().unwrap();
    for (name, property) in described {
        assert!(
            property["description"].as_str().is_some_and(|text| text.ends_with('.')),
            "{name}: {property}"
        );
        assert!(
            name == "global" || values.get(name).is_some(),
            "{name} is not in values.yaml"
        );
    }
    for name in values.as_object().unwrap().keys() {
        assert!(described.contains_key(name), "{name}");
    }
    let spec = &schema["properties"]["managers"]["additionalProperties"]["properties"];
    assert_eq!(spec["replicas"]["maximum"].as_f64(), Some(9.0), "{spec}");
}

#[test]
fn configuration_is_written_as_openstack_reads_it() {
    let objects = documents(&template(&["--values=charts/outrigger/ci/manager-values.yaml"]).printed());
    let text = one(&objects, "Secret")["stringData"]["cloud.conf"]
        .as_str()
        .unwrap()
        .to_owned();
    let expected = "[Global]\napplication-credential-id = \"0123\"\nauth-url = \"https://keystone.example.com/v3\"\ntls-insecure = \"false\"\n\
                    [LoadBalancer]\nmax-shared-lb = \"1000000\"\nsubnet-id = \"a\"\nsubnet-id = \"b\"\n";
    assert_eq!(text, expected);
}

#[test]
fn whole_configuration_wins() {
    let args = [
        "--set=mode=manager,provider=memory",
        "--set=cloudConfigContents=a: b",
        "--set=cloudConfig.global.x=y",
    ];
    let objects = documents(&template(&args).printed());
    assert_eq!(one(&objects, "Secret")["stringData"], json!({"cloud.conf": "a: b\n"}));
    let pod = &one(&objects, "Deployment")["spec"]["template"];
    assert!(pod["metadata"]["annotations"]["checksum/config"].is_string(), "{pod}");
}
