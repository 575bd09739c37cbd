//! Whether the cloud has a machine for every node.

use super::{Report, advice, nodes};
use cloud::{Answer, Detail, Provider};
use k8s_openapi::api::core::v1::Node;
use std::{sync::Arc, time::Duration};

const CHECK: &str = "machines";
/// The most names in one row.
const NAMES: usize = 10;

pub(super) async fn check(provider: &dyn Provider, all: &[Arc<Node>], deadline: Duration, report: &mut Report) {
    let instances = provider.instances();
    let answers = nodes::describe(instances, all, Detail::Liveness, deadline).await;
    summarise(all, &answers, instances.found_by(), report);
}

pub(super) fn summarise(all: &[Arc<Node>], answers: &[cloud::Result<Answer>], found_by: &str, report: &mut Report) {
    if let Some(error) = nodes::outage(answers) {
        return report.failed(CHECK, error.report(), advice(error));
    }
    let (mut found, mut missing) = (0, Vec::new());
    for (node, answer) in all.iter().zip(answers) {
        match answer {
            Ok(Answer::Missing) => missing.push(nodes::name(node)),
            Ok(Answer::Found(_) | Answer::NotYet | Answer::Unmanaged) => found += 1,
            Err(error) => report.warning(
                CHECK,
                format!("{}: {}", nodes::name(node), error.report()),
                advice(error),
            ),
        }
    }
    if !missing.is_empty() {
        let names = missing.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
        let more = missing.len().saturating_sub(NAMES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        report.failed(
            CHECK,
            format!("the cloud has no machine with the {found_by} or provider ID of {names}{more}"),
            "give these nodes the names of their machines, or exclude them with --node-selector: a manager does not initialize them, and \
             deletes those that are not ready",
        );
    }
    if found > 0 || all.is_empty() {
        report.passed(CHECK, format!("{found} of {} nodes have one", all.len()));
    }
}
