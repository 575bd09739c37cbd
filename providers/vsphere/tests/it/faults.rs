//! What goes wrong with a vCenter: a node is never missing because of it.

use crate::fixture::{Lab, describe, found, refused};
use cloud::{Answer, Detail, NodeRef, Provider};
use lab::vsphere::{Fault, PASSWORD, USER};
use serde_json::json;
use std::{fs, time::Duration};

/// The configuration with another password.
fn with_password(lab: &Lab, password: &str) -> String {
    let (own, other) = (format!("password: {PASSWORD}"), format!("password: {password}"));
    lab.vcenter.cloud_config("").replace(&own, &other)
}

#[tokio::test]
async fn a_session_that_ended_is_replaced_by_one() {
    let lab = Lab::start().await;
    let nodes = [lab.machine("a").await, lab.machine("b").await];
    let provider = lab.provider();
    for _ in 0..3 {
        // Searches report that the session has ended; the property collector answers without properties.
        for detail in [Detail::Full, Detail::Liveness] {
            let answers = provider.instances().describe(&nodes, detail).await;
            assert!(
                answers.iter().all(|answer| matches!(answer, Ok(Answer::Found(_)))),
                "{answers:?}"
            );
        }
        assert_eq!(lab.vcenter.sessions().await.unwrap(), 1);
        lab.vcenter.expire().await.unwrap();
    }
    let unknown = NodeRef::named("x").with_provider_id("vsphere://42060000-8e4f-1b2c-8000-999999999999");
    assert_eq!(
        describe(&provider, &unknown, Detail::Liveness).await.unwrap(),
        Answer::Missing
    );
    assert_eq!(lab.vcenter.sessions().await.unwrap(), 1);
}

#[tokio::test]
async fn sessions_are_ended_with_the_process() {
    let lab = Lab::with_tags(&[["k8s-zone", "a", "/DC0"], ["k8s-region", "r", "/DC0"]]).await;
    let node = lab.machine("a").await;
    let provider = lab.provider_with(crate::fixture::LABELS);
    found(&provider, &node).await;
    assert_eq!(lab.vcenter.sessions().await.unwrap(), 2, "one for SOAP, one for tags");
    provider.live().unwrap().close().await;
    assert_eq!(lab.vcenter.sessions().await.unwrap(), 0);
}

#[tokio::test]
async fn calls_at_the_same_time_share_a_login() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    let calls = (0..20).map(|_| describe(&provider, &node, Detail::Liveness));
    for answer in futures::future::join_all(calls).await {
        assert!(matches!(answer, Ok(Answer::Found(_))), "{answer:?}");
    }
    assert_eq!(
        (lab.calls("Login").await, lab.vcenter.sessions().await.unwrap()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_wrong_password_is_sent_once() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let config = with_password(&lab, "wrong");
    let provider = lab.configured(&config);
    let calls = (0..20).map(|_| refused(&provider, &node, Detail::Liveness));
    for why in futures::future::join_all(calls).await {
        assert!(why.contains(&format!("vCenter 127.0.0.1 refuses {USER}")), "{why}");
        assert!(!why.contains("wrong"), "{why}");
    }
    assert_eq!(lab.calls("Login").await, 1);
}

#[tokio::test]
async fn a_rotated_password_is_used_without_a_restart() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    found(&provider, &node).await;
    lab.vcenter.set_password("rotated").await.unwrap();
    let config = with_password(&lab, "rotated");
    fs::write(lab.vcenter.dir().join("vsphere.yaml"), config).unwrap();
    provider
        .live()
        .unwrap()
        .reload(&cloud::LiveData::default())
        .await
        .unwrap();
    lab.vcenter.expire().await.unwrap();
    found(&provider, &node).await;
    assert_eq!(lab.vcenter.sessions().await.unwrap(), 1);
}

#[tokio::test]
async fn a_configuration_that_is_refused_changes_nothing() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    found(&provider, &node).await;
    let config = with_password(&lab, "wrong");
    fs::write(lab.vcenter.dir().join("vsphere.yaml"), config).unwrap();
    let refused = provider.live().unwrap().reload(&cloud::LiveData::default()).await;
    assert!(matches!(refused, Err(cloud::Error::Denied { .. })), "{refused:?}");
    found(&provider, &node).await;
    assert_eq!(lab.vcenter.sessions().await.unwrap(), 1);
}

