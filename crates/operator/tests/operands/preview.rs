//! What a run would change is shown, and nothing is changed.

use crate::world::{World, keys, with};
use serde_json::json;

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
