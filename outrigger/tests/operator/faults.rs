//! Two operators, an API server that restarts, policies that reject objects, a terminating namespace.

use crate::{
    health::event_message,
    policies::{allow, refuse, refuse_services, refused},
    process_fixture::{Manager, Mark},
    wire::Wire,
    world::{World, config_map, kind},
};
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Only one works; the other one takes over as soon as the first one has stopped cleanly.
#[tokio::test]
async fn two_operators() {
    let world = World::new("AWS").await;
    let first = world.start();
    world.runs(&first, "aws").await;
    world.settled().await;
    let mark = world.mark();
    let second = world.start();
    second.logged("attempting to acquire").await;
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);

    first.signal("TERM");
    assert_eq!(first.exited().await.code, 0);
    let stopped = Instant::now();
    let services = world.api(&kind("Service"), &world.namespace);
    services
        .delete("aws-cloud-controller-manager", &DeleteParams::default())
        .await
        .unwrap();
    let look = async || match services.get_opt("aws-cloud-controller-manager").await.unwrap() {
        Some(_) => Ok(()),
        None => Err("the Service is not back".to_owned()),
    };
    second.until("the Service", look).await;
    // A lease that is not released ends after more than two minutes.
    assert!(stopped.elapsed() < Duration::from_mins(1), "{:?}", stopped.elapsed());
}

/// The API server stops during an installation: the same process completes it when the API server runs again.
#[tokio::test]
async fn api_server_restarts() {
    let world = World::new("Azure").await;
    let operator = world.start();
    let look = async || match world.operands().await.len() {
        0..3 => Err("nothing yet".to_owned()),
        _ => Ok(()),
    };
    operator.until("the first operands", look).await;
    world.plane().stop_apiserver();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(operator.ended().is_none(), "{}", operator.log_tail());
    world.plane().start_apiserver().unwrap();
    world.runs(&operator, "azure").await;
    world.installed(&operator, 14).await;
    let conditions = world.reports(&operator, &["Available=True", "Degraded=False"]).await;
    assert!(!conditions.contains("Degraded=True"), "{conditions}");
    assert!(!operator.log().contains("panic"), "{}", operator.log_tail());
}

/// Deletes these operands of vSphere, all at the same time.
async fn delete_some(world: &World) -> usize {
    let name = "vsphere-cloud-controller-manager";
    let role = format!("{name}:{name}");
    let here = world.namespace.as_str();
    let all = [
        (kind("Service"), here, name),
        (kind("PodDisruptionBudget"), here, name),
        (kind("Role"), here, name),
        (kind("RoleBinding"), here, &role),
        // The same name in another namespace: they must not be confused.
        (kind("ClusterRole"), "", name),
        (kind("ClusterRoleBinding"), "", &role),
        (config_map(), here, "cloud-conf"),
        (config_map(), here, "ccm-trusted-ca"),
    ];
    let deletions = all.iter().map(async |(resource, namespace, name)| {
        world.delete(resource, namespace, name).await;
    });
    futures::future::join_all(deletions).await.len()
}

/// W19: objects that are deleted while the watches are disconnected, or all at once, are recreated, each once.
#[tokio::test]
async fn w19_deleted_while_the_operator_was_down() {
    let world = World::new("VSphere").await;
    let server = world.plane().url().trim_start_matches("https://").parse().unwrap();
    let wire = Wire::to(server).await;
    let kubeconfig = std::fs::read_to_string(world.plane().kubeconfig()).unwrap();
    let kubeconfig = kubeconfig.replace(&server.to_string(), &wire.address().to_string());
    let kubeconfig = world.folder.write("cut.kubeconfig", &kubeconfig);
    let launch = world.common(world.operator());
    let operator = launch.flag(&format!("--kubeconfig={}", kubeconfig.display())).start();
    world.runs(&operator, "vsphere").await;
    world.settled().await;
    let snapshot = world.snapshot().await;

    wire.cut();
    let deleted = delete_some(&world).await;
    assert_eq!(world.operands().await.len(), 11 - deleted);
    let mark = world.mark();
    wire.mend();
    world.installed(&operator, 11).await;
    world.runs(&operator, "vsphere").await;
    world.settled().await;
    assert_eq!(world.snapshot().await, snapshot);
    written_once(&world, mark);

    let mark = world.mark();
    delete_some(&world).await;
    let look = async || match world.snapshot().await {
        found if found == snapshot => Ok(()),
        found => Err(format!("{:#?}", found.keys())),
    };
    operator.until("all of them", look).await;
    world.settled().await;
    written_once(&world, mark);
}

/// No object is written more often than necessary. (A Deployment is written again when an object that it reads is recreated.)
fn written_once(world: &World, mark: Mark) {
    let mut writes = world.writes_since(mark);
    writes.retain(|write| !write.contains("clusteroperators") && !write.contains("deployments"));
    let distinct: std::collections::BTreeSet<_> = writes.iter().collect();
    assert_eq!(distinct.len(), writes.len(), "{writes:#?}");
}

