//! Every endpoint fails once, in every way and at every stage of a Service's life: it ends up right, and nothing is doubled,
//! left behind or deleted.

use crate::{
    rig::Manager,
    stage::{PASSWORD, Stage},
};
use kube::ResourceExt;
use openstack_sim::{Fault, FaultId, OPERATIONS};
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeSet;

/// So many that no single one has more than its share of bad luck.
const SERVICES: usize = 8;

/// What is called in a Service's life, and so has to fail.
const CALLED: [&str; 15] = [
    "floating_ip_create",
    "floating_ip_delete",
    "floating_ip_list",
    "loadbalancer_create",
    "loadbalancer_delete",
    "loadbalancer_get",
    "loadbalancer_listener_create",
    "loadbalancer_listener_delete",
    "loadbalancer_list",
    "port_list",
    "port_update",
    "security_group_create",
    "security_group_delete",
    "security_group_list",
    "server_list",
];

/// To these, "not found" is an answer: a server that is gone takes its Node along, and what is gone need not be deleted.
const BELIEVED: [&str; 2] = ["server_get", "_delete"];

/// A row of bad luck, and where it has struck.
struct Curse {
    fault: Fault,
    /// How the operations end that are spared.
    spared: &'static [&'static str],
    cast: Vec<(&'static str, FaultId)>,
}

impl Curse {
    /// Makes the next call of every kind fail.
    fn cast(&mut self, stage: &Stage) {
        stage.cloud.withdraw_all();
        let operations: BTreeSet<_> = OPERATIONS.iter().map(|(.., name)| *name).collect();
        let spared = |name: &str| self.spared.iter().any(|end| name.ends_with(end));
        for operation in operations.into_iter().filter(|name| !spared(name)) {
            let id = stage.cloud.inject(self.fault.clone().operation(operation).times(1));
            self.cast.push((operation, id));
        }
    }

    /// It has struck wherever it could.
    fn assert_struck(&self, stage: &Stage) {
        let struck = self.cast.iter().filter(|(_, id)| stage.cloud.struck(*id) > 0);
        let struck: BTreeSet<_> = struck.map(|(operation, _)| *operation).collect();
        let spared = |name: &str| self.spared.iter().any(|end| name.ends_with(end));
        let missed = CALLED.iter().filter(|name| !spared(name) && !struck.contains(*name));
        let missed: Vec<_> = missed.collect();
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

#[rstest]
#[case::unauthorized(Fault::status(401), &[])]
#[case::not_found(Fault::status(404), &BELIEVED)]
#[case::throttled(Fault::status(429).retry_after("1"), &[])]
#[case::error(Fault::status(500), &[])]
#[case::unavailable(Fault::status(503), &[])]
#[case::truncated(Fault::truncate(), &[])]
#[case::lost(Fault::lose_answer(), &[])]
#[case::reset(Fault::reset(), &[])]
#[case::hanging(Fault::hang(), &[])]
#[tokio::test]
async fn at_every_call(#[case] fault: Fault, #[case] spared: &'static [&'static str]) {
    let stage = Stage::new().await;
    let manager = start(&stage).await;
    let mut curse = Curse {
        fault,
        spared,
        cast: Vec::new(),
    };
    curse.cast(&stage);
    let mut nodes = stage.nodes(&manager, 2).await;

    curse.cast(&stage);
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(stage.create(stage.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        stage.served(&manager, name).await;
    }

    curse.cast(&stage);
    stage.set_ready(&nodes[0], "Unknown").await;
    nodes.push(stage.join("late").await.0);
    stage.initialised(&manager, &nodes[2]).await;
    stage.set_ready(&nodes[0], "True").await;
    for name in &names {
        stage.members_are(&manager, name, &nodes).await;
    }

    curse.cast(&stage);
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

    curse.cast(&stage);
    for name in &names {
        stage.delete_service(name).await;
    }
    for name in &names {
        stage.service_gone(&manager, name).await;
    }
    curse.assert_struck(&stage);
    stage.assert_clean();
    for node in &nodes {
        assert!(
            stage.rig().nodes().get_opt(node).await.unwrap().is_some(),
            "{node} was deleted"
        );
    }
}
