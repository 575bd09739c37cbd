//! Why a Service has no load balancer, or still has one.

use super::{
    Finding, Snapshot, State, Turn,
    managers::{Managers, Work},
    snapshot::time_of,
    time,
};
use controllers::service::{
    spec::predicates::{has_finalizer, has_ingress, is_load_balancer},
    status::{self, conditions},
};
use k8s_openapi::{
    api::core::v1::{Event, Service},
    apimachinery::pkg::apis::meta::v1::Condition,
    jiff::Timestamp,
};
use kube::ResourceExt;

/// The events that report a failure, also those of other managers, which set no condition.
const FAILURES: [&str; 2] = ["SyncLoadBalancerFailed", "DeleteLoadBalancerFailed"];
/// The events that report progress.
const PROGRESS: [&str; 3] = ["EnsuringLoadBalancer", "WaitingForLoadBalancer", "DeletingLoadBalancer"];

const WAIT_FOR_CLOUD: &str = "nothing, unless it takes longer than usual: then look at the load balancer in the cloud";

pub(super) fn explain(service: &Service, snapshot: &Snapshot, managers: &Managers) -> Finding {
    let name = format!(
        "Service {}/{}",
        service.namespace().unwrap_or_default(),
        service.name_any()
    );
    let condition = conditions::find(service);
    if let Some(finding) = settled(&name, service, condition) {
        return finding;
    }
    let first = first_sentence(&name, service, condition, snapshot);
    if let Work::Absent(reason) = &managers.work {
        return Finding::no_manager(first, reason);
    }
    match condition.filter(|condition| condition.status == "False") {
        Some(condition) => reported(first, condition),
        None => by_events(first, service, snapshot),
    }
}

/// The finding about a Service that waits for no load balancer.
fn settled(name: &str, service: &Service, condition: Option<&Condition>) -> Option<Finding> {
    if service.metadata.deletion_timestamp.is_some() {
        return (!has_finalizer(service)).then(|| kept_by_others(name, service));
    }
    if !is_load_balancer(service) {
        let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
        let sentence = format!(
            "{name} is of type {} and has no load balancer.",
            kind.unwrap_or("ClusterIP")
        );
        return (!has_finalizer(service)).then(|| Finding::fine(sentence));
    }
    let is_ready = condition.is_none_or(|condition| condition.status == "True");
    if !has_ingress(service) || !is_ready {
        return None;
    }
    let addresses = addresses(service);
    Some(
        match condition.filter(|condition| condition.reason == "HostsOutdated") {
            Some(condition) => Finding {
                state: State::Stuck,
                sentences: vec![
                    format!("{name} is served at {addresses}, but its load balancer sends traffic to outdated nodes."),
                    format!("The manager reports: {}.", ended(&condition.message)),
                ],
                turn: Turn::Cluster,
                advice: "remove the cause that the message names; the update is retried".to_owned(),
            },
            None => Finding::fine(format!("{name} is served at {addresses}.")),
        },
    )
}

fn kept_by_others(name: &str, service: &Service) -> Finding {
    Finding {
        state: State::Stuck,
        sentences: vec![format!(
            "{name} is being deleted and has no load balancer any more; it is kept by the finalizers {}.",
            service.finalizers().join(", ")
        )],
        turn: Turn::Owner,
        advice: "ask the controllers that own these finalizers; the cloud controller manager has finished".to_owned(),
    }
}

/// What the Service waits for, and since when.
fn first_sentence(name: &str, service: &Service, condition: Option<&Condition>, snapshot: &Snapshot) -> String {
    let goal = if service.metadata.deletion_timestamp.is_some() {
        "is being deleted, and waits for the deletion of its load balancer"
    } else if !is_load_balancer(service) {
        "asks for no load balancer any more, and waits for the deletion of the one it had"
    } else if has_ingress(service) {
        "has an address, but its load balancer does not match it"
    } else {
        "waits for a load balancer"
    };
    let since = since(service, condition, snapshot);
    let since = since.map_or_else(String::new, |at| format!(", since {}", time::since(at, snapshot.now)));
    format!("{name} {goal}{since}.")
}