/// W17: an object that a policy refuses is named with the policy's message; all others are created; retries have a back-off.
#[tokio::test]
async fn policy_refuses_an_object() {
    let world = World::new("AWS").await;
    refuse_services(&world).await;
    let mark = world.mark();
    let operator = world.start();
    world.installed(&operator, 6).await;
    let message = event_message(&world, &operator, &world.namespace, "ResourceCreateFailed").await;
    for part in ["Service", "aws-cloud-controller-manager", "no Services on Mondays"] {
        assert!(message.contains(part), "{message}");
    }
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("no Services on Mondays"), "{line}");
    // The wait is reported with the current state: everything else exists and runs.
    let refused = format!(
        "cannot create Service {}/aws-cloud-controller-manager: ",
        world.namespace
    );
    let look = async || {
        world.roll_out(9).await;
        let conditions = world.conditions().await;
        let line = conditions.lines().find(|line| line.starts_with("Progressing=True"));
        let line = line.unwrap_or_default();
        if line.contains(&refused) && !line.contains("Deployment") && !line.contains("is not there yet") {
            Ok(())
        } else {
            Err(conditions)
        }
    };
    operator.until("what is in the way", look).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let tries = world
        .writes_since(mark)
        .into_iter()
        .filter(|write| write.contains(" services "))
        .count();
    assert!(tries <= 8, "{tries} tries");
    assert!(world.reports_since(mark) <= 4, "{:#?}", world.writes_since(mark));

    allow(&world, &kind("Service")).await;
    world.runs(&operator, "aws").await;
    world.installed(&operator, 7).await;
}

/// A configuration that cannot be written rolls no Pods: they would start with the previous one, and keep it.
#[tokio::test]
async fn policy_refuses_a_new_configuration() {
    let (world, operator) = World::running("AWS").await;
    world.settled().await;
    refuse(&world, &config_map(), &["CREATE", "UPDATE"], json!({})).await;
    let deployment = async || {
        let deployments = kind("Deployment");
        let live = world.get(&deployments, &world.namespace, "aws-cloud-controller-manager");
        live.await.unwrap()["spec"]["template"].clone()
    };
    let before = deployment().await;
    world.set_source("[Global]\nZone = eu-lab-1d\n").await;
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("no ConfigMaps on Mondays"), "{line}");
    world.settled().await;
    assert_eq!(deployment().await, before);

    allow(&world, &config_map()).await;
    let look = async || match deployment().await {
        template if template == before => Err(template.to_string()),
        _ => Ok(()),
    };
    operator.until("new Pods", look).await;
    let written = world.get(&config_map(), &world.namespace, "cloud-conf").await.unwrap();
    assert!(written["data"].to_string().contains("eu-lab-1d"), "{written}");
}

/// A webhook without a server is reported with the API server's message, and everything else is created.
#[tokio::test]
async fn webhook_is_away() {
    let world = World::new("AWS").await;
    let webhooks = kind("ValidatingWebhookConfiguration");
    let rule = json!({"apiGroups": ["policy"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["poddisruptionbudgets"]});
    let webhook = json!({"webhooks": [{
        "name": "away.lab.example", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/"}, "timeoutSeconds": 1, "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
    }]});
    world.apply(&webhooks, "", "away.lab", webhook).await;
    let budgets = kind("PodDisruptionBudget");
    refused(&world, &budgets, json!({"spec": {"minAvailable": 1}})).await;
    let operator = world.start();
    world.installed(&operator, 6).await;
    let message = event_message(&world, &operator, &world.namespace, "ResourceCreateFailed").await;
    assert!(
        message.contains("away.lab.example") && message.contains("PodDisruptionBudget"),
        "{message}"
    );
    world.delete(&webhooks, "", "away.lab").await;
    world.runs(&operator, "aws").await;
    world.installed(&operator, 7).await;
}

/// A terminating namespace accepts no new objects: it is reported, cluster-scoped objects are created, and retries have a back-off.
#[tokio::test]
async fn namespace_is_terminating() {
    let world = World::new("AWS").await;
    let namespaces = kind("Namespace");
    world.delete(&namespaces, "", &world.namespace).await;
    let mark = world.mark();
    let operator = world.start();
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("being terminated"), "{line}");
    let policies = kind("ValidatingAdmissionPolicy");
    let look = async || {
        let name = "openshift-cloud-controller-manager-cloud-provider-aws";
        world
            .get(&policies, "", name)
            .await
            .map(drop)
            .ok_or("it is not there".to_owned())
    };
    operator.until("the policy", look).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = world.writes_since(mark);
    assert!(
        writes.len() < 60,
        "{} writes in a few seconds: {writes:#?}",
        writes.len()
    );
    assert!(world.reports_since(mark) <= 4, "{writes:#?}");
    assert!(operator.ended().is_none());
}

