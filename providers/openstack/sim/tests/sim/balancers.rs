//! Load balancers: time, failure, versions, providers, and other clients.

use crate::fixture::Fixture;
use openstack_sim::{Net, Provisioning, Service, Settings, Uuid};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;

const BALANCERS: &str = "/v2.0/lbaas/loadbalancers";
const LISTENERS: &str = "/v2.0/lbaas/listeners";

async fn slow() -> (Fixture, Net) {
    let fixture = Fixture::with(Settings {
        balancer_delay: Duration::from_mins(1),
        ..Settings::default()
    })
    .await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    (fixture, net)
}

async fn create(fixture: &Fixture, net: &Net, rest: Value) -> (u16, Value) {
    let mut body = json!({"name": "lb", "vip_subnet_id": net.subnet});
    for (name, value) in rest.as_object().unwrap() {
        body[name] = value.clone();
    }
    fixture
        .post(Service::Octavia, BALANCERS, json!({"loadbalancer": body}))
        .await
}

fn id(body: &Value) -> Uuid {
    Uuid::parse_str(body["loadbalancer"]["id"].as_str().unwrap()).unwrap()
}

async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

async fn status(fixture: &Fixture, id: Uuid) -> Value {
    let (status, body) = fixture.get(Service::Octavia, &format!("{BALANCERS}/{id}")).await;
    if status == 404 {
        json!("gone")
    } else {
        body["loadbalancer"]["provisioning_status"].clone()
    }
}

#[tokio::test]
async fn a_change_takes_its_time_and_nothing_else_goes_meanwhile() {
    let (fixture, net) = slow().await;
    let lb = id(&create(&fixture, &net, json!({})).await.1);
    let listener = json!({"listener": {"loadbalancer_id": lb, "protocol": "TCP", "protocol_port": 80}});
    assert_eq!(status(&fixture, lb).await, "PENDING_CREATE");
    assert_eq!(fixture.post(Service::Octavia, LISTENERS, listener.clone()).await.0, 409);
    later(60).await;
    assert_eq!(status(&fixture, lb).await, "ACTIVE");
    assert_eq!(fixture.post(Service::Octavia, LISTENERS, listener).await.0, 201);
    assert_eq!(status(&fixture, lb).await, "PENDING_UPDATE");
    let (code, body) = fixture
        .ask(
            "DELETE",
            Service::Octavia,
            &format!("{BALANCERS}/{lb}?cascade=true"),
            None,
        )
        .await;
    assert_eq!(
        (code, body["faultstring"].as_str().unwrap().contains("PENDING_UPDATE")),
        (409, true)
    );
    later(60).await;
    assert_eq!(
        fixture
            .ask("DELETE", Service::Octavia, &format!("{BALANCERS}/{lb}"), None)
            .await
            .0,
        400
    );
    assert_eq!(
        fixture
            .ask(
                "DELETE",
                Service::Octavia,
                &format!("{BALANCERS}/{lb}?cascade=true"),
                None
            )
            .await
            .0,
        204
    );
    assert_eq!(status(&fixture, lb).await, "PENDING_DELETE");
    later(60).await;
    assert_eq!(status(&fixture, lb).await, "gone");
    assert!(!fixture.cloud.ports().iter().any(|port| port.device_owner == "Octavia"));
}

#[tokio::test]
async fn a_refusal_can_be_awaited() {
    let fixture = Fixture::with(Settings {
        balancer_delay: Duration::from_millis(50),
        ..Settings::default()
    })
    .await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let lb = id(&create(&fixture, &net, json!({})).await.1);
    fixture
        .cloud
        .until(|cloud| {
            cloud
                .load_balancer(lb)
                .is_some_and(|lb| lb.provisioning == Provisioning::Active)
        })
        .await;
}

#[tokio::test]
async fn it_fails_as_often_as_configured() {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    fixture.cloud.configure(|settings| settings.balancer_failures = 1);
    let lb = id(&create(&fixture, &net, json!({})).await.1);
    assert_eq!(status(&fixture, lb).await, "ERROR");
    let change = json!({"loadbalancer": {"name": "x"}});
    assert_eq!(
        fixture
            .put(Service::Octavia, &format!("{BALANCERS}/{lb}"), change)
            .await
            .0,
        409
    );
    assert_eq!(
        fixture
            .ask("DELETE", Service::Octavia, &format!("{BALANCERS}/{lb}"), None)
            .await
            .0,
        204
    );
    assert_eq!(status(&fixture, lb).await, "gone");
    let lb = id(&create(&fixture, &net, json!({})).await.1);
    assert_eq!(status(&fixture, lb).await, "ACTIVE");
}