fn since(service: &Service, condition: Option<&Condition>, snapshot: &Snapshot) -> Option<Timestamp> {
    let metadata = &service.metadata;
    let not_ready = condition.filter(|condition| condition.status == "False");
    let not_ready = not_ready.map(|condition| condition.last_transition_time.0);
    let deleted = metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let announced = snapshot.events.iter().rev().find(|event| is_one_of(event, &PROGRESS));
    // A Service that has an address was created long before it began to wait.
    let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
    let created = created.filter(|_| !has_ingress(service) && is_load_balancer(service));
    not_ready
        .or(deleted)
        .or_else(|| announced.and_then(|event| Some(event.first_timestamp.as_ref()?.0)))
        .or(created)
}

/// The finding from the condition.
fn reported(first: String, condition: &Condition) -> Finding {
    let (state, turn, advice) = match condition.reason.as_str() {
        "Provisioning" | "Deleting" => (State::Waiting, Turn::Cloud, WAIT_FOR_CLOUD),
        "Invalid" => (
            State::Stuck,
            Turn::Owner,
            "correct the Service as the message says; it is reconciled as soon as it changes",
        ),
        "NotSupported" => (
            State::Stuck,
            Turn::Owner,
            "remove what the cloud does not support from the Service",
        ),
        "QuotaExceeded" => (
            State::Stuck,
            Turn::Account,
            "raise the quota, or delete what is not used; `outrigger cleanup` lists what deleted clusters left. It is retried \
             with back-off",
        ),
        "Denied" => (
            State::Stuck,
            Turn::Cluster,
            "correct the manager's credentials, or grant them the permission that the message names; `outrigger check` tries \
             them",
        ),
        "Throttled" => (
            State::Waiting,
            Turn::Cloud,
            "nothing: it is retried with back-off. If it lasts, lower the rate of other clients of the account",
        ),
        "CloudUnavailable" => (
            State::Waiting,
            Turn::Cloud,
            "check that the cloud answers; it is retried with back-off",
        ),
        _ => (
            State::Stuck,
            Turn::Cluster,
            "remove the cause that the message names; it is retried with back-off",
        ),
    };
    Finding {
        state,
        sentences: vec![
            first,
            format!(
                "The manager reports {}: {}.",
                condition.reason,
                ended(&condition.message)
            ),
        ],
        turn,
        advice: advice.to_owned(),
    }
}

/// The finding without a condition: young Services have none, and neither have those of other managers.
fn by_events(first: String, service: &Service, snapshot: &Snapshot) -> Finding {
    let is_told = |event: &&Event| is_one_of(event, &FAILURES) || is_one_of(event, &PROGRESS);
    let newest = snapshot
        .events
        .iter()
        .filter(is_told)
        .max_by_key(|event| time_of(event));
    let Some(event) = newest else {
        return not_taken(first, service);
    };
    let message = ended(event.message.as_deref().unwrap_or_default()).to_owned();
    let (state, turn, advice) = if is_one_of(event, &FAILURES) {
        (
            State::Stuck,
            Turn::Cluster,
            "remove the cause that the message names; it is retried with back-off",
        )
    } else {
        (State::Waiting, Turn::Cloud, WAIT_FOR_CLOUD)
    };
    Finding {
        state,
        sentences: vec![first, format!("The last event of a manager is: {message}.")],
        turn,
        advice: advice.to_owned(),
    }
}

/// No manager has reported anything about it.
fn not_taken(first: String, service: &Service) -> Finding {
    let class = service
        .spec
        .as_ref()
        .and_then(|spec| spec.load_balancer_class.as_deref());
    let (reason, advice) = match class {
        Some(class) => (
            format!("No manager has started to reconcile it. Its class is {class:?}, and only a manager of that class serves it."),
            format!("start a manager with --load-balancer-class={class}, or recreate the Service with another class"),
        ),
        None => (
            "No manager has started to reconcile it, or its events have expired.".to_owned(),
            "check that the manager runs the service-lb-controller (--controllers) and serves Services without a class \
             (--load-balancer-without-class); its log follows if it can be read"
                .to_owned(),
        ),
    };
    Finding {
        state: State::Stuck,
        sentences: vec![first, reason],
        turn: Turn::Cluster,
        advice,
    }
}

fn is_one_of(event: &Event, reasons: &[&str]) -> bool {
    event.reason.as_deref().is_some_and(|reason| reasons.contains(&reason))
}

fn addresses(service: &Service) -> String {
    let ingress = status::of(service).ingress.into_iter();
    let addresses: Vec<_> = ingress.filter_map(|one| one.ip.or(one.hostname)).collect();
    addresses.join(", ")
}

/// A message without the full stop that the sentence around it has.
fn ended(message: &str) -> &str {
    message.trim().trim_end_matches('.')
}
