use super::*;
use crate::standalone::provider::{Changes, ClusterName, Config, Credentials, Needs};
use rstest::rstest;
use text::write;

fn providers() -> [Provider; 2] {
    let needs = Needs {
        config: Config::Needed,
        credentials: Credentials::File {
            variable: "CLOUD_FILE",
            key: "keys",
        },
        changes: Changes::Followed,
        cluster_name: ClusterName::Owns,
    };
    let memory = Needs {
        config: Config::Optional,
        credentials: Credentials::None,
        cluster_name: ClusterName::Describes,
        ..needs
    };
    [
        Provider { name: "cloud", needs },
        Provider {
            name: "memory",
            needs: memory,
        },
    ]
}

fn file(path: &str) -> String {
    let files = files(&providers()).unwrap();
    files.into_iter().find(|file| file.path == path).unwrap().text
}

#[rstest]
#[case::manifest(Target::Manifest, "a: x\n  namespace: ns\n  labels:\n    k: v\n  # kept\n")]
#[case::base(Target::Base, "a: x\n  labels:\n    k: v\n  # kept\n")]
#[case::chart(
    Target::Chart,
    "a: x\n  namespace: ns\n  labels:\n    k: v\n  {{- only }}\n  # kept\n"
)]
fn a_source_is_for_all(#[case] target: Target, #[case] expected: &str) {
    let source = "a: ${a}\n  namespace: ${namespace}\n  #pack labels: ${labels}\n  #helm {{- only }}\n  # kept\n";
    let values = [
        ("a", plain(json!("x"))),
        ("namespace", plain(json!("ns"))),
        ("labels", plain(json!({"k": "v"}))),
    ]
    .into();
    assert_eq!(write(source, target, &values).unwrap(), expected);
}

#[rstest]
#[case::scalar(Fill::Scalar(".Values.a"), "  a: {{ .Values.a }}\n")]
#[case::block(Fill::Block("include \"b\" ."), "  a: {{- include \"b\" . | nindent 4 }}\n")]
#[case::number(plain(json!(2)), "  a: 2\n")]
#[case::short_list(plain(json!(["x", "y"])), "  a: [x, y]\n")]
fn a_placeholder_becomes(#[case] fill: Fill, #[case] expected: &str) {
    assert_eq!(
        write("  a: ${a}\n", Target::Chart, &[("a", fill)].into()).unwrap(),
        expected
    );
}

#[test]
fn an_unknown_placeholder_is_an_error() {
    let error = write("a: ${a}", Target::Chart, &BTreeMap::new()).unwrap_err();
    assert_eq!(error.to_string(), "placeholder ${a} is not known");
}

/// To the operator, lines of the chart are comments.
#[test]
fn no_directive_is_left() {
    for File { path, text } in files(&providers()).unwrap() {
        assert!(
            !text.contains("#helm") && !text.contains("#pack") && !text.contains("${"),
            "{path}"
        );
        let is_manifest = path.starts_with("deploy/") && !path.ends_with("crd.yaml");
        assert!(!(is_manifest && text.contains("{{")), "{path}");
    }
}

#[test]
fn an_overlay_has_what_its_provider_needs() {
    let cloud = file("deploy/kustomize/cloud/kustomization.yaml");
    for part in [
        "- cloud.conf\n",
        "- keys\n",
        "name: CLOUD_FILE",
        "/etc/outrigger/credentials/keys",
        "cluster-name=CHANGE-ME",
    ] {
        assert!(cloud.contains(part), "{part}: {cloud}");
    }
    let memory = file("deploy/kustomize/memory/kustomization.yaml");
    assert!(memory.contains("secretGenerator: []"), "{memory}");
}

/// The manager rejects the placeholder, so a static Pod that was not filled in does nothing.
#[test]
fn a_static_pod_has_placeholders_that_are_never_valid() {
    let pod = file("deploy/manager/static-pod.yaml");
    let placeholder = operator_api::cloud_controller_manager::PLACEHOLDER;
    assert!(
        pod.contains(&format!("--cloud-provider={placeholder}"))
            && pod.contains(&format!("--cluster-name={placeholder}")),
        "{pod}"
    );
    assert!(!pod.contains("serviceAccountName"), "{pod}");
}
