//! The controller on a real API server, with a memory cloud.

mod follow;
mod initialize;
mod race;
mod trouble;

use super::{plan::Plan, write::Outcome, *};
use crate::nodes::{
    self, addresses,
    conditions::{self, CLOUD_PROVIDER_INITIALIZED},
    labels,
    rig::{Rig, gets_stuck, look},
    taints,
};
use cloud::{AddressKind, Answer, ProviderIds};
use kube::{
    api::{Patch, PatchParams},
    config::KubeConfigOptions,
};
use memory::{Failure, Fault, Machine, Operation};
use rstest::rstest;
use runtime::informer::{Change, Store};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::{node::machine, wait};

/// Nothing waits longer than a test likes to.
fn options() -> Options {
    Options {
        patience: Duration::ZERO,
        poll: Duration::from_millis(50),
        ..Options::default()
    }
}

fn context(rig: &Rig, options: Options) -> Context {
    Context {
        client: rig.client.clone(),
        nodes: rig.informer.clone(),
        provider: rig.provider.clone(),
        recorder: rig.recorder(COMPONENT),
        queue: queue(None),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        sync_pulse: Pulse::default(),
        status_pulse: Pulse::default(),
        options,
    }
}

fn start(rig: &mut Rig, options: Options) {
    let ctx = context(rig, options);
    rig.start(|cancel| run(ctx, cancel));
}

/// The machine of these words (see [`testkit::node::machine`]) under the name of a Node.
fn boot(rig: &Rig, short: &str, words: &str) {
    let cloud::Instance {
        provider_id,
        instance_type,
        addresses,
        zone,
        region,
        labels,
        power,
    } = machine(words);
    let name = rig.name(short);
    let known = Machine::named(name);
    rig.cloud.create_machine(Machine {
        provider_id,
        instance_type,
        zone,
        region,
        addresses,
        labels,
        power,
        ..known
    });
}

fn found(words: &str) -> Answer {
    Answer::Found(Box::new(machine(words)))
}

fn rules() -> plan::Rules<'static> {
    plan::Rules {
        provider_ids: ProviderIds::Given,
        labels: Labels::Follow,
        before: None,
    }
}
