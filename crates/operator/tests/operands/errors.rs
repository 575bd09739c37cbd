//! What the server rejects is reported, and stops no other object.

use crate::world::{World, assert_all, client, outcomes, with};
use operator::{
    Key, Object,
    operands::{Class, Engine, Failure, Operation, Outcome, Report, Uncached},
};
use serde_json::json;

fn failure(report: &Report) -> Failure {
    let failures: Vec<_> = report.failures().collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures[0].clone()
}

// Operator.md W17: the first error does not stop the rest.
#[tokio::test]
async fn w17_one_failing_object_does_not_stop_the_others() {
    let world = World::new("first").await;
    let everything: Vec<_> = world
        .everything()
        .into_iter()
        .map(|object| match object.key().kind.as_str() {
            "ClusterRoleBinding" => with(&object, "/subjects", json!([{ "kind": "Nobody", "name": "x" }])),
            "ConfigMap" => with(&object, "/data", json!({ "not a key": "x" })),
            _ => object,
        })
        .collect();
    let report = world.converge(&everything).await;
    let made = outcomes(&report)
        .into_iter()
        .filter(|outcome| outcome.starts_with("created"))
        .count();
    // The namespace existed.
    assert_eq!(
        (made, report.failures().count()),
        (everything.len() - 3, 2),
        "{:#?}",
        outcomes(&report)
    );
    let repaired = world.converge(&world.everything()).await;
    assert!(repaired.is_complete());
}

// A bad namespace is an error and an event.
#[tokio::test]
async fn a_missing_namespace_is_named() {
    let world = World::new("nowhere").await;
    let lost = with(
        &world.of("ConfigMap"),
        "/metadata/namespace",
        json!("no-such-namespace"),
    );
    let report = world.converge(&[lost, world.of("Service")]).await;
    let failure = failure(&report);
    assert_eq!(
        failure.to_string(),
        format!(
            "cannot create ConfigMap no-such-namespace/{}: namespaces \"no-such-namespace\" not found",
            world.namespace
        )
    );
    assert_eq!(failure.operation, Operation::Create);
    assert!(report.events().any(|event| event.reason == "ResourceCreateFailed"));
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let world = World::new("denied").await;
    let user = lab::unique("limited");
    let limited = client(&lab::ControlPlane::shared().kubeconfig_for(&user, &[])).await;
    let engine = Engine::new(limited);
    let report = engine.converge(vec![world.of("ConfigMap")], &[], &Uncached).await;
    let reason = failure(&report).to_string();
    assert!(
        reason.starts_with("cannot read ConfigMap") && reason.contains("missing permission"),
        "{reason}"
    );
    assert!(reason.contains("cannot get resource \"configmaps\""), "{reason}");

    grant(&world, &user, &["get"]).await;
    let report = loop {
        let report = engine.converge(vec![world.of("ConfigMap")], &[], &Uncached).await;
        // The authorizer learns of new roles a moment later.
        if failure(&report).operation != Operation::Read {
            break report;
        }
    };
    let refused = failure(&report);
    assert_eq!((refused.operation, refused.class), (Operation::Create, Class::Refused));
    assert!(
        refused
            .to_string()
            .contains("cannot patch resource \"configmaps\" in API group \"\""),
        "{refused}"
    );

    world.converge(&[world.of("ConfigMap")]).await;
    let report = engine
        .converge(vec![], &[world.of("ConfigMap").key().clone()], &Uncached)
        .await;
    let refused = failure(&report);
    assert!(
        refused.to_string().contains("cannot delete resource \"configmaps\""),
        "{refused}"
    );
    assert_eq!(
        report.events().next().map(|event| event.reason),
        Some("ResourceDeleteFailed")
    );
    assert_eq!(report.inventory().len(), 1);
}

async fn grant(world: &World, user: &str, verbs: &[&str]) {
    let role = with(
        &world.of("Role"),
        "/rules",
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }]),
    );
    let subjects = json!([{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user }]);
    world
        .converge(&[role, with(&world.of("RoleBinding"), "/subjects", subjects)])
        .await;
}

