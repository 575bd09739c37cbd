//! A real API server accepts every object, and the admission policies reject what they should.

use super::*;
use k8s_openapi::api::{
    admissionregistration::v1::ValidatingAdmissionPolicy,
    core::v1::{Namespace, Node, Service, ServiceAccount},
};
use kube::runtime::wait::await_condition;
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch, PatchParams, PostParams,
        ValidationDirective,
    },
};
use lab::ControlPlane;
use serde_json::json;
use std::time::{Duration, Instant};

fn api(client: &Client, object: &Object) -> Api<DynamicObject> {
    let key = object.key();
    let (group, version) = key.api_version.split_once('/').unwrap_or(("", &key.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &key.kind));
    match &key.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn apply(client: &Client, object: &Object, mut params: PatchParams) -> kube::Result<DynamicObject> {
    params.field_validation = Some(ValidationDirective::Strict);
    let patch = Patch::Apply(object.value());
    api(client, object)
        .patch(&object.key().name, &params.force(), &patch)
        .await
}

async fn ensure<K>(api: &Api<K>, object: &K)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    match api.create(&PostParams::default(), object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
}

fn named<K: Default + kube::Resource>(name: &str) -> K {
    let mut object = K::default();
    *object.meta_mut() = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    object
}

/// The objects of every platform: with both topologies, with our own image, and for the machine that starts a cluster.
fn everything(namespace: &str) -> Vec<Object> {
    let mut objects = Vec::new();
    for (platform, _) in PLATFORMS {
        for topology in [Topology::HighlyAvailable, Topology::Single] {
            let mut setting = setting(platform, topology);
            setting.namespace = namespace.to_owned();
            setting.proxy.http_proxy = "http://proxy.test".to_owned();
            objects.extend(resources(&setting).unwrap());
            objects.extend(bootstrap_resources(&setting).unwrap());
            if ["AWS", "OpenStack"].contains(&platform) {
                setting.images = Images::default().with_own("example.test/outrigger:1");
                objects.extend(resources(&setting).unwrap());
            }
        }
    }
    objects
}

#[tokio::test(flavor = "multi_thread")]
async fn takes_every_object() {
    let client = ControlPlane::shared().client();
    let namespace = lab::unique("platforms");
    ensure(&Api::<Namespace>::all(client.clone()), &named(&namespace)).await;
    // Pods need one, and no controller creates it here.
    ensure(
        &Api::<ServiceAccount>::namespaced(client.clone(), "kube-system"),
        &named("default"),
    )
    .await;
    let mut refused = Vec::new();
    for object in everything(&namespace) {
        if let Err(error) = apply(&client, &object, PatchParams::apply("platforms").dry_run()).await {
            refused.push(format!("{}: {error}", object.key()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// One request, and whether the policies let it pass.
struct Row {
    name: &'static str,
    before: Option<Value>,
    after: Value,
    allowed: bool,
}

fn service(type_: &str, annotation: &str, value: Option<&str>) -> Value {
    let annotations = value
        .map(|value| json!({annotation: value}))
        .unwrap_or(json!({annotation: null}));
    json!({"metadata": {"annotations": annotations}, "spec": {"type": type_, "ports": [{"port": 80}]}})
}

/// Without finalizers.
fn done(mut service: Value) -> Value {
    service["metadata"]["finalizers"] = Value::Null;
    service
}

fn row(name: &'static str, before: Option<Value>, after: Value, allowed: bool) -> Row {
    Row {
        name,
        before,
        after,
        allowed,
    }
}

fn rows_of_aws() -> Vec<Row> {
    let aws = |type_, value| service(type_, "service.beta.kubernetes.io/aws-load-balancer-type", value);
    let leaving = |value| {
        let mut service = aws("ClusterIP", value);
        service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
        service
    };
    let (balanced, inside) = ("LoadBalancer", "ClusterIP");
    vec![
        row("aws-create", None, aws(balanced, Some("nlb")), true),
        row(
            "aws-keep",
            Some(aws(balanced, Some("nlb"))),
            aws(balanced, Some("nlb")),
            true,
        ),
        row("aws-keep-none", Some(aws(balanced, None)), aws(balanced, None), true),
        row(
            "aws-change",
            Some(aws(balanced, Some("nlb"))),
            aws(balanced, Some("external")),
            false,
        ),
        row("aws-add", Some(aws(balanced, None)), aws(balanced, Some("nlb")), false),
        row(
            "aws-remove",
            Some(aws(balanced, Some("nlb"))),
            aws(balanced, None),
            false,
        ),
        row(
            "w25-aws-change-inside",
            Some(aws(inside, Some("nlb"))),
            aws(inside, Some("external")),
            true,
        ),
        row(
            "w25-aws-add-inside",
            Some(aws(inside, None)),
            aws(inside, Some("nlb")),
            true,
        ),
        row(
            "aws-balance-and-add",
            Some(aws(inside, None)),
            aws(balanced, Some("nlb")),
            false,
        ),
        row(
            "aws-balance",
            Some(aws(inside, Some("nlb"))),
            aws(balanced, Some("nlb")),
            true,
        ),
        row(
            "aws-unbalance-and-remove",
            Some(aws(balanced, Some("nlb"))),
            aws(inside, None),
            false,
        ),
        row(
            "aws-change-while-it-is-cleaned-up",
            Some(leaving(Some("nlb"))),
            leaving(Some("external")),
            false,
        ),
        row(
            "aws-remove-while-it-is-cleaned-up",
            Some(leaving(Some("nlb"))),
            leaving(None),
            false,
        ),
        row(
            "aws-clean-up",
            Some(leaving(Some("nlb"))),
            done(aws(inside, Some("nlb"))),
            true,
        ),
    ]
}

fn rows() -> Vec<Row> {
    let azure = |value| {
        service(
            "LoadBalancer",
            "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout",
            value,
        )
    };
    let gcp = |value| service("LoadBalancer", "cloud.google.com/network-tier", value);
    let mut rows = rows_of_aws();
    rows.extend([
        row("azure-none", None, azure(None), true),
        row("azure-least", None, azure(Some("4")), true),
        row("azure-most", None, azure(Some("100")), true),
        row("azure-zeros", None, azure(Some("030")), true),
        row("azure-less", None, azure(Some("3")), false),
        row("azure-more", None, azure(Some("101")), false),
        row("azure-much-more", None, azure(Some("99999999999999999999")), false),
        row("azure-negative", None, azure(Some("-5")), false),
        row("azure-text", None, azure(Some("4m")), false),
        row("azure-empty", None, azure(Some("")), false),
        row("azure-change", Some(azure(Some("4"))), azure(Some("5")), true),
        row("azure-change-to-bad", Some(azure(Some("4"))), azure(Some("500")), false),
        row("azure-remove", Some(azure(Some("4"))), azure(None), true),
        row("gcp-standard", None, gcp(Some("Standard")), true),
        row("gcp-premium", None, gcp(Some("Premium")), true),
        row("gcp-spelling", None, gcp(Some("premium")), false),
        row(
            "gcp-change-to-bad",
            Some(gcp(Some("Standard"))),
            gcp(Some("Gold")),
            false,
        ),
        row("gcp-remove", Some(gcp(Some("Standard"))), gcp(None), true),
    ]);
    rows
}

async fn policies(client: &Client) {
    for platform in ["AWS", "Azure", "GCP"] {
        for object in resources(&setting(platform, Topology::Single)).unwrap() {
            if object.key().kind.starts_with("ValidatingAdmissionPolicy") {
                apply(client, &object, PatchParams::apply("platforms")).await.unwrap();
            }
        }
    }
}

async fn write(services: &Api<Service>, name: &str, value: &Value) -> kube::Result<Service> {
    if services.get_opt(name).await?.is_some() {
        return services
            .patch(name, &PatchParams::default(), &Patch::Merge(value))
            .await;
    }
    let mut service = value.clone();
    service["metadata"]["name"] = name.into();
    if let Some(annotations) = service["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|_, value| !value.is_null());
    }
    services
        .create(&PostParams::default(), &serde_json::from_value(service).unwrap())
        .await
}

/// Policies take effect a moment after they were written: waits until each of them rejects a request.
async fn in_force(services: &Api<Service>) {
    let first = |prefix: &str| {
        rows()
            .into_iter()
            .find(|row| row.name.starts_with(prefix) && !row.allowed)
            .unwrap()
    };
    for prefix in ["aws", "azure", "gcp"] {
        let row = first(prefix);
        let name = format!("wait-for-{prefix}");
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let before = row.before.as_ref();
            if let Some(before) = before {
                let _ = write(services, &name, before).await;
            }
            if write(services, &name, &row.after).await.is_err() {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "the policy of {prefix} never came into force"
            );
            let _ = services.delete(&name, &kube::api::DeleteParams::default()).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_judge() {
    let plane = tokio::task::block_in_place(ControlPlane::start).unwrap();
    tokio::task::block_in_place(|| plane.start_controllers()).unwrap();
    let client = plane.client();
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let bad = rows().into_iter().find(|row| row.name == "azure-less").unwrap().after;
    write(&services, "from-before", &bad).await.unwrap();
    policies(&client).await;
    in_force(&services).await;

    let mut wrong = Vec::new();
    for Row {
        name,
        before,
        after,
        allowed,
    } in rows()
    {
        if let Some(before) = before {
            write(&services, name, &before).await.unwrap();
        }
        match (write(&services, name, &after).await, allowed) {
            (Ok(_), true) => {}
            (Err(kube::Error::Api(status)), false) if status.message.contains("the annotation") => {}
            (result, _) => wrong.push(format!("{name}: {result:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let unrelated = json!({"metadata": {"labels": {"touched": "yes"}}});
    write(&services, "from-before", &unrelated)
        .await
        .expect("what was there before may stay");
    node_managers_write_their_own_node(&client).await;
    type_check(&client).await;
}

/// The controller manager checks the types of each expression.
async fn type_check(client: &Client) {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let checked = |policy: Option<&ValidatingAdmissionPolicy>| {
        let status = policy.and_then(|policy| policy.status.as_ref());
        status.is_some_and(|status| status.observed_generation.is_some())
    };
    let names: Vec<_> = policies
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names.len(), 4);
    for name in names {
        let wait = await_condition(policies.clone(), &name, checked);
        let policy = tokio::time::timeout(Duration::from_mins(1), wait)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let warnings = policy
            .status
            .unwrap()
            .type_checking
            .and_then(|checking| checking.expression_warnings);
        assert_eq!(warnings.unwrap_or_default(), [], "{name}");
    }
}

/// `claim` is the node name in the token of a node manager.
async fn label(client: &Client, node: &str, user: &str, claim: Option<&str>) -> kube::Result<Value> {
    let mut request = http::Request::patch(format!("/api/v1/nodes/{node}"))
        .header("content-type", "application/merge-patch+json")
        .header("impersonate-user", user)
        .header("impersonate-group", "system:masters");
    if let Some(claim) = claim {
        request = request.header("impersonate-extra-authentication.kubernetes.io%2fnode-name", claim);
    }
    let stamp = lab::unique("stamp");
    let body = json!({"metadata": {"labels": {"stamp": stamp}}})
        .to_string()
        .into_bytes();
    client.request(request.body(body).unwrap()).await
}

async fn node_managers_write_their_own_node(client: &Client) {
    let nodes: Api<Node> = Api::all(client.clone());
    for node in ["node-a", "node-b"] {
        ensure(&nodes, &named(node)).await;
    }
    let manager = format!("system:serviceaccount:{NAMESPACE}:cloud-node-manager");
    let elsewhere = "system:serviceaccount:elsewhere:cloud-node-manager";
    let deadline = Instant::now() + Duration::from_mins(1);
    while label(client, "node-a", &manager, None).await.is_ok() {
        assert!(Instant::now() < deadline, "the policy of nodes never came into force");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (user, node, claim, refusal) in [
        (manager.as_str(), "node-a", Some("node-a"), None),
        (&manager, "node-b", Some("node-b"), None),
        (
            &manager,
            "node-b",
            Some("node-a"),
            Some("the node manager of node node-a may not change node node-b"),
        ),
        (&manager, "node-a", None, Some("does not say on which node it runs")),
        (elsewhere, "node-b", Some("node-a"), None),
        (elsewhere, "node-b", None, None),
        ("a-user", "node-a", None, None),
    ] {
        let result = label(client, node, user, claim).await;
        match (&result, refusal) {
            (Ok(_), None) => {}
            (Err(kube::Error::Api(status)), Some(part)) if status.message.contains(part) => {}
            _ => panic!("{user} of {claim:?} on {node}: {result:?}"),
        }
    }
}
