//! Under which names the process acts.

use crate::rig::Rig;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use std::os::unix::fs::symlink;

#[tokio::test]
async fn acts_as_the_user_of_its_kubeconfig() {
    let rig = Rig::shared().await;
    let link = rig.folder.path().join("cloud-controller-manager");
    symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
    let manager = rig.manager().program(&link).without("ccm").start();
    let node = rig.join("a").await;
    rig.initialised(&manager, &node).await;

    let requests = rig.requests();
    let agents = |resource: &str, verb: &str| {
        let ours = requests
            .iter()
            .filter(move |entry| entry.resource == resource && entry.verb == verb);
        ours.map(|entry| entry.agent.as_str()).collect::<Vec<_>>()
    };
    let is = |agents: Vec<&str>, suffix: &str| {
        let fits =
            |agent: &&str| agent.starts_with("cloud-controller-manager/v0.1.0 (linux/") && agent.ends_with(suffix);
        assert!(!agents.is_empty() && agents.iter().all(fits), "{suffix}: {agents:?}");
    };
    is(agents("leases", "create"), "/leader-election");
    is(agents("nodes", "list"), "/shared-informers");
    is(agents("nodes", "patch"), "/node-controller");
    let unwanted: Vec<_> = requests.iter().filter(|entry| entry.code == 403).collect();
    assert!(
        unwanted.is_empty(),
        "deploy/manager/rbac.yaml does not grant {unwanted:#?}"
    );
}

#[tokio::test]
async fn acts_as_a_service_account_for_each_controller() {
    let rig = Rig::shared().await;
    let accounts = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "create"]});
    let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
    rig.grant_in_system(&rig.name, json!([accounts, tokens])).await;
    let create =
        json!({"namespace": "kube-system", "resource": "serviceaccounts", "subresource": "token", "verb": "create"});
    rig.allowed(&rig.name, &json!({"resourceAttributes": create})).await;
    let mark = rig.mark();
    let manager = rig
        .manager()
        .flag("--use-service-account-credentials")
        .flag("--cluster-cidr=10.244.0.0/16")
        .flag("--node-deletion-grace-period=0s")
        .start();
    let node = rig.join("a").await;
    rig.initialised(&manager, &node).await;
    rig.cloud.boot(&rig.named("routed"));
    let routed = rig.register("routed", "tainted ready:True cidr:10.244.1.0/24").await;
    rig.initialised(&manager, &routed).await;
    rig.node_until(&manager, &routed, "routed", is_routed).await;
    let gone = rig.join("gone").await;
    rig.initialised(&manager, &gone).await;
    rig.cloud.delete_machine(&gone);
    rig.set_ready(&gone, "Unknown").await;
    rig.node_gone(&manager, &gone).await;
    let service = rig.create(rig.balanced("web")).await;
    let service = service.metadata.name.unwrap();
    rig.served(&manager, &service).await;

    let account = |name: &str| format!("system:serviceaccount:kube-system:{name}");
    let writers = |resource: &str, name: &str| {
        let all = rig.all_requests(mark).into_iter();
        let ours = all.filter(|entry| entry.resource == resource && entry.name == name && entry.is_write());
        let mut users: Vec<_> = ours
            .map(|entry| entry.user)
            .filter(|user| user != "outrigger-lab-admin")
            .collect();
        users.sort();
        users.dedup();
        users
    };
    assert_eq!(writers("nodes", &node), [account("node-controller")]);
    assert_eq!(writers("nodes/status", &node), [account("node-controller")]);
    let both = [account("node-controller"), account("route-controller")];
    assert_eq!(writers("nodes/status", &routed), both);
    let all = rig.all_requests(mark).into_iter();
    let deletions = all.filter(|entry| entry.what() == "delete nodes" && entry.name == gone);
    let deleters: Vec<_> = deletions.map(|entry| entry.user).collect();
    assert_eq!(deleters, [account("node-controller")], "the lifecycle controller's");
    assert_eq!(writers("services/status", &service), [account("service-controller")]);
    assert_eq!(
        writers("leases", &rig.name),
        [rig.name.as_str()],
        "the lease is the process's own"
    );
}

fn is_routed(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|one| one.type_ == "NetworkUnavailable")
        .any(|one| one.reason.as_deref() == Some("RouteCreated"))
}

#[tokio::test]
async fn waits_for_the_right_to_act_as_service_accounts() {
    let rig = Rig::shared().await;
    let manager = rig.manager().flag("--use-service-account-credentials").start();
    let line = manager.logged("cannot start controller; trying again").await;
    let missing = |verb: &str, resource: &str| {
        format!(
            "User \\\"{}\\\" cannot {verb} resource \\\"{resource}\\\" in API group",
            rig.name
        )
    };
    assert!(
        line.starts_with('W') && line.contains(&missing("get", "serviceaccounts")),
        "{line}"
    );
    let report = manager.answers("/readyz", 500).await.body;
    assert!(
        report.contains("[-]cloud-node-controller-credentials failed"),
        "{report}"
    );
    manager.answers("/livez", 200).await;

    let accounts = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "create"]});
    rig.grant_in_system(&rig.name, json!([accounts])).await;
    let node = rig.join("a").await;
    manager.logged(&missing("create", "serviceaccounts/token")).await;

    let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
    rig.grant_in_system(&rig.name, json!([tokens])).await;
    rig.initialised(&manager, &node).await;
    manager.ready().await;
}
