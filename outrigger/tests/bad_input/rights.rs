//! Missing permissions: one sentence with verb and resource, `/readyz` fails, and no restart is needed once they are granted.

use crate::fixture::Fixture;
use serde_json::json;

#[tokio::test]
async fn missing_permissions_are_reported_and_work_continues_when_granted() {
    let fixture = Fixture::shared().await;
    let (user, kubeconfig) = fixture.stranger("newcomer");
    let node = fixture.join("a").await;
    let manager = fixture
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start();

    let line = manager.logged("cannot use the lease; retrying").await;
    let sentence = format!(
        "missing permission: leases.coordination.k8s.io \\\"{}\\\" is forbidden: User \\\"{user}\\\" cannot get resource \
         \\\"leases\\\" in API group \\\"coordination.k8s.io\\\" in the namespace \\\"kube-system\\\"",
        fixture.name
    );
    assert!(line.contains(&sentence), "{line}");
    assert!(
        manager
            .answers("/readyz", 500)
            .await
            .body
            .contains("[-]leaderElection-reachable failed")
    );
    manager.answers("/livez", 200).await;

    let leases =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]});
    fixture.grant_in_system(&user, json!([leases])).await;
    let line = manager.logged("cannot watch; retrying\" resource=\"nodes\"").await;
    let sentence = format!(
        "missing permission: nodes is forbidden: User \\\"{user}\\\" cannot list resource \\\"nodes\\\" in API group \
         \\\"\\\" at the cluster scope"
    );
    assert!(line.contains(&sentence), "{line}");
    assert!(
        manager
            .answers("/readyz", 500)
            .await
            .body
            .contains("[-]informer-nodes failed")
    );
    manager.answers("/livez", 200).await;

    fixture.authorise(&user).await;
    fixture.initialised(&manager, &node).await;
    manager.ready().await;
}

#[tokio::test]
async fn reports_the_missing_write_permission() {
    let fixture = Fixture::shared().await;
    let (user, kubeconfig) = fixture.stranger("reader");
    let lease =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]});
    fixture.grant_in_system(&user, json!([lease])).await;
    let read = json!({"apiGroups": [""], "resources": ["nodes", "services"], "verbs": ["list", "watch"]});
    fixture.grant(&user, json!([read])).await;
    fixture
        .allowed(
            &user,
            &json!({"resourceAttributes": {"verb": "list", "resource": "nodes"}}),
        )
        .await;
    let node = fixture.join("a").await;
    let manager = fixture
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start();

    let line = manager.logged("cannot initialize node; retrying").await;
    let sentence = format!("User \\\"{user}\\\" cannot patch resource \\\"nodes/status\\\" in API group \\\"\\\"");
    assert!(
        line.starts_with('W') && line.contains(&node) && line.contains(&sentence),
        "{line}"
    );
    assert!(manager.ended().is_none());

    fixture.authorise(&user).await;
    fixture.initialised(&manager, &node).await;
}