/// A policy of the cluster, as an example of any admission plugin; the message names it.
#[tokio::test]
async fn the_refusing_webhook_is_named() {
    let world = World::new("policy").await;
    let name = world.namespace.clone();
    let policy = world.object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", json!({ "spec": {
        "matchConstraints": {
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } },
            "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] }],
        },
        "validations": [{ "expression": "false", "message": "not in my cluster" }],
    } }));
    let binding = world.object(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        json!({ "spec": {
        "policyName": name, "validationActions": ["Deny"],
    } }),
    );
    world.create(policy.clone(), "lab").await;
    world.create(binding, "lab").await;
    let refused = loop {
        let report = world.converge(&[world.of("ConfigMap"), world.of("Service")]).await;
        // The policy takes effect a moment later.
        match report.failures().next() {
            Some(failure) => break failure.clone(),
            None => world.delete(world.of("ConfigMap").key()).await,
        }
    };
    assert!(refused.to_string().contains("not in my cluster"), "{refused}");
    assert!(refused.to_string().contains(&name), "{refused}");
    world.delete(policy.key()).await;
}

/// One that cannot be reached.
#[tokio::test]
async fn a_webhook_is_named() {
    let world = World::new("webhook").await;
    let name = format!("{}.example.com", world.namespace);
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 1,
            "clientConfig": { "url": "https://127.0.0.1:1/" },
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": world.namespace } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] }],
        }],
    });
    let gvk = kube::core::GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
    let resource = kube::api::ApiResource::from_gvk(&gvk);
    let api: kube::Api<kube::api::DynamicObject> = kube::Api::all_with(world.admin.clone(), &resource);
    api.create(
        &kube::api::PostParams::default(),
        &serde_json::from_value(hook).unwrap(),
    )
    .await
    .unwrap();
    let refused = loop {
        let report = world.converge(&[world.of("ConfigMap")]).await;
        match report.failures().next() {
            Some(failure) => break failure.clone(),
            None => world.delete(world.of("ConfigMap").key()).await,
        }
    };
    assert!(
        refused
            .to_string()
            .contains(&format!("failed calling webhook \"{name}\"")),
        "{refused}"
    );
    assert_eq!(refused.class, Class::Transient);
    api.delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_terminating_namespace_is_named() {
    let world = World::new("going").await;
    world.converge(&[world.of("Service")]).await;
    // No controller is running that would complete it.
    world.delete(world.namespace().key()).await;
    let failure = failure(&world.converge(&[world.of("ConfigMap")]).await);
    assert!(
        failure.to_string().ends_with("because it is being terminated"),
        "{failure}"
    );
    assert_eq!(failure.class, Class::Transient);
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_named() {
    let plane = lab::ControlPlane::start().unwrap();
    let monitor = json!({ "apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": { "name": "x", "namespace": "default" } });
    let monitor = Object::new(monitor).unwrap();
    let report = Engine::new(plane.client())
        .converge(vec![monitor.clone()], &[], &Uncached)
        .await;
    let refused = failure(&report);
    assert_eq!(refused.class, Class::Unserved);
    assert_eq!(
        refused.to_string(),
        "cannot read ServiceMonitor default/x: the cluster has no ServiceMonitor of monitoring.coreos.com/v1: install its definition"
    );

    let unknown =
        Object::new(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "namespace": "default" } }))
            .unwrap();
    let refused = failure(
        &Engine::new(plane.client())
            .converge(vec![unknown], &[], &Uncached)
            .await,
    );
    assert_eq!(
        refused.to_string(),
        "cannot create Pod default/x: Pod of v1 is not a kind that the operator manages"
    );

    plane.stop_apiserver();
    let config_map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "default" } });
    let away = failure(
        &Engine::new(plane.client())
            .converge(vec![Object::new(config_map).unwrap()], &[], &Uncached)
            .await,
    );
    assert_eq!(
        (away.class, away.operation),
        (Class::Transient, Operation::Read),
        "{away}"
    );
}

#[tokio::test]
async fn an_unknown_field_is_named() {
    let world = World::new("typo").await;
    let typo = with(&world.of("Service"), "/spec/prots", json!([]));
    let failure = failure(&world.converge(&[typo]).await);
    assert_eq!(failure.class, Class::Refused);
    assert!(failure.to_string().contains("spec.prots"), "{failure}");
}

// Operator.md W19: two objects of one name in two namespaces are two objects.
#[tokio::test]
async fn w19_objects_are_distinguished_by_namespace() {
    let (here, there) = (World::new("here").await, World::new("there").await);
    let elsewhere = with(
        &with(&here.of("ConfigMap"), "/metadata/namespace", json!(there.namespace)),
        "/data",
        json!({ "a": "b" }),
    );
    let both = [here.of("ConfigMap"), elsewhere.clone()];
    assert_all(&here.converge(&both).await, &Outcome::Created);
    let key: &Key = elsewhere.key();
    here.delete(key).await;
    let report = here.converge(&both).await;
    assert_eq!(report.outcome(key), Some(&Outcome::Created));
    assert_eq!(report.outcome(both[0].key()), Some(&Outcome::Kept));
}
