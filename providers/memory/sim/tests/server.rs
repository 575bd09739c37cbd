//! The JSON of the server, as programs in other languages use it.

use cloud::NodeRef;
use memory_sim::{Cloud, Failure, Fault, Operation, Server};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;

struct Fixture {
    cloud: Cloud,
    server: Server,
    client: reqwest::Client,
}

impl Fixture {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::new();
        Self {
            server: Server::start(&cloud).await.expect("a free port"),
            cloud,
            client: reqwest::Client::builder().no_proxy().build().expect("a client"),
        }
    }

    async fn send(&self, call: &str, body: &Value) -> reqwest::Response {
        let url = format!("{}/v1/{call}", self.server.url());
        self.client.post(url).json(body).send().await.expect("a response")
    }

    async fn call(&self, call: &str, body: &Value) -> Value {
        let response = self.send(call, body).await;
        assert_eq!(response.status(), 200, "{call}");
        response.json().await.expect("JSON")
    }
}

fn node(name: &str) -> Value {
    serde_json::to_value(NodeRef::named(name)).expect("JSON")
}

/// As the benchmark's program in Go sends it.
fn spec(hosts: &Value) -> Value {
    json!({
        "cluster": "k", "service": {"namespace": "default", "name": "web", "uid": "u-1"}, "annotations": {},
        "ports": [{"name": "", "protocol": "Tcp", "port": 80, "node_port": 30080}],
        "source_ranges": ["10.0.0.0/8"], "ranges_from": "Spec", "bad_ranges": [], "affinity": "None",
        "traffic": {"Local": {"health_check_port": 32000}}, "families": ["V4", "V6"], "external_ips": [],
        "hosts": hosts, "status": {"ingress": []},
    })
}

#[tokio::test]
async fn machines() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("a");
    let nodes = json!([[node("a"), node("b")], "Liveness"]);
    let found = json!({"Ok": {"Found": {
        "provider_id": "memory://i-00000001", "instance_type": null, "addresses": [], "zone": null, "region": null,
        "labels": {}, "power": "On",
    }}});
    assert_eq!(
        fixture.call("describe", &nodes).await,
        json!([found, {"Ok": "Missing"}])
    );

    fixture
        .cloud
        .inject(Fault::fail(Failure::Denied("no".into())).only("a"));
    let denied = json!({"Err": {"Denied": {"call": "describe", "source": "no"}}});
    assert_eq!(
        fixture.call("describe", &nodes).await,
        json!([denied, {"Ok": "Missing"}])
    );
}

#[tokio::test]
async fn a_load_balancer() {
    let fixture = Fixture::new().await;
    let host = json!({"name": "a", "provider_id": "memory://a", "addresses": [{"kind": "InternalIP", "address": "10.0.0.1"}], "labels": {}});
    let spec = spec(&json!([host]));
    assert_eq!(fixture.call("find_load_balancer", &spec).await, Value::Null);
    fixture
        .cloud
        .configure(|settings| settings.provisioning = Duration::from_mins(1));
    let pending = fixture.call("ensure_load_balancer", &spec).await;
    assert_eq!(pending["Pending"]["waiting_for"], "load balancer au1 is being created");
    assert!(
        pending["Pending"]["poll_after"]["secs"]
            .as_u64()
            .is_some_and(|seconds| seconds > 50)
    );
    fixture.call("delete_load_balancer", &spec).await;

    fixture
        .cloud
        .configure(|settings| settings.provisioning = Duration::ZERO);
    let ingress = |ip: &str| json!({"ip": ip, "hostname": null, "ip_mode": null, "ports": []});
    let status = json!({"ingress": [ingress("198.18.0.2"), ingress("2001:db8::2")]});
    assert_eq!(
        fixture.call("ensure_load_balancer", &spec).await,
        json!({"Done": status})
    );
    assert_eq!(fixture.call("find_load_balancer", &spec).await, status);
    let owned = json!([{"kind": "load balancer", "id": "lb-2", "name": "au1", "service": spec["service"]}]);
    assert_eq!(fixture.call("owned_load_balancers", &json!("k")).await, owned);

    let state: Value = serde_json::from_str(&get(&fixture, "/state").await).expect("JSON");
    assert_eq!(state["load_balancers"][0]["hosts"], json!(["a"]));
    assert_eq!(state["load_balancers"][0]["phase"], "ready");
    assert_eq!(fixture.call("delete_load_balancer", &spec).await, json!({"Done": null}));
}

async fn get(fixture: &Fixture, path: &str) -> String {
    let url = format!("{}{path}", fixture.server.url());
    let response = fixture.client.get(url).send().await.expect("a response");
    response.text().await.expect("a body")
}

#[tokio::test]
async fn routes() {
    let fixture = Fixture::new().await;
    let route = |node: &str| json!({"hint": "uid", "node": node, "addresses": [], "destination": "10.0.1.0/24"});
    let taken = json!({"call": "create-routes", "source": "10.0.1.0/24 already leads to node a"});
    assert_eq!(
        fixture
            .call("create_routes", &json!(["k", [route("a"), route("b")]]))
            .await,
        json!([{"Ok": null}, {"Err": {"Unavailable": taken}}])
    );
    let listed = fixture.call("list_routes", &json!("k")).await;
    let expected =
        json!([{"name": "k-a-10.0.1.0/24", "destination": "10.0.1.0/24", "target": {"Node": "a"}, "addresses": null}]);
    assert_eq!(listed, expected);
    assert_eq!(
        fixture.call("delete_routes", &json!(["k", listed])).await,
        json!([{"Ok": null}])
    );
}

#[tokio::test]
async fn a_call_that_fails_has_a_status() {
    let fixture = Fixture::new().await;
    let retry_after = Some(Duration::from_millis(1500));
    fixture.cloud.inject(Fault::fail(Failure::Throttled { retry_after }));
    let response = fixture.send("list_routes", &json!("k")).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"2".parse().expect("a header"))
    );
    let wait = json!({"secs": 1, "nanos": 500_000_000});
    let error = json!({"error": {"Throttled": {"call": "list-routes", "retry_after": wait}}});
    assert_eq!(response.json::<Value>().await.expect("JSON"), error);
    assert_eq!(fixture.cloud.count(Operation::ListRoutes), 1);
}

#[rstest]
#[case::missing_field("ensure_load_balancer", json!({"cluster": "k"}), 422, "missing field `service`")]
#[case::wrong_type("list_routes", json!(3), 422, "expected a string")]
#[case::unknown_call("dance", json!(null), 404, "")]
#[tokio::test]
async fn rejects(#[case] call: &str, #[case] body: Value, #[case] status: u16, #[case] reason: &str) {
    let fixture = Fixture::new().await;
    let response = fixture.send(call, &body).await;
    assert_eq!(response.status().as_u16(), status);
    let text = response.text().await.expect("a body");
    assert!(text.contains(reason), "{text}");
}
