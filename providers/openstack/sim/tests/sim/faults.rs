//! What can go wrong does.

use crate::client::Rig;
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
    let rig = Rig::new().await;
    rig.cloud
        .inject(Fault::status(status).retry_after("7").service(service).times(1));
    let answer = rig.send("GET", service, path, None).await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "7");
    assert_eq!(answer.status().as_u16(), status);
    assert!(answer.json::<serde_json::Value>().await.unwrap().get(key).is_some());
    assert_eq!(rig.get(service, path).await.0, 200);
}

#[tokio::test]
async fn a_reset_does_nothing_and_a_lost_answer_does_it() {
    let rig = Rig::new().await;
    let body = json!({"security_group": {"name": "g"}});
    let groups = |rig: &Rig| {
        rig.cloud
            .security_groups()
            .into_iter()
            .filter(|group| group.name == "g")
            .count()
    };
    rig.cloud
        .inject(Fault::reset().operation("security_group_create").times(1));
    rig.cloud
        .inject(Fault::lose_answer().operation("security_group_create").skip(0).times(2));
    assert!(
        rig.send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body))
            .await
            .is_err()
    );
    assert_eq!(groups(&rig), 0);
    assert!(
        rig.send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body))
            .await
            .is_err()
    );
    assert_eq!(groups(&rig), 1);
    let calls = rig.cloud.calls();
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
    let rig = Rig::new().await;
    let body = json!({"security_group": {"name": "g"}});
    let fault = rig
        .cloud
        .inject(Fault::withhold_answer().operation("security_group_create"));
    let send = rig.send("POST", Service::Neutron, "/v2.0/security-groups", Some(&body));
    let free = async {
        rig.cloud.until(|cloud| cloud.struck(fault) == 1).await;
        let is_there = |cloud: &openstack_sim::Cloud| cloud.security_groups().iter().any(|group| group.name == "g");
        rig.cloud.until(is_there).await;
        assert!(rig.cloud.calls().last().unwrap().status.is_none());
        rig.cloud.withdraw(fault);
    };
    let (answer, ()) = tokio::join!(send, free);
    assert_eq!(answer.unwrap().status().as_u16(), 201);
    assert_eq!(rig.cloud.struck(fault), 1);
}

#[rstest]
#[case::truncated(Fault::truncate())]
#[case::garbage(Fault::replace_body("{\"extensions\": ["))]
#[tokio::test]
async fn a_body_can_be_unreadable(#[case] fault: Fault) {
    let rig = Rig::new().await;
    rig.cloud.inject(fault.path("/network/*/extensions"));
    let answer = rig
        .send("GET", Service::Neutron, "/v2.0/extensions", None)
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.json::<serde_json::Value>().await.is_err());
    assert!(
        rig.cloud
            .calls()
            .iter()
            .any(|call| call.operation == "network_extension_list" && call.status == Some(200))
    );
}

#[tokio::test]
async fn a_slow_body_is_complete() {
    let rig = Rig::new().await;
    rig.cloud
        .inject(Fault::slow_body(Duration::from_millis(5)).operation("network_extension_list"));
    let began = Instant::now();
    let (status, body) = rig.get(Service::Neutron, "/v2.0/extensions").await;
    assert_eq!(
        (status, body["extensions"].as_array().is_some_and(|all| all.len() > 50)),
        (200, true)
    );
    assert!(began.elapsed() >= Duration::from_millis(45));
}

#[tokio::test]
async fn what_hangs_hangs_until_it_is_withdrawn() {
    let rig = Rig::new().await;
    let fault = rig.cloud.inject(Fault::hang().operation("server_list"));
    let asked = rig.get(Service::Nova, "/v2.1/servers");
    let free = async {
        rig.cloud.until(|cloud| cloud.count("server_list") == 1).await;
        rig.cloud.withdraw(fault);
    };
    let ((status, _), ()) = tokio::join!(asked, free);
    assert_eq!(status, 200);
}

#[tokio::test]
async fn latency_is_that_of_every_call() {
    let rig = Rig::new().await;
    rig.cloud.set_latency(Duration::from_millis(30));
    let mark = rig.cloud.mark();
    rig.get(Service::Nova, "/v2.1/servers").await;
    let calls = rig.cloud.calls_since(mark);
    assert_eq!(calls.len(), 1);
    assert!(calls[0].took.unwrap() >= Duration::from_millis(30));
    assert_eq!(
        (calls[0].user.as_deref(), calls[0].operation, calls[0].status),
        (Some("demo"), "server_list", Some(200))
    );
}

#[tokio::test]
async fn what_it_does_not_know_it_refuses_and_counts() {
    let rig = Rig::new().await;
    let (status, body) = rig.get(Service::Neutron, "/v2.0/qos/policies").await;
    assert_eq!(
        (status, &body["openstack_sim"]["unknown"]),
        (501, &json!("GET network/v2.0/qos/policies"))
    );
    assert_eq!(rig.cloud.unknown(), ["GET network/v2.0/qos/policies"]);
}
