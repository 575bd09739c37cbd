//! Whether a cloud controller manager is at work.

use super::{Snapshot, time};
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Pod},
    jiff::{SignedDuration, Timestamp},
};
use kube::ResourceExt;

/// The managers of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Managers {
    /// Whether one is at work.
    pub work: Work,
    /// What was seen of them.
    pub facts: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    /// At least one leads, or is ready without leader election.
    Running,
    /// None, for this reason.
    Absent(String),
    /// That cannot be said from what could be read.
    Unknown,
}

impl Managers {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let now = snapshot.now;
        let leases: Vec<Held<'_>> = snapshot
            .leases
            .iter()
            .flatten()
            .map(|lease| Held::of(lease, now))
            .collect();
        let pods = snapshot.pods.as_deref().unwrap_or_default();
        let mut facts: Vec<_> = leases.iter().map(|lease| ("lease", lease.text(pods, now))).collect();
        facts.extend(pods.iter().filter_map(|pod| Some(("Pod", trouble(pod)?))));
        Self {
            work: work(snapshot, &leases),
            facts,
        }
    }
}

fn work(snapshot: &Snapshot, leases: &[Held<'_>]) -> Work {
    if leases.iter().any(|lease| lease.is_live) {
        return Work::Running;
    }
    let pods = snapshot.pods.as_deref();
    let stopped = leases.iter().max_by_key(|lease| lease.renewed);
    match (stopped, pods) {
        (Some(lease), _) => Work::Absent(lease.end(snapshot.now)),
        (None, Some(pods)) if pods.iter().any(is_ready) => Work::Running,
        (None, Some([])) if snapshot.leases.is_some() => {
            Work::Absent("there is neither a Pod nor a Lease of one".to_owned())
        }
        (None, Some(pods)) if !pods.is_empty() => Work::Absent("none of its Pods is ready".to_owned()),
        (None, _) => Work::Unknown,
    }
}

/// A lease, and whether it is held.
struct Held<'a> {
    lease: &'a Lease,
    holder: &'a str,
    renewed: Option<Timestamp>,
    is_live: bool,
}

impl<'a> Held<'a> {
    fn of(lease: &'a Lease, now: Timestamp) -> Self {
        let spec = lease.spec.as_ref();
        let holder = spec
            .and_then(|spec| spec.holder_identity.as_deref())
            .unwrap_or_default();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let lasts = SignedDuration::from_secs(seconds.into());
        Self {
            lease,
            holder,
            renewed,
            is_live: !holder.is_empty() && renewed.is_some_and(|at| now.duration_since(at) <= lasts),
        }
    }

    fn name(&self) -> String {
        format!(
            "{}/{}",
            self.lease.namespace().unwrap_or_default(),
            self.lease.name_any()
        )
    }

    fn renewed(&self, now: Timestamp) -> String {
        self.renewed.map_or_else(|| "never".to_owned(), |at| time::ago(at, now))
    }

    fn text(&self, pods: &[Pod], now: Timestamp) -> String {
        let (name, holder, renewed) = (self.name(), self.holder, self.renewed(now));
        if holder.is_empty() {
            return format!("{name} has no holder; last renewed {renewed}");
        }
        let pod = pods.iter().find(|pod| self.is_held_by(pod));
        let pod = pod.map_or_else(String::new, |pod| {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            format!(" (Pod {} on {})", pod.name_any(), node.unwrap_or("no node"))
        });
        let verb = if self.is_live { "is held by" } else { "was held by" };
        format!("{name} {verb} {holder}{pod}; last renewed {renewed}")
    }

    /// A holder is the host's name and a random part; with the network of the node, that is the node's name.
    fn is_held_by(&self, pod: &Pod) -> bool {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let host = self.holder.split('_').next().unwrap_or_default();
        host == pod.name_any() || Some(host) == node
    }

    /// Why nobody leads.
    fn end(&self, now: Timestamp) -> String {
        let (name, renewed) = (self.name(), self.renewed(now));
        if self.holder.is_empty() {
            format!("the last leader released Lease {name} {renewed}, and no other replica has taken it")
        } else {
            format!("{} last renewed Lease {name} {renewed}", self.holder)
        }
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.type_ == "Ready")
        .any(|condition| condition.status == "True")
}

/// Why a Pod does not run, if it does not.
fn trouble(pod: &Pod) -> Option<String> {
    if is_ready(pod) {
        return None;
    }
    let status = pod.status.as_ref();
    let containers = status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    let mut reasons = containers.filter_map(|container| {
        let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref())?;
        let last = container
            .last_state
            .as_ref()
            .and_then(|state| state.terminated.as_ref());
        let code = last.map_or_else(String::new, |last| format!(", last exit code {}", last.exit_code));
        let message = waiting
            .message
            .as_deref()
            .map_or_else(String::new, |text| format!(": {text}"));
        Some(format!(
            "{}{code}{message}",
            waiting.reason.as_deref().unwrap_or("Waiting")
        ))
    });
    let unscheduled = || {
        let conditions = status?.conditions.iter().flatten();
        let found = conditions
            .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
            .find_map(|condition| condition.message.clone());
        Some(format!("not scheduled: {}", found?))
    };
    let why = reasons.next().or_else(unscheduled);
    let phase = || status.and_then(|status| status.phase.clone()).unwrap_or_default();
    let why = why.unwrap_or_else(|| format!("not ready, phase {}", phase()));
    Some(format!("{}: {why}", pod.name_any()))
}
