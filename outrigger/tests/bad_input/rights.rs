//! Missing RBAC: one sentence with verb and resource, `/readyz` red, and no restart once it is granted.

use crate::rig::Rig;
use serde_json::json;

#[tokio::test]
async fn says_what_is_missing_and_goes_on_when_it_is_granted() {
    let rig = Rig::shared().await;
    let (user, kubeconfig) = rig.stranger("newcomer");
    let node = rig.join("a").await;
    let manager = rig
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start();

    let line = manager.logged("cannot use the lease; trying again").await;
    let sentence = format!(
        "missing permission: leases.coordination.k8s.io \\\"{}\\\" is forbidden: User \\\"{user}\\\" cannot get resource \
         \\\"leases\\\" in API group \\\"coordination.k8s.io\\\" in the namespace \\\"kube-system\\\"",
        rig.name
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
    rig.grant_in_system(&user, json!([leases])).await;
    let line = manager.logged("cannot watch; trying again\" resource=\"nodes\"").await;
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

    rig.authorise(&user).await;
    rig.initialised(&manager, &node).await;
    manager.ready().await;
}

#[tokio::test]
async fn says_which_write_is_missing() {
    let rig = Rig::shared().await;
    let (user, kubeconfig) = rig.stranger("reader");
    let lease =
        json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]});
    rig.grant_in_system(&user, json!([lease])).await;
    let read = json!({"apiGroups": [""], "resources": ["nodes", "services"], "verbs": ["list", "watch"]});
    rig.grant(&user, json!([read])).await;
    rig.allowed(
        &user,
        &json!({"resourceAttributes": {"verb": "list", "resource": "nodes"}}),
    )
    .await;
    let node = rig.join("a").await;
    let manager = rig
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start();

    let line = manager.logged("cannot initialize node; going on trying").await;
    let sentence = format!("User \\\"{user}\\\" cannot patch resource \\\"nodes/status\\\" in API group \\\"\\\"");
    assert!(
        line.starts_with('W') && line.contains(&node) && line.contains(&sentence),
        "{line}"
    );
    assert!(manager.ended().is_none());

    rig.authorise(&user).await;
    rig.initialised(&manager, &node).await;
}
