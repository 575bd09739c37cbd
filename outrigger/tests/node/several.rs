//! Two clouds in one cluster, each with its nodes and its Services; and a third one that overlaps.

use crate::{
    cloud::OpenStack,
    fixture::{Fixture, IMAGE, condition, related},
    managers::{NAMESPACE, OBJECTS, deployment, labels, pods, works},
};
use openstack_sim::LoadBalancerView;
use serde_json::{Value, json};

const LABEL: &str = "example.com/cloud";
/// Nodes that are not machines, with the name of their cloud.
const EASTERN: &str = "lab-east";
const SOUTHERN: &str = "lab-south";

/// The operator is installed and manages nothing. In the end this is so again.
pub async fn story(fixture: &Fixture, cloud: &OpenStack) {
    fixture.label(json!({LABEL: "west"})).await;
    fixture.join(EASTERN, json!({LABEL: "east"})).await;
    fixture.join(SOUTHERN, json!({LABEL: "south"})).await;
    fixture.apply(&services());
    fixture.apply(&config(cloud));
    fixture.apply(&[west(), east()]);
    let [western, _] = both_run(fixture).await;
    both_know_their_nodes(fixture, cloud).await;
    both_serve(fixture, cloud).await;

    refused(fixture).await;
    fixture.assert_uninitialised(SOUTHERN).await;
    corrected(fixture).await;

    fixture.run("kubectl delete service east");
    removed(fixture, "east").await;
    unmoved(fixture, &western).await;
    fixture.apply(&[service("west-too", Some("example.com/west"))]);
    served(fixture, "west-too").await;
    assert_eq!(
        balancers(cloud),
        ["kube_service_lab_default_west", "kube_service_lab_default_west-too"]
    );
    fixture.initialised_node(EASTERN, "memory://").await;
    clear(fixture, cloud).await;
}

/// Their Pods, side by side on the machine.
async fn both_run(fixture: &Fixture) -> [Value; 2] {
    let west = fixture.pod(NAMESPACE, &labels("west"), IMAGE).await;
    let east = fixture.pod(NAMESPACE, &labels("east"), IMAGE).await;
    for name in ["west", "east"] {
        works(fixture, name).await;
    }
    for pod in [&west, &east] {
        assert_eq!(pod["spec"]["nodeName"], fixture.machine());
    }
    [west, east]
}

/// Each has initialized its own nodes and no others.
async fn both_know_their_nodes(fixture: &Fixture, cloud: &OpenStack) {
    fixture.initialised(&cloud.provider_id()).await;
    fixture.initialised_node(EASTERN, "memory://").await;
    fixture.assert_uninitialised(SOUTHERN).await;
}

/// Each serves the Services of its class, through its nodes, and Services without a class are not served.
async fn both_serve(fixture: &Fixture, cloud: &OpenStack) {
    let west = served(fixture, "west").await;
    let east = served(fixture, "east").await;
    let [balancer] = <[LoadBalancerView; 1]>::try_from(cloud.cloud.load_balancers()).unwrap();
    assert_eq!(balancer.name, "kube_service_lab_default_west");
    let floating = cloud
        .cloud
        .floating_ips()
        .into_iter()
        .map(|each| each.address.to_string());
    assert!(floating.into_iter().any(|address| address == west), "{west}");
    assert!(east.starts_with("198.18."), "{east}");
    let pools = balancer.listeners.iter().filter_map(|listener| listener.pool.as_ref());
    let members: Vec<_> = pools
        .flat_map(|pool| &pool.members)
        .map(|member| member.address)
        .collect();
    assert_eq!(members, [fixture.ip]);
    let nobodys = fixture.find(&service_path("nobodys")).await.unwrap();
    assert_eq!(nobodys["status"]["loadBalancer"], json!({}));
}

/// A manager whose nodes and Services overlap those of another is refused, with the conflict in its status.
async fn refused(fixture: &Fixture) {
    let scope = json!({"nodeSelector": {"matchLabels": {LABEL: "east"}}, "loadBalancerClasses": ["example.com/east"]});
    fixture.apply(&[manager(
        "south",
        json!({"provider": "memory", "securePort": 10278, "scope": scope}),
    )]);
    let look = async || {
        let object = fixture.find(&format!("{OBJECTS}/south")).await.unwrap();
        let (available, degraded) = (condition(&object, "Available"), condition(&object, "Degraded"));
        let is_refused = available.starts_with("False ScopeOverlap") && degraded.starts_with("True ScopeOverlap");
        if is_refused {
            Ok(degraded)
        } else {
            Err(format!("{available}; {degraded}"))
        }
    };
    let conditions = fixture.until("the refusal of south", look).await;
    for part in [
        "in conflict with CloudControllerManager \"east\"",
        "both may manage the same nodes; separate them with spec.scope.nodeSelector or spec.scope.providerIDSchemes of both",
        "both serve Services of the load balancer class example.com/east; give one of them other spec.scope.loadBalancerClasses",
    ] {
        assert!(conditions.contains(part), "{conditions}");
    }
    assert!(
        !conditions.contains("\"west\"") && !conditions.contains("port"),
        "{conditions}"
    );
    assert_eq!(fixture.find(&deployment("south")).await, None);
    for name in ["west", "east"] {
        works(fixture, name).await;
    }
}

