//! The server as a program in another language meets it: the JSON of its documentation, byte by byte.

use memory::{Cloud, Server};
use rstest::rstest;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};

struct Api {
    server: Server,
    client: reqwest::Client,
}

impl Api {
    async fn start(cloud: &Cloud) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self {
            server: Server::start(cloud).await.expect("a free port"),
            client,
        }
    }

    /// `GET /path`, `POST /path`, …: the status and the body.
    async fn call(&self, line: &str, body: &Value) -> (u16, Value) {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let request = self.client.request(
            method.parse().expect("a method"),
            format!("{}{path}", self.server.url()),
        );
        let request = if body.is_null() { request } else { request.json(body) };
        let response = request.send().await.expect("an answer");
        let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn ok(&self, line: &str, body: Value) -> Value {
        let (status, answer) = self.call(line, &body).await;
        assert!(status < 300, "{line} answered {status}: {answer}");
        answer
    }
}

#[tokio::test]
async fn a_machine_comes_changes_and_goes() {
    let api = Api::start(&Cloud::new()).await;
    let made = api.ok("POST /control/instances", json!({"name": "a"})).await;
    assert_eq!(made[0]["providerID"], "memory://i-00000001");
    assert_eq!(made[0]["addresses"][0], json!({"type": "Hostname", "address": "a"}));
    let many = api
        .ok(
            "POST /control/instances",
            json!([{"name": "b", "zone": "", "addresses": []}, {"name": "c"}]),
        )
        .await;
    assert_eq!((many[0].get("zone"), many[0]["addresses"].clone()), (None, json!([])));

    let off = api
        .ok(
            "PATCH /control/instances/a",
            json!({"power": "off", "labels": {"colour": "red"}}),
        )
        .await;
    assert_eq!(
        (&off["power"], &off["labels"]["colour"], &off["zone"]),
        (&json!("off"), &json!("red"), &json!("memory-1a"))
    );
    let nodes = json!({"detail": "liveness", "nodes": [{"name": "a"}, {"name": "b", "providerID": "memory://nobody"}]});
    let answers = api.ok("POST /v1/describe", nodes).await;
    let found = json!({"status": "found", "instance": {"providerID": "memory://i-00000001", "power": "off"}});
    assert_eq!(answers, json!({"answers": [found, {"status": "missing"}]}));

    api.ok("PATCH /control/instances/b", json!({"readiness": "notYet"}))
        .await;
    let answers = api.ok("POST /v1/describe", json!({"nodes": [{"name": "b"}]})).await;
    assert_eq!(answers, json!({"answers": [{"status": "notYet"}]}));

    api.ok("DELETE /control/instances/a", Value::Null).await;
    let gone = json!({"error": {"kind": "notFound", "subject": "instance a"}});
    for line in ["DELETE /control/instances/a", "GET /control/instances/a"] {
        assert_eq!(api.call(line, &Value::Null).await, (404, gone.clone()));
    }
    assert_eq!(
        api.ok("GET /control/instances", Value::Null)
            .await
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[tokio::test]
async fn a_load_balancer_from_making_to_deleting() {
    let api = Api::start(&Cloud::new()).await;
    let service = json!({"namespace": "default", "name": "web", "uid": "u-1"});
    let spec = json!({"spec": {
        "cluster": "k", "service": service,
        "ports": [{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
        "sourceRanges": ["10.0.0.0/8"], "families": ["IPv4", "IPv6"], "affinitySeconds": 60, "traffic": "Local",
        "healthCheckPort": 32000, "hosts": [{"name": "b"}, {"name": "a", "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}],
    }});
    assert_eq!(
        api.ok("POST /v1/load-balancers/find", spec.clone()).await,
        json!({"status": "missing"})
    );
    api.ok("PATCH /control/settings", json!({"provisioningMs": 60000}))
        .await;
    let pending = api.ok("POST /v1/load-balancers/ensure", spec.clone()).await;
    assert_eq!(
        (&pending["status"], &pending["waitingFor"]),
        (&json!("pending"), &json!("load balancer au1 is being made"))
    );
    assert!(pending["pollAfterMs"].as_u64().is_some_and(|millis| millis > 50_000));
    api.ok("POST /v1/load-balancers/delete", spec.clone()).await;

    api.ok("PATCH /control/settings", json!({"provisioningMs": 0})).await;
    let ready = api.ok("POST /v1/load-balancers/ensure", spec.clone()).await;
    let ingress = json!([{"ip": "198.18.0.2"}, {"ip": "2001:db8::2"}]);
    assert_eq!(ready, json!({"status": "ready", "ingress": ingress}));
    let expected = json!([{
        "id": "lb-2", "name": "au1", "cluster": "k", "service": service, "ips": ["198.18.0.2", "2001:db8::2"],
        "ports": [{"protocol": "TCP", "port": 80, "nodePort": 30080}, {"protocol": "UDP", "port": 53}],
        "hosts": ["a", "b"], "sourceRanges": ["10.0.0.0/8"], "phase": "ready",
    }]);
    assert_eq!(api.ok("GET /control/load-balancers", Value::Null).await, expected);
    let owned = json!([{"kind": "load balancer", "id": "lb-2", "name": "au1", "service": service}]);
    assert_eq!(
        api.ok("POST /v1/load-balancers/owned", json!({"cluster": "k"})).await,
        json!({"owned": owned})
    );

    let hosts = json!({"spec": {"cluster": "k", "service": service, "hosts": [{"name": "c"}]}});
    api.ok("POST /v1/load-balancers/update-hosts", hosts).await;
    let calls = api.ok("GET /control/calls?operation=update-hosts", Value::Null).await;
    assert_eq!(calls["calls"][0]["changes"], json!(["-host a", "-host b", "+host c"]));
    assert_eq!(
        (&calls["calls"][0]["names"], &calls["calls"][0]["effect"]),
        (&json!(["c"]), &json!("changed"))
    );
    assert_eq!(calls["counts"]["ensure-load-balancer"], 2);
    assert_eq!(
        api.ok("POST /v1/load-balancers/delete", spec).await,
        json!({"status": "gone"})
    );
}

#[tokio::test]
async fn routes_of_all_kinds() {
    let api = Api::start(&Cloud::new()).await;
    api.ok("PATCH /control/settings", json!({"routeAddresses": true})).await;
    let address = json!([{"type": "InternalIP", "address": "10.9.0.1"}]);
    let new = json!({"cluster": "k", "routes": [
        {"node": "a", "destination": "10.0.1.0/24", "addresses": address, "hint": "uid"},
        {"node": "b", "destination": "10.0.1.0/24"},
    ]});
    let written = api.ok("POST /v1/routes/create", new).await;
    let taken =
        json!({"kind": "unavailable", "subject": "create-routes", "message": "10.0.1.0/24 already leads to node a"});
    assert_eq!(
        written,
        json!({"answers": [{"status": "ok"}, {"status": "error", "error": taken}]})
    );

    let hole = json!({"name": "hole", "destination": "10.0.2.0/24", "target": "blackhole"});
    api.ok("POST /control/routes", json!({"cluster": "k", "routes": [hole]}))
        .await;
    let route = json!({"name": "k-a-10.0.1.0/24", "destination": "10.0.1.0/24", "target": "node", "node": "a", "addresses": address});
    let listed = json!({"cluster": "k", "routes": [route, hole]});
    assert_eq!(api.ok("POST /v1/routes/list", json!({"cluster": "k"})).await, listed);
    assert_eq!(api.ok("GET /control/routes", Value::Null).await, json!([listed]));
    let ok = json!({"status": "ok"});
    assert_eq!(
        api.ok("POST /v1/routes/delete", listed).await,
        json!({"answers": [ok, ok]})
    );
    let state = api.ok("GET /control/state", Value::Null).await;
    assert_eq!(state, json!({"instances": [], "loadBalancers": [], "routes": []}));
}

#[rstest]
#[case::delay(json!({"delayMs": 5, "times": 2}))]
#[case::hang(json!({"hang": true, "operations": ["describe", "list-routes"]}))]
#[case::withhold(json!({"withhold": true, "times": 1}))]
#[case::not_found(json!({"fail": {"kind": "notFound"}, "subject": "default/web"}))]
#[case::invalid(json!({"fail": {"kind": "invalid", "subject": "x", "message": "no"}}))]
#[case::pending(json!({"fail": {"kind": "pending", "afterMs": 1}}))]
#[case::throttled(json!({"fail": {"kind": "throttled", "afterMs": 500}, "times": 1}))]
#[case::unavailable(json!({"fail": {"kind": "unavailable", "message": "no power"}}))]
#[case::denied(json!({"fail": {"kind": "denied", "message": "no"}}))]
#[case::quota(json!({"fail": {"kind": "quota", "message": "full"}}))]
#[case::not_supported(json!({"fail": {"kind": "notSupported"}}))]
#[case::elsewhere(json!({"fail": {"kind": "implementedElsewhere"}}))]
#[case::lost_answer(json!({"fail": {"kind": "lostAnswer"}}))]
#[case::after_steps(json!({"fail": {"kind": "afterSteps", "steps": 3}}))]
#[case::truncated(json!({"fail": {"kind": "truncated"}}))]
#[case::not_json(json!({"fail": {"kind": "notJson"}}))]
#[case::wrong_shape(json!({"fail": {"kind": "wrongShape"}}))]
#[case::empty(json!({"fail": {"kind": "empty"}}))]
#[case::blind(json!({"fail": {"kind": "blind"}}))]
#[tokio::test]
async fn a_fault_is_kept_as_it_was_told(#[case] fault: Value) {
    let api = Api::start(&Cloud::new()).await;
    assert_eq!(api.ok("POST /control/faults", fault.clone()).await, json!({"id": 0}));
    assert_eq!(
        api.ok("GET /control/faults", Value::Null).await,
        json!([{"id": 0, "fault": fault}])
    );
    api.ok("DELETE /control/faults/0", Value::Null).await;
    assert_eq!(api.ok("GET /control/faults", Value::Null).await, json!([]));
}

#[tokio::test]
async fn a_fault_fails_with_status_and_header() {
    let api = Api::start(&Cloud::new()).await;
    api.ok(
        "POST /control/faults",
        json!({"fail": {"kind": "throttled", "afterMs": 1500}, "times": 1}),
    )
    .await;
    let url = format!("{}/v1/routes/list", api.server.url());
    let response = api
        .client
        .post(url)
        .json(&json!({"cluster": "k"}))
        .send()
        .await
        .expect("an answer");
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "2");
    let error = json!({"error": {"kind": "throttled", "subject": "list-routes", "afterMs": 1500}});
    assert_eq!(response.json::<Value>().await.expect("JSON"), error);
    assert_eq!(api.ok("GET /control/counts", Value::Null).await["list-routes"], 1);
    api.ok("DELETE /control/calls", Value::Null).await;
    assert_eq!(api.ok("GET /control/counts", Value::Null).await["list-routes"], 0);
}

#[rstest]
#[case::unknown_field("POST /v1/describe", json!({"nodes": [], "depth": 3}), "unknown field `depth`")]
#[case::missing_field("POST /v1/load-balancers/find", json!({"spec": {"cluster": "k"}}), "missing field `service`")]
#[case::wrong_type("POST /v1/routes/list", json!({"cluster": 3}), "expected a string")]
#[case::no_name("POST /control/instances", json!({"zone": "a"}), "a machine needs one")]
#[case::unknown_machine_field("POST /control/instances", json!([{"name": "a", "size": 3}]), "unknown field `size`")]
#[case::unknown_fault("POST /control/faults", json!({"explode": true}), "unknown field `explode`")]
#[case::no_fault("POST /control/faults", json!({"times": 3}), "exactly one of delayMs, hang, withhold and fail")]
#[case::two_faults("POST /control/faults", json!({"hang": true, "delayMs": 1}), "exactly one of delayMs, hang, withhold and fail")]
#[case::unknown_operation("POST /control/faults", json!({"hang": true, "operations": ["dance"]}), "dance is no operation; there are describe,")]
#[case::unknown_kind("POST /control/faults", json!({"fail": {"kind": "sulk"}}), "unknown variant `sulk`")]
#[case::unknown_setting("PATCH /control/settings", json!({"colour": "red"}), "unknown field `colour`")]
#[tokio::test]
async fn what_makes_no_sense_is_refused_with_words(#[case] line: &str, #[case] body: Value, #[case] words: &str) {
    let api = Api::start(&Cloud::new()).await;
    let (status, answer) = api.call(line, &body).await;
    assert_eq!((status, &answer["error"]["kind"]), (422, &json!("invalid")), "{answer}");
    let message = answer["error"]["message"].as_str().expect("words");
    assert!(message.contains(words), "{message}");
}

#[tokio::test]
async fn a_renamed_machine_is_refused() {
    let api = Api::start(&Cloud::new()).await;
    api.ok("POST /control/instances", json!({"name": "a"})).await;
    assert_eq!(
        api.call("PATCH /control/instances/a", &json!({"name": "b"})).await.0,
        422
    );
    api.ok("PATCH /control/instances/a", json!({"name": "a", "power": "off"}))
        .await;
}

#[tokio::test]
async fn only_loopback_is_served() {
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let error = Server::bind(&Cloud::new(), everywhere).await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "0.0.0.0:0 is not on loopback, and the server does not authenticate clients"
    );
}

#[tokio::test]
async fn a_stopped_server_is_gone() {
    let api = Api::start(&Cloud::new()).await;
    let address = api.server.address();
    api.server.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
