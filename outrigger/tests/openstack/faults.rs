//! Every call fails, in every phase of a Service, with the manager as a process: the result is right, and nothing is doubled, left behind or
//! deleted. The tests of the provider show that every endpoint may fail in every way.

use crate::{
    fixture::{Fixture, PASSWORD},
    process_fixture::Manager,
};
use kube::ResourceExt;
use openstack_sim::{Cloud, Fault, FaultId, OPERATIONS};
use serde_json::json;
use std::collections::BTreeSet;

/// So many that each of them has only its share of faults.
const SERVICES: usize = 8;

/// Called before any fault is injected, or without a name.
const BEFORE: [&str; 3] = ["", "token_create", "version_list"];

/// Called only if a port is changed twice at the same time.
const RACED: [&str; 1] = ["port_get"];

/// The faults, in turn for each operation and each fixture.
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

/// The faults of one run, and which of them had an effect.
#[derive(Default)]
struct Faults {
    fixture: usize,
    injected: Vec<(&'static str, FaultId)>,
}

impl Faults {
    /// Lets the next call of every kind fail.
    fn inject(&mut self, fixture: &Fixture) {
        fixture.cloud.withdraw_all();
        let (faults, operations) = (faults(), OPERATIONS.iter().map(|(.., name)| *name));
        let operations: BTreeSet<_> = operations.collect();
        for (number, operation) in operations.into_iter().enumerate() {
            let fault = faults[(number + self.fixture) % faults.len()].clone();
            let id = fixture.cloud.inject(fault.operation(operation).times(1));
            self.injected.push((operation, id));
        }
        self.fixture += 1;
    }

    /// Every kind of call that was made has failed, except those that depend on a race.
    fn assert_struck(&self, fixture: &Fixture) {
        let struck = self.injected.iter().filter(|(_, id)| fixture.cloud.struck(*id) > 0);
        let struck: BTreeSet<_> = struck.map(|(operation, _)| *operation).collect();
        let called = fixture.cloud.calls().into_iter().map(|call| call.operation);
        let called: BTreeSet<_> = called.filter(|name| !BEFORE.contains(name)).collect();
        assert!(called.len() > 15, "only {called:?} are called");
        let missed: Vec<_> = called
            .difference(&struck)
            .filter(|name| !RACED.contains(name))
            .collect();
        assert!(missed.is_empty(), "{missed:?} never failed; {struck:?} did");
    }
}

async fn start(fixture: &Fixture) -> Manager {
    let balancing = fixture.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!(
        "{}{balancing}[Metadata]\nrequest-timeout=2s\n",
        fixture.global(PASSWORD)
    );
    let flags = [
        "--concurrent-service-syncs=8",
        "--node-deletion-grace-period=0s",
        "--node-deletion-max-fraction=1",
    ];
    fixture.start_with(fixture.manager_with(&config), &flags).await
}

#[tokio::test]
async fn every_call_fails_at_every_stage() {
    let (fixture, mut faults) = (Fixture::new().await, Faults::default());
    live(&fixture, &mut faults).await;
    faults.assert_struck(&fixture);
}

fn asked_for(cloud: &Cloud) -> usize {
    cloud
        .calls()
        .iter()
        .filter(|call| call.operation == "server_get")
        .count()
}

/// Nodes and Services are created, changed and deleted, each phase with faults of its own.
async fn live(fixture: &Fixture, faults: &mut Faults) {
    let manager = start(fixture).await;
    faults.inject(fixture);
    let mut nodes = fixture.nodes(&manager, 2).await;

    faults.inject(fixture);
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(fixture.create(fixture.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        fixture.served(&manager, name).await;
    }

    faults.inject(fixture);
    fixture.set_ready(&nodes[0], "Unknown").await;
    // The node is ready only after its server was read.
    let before = asked_for(&fixture.cloud);
    fixture
        .cloud_until("the question for the server", &manager, |cloud| {
            asked_for(cloud) > before
        })
        .await;
    nodes.push(fixture.join("late").await.0);
    fixture.initialised(&manager, &nodes[2]).await;
    fixture.set_ready(&nodes[0], "True").await;
    for name in &names {
        fixture.members_are(&manager, name, &nodes).await;
    }

    faults.inject(fixture);
    for name in &names {
        fixture
            .change(name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
            .await;
    }
    let moved = |name: &String| {
        let listeners = fixture.balancer(name).listeners;
        listeners.len() == 1 && listeners[0].port == 81 && fixture.members(name).len() == nodes.len()
    };
    fixture
        .cloud_until("the other port", &manager, |_| names.iter().all(moved))
        .await;
    assert_eq!(fixture.cloud.load_balancers().len(), SERVICES, "one was made twice");
    assert_eq!(fixture.cloud.floating_ips().len(), SERVICES, "one was made twice");

    faults.inject(fixture);
    for name in &names {
        fixture.delete_service(name).await;
    }
    for name in &names {
        fixture.service_gone(&manager, name).await;
    }
    fixture.assert_clean();
    for node in &nodes {
        assert!(
            fixture.base().nodes().get_opt(node).await.unwrap().is_some(),
            "{node} was deleted"
        );
    }
}
