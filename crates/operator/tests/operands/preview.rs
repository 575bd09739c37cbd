//! The changes of a run are printed, and nothing is changed.

use crate::world::{World, keys, with};
use operator::Object;
use serde_json::json;
use std::{
    io::Write,
    process::{Command, Stdio},
};

#[tokio::test]
async fn shows_what_kubectl_diff_would_and_writes_nothing() {
    let world = World::new("preview").await;
    let kinds = ["Service", "ConfigMap", "Deployment", "Secret", "Role"];
    let all: Vec<_> = kinds.iter().map(|kind| world.of(kind)).collect();

    let preview = world.engine().preview(&all, &[]).await;
    assert!(preview.failures.is_empty(), "{:?}", preview.failures);
    let name = &world.namespace;
    assert!(
        preview
            .text
            .contains(&format!("+++ MERGED/apps.v1.Deployment.{name}.{name}\n")),
        "{}",
        preview.text
    );
    assert!(!preview.text.contains("czNjcmV0"), "secrets are masked");
    assert_eq!(world.writes(), Vec::<String>::new());

    world.converge(&all).await;
    let writes = world.writes();
    let preview = world.engine().preview(&all, &[]).await;
    assert_eq!((preview.text.as_str(), preview.failures.len()), ("", 0));

    let wanted: Vec<_> = all[..4]
        .iter()
        .map(|object| match object.key().kind.as_str() {
            "ConfigMap" => with(object, "/data/cloud.conf", json!("new")),
            "Secret" => with(object, "/stringData/password", json!("n3w")),
            "Deployment" => with(
                &with(object, "/spec/selector/matchLabels/k8s-app", json!("new")),
                "/spec/template/metadata/labels/k8s-app",
                json!("new"),
            ),
            _ => object.clone(),
        })
        .collect();
    // A port and a default that a user changed.
    let edit = json!([
        { "op": "add", "path": "/spec/ports/-", "value": { "name": "more", "port": 80 } },
        { "op": "replace", "path": "/spec/sessionAffinity", "value": "ClientIP" },
    ]);
    world.edit(wanted[0].key(), edit).await;
    let preview = world.engine().preview(&wanted, &keys(&all)).await;
    assert!(preview.failures.is_empty(), "{:?}", preview.failures);
    let changes: Vec<_> = preview
        .text
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .map(str::trim_end)
        .collect();
    for change in [
        "-  cloud.conf: |",
        "+  cloud.conf: new",
        "-  - name: more",
        "-  sessionAffinity: ClientIP",
        "+  sessionAffinity: None",
        "-kind: Role",
        "-      k8s-app: ccm",
        "+      k8s-app: new",
    ] {
        assert!(changes.contains(&change), "{change}: {}", preview.text);
    }
    assert_eq!(world.writes(), writes);
    let bad = with(&all[1], "/data", json!({ "not a key": "x" }));
    let refused = world.engine().preview(&[bad], &[]).await;
    assert!(
        refused.failures[0].to_string().contains("not a key"),
        "{:?}",
        refused.failures
    );
}

