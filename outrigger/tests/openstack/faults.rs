//! Every endpoint fails once, in every way and at every stage of a Service's life: it ends up right, and nothing is doubled,
//! left behind or deleted.

use crate::{
    rig::Manager,
    stage::{PASSWORD, Stage},
};
use kube::ResourceExt;
use openstack_sim::{Cloud, Fault, FaultId, OPERATIONS};
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeSet;
use tokio::sync::OnceCell;

/// So many that no single one has more than its share of bad luck.
const SERVICES: usize = 8;

/// What is called before there is anything to be disturbed, and what has no name.
const BEFORE: [&str; 3] = ["", "token_create", "version_list"];

/// To these, "not found" is an answer: a server that is gone takes its Node along, and what is gone need not be deleted.
const BELIEVED: [&str; 2] = ["server_get", "_delete"];

/// Asked only when two change a port at the same time.
const RACED: [&str; 1] = ["port_get"];

/// A row of bad luck, and where it has struck.
struct Curse {
    /// None in a life that goes well.
    fault: Option<Fault>,
    /// How the operations end that are spared.
    spared: &'static [&'static str],
    cast: Vec<(&'static str, FaultId)>,
}

impl Curse {
    fn new(fault: Option<Fault>, spared: &'static [&'static str]) -> Self {
        Self {
            fault,
            spared,
            cast: Vec::new(),
        }
    }

    fn spares(&self, name: &str) -> bool {
        self.spared.iter().any(|end| name.ends_with(end))
    }

    /// Makes the next call of every kind fail.
    fn cast(&mut self, stage: &Stage) {
        stage.cloud.withdraw_all();
        let Some(fault) = self.fault.clone() else { return };
        let operations: BTreeSet<_> = OPERATIONS.iter().map(|(.., name)| *name).collect();
        for operation in operations
            .into_iter()
            .filter(|name| !self.spares(name))
            .collect::<Vec<_>>()
        {
            let id = stage.cloud.inject(fault.clone().operation(operation).times(1));
            self.cast.push((operation, id));
        }
    }

    /// It has struck wherever it could: at all that is called in a life that goes well, but for what depends on who of
    /// several is quicker and was not called in this one.
    fn assert_struck(&self, stage: &Stage, called: &BTreeSet<&'static str>) {
        let struck = self.cast.iter().filter(|(_, id)| stage.cloud.struck(*id) > 0);
        let struck: BTreeSet<_> = struck.map(|(operation, _)| *operation).collect();
        let lived = stage.cloud.calls().into_iter().map(|call| call.operation);
        let lived: BTreeSet<_> = lived.collect();
        let missed: Vec<_> = called
            .iter()
            .filter(|name| !self.spares(name) && !struck.contains(*name))
            .filter(|name| lived.contains(*name) || !RACED.contains(name))
            .collect();
        assert!(missed.is_empty(), "{missed:?} never failed; {struck:?} did");
    }
}

/// What is called in a life without bad luck, and so has to fail in the others.
async fn called() -> &'static BTreeSet<&'static str> {
    static CALLED: OnceCell<BTreeSet<&'static str>> = OnceCell::const_new();
    CALLED
        .get_or_init(|| async {
            let stage = Stage::new().await;
            live(&stage, &mut Curse::new(None, &[])).await;
            let calls = stage.cloud.calls().into_iter().map(|call| call.operation);
            let calls: BTreeSet<_> = calls.filter(|name| !BEFORE.contains(name)).collect();
            assert!(calls.len() > 15, "only {calls:?} are called");
            calls
        })
        .await
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
#[case::conflict(Fault::status(409), &[])]
#[case::error(Fault::status(500), &[])]
#[case::unavailable(Fault::status(503), &[])]
#[case::truncated(Fault::truncate(), &[])]
#[case::lost(Fault::lose_answer(), &[])]
#[case::reset(Fault::reset(), &[])]
#[case::hanging(Fault::hang(), &[])]
#[tokio::test]
async fn at_every_call(#[case] fault: Fault, #[case] spared: &'static [&'static str]) {
    let called = called().await;
    let stage = Stage::new().await;
    let mut curse = Curse::new(Some(fault), spared);
    live(&stage, &mut curse).await;
    curse.assert_struck(&stage, called);
}

fn asked_for(cloud: &Cloud) -> usize {
    cloud
        .calls()
        .iter()
        .filter(|call| call.operation == "server_get")
        .count()
}

/// Nodes and Services come, change and go, each part under the curse.
async fn live(stage: &Stage, curse: &mut Curse) {
    let manager = start(stage).await;
    curse.cast(stage);
    let mut nodes = stage.nodes(&manager, 2).await;

    curse.cast(stage);
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(stage.create(stage.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        stage.served(&manager, name).await;
    }

    curse.cast(stage);
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

    curse.cast(stage);
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

    curse.cast(stage);
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
