//! Every endpoint fails once, in every way and at every stage of a Service's life: it ends up right, and nothing is doubled,
//! left behind or deleted.

use crate::{
    rig::Manager,
    stage::{PASSWORD, Stage},
};
use kube::ResourceExt;
use openstack_sim::{Fault, OPERATIONS};
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeSet;

/// So many that no single one has more than its share of bad luck.
const SERVICES: usize = 8;

/// Makes the next call of every kind fail.
fn curse(stage: &Stage, fault: &Fault) {
    stage.cloud.withdraw_all();
    let operations: BTreeSet<_> = OPERATIONS.iter().map(|(.., name)| *name).collect();
    for operation in operations {
        stage.cloud.inject(fault.clone().operation(operation).times(1));
    }
}

async fn start(stage: &Stage) -> Manager {
    let balancing = stage.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!("{}{balancing}[Metadata]\nrequest-timeout=2s\n", stage.global(PASSWORD));
    let flags = [
        "--concurrent-service-syncs=8",
        "--node-deletion-grace-period=0s",
        "--node-deletion-max-fraction=1",
    ];
    stage.start_with(stage.manager_with(&config), &flags).await
}

#[rstest]
#[case::unauthorized(Fault::status(401))]
#[case::throttled(Fault::status(429).retry_after("1"))]
#[case::error(Fault::status(500))]
#[case::unavailable(Fault::status(503))]
#[case::truncated(Fault::truncate())]
#[case::lost(Fault::lose_answer())]
#[case::reset(Fault::reset())]
#[case::hanging(Fault::hang())]
#[tokio::test]
async fn at_every_call(#[case] fault: Fault) {
    let stage = Stage::new().await;
    let manager = start(&stage).await;
    curse(&stage, &fault);
    let mut nodes = stage.nodes(&manager, 2).await;

    curse(&stage, &fault);
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(stage.create(stage.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        stage.served(&manager, name).await;
    }

    curse(&stage, &fault);
    stage.set_ready(&nodes[0], "Unknown").await;
    nodes.push(stage.join("late").await.0);
    stage.initialised(&manager, &nodes[2]).await;
    stage.set_ready(&nodes[0], "True").await;
    for name in &names {
        stage.members_are(&manager, name, &nodes).await;
    }

    curse(&stage, &fault);
    for name in &names {
        stage
            .change(name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
            .await;
    }
    let moved = |name: &String| {
        let listeners = stage.balancer(name).listeners;
        listeners.len() == 1 && listeners[0].port == 81 && stage.members(name).len() == nodes.len()
    };
    stage
        .cloud_until("the other port", &manager, |_| names.iter().all(moved))
        .await;
    assert_eq!(stage.cloud.load_balancers().len(), SERVICES, "one was made twice");
    assert_eq!(stage.cloud.floating_ips().len(), SERVICES, "one was made twice");

    curse(&stage, &fault);
    for name in &names {
        stage.delete_service(name).await;
    }
    for name in &names {
        stage.service_gone(&manager, name).await;
    }
    stage.assert_clean();
    for node in &nodes {
        assert!(
            stage.rig().nodes().get_opt(node).await.unwrap().is_some(),
            "{node} was deleted"
        );
    }
}