#[tokio::test]
async fn a_vcenter_that_is_down_leaves_its_nodes_alone() {
    let mut lab = Lab::start().await;
    let node = lab.machine("a").await;
    let (known, new) = (lab.provider(), lab.provider());
    found(&known, &node).await;
    lab.vcenter.stop();
    for provider in [&known, &new] {
        for detail in [Detail::Full, Detail::Liveness] {
            let why = refused(provider, &node, detail).await;
            assert!(why.contains("cannot connect"), "{why}");
        }
    }
    // The simulator forgets its inventory, so the machine gets another ID.
    lab.vcenter.restart().unwrap();
    lab.machine("filler").await;
    lab.machine_with("a", json!({"UUID": "42060000-8e4f-1b2c-8000-000000000001"}))
        .await;
    assert_eq!(found(&known, &node).await.provider_id, node.provider_id);
}

#[tokio::test]
async fn one_of_two_vcenters_down_leaves_its_nodes_alone() {
    let (here, mut there) = (Lab::start().await, Lab::start().await);
    let node = here.machine("a").await;
    let other = there
        .machine_with("b", json!({"UUID": "42070000-8e4f-1b2c-8000-000000000001"}))
        .await;
    let port = there.vcenter.port();
    let more = format!(
        "  there: {{server: 127.0.0.1, port: {port}, user: {USER}, password: {PASSWORD}, insecureFlag: true}}\n"
    );
    let provider = here.provider_with(&more);
    for node in [&node, &other] {
        assert_eq!(found(&provider, node).await.provider_id, node.provider_id);
    }
    there.vcenter.stop();
    let nodes = [node.clone(), other.clone(), NodeRef::named("unknown")];
    for detail in [Detail::Full, Detail::Liveness] {
        let answers = provider.instances().describe(&nodes, detail).await;
        assert!(matches!(&answers[0], Ok(Answer::Found(_))), "{answers:?}");
        assert!(answers[1].is_err() && answers[2].is_err(), "{answers:?}");
    }
    let started = here.provider_with(&more);
    let warnings = started
        .live()
        .unwrap()
        .reload(&cloud::LiveData::default())
        .await
        .unwrap();
    assert!(warnings[0].contains("its nodes are left alone"), "{warnings:?}");
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_an_error() {
    let mut lab = Lab::start().await;
    let node = lab.machine("a").await;
    let trusting = |lab: &Lab| {
        let certificate = lab.vcenter.certificate();
        let trust = format!("caFile: {}", certificate.display());
        lab.configured(&lab.vcenter.cloud_config("").replace("insecureFlag: true", &trust))
    };
    let provider = trusting(&lab);
    found(&provider, &node).await;
    lab.vcenter.restart().unwrap();
    let why = refused(&provider, &node, Detail::Liveness).await;
    assert!(why.contains("no trusted TLS connection"), "{why}");
    let answer = describe(&trusting(&lab), &node, Detail::Liveness).await.unwrap();
    assert_eq!(
        answer,
        Answer::Missing,
        "the simulator was restarted without the machine"
    );
}

#[tokio::test]
async fn machines_that_are_not_ready_say_why() {
    let lab = Lab::start().await;
    let provider = lab.provider();
    for (name, differences, why) in [
        (
            "no-tools",
            json!({"NoTools": true, "Nics": []}),
            "VMware Tools report no host name (yet)",
        ),
        ("no-nics", json!({"Nics": []}), "VMware Tools report no address (yet)"),
        (
            "local",
            json!({"Nics": [{"Network": "a", "IPs": ["169.254.0.1"]}]}),
            "only addresses that no other machine can reach: 169.254.0.1",
        ),
    ] {
        let node = lab.machine_with(name, differences).await;
        let reported = refused(&provider, &node, Detail::Full).await;
        assert!(reported.contains(why) && reported.contains(name), "{reported}");
        assert!(matches!(
            describe(&provider, &node, Detail::Liveness).await,
            Ok(Answer::Found(_))
        ));
    }
}

#[tokio::test]
async fn an_inaccessible_machine_exists() {
    let lab = Lab::start().await;
    for state in ["disconnected", "orphaned", "inaccessible"] {
        let node = lab.machine_with(state, json!({"Connection": state})).await;
        let answer = describe(&lab.provider(), &node, Detail::Liveness).await.unwrap();
        assert!(matches!(answer, Answer::Found(_)), "{state}: {answer:?}");
    }
}

#[tokio::test]
async fn a_machine_that_moved_is_found_again() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    found(&provider, &node).await;
    lab.vcenter.delete("a").await.unwrap();
    let uuid = "42060000-8e4f-1b2c-8000-000000000001";
    lab.machine_with("a", json!({"UUID": uuid, "Datacenter": 1})).await;
    assert_eq!(found(&provider, &node).await.provider_id, node.provider_id);
    lab.vcenter.delete("a").await.unwrap();
    assert_eq!(
        describe(&provider, &node, Detail::Liveness).await.unwrap(),
        Answer::Missing
    );
}

