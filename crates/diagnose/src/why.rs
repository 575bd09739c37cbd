//! Why something waits: what is stuck, since when, whose turn it is, and what to do.
//!
//! [`collect()`] reads a [`Snapshot`] of everything that is known about a [`Subject`]; [`explain`] turns it into a [`Report`],
//! purely. Whatever the user may not read is named in the report, and the rest is still explained.

mod ccm;
mod collect;
mod finding;
mod log;
mod managers;
mod node;
mod service;
mod snapshot;
mod subject;
mod time;

pub use collect::{Place, Unreadable, collect};
pub use finding::{Finding, Report, State, Turn};
pub use snapshot::{LogLine, Object, Snapshot};
pub use subject::{Kind, Subject, Unknown};

use k8s_openapi::api::core::v1::Event;
use managers::Managers;

/// The most events in a report.
const EVENTS: usize = 4;

/// Explains what the subject of the snapshot waits for.
#[must_use]
pub fn explain(snapshot: &Snapshot) -> Report {
    let managers = Managers::of(snapshot);
    let finding = match &snapshot.object {
        Object::Service(service) => service::explain(service, snapshot, &managers),
        Object::Node(node) => node::explain(node, snapshot, &managers),
        Object::Manager(manager) => ccm::explain(manager, snapshot.now),
        Object::Missing { what, list } => Finding::missing(what, list),
    };
    let mut facts = managers.facts;
    let newest = snapshot.events.iter().rev().take(EVENTS);
    facts.extend(newest.map(|event| ("event", event_text(event, snapshot))));
    facts.extend(snapshot.log.iter().map(|line| ("log", line.to_string())));
    facts.extend(snapshot.cloud.iter().map(|text| ("cloud", text.clone())));
    Report {
        finding,
        facts,
        unknown: snapshot.unknown.clone(),
    }
}

/// `2 min ago, Warning SyncLoadBalancerFailed (3 times): …`
fn event_text(event: &Event, snapshot: &Snapshot) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let when = snapshot::time_of(event).map_or_else(String::new, |at| format!("{}, ", time::ago(at, snapshot.now)));
    let times = match event.count {
        Some(count) if count > 1 => format!(" ({count} times)"),
        _ => String::new(),
    };
    format!(
        "{when}{} {}{times}: {}",
        text(&event.type_),
        text(&event.reason),
        text(&event.message)
    )
}

#[cfg(test)]
mod tests;
