use super::*;
use serde_json::json;

fn key(kind: &str) -> Key {
    Key {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: Some("ns".into()),
        name: "x".into(),
    }
}

fn object(data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "x", "uid": "1", "resourceVersion": "7", "managedFields": [{ "manager": "m" }] },
        "data": data,
    })
}

#[test]
fn a_change_reads_as_of_kubectl() {
    let live = object(&json!({ "a": "1", "text": "one\ntwo\n", "flag": "true", "gone": "x" }));
    let merged = object(&json!({ "a": "2", "text": "one\nthree\n", "flag": "true" }));
    let expected = "\
diff -u -N LIVE/v1.ConfigMap.ns.x MERGED/v1.ConfigMap.ns.x
--- LIVE/v1.ConfigMap.ns.x
+++ MERGED/v1.ConfigMap.ns.x
@@ -1,11 +1,10 @@
 apiVersion: v1
 data:
-  a: \"1\"
+  a: \"2\"
   flag: \"true\"
-  gone: x
   text: |
     one
-    two
+    three
 kind: ConfigMap
 metadata:
   name: x
";
    assert_eq!(diff(&key("ConfigMap"), Some(&live), Some(&merged)), expected);
}

#[test]
fn server_fields_are_no_difference() {
    let mut other = object(&json!({ "a": "1" }));
    other["metadata"]["resourceVersion"] = json!("8");
    other["status"] = json!({ "phase": "Active" });
    assert_eq!(
        diff(&key("ConfigMap"), Some(&object(&json!({ "a": "1" }))), Some(&other)),
        ""
    );
}

#[test]
fn new_and_unwanted_objects_are_all_plus_and_all_minus() {
    let object = object(&json!({ "a": "b" }));
    let created = diff(&key("ConfigMap"), None, Some(&object));
    assert!(created.contains("\n+kind: ConfigMap\n"), "{created}");
    assert!(!created.lines().skip(4).any(|line| !line.starts_with('+')), "{created}");
    let pruned = diff(&key("ConfigMap"), Some(&object), None);
    assert!(pruned.contains("\n-kind: ConfigMap\n"), "{pruned}");
    assert!(!pruned.lines().skip(4).any(|line| !line.starts_with('-')), "{pruned}");
}

#[test]
fn secrets_are_masked() {
    let mut live = object(&json!({ "same": "c2FtZQ==", "other": "b2xk", "gone": "Z29uZQ==" }));
    live["metadata"]["annotations"] =
        json!({ "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"other\":\"b2xk\"}}" });
    let merged = object(&json!({ "same": "c2FtZQ==", "other": "bmV3", "more": "bW9yZQ==" }));
    let text = diff(&key("Secret"), Some(&live), Some(&merged));
    for value in ["c2FtZQ", "b2xk", "bmV3", "Z29uZQ", "bW9yZQ"] {
        assert!(!text.contains(value), "{value} in {text}");
    }
    for line in ["-  other: '*** (before)'", "+  other: '*** (after)'"] {
        let unquoted = line.replace('\'', "");
        let quoted = line.replace('\'', "\"");
        assert!(
            [line, &unquoted, &quoted]
                .iter()
                .any(|line| text.lines().any(|other| other == *line)),
            "{line}: {text}"
        );
    }
}