/// The output of the real `kubectl diff` for the same objects and the same field manager.
fn kubectl_diff(objects: &[Object]) -> String {
    let items: Vec<_> = objects.iter().map(Object::value).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let mut kubectl = Command::new(lab::assets::program("kubectl").unwrap())
        .arg("diff")
        .arg("--server-side")
        .arg("--force-conflicts")
        .arg("--field-manager=outrigger-operator")
        .arg("--filename=-")
        .arg("--kubeconfig")
        .arg(lab::ControlPlane::shared().kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    kubectl
        .stdin
        .take()
        .unwrap()
        .write_all(list.to_string().as_bytes())
        .unwrap();
    let output = kubectl.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The changed lines of a diff, sorted. In another program files have other names, and lists another indentation;
/// only one of them prints the fields that only the server writes, of which the status is the last.
fn changed(diff: &str) -> Vec<String> {
    let server = ["creationTimestamp:", "resourceVersion:", "uid:", "generation:"];
    let mut lines = Vec::new();
    for file in diff.split("diff -u -N ").skip(1) {
        let all = file
            .lines()
            .take_while(|line| !line[1.min(line.len())..].starts_with("status:"));
        let all = all.filter(|line| line.starts_with(['+', '-']));
        let all = all.filter(|line| !line.starts_with("+++ ") && !line.starts_with("--- "));
        let all = all.map(|line| format!("{} {}", &line[..1], line[1..].trim().replace(['"', '\''], "")));
        lines.extend(all.filter(|line| !server.iter().any(|field| line[2..].starts_with(field))));
    }
    lines.sort();
    lines
}

// The real one, for objects that are created, changed and unchanged.
#[tokio::test]
async fn prints_the_same_as_kubectl_diff() {
    let world = World::new("kubectl").await;
    let kinds = [
        "Service",
        "ConfigMap",
        "Deployment",
        "Role",
        "RoleBinding",
        "PodDisruptionBudget",
    ];
    let all: Vec<_> = kinds.iter().map(|kind| world.of(kind)).collect();
    let compared = async |objects: &[Object]| {
        let preview = world.engine().preview(objects, &[]).await;
        assert!(preview.failures.is_empty(), "{:?}", preview.failures);
        let ours = changed(&preview.text);
        assert_eq!(ours, changed(&kubectl_diff(objects)), "{}", preview.text);
        ours
    };
    // A dry run of a Service gets another address each time, so the Service is created first.
    world.converge(&all[..1]).await;
    assert!(compared(&all[1..]).await.contains(&"+ kind: Deployment".to_owned()));

    world.converge(&all).await;
    assert_eq!(compared(&all).await, [""; 0]);

    let wanted: Vec<_> = all
        .iter()
        .map(|object| match object.key().kind.as_str() {
            "ConfigMap" => with(object, "/data/cloud.conf", json!("[Global]\nzone = new\n")),
            "Deployment" => with(object, "/spec/replicas", json!(5)),
            "Role" => with(object, "/rules", json!([])),
            _ => object.clone(),
        })
        .collect();
    let edit = json!([{ "op": "replace", "path": "/spec/minAvailable", "value": 0 }]);
    world.edit(all[5].key(), edit).await;
    let changes = compared(&wanted).await;
    for change in ["+ replicas: 5", "+ zone = new", "- minAvailable: 0"] {
        assert!(changes.iter().any(|line| line == change), "{change}: {changes:#?}");
    }
}

/// W17: a port that another program has changed. The server keeps both as long as they have two owners, and two may not have one name.
#[tokio::test]
async fn a_port_that_is_not_ours() {
    let world = World::new("port").await;
    let service = world.of("Service");
    world.converge(std::slice::from_ref(&service)).await;
    let edit = json!([{ "op": "replace", "path": "/spec/ports/0/port", "value": 80 }]);
    world.edit(service.key(), edit).await;
    let preview = world.engine().preview(&[service], &[]).await;
    assert_eq!(preview.failures, []);
    assert_eq!(changed(&preview.text), ["+ port: 10258", "- port: 80"]);
}

/// A user may bind only existing roles; the role would be created by the same run.
#[tokio::test]
async fn a_binding_to_a_future_role() {
    let world = World::new("unbound").await;
    let (role, binding) = (world.of("Role"), world.of("RoleBinding"));
    let engine = operator::operands::Engine::new(world.modest().await);
    let preview = engine.preview(&[binding.clone(), role.clone()], &[]).await;
    assert_eq!(preview.failures, []);
    for line in ["+kind: RoleBinding", "+kind: Role"] {
        assert!(preview.text.lines().any(|each| each == line), "{}", preview.text);
    }
    // A role that is not created is reported.
    let preview = engine.preview(&[binding], &[]).await;
    let message = preview.failures.first().expect("a failure").to_string();
    assert!(
        message.starts_with("cannot create RoleBinding") && message.contains("not found"),
        "{message}"
    );
}
