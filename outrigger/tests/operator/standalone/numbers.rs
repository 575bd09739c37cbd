//! What Prometheus reads about managers.

use super::cluster::Cluster;
use crate::{
    objects::token,
    rig::{Credentials, Manager, Port, free_port},
    world::kind,
};
use serde_json::json;

/// A token of somebody who may read metrics.
async fn reader(world: &Cluster) -> String {
    let (name, namespace) = ("prometheus", &world.namespace);
    let accounts = kind("", "v1", "ServiceAccount", "serviceaccounts");
    world.apply(&accounts, namespace, name, json!({})).await;
    let rbac = |name, plural| kind("rbac.authorization.k8s.io", "v1", name, plural);
    let rules = json!({"rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
    world
        .apply(&rbac("ClusterRole", "clusterroles"), "", "metrics-reader", rules)
        .await;
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    });
    world
        .apply(
            &rbac("ClusterRoleBinding", "clusterrolebindings"),
            "",
            "metrics-reader",
            binding,
        )
        .await;
    token(&world.client, namespace, name).await
}

/// Waits until the numbers about a manager are exactly those that begin like this, in this order.
async fn reads(operator: &Manager, port: &Port, name: &str, expected: &[&str]) {
    let look = async || {
        let reply = port.try_get("/metrics").await?;
        let about = format!("name=\"{name}\"");
        let ours = |line: &&str| line.starts_with("outrigger_operator_") && line.contains(&about);
        let lines: Vec<_> = reply.body.lines().filter(ours).collect();
        let alike = |(line, beginning): (&&str, &&str)| line.starts_with(beginning);
        if reply.status == 200 && lines.len() == expected.len() && lines.iter().zip(expected).all(alike) {
            Ok(())
        } else {
            Err(format!("{} {lines:#?}", reply.status))
        }
    };
    operator.until(&format!("{expected:#?}"), look).await;
}

/// A manager that runs has conditions and certificates; one that is removed, or gone, wakes nobody.
#[tokio::test]
async fn conditions_and_certificates() {
    let world = Cluster::new().await;
    let token = reader(&world).await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let address = free_port();
    let operator = world
        .operator()
        .flag(&format!("--metrics-bind-address={address}"))
        .start();
    let port = Port::new(address, &Credentials::Token(token));
    world.installed(&operator, "lab").await;
    let condition =
        |name: &str, value: u8| format!(r#"outrigger_operator_condition{{condition="{name}",name="lab"}} {value}"#);
    let expires = |which: &str| {
        format!(r#"outrigger_operator_certificate_expiration_timestamp_seconds{{certificate="{which}",name="lab"}} "#)
    };
    let all = [
        expires("CA"),
        expires("serving"),
        condition("Available", 1),
        condition("Degraded", 0),
        condition("Progressing", 0),
    ];
    reads(&operator, &port, "lab", &all.each_ref().map(String::as_str)).await;

    let removed = json!({"provider": "memory", "managementState": "Removed"});
    world.manager("lab", removed).await;
    let gone = async || {
        world.collect_garbage().await;
        let conditions = world.conditions("lab").await;
        let done = conditions[0].starts_with("Available=False Removed") && world.related("lab").await.is_empty();
        if done { Ok(()) } else { Err(format!("{conditions:#?}")) }
    };
    operator.until("the removal", gone).await;
    reads(&operator, &port, "lab", &[]).await;

    // One that never ran is forgotten as well.
    world
        .manager("wrong", json!({"provider": "memory", "controllers": ["nobody"]}))
        .await;
    world.says(&operator, "wrong", &["Degraded=True InvalidSpec"]).await;
    let complaints = [
        "Available\",name=\"wrong\"} 0",
        "Degraded\",name=\"wrong\"} 1",
        "Progressing\",name=\"wrong\"} 0",
    ];
    let complaints = complaints.map(|end| format!("outrigger_operator_condition{{condition=\"{end}"));
    reads(&operator, &port, "wrong", &complaints.each_ref().map(String::as_str)).await;
    world.unmanage("wrong").await;
    reads(&operator, &port, "wrong", &[]).await;
}
