//! The names under which the process identifies itself.

use crate::fixture::Fixture;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use std::os::unix::fs::symlink;

#[tokio::test]
async fn acts_as_the_user_of_its_kubeconfig() {
    let fixture = Fixture::shared().await;
    let link = fixture.folder.path().join("cloud-controller-manager");
    symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
    let manager = fixture.manager().program(&link).without("ccm").start();
    let node = fixture.join("a").await;
    fixture.initialised(&manager, &node).await;

    let requests = fixture.requests();
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
    let fixture = Fixture::shared().await;
    let accounts = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "create"]});
    let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
    fixture.grant_in_system(&fixture.name, json!([accounts, tokens])).await;
    let create =
        json!({"namespace": "kube-system", "resource": "serviceaccounts", "subresource": "token", "verb": "create"});
    fixture
        .allowed(&fixture.name, &json!({"resourceAttributes": create}))
        .await;
    let mark = fixture.mark();
    let manager = fixture
        .manager()
        .flag("--use-service-account-credentials")
        .flag("--cluster-cidr=10.244.0.0/16")
        .flag("--node-deletion-grace-period=0s")
        .start();
    let node = fixture.join("a").await;
    fixture.initialised(&manager, &node).await;
    fixture.cloud.boot(&fixture.named("routed"));
    let routed = fixture
        .register("routed", "tainted ready:True cidr:10.244.1.0/24")
        .await;
    fixture.initialised(&manager, &routed).await;
    fixture.node_until(&manager, &routed, "routed", is_routed).await;
    let gone = fixture.join("gone").await;
    fixture.initialised(&manager, &gone).await;
    fixture.cloud.delete_machine(&gone);
    fixture.set_ready(&gone, "Unknown").await;
    fixture.node_gone(&manager, &gone).await;
    let service = fixture.create(fixture.balanced("web")).await;
    let service = service.metadata.name.unwrap();
    fixture.served(&manager, &service).await;

    let account = |name: &str| format!("system:serviceaccount:kube-system:{name}");
    let writers = |resource: &str, name: &str| {
        let all = fixture.all_requests(mark).into_iter();
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
    let all = fixture.all_requests(mark).into_iter();
    let deletions = all.filter(|entry| entry.what() == "delete nodes" && entry.name == gone);
    let deleters: Vec<_> = deletions.map(|entry| entry.user).collect();
    assert_eq!(deleters, [account("node-controller")], "the lifecycle controller's");
    assert_eq!(writers("services/status", &service), [account("service-controller")]);
    assert_eq!(
        writers("leases", &fixture.name),
        [fixture.name.as_str()],
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
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().flag("--use-service-account-credentials").start();
    let line = manager.logged("cannot start controller; retrying").await;
    let missing = |verb: &str, resource: &str| {
        format!(
            "User \\\"{}\\\" cannot {verb} resource \\\"{resource}\\\" in API group",
            fixture.name
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
    fixture.grant_in_system(&fixture.name, json!([accounts])).await;
    let node = fixture.join("a").await;
    manager.logged(&missing("create", "serviceaccounts/token")).await;

    let tokens = json!({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]});
    fixture.grant_in_system(&fixture.name, json!([tokens])).await;
    fixture.initialised(&manager, &node).await;
    manager.ready().await;
}
