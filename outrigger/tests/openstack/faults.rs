//! Every call fails, at every stage of a Service's life, with the manager as a process: it ends up right, and nothing is doubled,
//! left behind or deleted. That every endpoint may fail in every way is shown by the provider's own tests.

use crate::{
    rig::Manager,
    stage::{PASSWORD, Stage},
};
use kube::ResourceExt;
use openstack_sim::{Cloud, Fault, FaultId, OPERATIONS};
use serde_json::json;
use std::collections::BTreeSet;

/// So many that no single one has more than its share of faults.
const SERVICES: usize = 8;

/// Called before there is anything to be disturbed, or without a name.
const BEFORE: [&str; 3] = ["", "token_create", "version_list"];

/// Called only when two change a port at the same time.
const RACED: [&str; 1] = ["port_get"];

/// The faults that take turns, from operation to operation and from stage to stage.
fn faults() -> [Fault; 9] {
    [
        Fault::status(401),
        Fault::status(429).retry_after("1"),
        Fault::status(409),
        Fault::status(500),
        Fault::status(503),
        Fault::truncate(),
        Fault::lose_answer(),
        Fault::reset(),
        Fault::hang(),
    ]
}

/// The faults of one life, and where they have struck.
#[derive(Default)]
struct Faults {
    stage: usize,
    injected: Vec<(&'static str, FaultId)>,
}

impl Faults {
    /// Makes the next call of every kind fail.
    fn inject(&mut self, stage: &Stage) {
        stage.cloud.withdraw_all();
        let (faults, operations) = (faults(), OPERATIONS.iter().map(|(.., name)| *name));
        let operations: BTreeSet<_> = operations.collect();
        for (number, operation) in operations.into_iter().enumerate() {
            let fault = faults[(number + self.stage) % faults.len()].clone();
            let id = stage.cloud.inject(fault.operation(operation).times(1));
            self.injected.push((operation, id));
        }
        self.stage += 1;
    }

    /// They have struck at all that was called, but for what depends on which of several is quicker.
    fn assert_struck(&self, stage: &Stage) {
        let struck = self.injected.iter().filter(|(_, id)| stage.cloud.struck(*id) > 0);
        let struck: BTreeSet<_> = struck.map(|(operation, _)| *operation).collect();
        let called = stage.cloud.calls().into_iter().map(|call| call.operation);
        let called: BTreeSet<_> = called.filter(|name| !BEFORE.contains(name)).collect();
        assert!(called.len() > 15, "only {called:?} are called");
        let missed: Vec<_> = called
            .difference(&struck)
            .filter(|name| !RACED.contains(name))
            .collect();
        assert!(missed.is_empty(), "{missed:?} never failed; {struck:?} did");
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

#[tokio::test]
async fn every_call_fails_at_every_stage() {
    let (stage, mut faults) = (Stage::new().await, Faults::default());
    live(&stage, &mut faults).await;
    faults.assert_struck(&stage);
}

fn asked_for(cloud: &Cloud) -> usize {
    cloud
        .calls()
        .iter()
        .filter(|call| call.operation == "server_get")
        .count()
}

/// Nodes and Services come, change and go, each part with faults of its own.
async fn live(stage: &Stage, faults: &mut Faults) {
    let manager = start(stage).await;
    faults.inject(stage);
    let mut nodes = stage.nodes(&manager, 2).await;

    faults.inject(stage);
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(stage.create(stage.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        stage.served(&manager, name).await;
    }

    faults.inject(stage);
    stage.set_ready(&nodes[0], "Unknown").await;
    // The node is not well again before its server was asked for.
    let before = asked_for(&stage.cloud);
    stage
        .cloud_until("the question for the server", &manager, |cloud| {
            asked_for(cloud) > before
        })
        .await;
    nodes.push(stage.join("late").await.0);
    stage.initialised(&manager, &nodes[2]).await;
    stage.set_ready(&nodes[0], "True").await;
    for name in &names {
        stage.members_are(&manager, name, &nodes).await;
    }

    faults.inject(stage);
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

    faults.inject(stage);
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
