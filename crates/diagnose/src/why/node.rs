//! Why a Node is not initialized, or not used.

use super::{
    Finding, Snapshot, State, Turn,
    managers::{Managers, Work},
    time,
};
use controllers::nodes::{
    conditions::{self, CLOUD_PROVIDER_INITIALIZED, NETWORK_UNAVAILABLE, Ready},
    provider_id, taints,
};
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    jiff::Timestamp,
};
use kube::ResourceExt;

pub(super) fn explain(node: &Node, snapshot: &Snapshot, managers: &Managers) -> Finding {
    let name = format!("Node {}", node.name_any());
    if taints::is_uninitialized(node) {
        return uninitialized(&name, node, snapshot, managers);
    }
    if taints::has_key(node, taints::SHUTDOWN) {
        return stuck(
            vec![format!("{name} is tainted because its machine is shut down.")],
            Turn::Owner,
            "start the machine in the cloud, or delete it: its Node is deleted then",
        );
    }
    let network = conditions::find(node, NETWORK_UNAVAILABLE);
    if let Some(condition) = network.filter(|condition| condition.status == "True") {
        let first = format!("{name} has no route to its Pods{}.", since(condition, snapshot.now));
        return match &managers.work {
            Work::Absent(reason) => Finding::no_manager(first, reason),
            _ => stuck(
                vec![first, message(condition)],
                Turn::Cluster,
                "if --configure-cloud-routes is on, remove the cause that the event FailedToCreateRoute names; else ask the network \
                 plugin, which sets this condition",
            ),
        };
    }
    if conditions::ready(node) != Ready::True {
        return stuck(
            vec![format!("{name} is initialized, but its kubelet is not ready.")],
            Turn::Owner,
            "look at the kubelet on the machine; a Node is deleted only once its machine does not exist in the cloud",
        );
    }
    let id = provider_id(node).map_or_else(|| "no provider ID".to_owned(), |id| format!("the provider ID {id}"));
    Finding::fine(format!("{name} is initialized, has {id}, and is ready."))
}

fn uninitialized(name: &str, node: &Node, snapshot: &Snapshot, managers: &Managers) -> Finding {
    let created = node.metadata.creation_timestamp.as_ref();
    let since = created.map_or_else(String::new, |at| format!(", since {}", time::since(at.0, snapshot.now)));
    let first = format!(
        "{name} keeps the taint {} and runs no Pods that do not tolerate it{since}.",
        taints::UNINITIALIZED
    );
    if let Work::Absent(reason) = &managers.work {
        return Finding::no_manager(first, reason);
    }
    let Some(condition) = conditions::find(node, CLOUD_PROVIDER_INITIALIZED) else {
        return stuck(
            vec![first, "No manager has reported why.".to_owned()],
            Turn::Cluster,
            "check that a manager runs the cloud-node-controller (--controllers), and that its --node-selector and \
             --provider-id-scheme include this node",
        );
    };
    let reason = condition.reason.as_deref().unwrap_or_default();
    let (turn, advice) = advice(reason);
    let state = match turn {
        Turn::Cloud | Turn::Manager => State::Waiting,
        _ => State::Stuck,
    };
    Finding {
        state,
        sentences: vec![first, message(condition)],
        turn,
        advice: advice.to_owned(),
    }
}

/// What to do about a reason of [`CLOUD_PROVIDER_INITIALIZED`].
fn advice(reason: &str) -> (Turn, &'static str) {
    match reason {
        "MachineNotFound" => (
            Turn::Owner,
            "give the node the name of its machine (the kubelet's --hostname-override) or its provider ID (--provider-id); if the \
             machine does not exist any more, delete the Node. `outrigger check` lists all such nodes",
        ),
        "NoProviderID" => (Turn::Owner, "start the kubelet with --provider-id"),
        "InvalidNodeIP" => (
            Turn::Owner,
            "correct the kubelet's --node-ip: it must be an address of the machine",
        ),
        "CloudDenied" => (
            Turn::Cluster,
            "correct the manager's credentials, or grant them the permission that the message names",
        ),
        "CloudThrottled" => (Turn::Cloud, "nothing: it is retried with back-off"),
        "CloudUnavailable" => (Turn::Cloud, "check that the cloud answers; it is retried with back-off"),
        "WriteRefused" => (
            Turn::Cluster,
            "grant the manager the permission that the message names; deploy/manager/rbac.yaml has all of them",
        ),
        _ => (
            Turn::Cluster,
            "remove the cause that the message names; it is retried with back-off",
        ),
    }
}

fn stuck(sentences: Vec<String>, turn: Turn, advice: &str) -> Finding {
    Finding {
        state: State::Stuck,
        sentences,
        turn,
        advice: advice.to_owned(),
    }
}

fn message(condition: &NodeCondition) -> String {
    let reason = condition.reason.as_deref().unwrap_or("no reason");
    let message = condition.message.as_deref().unwrap_or_default();
    format!(
        "The condition {} has {reason}: {}.",
        condition.type_,
        message.trim_end_matches('.')
    )
}

fn since(condition: &NodeCondition, now: Timestamp) -> String {
    let at = condition.last_transition_time.as_ref();
    at.map_or_else(String::new, |at| format!(", since {}", time::since(at.0, now)))
}