/// Waits the two minutes and a half after which a failure is reported, and returns the report.
async fn degraded(world: &World, operator: &Manager) -> String {
    let (after, conditions) = world.degraded(operator).await;
    assert!(after > Duration::from_mins(2), "{after:?}");
    let upgradeable = conditions
        .lines()
        .find(|line| line.starts_with("Upgradeable=False"))
        .unwrap();
    assert!(
        upgradeable.len() > "Upgradeable=False SyncingFailed ".len(),
        "{conditions}"
    );
    conditions
}

/// W5, W17: a lasting refusal of a policy is reported in the conditions, with the object and the policy's message.
#[tokio::test]
#[ignore = "takes three minutes: make test-full runs it"]
async fn policy_refuses_for_long() {
    let world = World::apart(&lab::unique("ccm")).await;
    world.set_platform("AWS").await;
    refuse_services(&world).await;
    let operator = world.start();
    world.installed(&operator, 6).await;
    world.roll_out(9).await;
    let conditions = degraded(&world, &operator).await;
    let line = conditions
        .lines()
        .find(|line| line.starts_with("Degraded=True"))
        .unwrap();
    let object = format!("cannot create Service {}/aws-cloud-controller-manager", world.namespace);
    assert!(
        line.contains(&object) && line.contains("no Services on Mondays"),
        "{line}"
    );
    assert!(!line.contains("Deployment"), "{line}");
}

/// A part that fails for long is reported for the part, and 2 min 30 s later for the operator.
#[tokio::test]
#[ignore = "takes five minutes: make test-full runs it"]
async fn policy_refuses_a_new_configuration_for_long() {
    let world = World::apart(&lab::unique("ccm")).await;
    world.set_platform("AWS").await;
    let operator = world.start();
    world.runs(&operator, "aws").await;
    refuse(&world, &config_map(), &["CREATE", "UPDATE"], json!({})).await;
    world.set_source("[Global]\nZone = eu-lab-1d\n").await;
    let conditions = degraded(&world, &operator).await;
    let line = conditions
        .lines()
        .find(|line| line.starts_with("Degraded=True"))
        .unwrap();
    let cause = format!(
        "CloudConfigControllerDegraded: cannot update ConfigMap {}/cloud-conf",
        world.namespace
    );
    assert!(line.contains(&cause), "{line}");
    assert!(
        conditions.contains("CloudConfigControllerDegraded=True"),
        "{conditions}"
    );
}

/// W5: a namespace whose deletion does not end is named, with the object that cannot be created in it.
#[tokio::test]
#[ignore = "takes three minutes: make test-full runs it"]
async fn namespace_is_terminating_for_long() {
    let world = World::apart(&lab::unique("ccm")).await;
    world.set_platform("AWS").await;
    let namespaces = kind("Namespace");
    world.delete(&namespaces, "", &world.namespace).await;
    let operator = world.start();
    let conditions = degraded(&world, &operator).await;
    let line = conditions
        .lines()
        .find(|line| line.starts_with("Degraded=True"))
        .unwrap();
    let namespace = &world.namespace;
    for part in [
        &format!("Deployment {namespace}/aws-cloud-controller-manager"),
        &format!("namespace {namespace} because it is being terminated"),
    ] {
        assert!(line.contains(part.as_str()), "{part} is not in {line}");
    }
}

/// An object of another client with one of our names is taken over without a conflict, and keeps the fields that we do not set.
#[tokio::test]
async fn existing_objects_are_taken_over() {
    let world = World::new("AWS").await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-conf"},
        "data": {"cloud.conf": "old", "stale": "x"},
    });
    let api = world.api(&config_map(), &world.namespace);
    let params = PostParams {
        field_manager: Some("config-sync-controllers".to_owned()),
        ..PostParams::default()
    };
    api.create(&params, &serde_json::from_value(map).unwrap())
        .await
        .unwrap();
    let label = json!({"metadata": {"labels": {"user": "kept"}}});
    world.edit(&config_map(), &world.namespace, "cloud-conf", label).await;
    let operator = world.start();
    world.runs(&operator, "aws").await;
    let found = world.get(&config_map(), &world.namespace, "cloud-conf").await.unwrap();
    assert_eq!(found["metadata"]["labels"]["user"], "kept");
    assert_ne!(found["data"]["cloud.conf"], "old");
    assert_eq!(found["data"]["stale"], Value::Null);
}

/// The `ClusterOperator` is deleted: it is recreated in full, with the list of our objects.
#[tokio::test]
async fn cluster_operator_is_deleted() {
    let (world, operator) = World::running("AWS").await;
    world.settled().await;
    let before = world.snapshot().await;
    let operators = crate::objects::kind("ClusterOperator");
    world.delete(&operators, "", "cloud-controller-manager").await;
    world.reports(&operator, &["Available=True", "Progressing=False"]).await;
    world.settled().await;
    assert_eq!(world.snapshot().await, before);
    let all = world.api(&operators, "").list(&ListParams::default()).await.unwrap();
    assert_eq!(all.items.len(), 1);
    assert_ne!(world.cluster_operator().await["status"]["versions"], Value::Null);
}