#[tokio::test]
async fn another_client_changes_it() {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let listener = json!({"protocol": "TCP", "protocol_port": 80, "default_pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}});
    let lb = fixture
        .cloud
        .create_load_balancer("theirs", &net, &json!({"tags": ["a"], "listeners": [listener]}))
        .unwrap();
    let seen = fixture.cloud.load_balancer(lb).unwrap();
    assert_eq!((seen.provisioning, seen.listeners.len()), (Provisioning::Active, 1));

    fixture.cloud.set_load_balancer_status(lb, Provisioning::PendingUpdate);
    assert_eq!(status(&fixture, lb).await, "PENDING_UPDATE");
    fixture.cloud.set_load_balancer_status(lb, Provisioning::Error);
    assert_eq!(status(&fixture, lb).await, "ERROR");
    fixture.cloud.set_load_balancer_tags(lb, &["b", "c"]);
    let (_, body) = fixture.get(Service::Octavia, &format!("{BALANCERS}?tags=b,c")).await;
    assert_eq!(body["loadbalancers"][0]["tags"], json!(["b", "c"]));

    fixture.cloud.delete_listener(seen.listeners[0].id);
    let seen = fixture.cloud.load_balancer(lb).unwrap();
    assert_eq!((seen.listeners.len(), seen.stray_pools.len()), (0, 1));
    fixture.cloud.delete_load_balancer(lb);
    assert_eq!(status(&fixture, lb).await, "gone");
    assert_eq!(fixture.cloud.load_balancers(), []);
}

#[rstest]
#[case::tags(4, json!({"tags": ["a"]}), "tags")]
#[case::flavors(5, json!({"flavor_id": "00000000-0000-0000-0000-000000000000"}), "flavor_id")]
#[case::zones(13, json!({"availability_zone": "z"}), "availability_zone")]
#[case::more_addresses(25, json!({"additional_vips": []}), "additional_vips")]
#[tokio::test]
async fn an_old_octavia_does_not_know_what_is_new(#[case] minor: u32, #[case] rest: Value, #[case] name: &str) {
    let fixture = Fixture::with(Settings {
        octavia_minor: minor,
        ..Settings::default()
    })
    .await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let (code, body) = create(&fixture, &net, rest).await;
    let message = format!("Unknown attribute for argument load_balancer.loadbalancer: {name}");
    assert_eq!((code, &body["faultstring"]), (400, &json!(message)));
    let (_, body) = create(&fixture, &net, json!({})).await;
    assert!(body["loadbalancer"].get(name).is_none());
    let (_, versions) = fixture.get(Service::Octavia, "/").await;
    let last = versions["versions"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["id"], &last["status"]),
        (&json!(format!("v2.{minor}")), &json!("CURRENT"))
    );
}

#[rstest]
#[case::http("HTTP", "HTTP", "SOURCE_IP_PORT", "TCP", 501)]
#[case::proxy("TCP", "PROXY", "SOURCE_IP_PORT", "TCP", 501)]
#[case::round_robin("TCP", "TCP", "ROUND_ROBIN", "TCP", 501)]
#[case::http_monitor("TCP", "TCP", "SOURCE_IP_PORT", "HTTP", 501)]
#[case::fine("TCP", "TCP", "SOURCE_IP_PORT", "TCP", 201)]
#[tokio::test]
async fn ovn_cannot_do_everything(
    #[case] listener: &str,
    #[case] pool: &str,
    #[case] algorithm: &str,
    #[case] monitor: &str,
    #[case] code: u16,
) {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let monitor = json!({"type": monitor, "delay": 5, "timeout": 3, "max_retries": 1});
    let pool = json!({"protocol": pool, "lb_algorithm": algorithm, "healthmonitor": monitor});
    let listeners = json!([{"protocol": listener, "protocol_port": 80, "default_pool": pool}]);
    assert_eq!(
        create(&fixture, &net, json!({"provider": "ovn", "listeners": listeners}))
            .await
            .0,
        code
    );
}

#[rstest]
#[case::balancer("load_balancer", json!({}), "Load Balancer")]
#[case::listener("listener", json!({"listeners": [{"protocol": "TCP", "protocol_port": 1}]}), "Listener")]
#[case::pool("pool", json!({"pools": [{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}]}), "Pool")]
#[tokio::test]
async fn a_quota_is_named(#[case] resource: &str, #[case] rest: Value, #[case] name: &str) {
    let fixture = Fixture::new().await;
    fixture.cloud.configure(|settings| {
        settings.quotas.insert(resource.to_owned(), 0);
    });
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let (code, body) = create(&fixture, &net, rest).await;
    assert_eq!(
        (code, &body["faultstring"]),
        (403, &json!(format!("Quota has been met for resources: {name}")))
    );
}

#[tokio::test]
async fn its_last_change_moves_with_every_change_of_its_children() {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let lb = fixture.cloud.create_load_balancer("lb", &net, &json!({})).unwrap();
    let updated = async || {
        fixture.get(Service::Octavia, &format!("{BALANCERS}/{lb}")).await.1["loadbalancer"]["updated_at"].clone()
    };
    let before = updated().await;
    later(5).await;
    let listener = json!({"listener": {"loadbalancer_id": lb, "protocol": "TCP", "protocol_port": 80}});
    assert_eq!(fixture.post(Service::Octavia, LISTENERS, listener).await.0, 201);
    assert_ne!(updated().await, before);
}