#[tokio::test]
async fn a_uuid_of_several_machines_is_that_of_the_node() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let uuid = "42060000-8e4f-1b2c-8000-000000000001";
    lab.machine_with("clone", json!({"UUID": uuid})).await;
    lab.machine_with("template", json!({"UUID": uuid, "Template": true}))
        .await;
    let instance = found(&lab.provider(), &node).await;
    assert_eq!(instance.addresses[0].address, "a");
    let renamed = NodeRef {
        name: "renamed".to_owned(),
        ..node
    };
    let why = refused(&lab.provider(), &renamed, Detail::Full).await;
    assert!(
        why.contains("several virtual machines have it: virtual machine a, virtual machine clone;"),
        "{why}"
    );
    for name in ["a", "clone"] {
        lab.vcenter.delete(name).await.unwrap();
    }
    let why = refused(&lab.provider(), &renamed, Detail::Liveness).await;
    assert!(
        why.contains("only a template has it: virtual machine template"),
        "{why}"
    );
}

#[tokio::test]
async fn bad_answers_are_no_word_of_the_vcenter() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    for (fault, why) in [
        (Fault::Status(503), "503"),
        (Fault::Status(404), "404"),
        (Fault::Soap("HostCommunication"), "HostCommunication"),
        (Fault::Soap("NoPermission"), "NoPermission"),
        (Fault::Truncate, "truncated"),
        (Fault::Huge, "too large"),
    ] {
        for method in ["FindAllByUuid", "RetrievePropertiesEx"] {
            let provider = lab.provider();
            lab.vcenter.inject(method, fault, 10).await.unwrap();
            let reported = refused(&provider, &node, Detail::Liveness).await;
            assert!(reported.contains(why), "{method} {fault:?}: {reported}");
            lab.vcenter.reset().await.unwrap();
            found(&provider, &node).await;
        }
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_is_requested_again() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    lab.vcenter.inject("FindAllByUuid", Fault::Truncate, 1).await.unwrap();
    found(&provider, &node).await;
    assert_eq!(lab.calls("FindAllByUuid").await, 2);
}

#[tokio::test]
async fn a_slow_vcenter_is_waited_for() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    lab.vcenter.set_delay(Duration::from_secs(1)).await.unwrap();
    found(&lab.provider(), &node).await;
}

#[tokio::test]
async fn an_inventory_that_changes_between_pages_is_no_word_of_the_vcenter() {
    let lab = Lab::start().await;
    let mut nodes = Vec::new();
    for number in 0..110 {
        nodes.push(lab.machine(&format!("n{number}")).await);
    }
    let provider = lab.provider();
    let method = "ContinueRetrievePropertiesEx";
    lab.vcenter
        .inject(method, Fault::Soap("InvalidProperty"), 1)
        .await
        .unwrap();
    let answers = provider.instances().describe(&nodes, Detail::Liveness).await;
    assert!(answers.iter().all(Result::is_err));
    let answers = provider.instances().describe(&nodes, Detail::Liveness).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Found(_)))));
    assert_eq!(
        lab.calls(method).await,
        3,
        "one failed, then one for UUIDs and one for the machines"
    );
}