/// With its own scope it runs, and manages the nodes that had no manager.
async fn corrected(fixture: &Fixture) {
    let scope =
        json!({"nodeSelector": {"matchLabels": {LABEL: "south"}}, "loadBalancerClasses": ["example.com/south"]});
    fixture
        .patch(&format!("{OBJECTS}/south"), json!({"spec": {"scope": scope}}))
        .await;
    fixture.pod(NAMESPACE, &labels("south"), IMAGE).await;
    works(fixture, "south").await;
    fixture.initialised_node(SOUTHERN, "memory://").await;
}

/// Deletes a manager; its Services are deleted already.
async fn removed(fixture: &Fixture, name: &str) {
    let object = works(fixture, name).await;
    fixture.run(&format!("kubectl delete ccm {name}"));
    for path in related(&object) {
        fixture.gone(&path).await;
    }
    fixture.gone(&pods(name)).await;
}

/// The Pod has not been replaced, and has not been restarted.
async fn unmoved(fixture: &Fixture, before: &Value) {
    let now = fixture.pod(NAMESPACE, &labels("west"), IMAGE).await;
    assert_eq!(now["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(now["status"]["containerStatuses"][0]["restartCount"], 0);
}

/// Services first: their load balancers are deleted with them.
async fn clear(fixture: &Fixture, cloud: &OpenStack) {
    fixture.run("kubectl delete service west west-too nobodys");
    assert_eq!(balancers(cloud), [""; 0]);
    for name in ["west", "south"] {
        removed(fixture, name).await;
    }
    fixture.run(&format!("kubectl delete node {EASTERN} {SOUTHERN}"));
}

fn balancers(cloud: &OpenStack) -> Vec<String> {
    let mut names: Vec<_> = cloud.cloud.load_balancers().into_iter().map(|each| each.name).collect();
    names.sort();
    names
}

/// Waits for a Service's address.
async fn served(fixture: &Fixture, name: &str) -> String {
    let look = async || {
        let service = fixture.find(&service_path(name)).await.unwrap();
        let ip = service["status"]["loadBalancer"]["ingress"][0]["ip"].as_str();
        ip.map(str::to_owned).ok_or_else(|| service["status"].to_string())
    };
    fixture.until(&format!("the address of Service {name}"), look).await
}

fn service_path(name: &str) -> String {
    format!("/api/v1/namespaces/default/services/{name}")
}

fn services() -> [Value; 3] {
    [
        service("west", Some("example.com/west")),
        service("east", Some("example.com/east")),
        service("nobodys", None),
    ]
}

fn service(name: &str, class: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": "LoadBalancer", "loadBalancerClass": class, "ports": [{"port": 80}]},
    })
}

fn west() -> Value {
    manager(
        "west",
        json!({
            "provider": "openstack", "clusterName": "lab",
            "cloudConfig": {"configMap": {"name": "west"}}, "credentials": {"secret": {"name": "west"}},
            "scope": {"nodeSelector": {"matchLabels": {LABEL: "west"}}, "providerIDSchemes": ["openstack"],
                      "loadBalancerClasses": ["example.com/west"]},
        }),
    )
}

fn east() -> Value {
    manager(
        "east",
        json!({
            "provider": "memory", "securePort": 10268,
            "scope": {"nodeSelector": {"matchLabels": {LABEL: "east"}}, "providerIDSchemes": ["memory"],
                      "loadBalancerClasses": ["example.com/east"]},
        }),
    )
}

fn manager(name: &str, mut spec: Value) -> Value {
    spec["replicas"] = json!(1);
    json!({"apiVersion": "outrigger.dev/v1alpha1", "kind": "CloudControllerManager", "metadata": {"name": name}, "spec": spec})
}

fn config(cloud: &OpenStack) -> [Value; 2] {
    let file = "[Global]\nuse-clouds=true\ncloud=openstack\n";
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "west", "namespace": NAMESPACE}, "data": {"cloud.conf": file}}),
        cloud.credentials(NAMESPACE, "west"),
    ]
}
