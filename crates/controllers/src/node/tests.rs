//! The controller on a real API server, with a memory cloud.

mod faults;
mod follow;
mod initialize;
mod race;

use super::{
    plan::Plan,
    reconcile::Reconciler,
    write::{Outcome, Writer},
    *,
};
use crate::nodes::{
    self, Scope, addresses,
    conditions::{self, CLOUD_PROVIDER_INITIALIZED},
    fixture::{Fixture, gets_stuck, summary},
    labels, taints,
};
use cloud::{Answer, ProviderIds};
use k8s_openapi::api::core::v1::Node;
use kube::{
    api::{Patch, PatchParams},
    config::KubeConfigOptions,
};
use memory::{Failure, Fault, Machine, Operation};
use rstest::rstest;
use runtime::{
    health::Pulse,
    informer::{Change, Store},
};
use serde_json::json;
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use testkit::{node::machine, wait};
use tokio_util::sync::CancellationToken;

/// Without the waiting times of production.
fn options() -> Options {
    Options {
        patience: Duration::ZERO,
        poll: Duration::from_millis(50),
        ..Options::default()
    }
}

fn context(fixture: &Fixture, options: Options) -> Context {
    Context {
        client: fixture.client.clone(),
        nodes: fixture.informer.clone(),
        provider: fixture.provider.clone(),
        recorder: fixture.recorder(COMPONENT),
        queue: queue(None),
        metrics: Metrics::register(&prometheus::Registry::new()).unwrap(),
        sync_pulse: Pulse::default(),
        status_pulse: Pulse::default(),
        options,
    }
}

fn start(fixture: &mut Fixture, options: Options) {
    let ctx = context(fixture, options);
    fixture.start(|cancel| run(ctx, cancel));
}

/// Creates an instance from words (see [`testkit::node::machine`]) with the name of a Node.
fn boot(fixture: &Fixture, short: &str, words: &str) {
    let cloud::Instance {
        provider_id,
        instance_type,
        addresses,
        zone,
        region,
        labels,
        power,
    } = machine(words);
    let name = fixture.name(short);
    let known = Machine::named(name);
    fixture.cloud.create_machine(Machine {
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
        found_by: "name",
        labels: Labels::Follow,
        before: None,
    }
}
