//! The progress of a migration: which program holds each lease, the step of the plan, Nodes and Services. Pure: [`Watcher`] compares
//! one snapshot with those before.

use crate::{
    Snapshot,
    check::{addresses, is_balanced, is_uninitialized, key},
    plan::{self, To},
    table,
};
use k8s_openapi::api::{
    coordination::v1::{Lease, LeaseSpec},
    core::v1::Service,
};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// The locks of both controller managers, and the one that they share.
const LEASES: [&str; 3] = [
    "kube-controller-manager",
    "cloud-controller-manager",
    "cloud-provider-extraction-migration",
];
const MIGRATION: &str = LEASES[2];
/// The default of `--leader-elect-lease-duration`.
const LEASE_DURATION: i32 = 15;

/// What a user looks at during a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The step of the plan that the cluster is in.
    pub step: String,
    /// Whether all steps are done, and nothing is stuck.
    pub progress: Progress,
    /// The holders of the leases, by lease.
    pub leases: BTreeMap<&'static str, String>,
    /// The Nodes that wait for a manager.
    pub nodes: String,
    /// The Services that wait for a load balancer, and the addresses of the others.
    pub services: BTreeMap<String, String>,
    /// What is stuck, and what cannot be read.
    pub problems: Vec<String>,
}

/// Whether a migration is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Progress {
    /// A step is open, or the state is not known.
    Open,
    /// All steps are done.
    Complete,
}

/// Remembers when each lease was renewed last, by the clock of this process: the clocks of the holders may be wrong.
#[derive(Debug, Clone, Default)]
pub struct Watcher {
    renewals: BTreeMap<&'static str, (Option<String>, Duration)>,
}

impl Watcher {
    /// The state in this snapshot, which was read at this time since the watch began.
    pub fn look(&mut self, snapshot: &Snapshot, to: To, elapsed: Duration) -> View {
        let mut problems: Vec<String> = snapshot
            .unread
            .iter()
            .map(|unread| format!("{} could not be read: {}", unread.what, unread.reason))
            .collect();
        let leases = LEASES
            .into_iter()
            .filter_map(|name| Some((name, snapshot.lease(name)?)));
        let mut holders = BTreeMap::new();
        for (name, lease) in leases.collect::<Vec<_>>() {
            holders.insert(name, holder(snapshot, name, lease));
            problems.extend(self.stuck(name, lease, elapsed));
        }
        let (step, progress) = step(snapshot, to);
        let waiting = waiting(snapshot);
        let progress = if waiting.is_empty() && problems.is_empty() {
            progress
        } else {
            Progress::Open
        };
        View {
            step,
            progress,
            leases: holders,
            nodes: nodes(snapshot, &waiting),
            services: services(snapshot),
            problems,
        }
    }

    /// A lease that is held and not renewed: its holder is paused, or cannot reach the API server.
    fn stuck(&mut self, name: &'static str, lease: &Lease, elapsed: Duration) -> Option<String> {
        let empty = LeaseSpec::default();
        let spec = lease.spec.as_ref().unwrap_or(&empty);
        let renewed = spec.renew_time.as_ref().map(|time| time.0.to_string());
        let (last, since) = self.renewals.entry(name).or_insert_with(|| (renewed.clone(), elapsed));
        if *last != renewed {
            (*last, *since) = (renewed, elapsed);
        }
        let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
        let duration = u64::try_from(spec.lease_duration_seconds.unwrap_or(LEASE_DURATION)).unwrap_or_default();
        let quiet = elapsed.saturating_sub(*since);
        (quiet > Duration::from_secs(duration)).then(|| {
            format!("Lease {name} is held by {holder}, and has not been renewed for longer than {duration} s: no program runs its controllers")
        })
    }
}

impl View {
    /// The lines of the view, each with what it is about: a line that changes replaces the one before.
    #[must_use]
    pub fn lines(&self) -> BTreeMap<String, String> {
        let Self {
            step,
            progress: _,
            leases,
            nodes,
            services,
            problems,
        } = self;
        let leases = leases
            .iter()
            .map(|(name, holder)| (format!("lease {name}"), holder.clone()));
        let services = services
            .iter()
            .map(|(key, state)| (format!("service {key}"), state.clone()));
        let problems = problems
            .iter()
            .map(|problem| (format!("problem {problem}"), String::new()));
        let rest = [("nodes".to_owned(), nodes.clone()), ("step".to_owned(), step.clone())];
        rest.into_iter().chain(leases).chain(services).chain(problems).collect()
    }

    /// What is different from the view before: `name: text`, and what is not true any more.
    #[must_use]
    pub fn changes(&self, before: Option<&Self>) -> Vec<String> {
        let old = before.map(Self::lines).unwrap_or_default();
        let new = self.lines();
        let text = |name: &String, text: &String| {
            if text.is_empty() {
                name.clone()
            } else {
                format!("{name}: {text}")
            }
        };
        let changed = new.iter().filter(|(name, value)| old.get(*name) != Some(*value));
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        let changed: Vec<String> = changed.map(|(name, value)| text(name, value)).collect();
        changed
            .into_iter()
            .chain(gone.map(|name| format!("no more: {name}")))
            .collect()
    }
}

fn step(snapshot: &Snapshot, to: To) -> (String, Progress) {
    match plan::plan(snapshot, to) {
        Err(refused) => (format!("not known: {refused}"), Progress::Open),
        Ok(plan) => match plan.next() {
            Some((number, step)) => (
                format!("{number} of {}: {}", plan.steps.len(), step.title),
                Progress::Open,
            ),
            None => ("all steps are done".to_owned(), Progress::Complete),
        },
    }
}

/// The holder of a lease. A program has one identity for all its locks: it tells which program holds the one that both share.
fn holder(snapshot: &Snapshot, name: &str, lease: &Lease) -> String {
    let identity = |lease: &Lease| {
        let identity = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
        identity.filter(|identity| !identity.is_empty())
    };
    let Some(held) = identity(lease) else {
        return "held by no program".to_owned();
    };
    let is_main = |main: &&str| snapshot.lease(main).and_then(identity).as_ref() == Some(&held);
    let program = LEASES.into_iter().filter(|main| *main != MIGRATION).find(is_main);
    match program {
        Some(program) if name == MIGRATION => format!("held by {held}, a {program}"),
        _ => format!("held by {held}"),
    }
}

fn waiting(snapshot: &Snapshot) -> Vec<&str> {
    let waiting = snapshot.nodes.iter().filter(|node| is_uninitialized(node));
    waiting.filter_map(|node| node.metadata.name.as_deref()).collect()
}

fn nodes(snapshot: &Snapshot, waiting: &[&str]) -> String {
    let all = table::count(snapshot.nodes.len(), "node");
    if waiting.is_empty() {
        format!("{all}, all initialized")
    } else {
        format!("{all}, not initialized: {}", table::names(waiting.iter().copied()))
    }
}

fn services(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let balanced = snapshot.services.iter().filter(|service| is_balanced(service));
    let state = |service: &Service| match addresses(service).as_slice() {
        [] => "waits for a load balancer".to_owned(),
        found => found.join(", "),
    };
    balanced.map(|service| (key(service), state(service))).collect()
}

#[cfg(test)]
mod tests;
