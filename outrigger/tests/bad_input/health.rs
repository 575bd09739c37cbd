//! Health of a manager that cannot do its work.

use crate::fixture::{Credentials, Fixture};
use serde_json::json;

/// A controller fails its check after a minute.
#[tokio::test]
async fn a_controller_whose_writes_are_refused_is_named_until_it_has_the_right() {
    let fixture = Fixture::shared().await;
    let (user, kubeconfig) = fixture.stranger("powerless");
    let lease =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]});
    fixture.grant_in_system(&user, json!([lease])).await;
    let read = json!({"apiGroups": [""], "resources": ["nodes", "services"], "verbs": ["list", "watch"]});
    fixture.grant(&user, json!([read])).await;
    let list = json!({"resourceAttributes": {"verb": "list", "resource": "services"}});
    fixture.allowed(&user, &list).await;
    let node = fixture.join("a").await;
    let manager = fixture
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start();
    manager.working().await;
    manager.logged("cannot initialize node; retrying").await;
    manager
        .logged("loaded new client certificate authorities from the cluster")
        .await;

    let report = manager.answers("/readyz", 500).await.body;
    let red: Vec<_> = report.lines().filter(|line| line.starts_with("[-]")).collect();
    assert_eq!(
        red,
        ["[-]cloud-node-controller-success failed: reason withheld"],
        "{report}"
    );
    let admin = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
    let body = admin.get("/readyz/cloud-node-controller-success").await.body;
    let sentence = format!("User \"{user}\" cannot patch resource \"nodes/status\" in API group \"\"");
    assert!(body.contains("failing for") && body.contains(&sentence), "{body}");
    // A liveness probe uses these, and a restart would not grant the permission.
    for path in ["/healthz", "/livez"] {
        assert_eq!(manager.port().get(path).await.status, 200, "{path}");
    }

    fixture.authorise(&user).await;
    fixture.initialised(&manager, &node).await;
    manager.ready().await;
    assert_eq!(admin.get("/readyz/cloud-node-controller-success").await.status, 200);
}
