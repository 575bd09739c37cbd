//! What can go wrong does.

use crate::fixture::Fixture;
use openstack_sim::{Fault, Service};
use rstest::rstest;
use serde_json::json;
use std::time::{Duration, Instant};

#[rstest]
#[case::nova(Service::Nova, "/v2.1/servers", 503, "serviceUnavailable")]
#[case::nova_limit(Service::Nova, "/v2.1/servers", 429, "overLimit")]
#[case::neutron(Service::Neutron, "/v2.0/ports", 500, "NeutronError")]
#[case::octavia(Service::Octavia, "/v2.0/lbaas/loadbalancers", 409, "faultstring")]
#[case::unauthorized(Service::Octavia, "/v2.0/lbaas/loadbalancers", 401, "error")]
#[tokio::test]
async fn a_status_has_the_body_of_its_service(
    #[case] service: Service,
    #[case] path: &str,
    #[case] status: u16,
    #[case] key: &str,
) {
    let fixture = Fixture::new().await;
    fixture
        .cloud
        .inject(Fault::status(status).retry_after("7").service(service).times(1));
    let answer = fixture.send("GET", service, path, None).await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "7");
    assert_eq!(answer.status().as_u16(), status);
    assert!(answer.json::<serde_json::Value>().await.unwrap().get(key).is_some());
    assert_eq!(fixture.get(service, path).await.0, 200);
}

#[tokio::test]
async fn a_reset_prevents_the_change_and_a_lost_answer_does_not() {
    let fixture = Fixture::new().await;
    let body = json!({"security_group": {"name": "g"}});
    let groups = |fixture: &Fixture| {
        fixture
            .cloud
            .security_groups()
            .into_iter()
            .filter(|group| group.name == "g")
            .count()
    };
    fixture
        .cloud
        .inject(Fault::reset().operation("security_group_create").times(1));
    fixture
        .cloud
        .inject(Fault::lose_answer().operation("security_group_create").skip(0).times(2));
    assert!(
        fixture
            .send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body))
            .await
            .is_err()
    );
    assert_eq!(groups(&fixture), 0);
    assert!(
        fixture
            .send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body))
            .await
            .is_err()
    );
    assert_eq!(groups(&fixture), 1);
    let calls = fixture.cloud.calls();
    assert!(
        calls
            .iter()
            .rev()
            .take(2)
            .all(|call| call.status.is_none() && call.took.is_some())
    );
}

#[tokio::test]
async fn a_withheld_answer_is_executed_and_sent_later() {
    let fixture = Fixture::new().await;
    let body = json!({"security_group": {"name": "g"}});
    let fault = fixture
        .cloud
        .inject(Fault::withhold_answer().operation("security_group_create"));
    let send = fixture.send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body));
    let free = async {
        fixture.cloud.until(|cloud| cloud.struck(fault) == 1).await;
        let is_there = |cloud: &openstack_sim::Cloud| cloud.security_groups().iter().any(|group| group.name == "g");
        fixture.cloud.until(is_there).await;
        assert!(fixture.cloud.calls().last().unwrap().status.is_none());
        fixture.cloud.withdraw(fault);
    };
    let (answer, ()) = tokio::join!(send, free);
    assert_eq!(answer.unwrap().status().as_u16(), 201);
    assert_eq!(fixture.cloud.struck(fault), 1);
}

#[rstest]
#[case::truncated(Fault::truncate())]
#[case::garbage(Fault::replace_body("{\"extensions\": ["))]
#[tokio::test]
async fn a_body_can_be_unreadable(#[case] fault: Fault) {
    let fixture = Fixture::new().await;
    fixture.cloud.inject(fault.path("/network/*/extensions"));
    let answer = fixture
        .send("GET", Service::Neutron, "/v2.0/extensions", None)
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.json::<serde_json::Value>().await.is_err());
    assert!(
        fixture
            .cloud
            .calls()
            .iter()
            .any(|call| call.operation == "network_extension_list" && call.status == Some(200))
    );
}

#[tokio::test]
async fn a_slow_body_is_complete() {
    let fixture = Fixture::new().await;
    fixture
        .cloud
        .inject(Fault::slow_body(Duration::from_millis(5)).operation("network_extension_list"));
    let began = Instant::now();
    let (status, body) = fixture.get(Service::Neutron, "/v2.0/extensions").await;
    assert_eq!(
        (status, body["extensions"].as_array().is_some_and(|all| all.len() > 50)),
        (200, true)
    );
    assert!(began.elapsed() >= Duration::from_millis(45));
}

#[tokio::test]
async fn a_hang_lasts_until_it_is_withdrawn() {
    let fixture = Fixture::new().await;
    let fault = fixture.cloud.inject(Fault::hang().operation("server_list"));
    let asked = fixture.get(Service::Nova, "/v2.1/servers");
    let free = async {
        fixture.cloud.until(|cloud| cloud.count("server_list") == 1).await;
        fixture.cloud.withdraw(fault);
    };
    let ((status, _), ()) = tokio::join!(asked, free);
    assert_eq!(status, 200);
}

#[tokio::test]
async fn latency_is_that_of_every_call() {
    let fixture = Fixture::new().await;
    fixture.cloud.set_latency(Duration::from_millis(30));
    let mark = fixture.cloud.mark();
    fixture.get(Service::Nova, "/v2.1/servers").await;
    let calls = fixture.cloud.calls_since(mark);
    assert_eq!(calls.len(), 1);
    assert!(calls[0].took.unwrap() >= Duration::from_millis(30));
    assert_eq!(
        (calls[0].user.as_deref(), calls[0].operation, calls[0].status),
        (Some("demo"), "server_list", Some(200))
    );
}

#[tokio::test]
async fn unknown_requests_are_refused_and_counted() {
    let fixture = Fixture::new().await;
    let (status, body) = fixture.get(Service::Neutron, "/v2.0/qos/policies").await;
    assert_eq!(
        (status, &body["openstack_sim"]["unknown"]),
        (501, &json!("GET network/v2.0/qos/policies"))
    );
    assert_eq!(fixture.cloud.unknown(), ["GET network/v2.0/qos/policies"]);
}
