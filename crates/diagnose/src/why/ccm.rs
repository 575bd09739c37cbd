//! Why a manager of the operator is not available.

use super::{Finding, State, Turn, time};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use kube::ResourceExt;
use operator_api::CloudControllerManager;

pub(super) fn explain(manager: &CloudControllerManager, now: Timestamp) -> Finding {
    let name = format!("CloudControllerManager {}", manager.name_any());
    let status = manager.status.clone().unwrap_or_default();
    let seen = status.observed_generation;
    if seen.is_none() || seen < manager.metadata.generation {
        return Finding {
            state: State::Stuck,
            sentences: vec![format!(
                "The operator has not seen the current version of {name}, since {}.",
                manager
                    .creation_timestamp()
                    .map_or_else(|| "an unknown time".to_owned(), |at| time::since(at.0, now))
            )],
            turn: Turn::Cluster,
            advice: "check that the operator runs: `kubectl -n outrigger-system get pods`".to_owned(),
        };
    }
    let is = |type_: &str, expected: &str| status.condition(type_).filter(|condition| condition.status == expected);
    if let Some(degraded) = is("Degraded", "True") {
        let advice = "correct what the message names; the operator continues as soon as it changes";
        return waits(
            &name,
            "is degraded",
            degraded,
            now,
            (State::Stuck, Turn::Cluster, advice),
        );
    }
    if let Some(progressing) = is("Progressing", "True") {
        let advice =
            "nothing, unless the message names an object to create; after 2 min 30 s a failure is reported as Degraded";
        return waits(
            &name,
            "is being changed",
            progressing,
            now,
            (State::Waiting, Turn::Manager, advice),
        );
    }
    match status.condition("Available") {
        Some(available) if available.status != "True" => {
            let advice = "look at the Pods of the manager: the facts below name what keeps them from running";
            waits(
                &name,
                "is not available",
                available,
                now,
                (State::Stuck, Turn::Cluster, advice),
            )
        }
        _ => {
            let ready = status.ready_replicas.unwrap_or_default();
            Finding::fine(format!("{name} is available: {ready} of its replicas are ready."))
        }
    }
}

fn waits(
    name: &str,
    what: &str,
    condition: &Condition,
    now: Timestamp,
    (state, turn, advice): (State, Turn, &str),
) -> Finding {
    let since = time::since(condition.last_transition_time.0, now);
    Finding {
        state,
        sentences: vec![
            format!("{name} {what}, since {since}."),
            format!(
                "The operator reports {}: {}.",
                condition.reason,
                condition.message.trim_end_matches('.')
            ),
        ],
        turn,
        advice: advice.to_owned(),
    }
}
