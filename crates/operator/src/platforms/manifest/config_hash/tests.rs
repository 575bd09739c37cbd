use super::*;
use crate::platforms::ConfigMapContent;
use rstest::rstest;
use serde_json::json;

/// The Go operator's hash of no objects.
const NOTHING: &str = "100444e91862dd77d7ebe29f050c1e9a7f357c771e1a7b7650aae27e6a3a031d";
/// The Go operator's hash of `ConfigMap` `configmap` and Secret `secret`, both with `foo: bar`.
const BOTH: &str = "c7f9345a2f1d730784440ab608460066f1c6f5af4662de2a5ff61e1cd81d5bad";

fn deployment(spec: &Value) -> Value {
    json!({"kind": "Deployment", "spec": {"template": {"metadata": {"annotations": {}}, "spec": spec}}})
}

fn volumes() -> Value {
    json!({"volumes": [{"configMap": {"name": "configmap"}}, {"secret": {"secretName": "secret"}}]})
}

fn config_map(data: &[(&str, &str)]) -> ConfigMapContent {
    ConfigMapContent {
        data: data
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        ..ConfigMapContent::default()
    }
}

fn sources() -> Sources {
    Sources {
        config_maps: [("configmap".to_owned(), config_map(&[("foo", "bar")]))].into(),
        secrets: [(
            "secret".to_owned(),
            [("foo".to_owned(), ByteString(b"bar".to_vec()))].into(),
        )]
        .into(),
    }
}

fn annotated(spec: &Value, sources: &Sources) -> String {
    let mut object = deployment(spec);
    put(&mut object, sources, &[]);
    let annotations = object.pointer("/spec/template/metadata/annotations").unwrap();
    annotations[ANNOTATION].as_str().unwrap().to_owned()
}

#[rstest]
#[case::nothing(json!({"containers": [{"name": "a"}]}), NOTHING)]
#[case::volumes(volumes(), BOTH)]
#[case::environment(
    json!({"containers": [{"env": [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "configmap", "key": "foo"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "foo"}}},
        {"name": "C", "value": "c"},
    ]}]}),
    BOTH
)]
#[case::whole_environment_of_init_containers(
    json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "configmap"}}, {"secretRef": {"name": "secret"}}]}]}),
    BOTH
)]
#[case::projected(
    json!({"volumes": [{"projected": {"sources": [
        {"configMap": {"name": "configmap"}}, {"secret": {"name": "secret"}}, {"serviceAccountToken": {}}
    ]}}]}),
    BOTH
)]
#[case::read_again_when_it_changes(
    json!({"volumes": [{"secret": {"secretName": "cloud-controller-manager-serving-cert"}}]}),
    NOTHING
)]
fn hashes(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(annotated(&spec, &sources()), expected);
}

/// Each change rolls the Pods, and none removes the annotation.
#[test]
fn w16_missing_objects_and_binary_data_count() {
    let nothing = Sources::default();
    let mut binary = sources();
    let content = binary.config_maps.get_mut("configmap").unwrap();
    content.binary_data.insert("foo.bin".to_owned(), ByteString(vec![0xff]));
    let mut other_binary = binary.clone();
    let content = other_binary.config_maps.get_mut("configmap").unwrap();
    content.binary_data.insert("foo.bin".to_owned(), ByteString(vec![0xfe]));
    let mut without_secret = sources();
    without_secret.secrets.clear();

    let hashes: BTreeSet<_> = [nothing, sources(), binary, other_binary, without_secret]
        .iter()
        .map(|sources| annotated(&volumes(), sources))
        .collect();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn w16_secrets_that_no_volume_names() {
    let mut object = deployment(&json!({}));
    put(&mut object, &sources(), &["secret"]);
    let first = object.clone();
    put(&mut object, &Sources::default(), &["secret"]);
    assert_ne!(object, first);
}

#[test]
fn w16_optional_objects_are_not_missing() {
    let volumes = json!([
        {"configMap": {"name": "here"}},
        {"configMap": {"name": "not-here"}},
        {"secret": {"secretName": "not-needed", "optional": true}},
        {"secret": {"secretName": "needed"}},
    ]);
    let sources = Sources {
        config_maps: [("here".to_owned(), ConfigMapContent::default())].into(),
        ..Sources::default()
    };
    let missing = missing(&deployment(&json!({"volumes": volumes})), &sources);
    let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["ConfigMap not-here", "Secret needed"]);
}

/// As Go writes it: sorted, `null` for empty values, and escaped for HTML.
#[test]
fn writes_as_go_does() {
    let (b, a) = (config_map(&[("k", "<&>\u{2028}\n\"")]), config_map(&[]));
    let hashed = Hashed {
        config_maps: [
            ("b", Some(&b.data)),
            ("a", Some(&a.data).filter(|data| !data.is_empty())),
        ]
        .into(),
        secrets: [("s", None)].into(),
        ..Hashed::default()
    };
    assert_eq!(
        as_go_writes_it(&hashed),
        r#"{"configMaps":{"a":null,"b":{"k":"\u003c\u0026\u003e\u2028\n\""}},"secrets":{"s":null}}"#
    );
}

#[test]
fn secrets_are_not_printed() {
    let printed = format!("{:?}", sources());
    assert_eq!(printed, r#"[ConfigMaps ["configmap"], Secrets ["secret"]]"#);
}
