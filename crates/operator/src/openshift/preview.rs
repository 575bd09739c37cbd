//! What a pass would change, without changing it.

use super::{
    inventory,
    observed::Read,
    operator::Operator,
    state::{PassState, Windows},
};
use crate::status::{Operands, PartState};
use operator_api::Infrastructure;
use std::time::Instant;

/// Why it is not known what should be installed.
const NO_INFRASTRUCTURE: &str = "Infrastructure cluster does not exist, so the platform is not known";

impl Operator {
    /// The changes, as `kubectl diff` prints them, and what could not be determined, each one sentence.
    pub(crate) async fn preview(&mut self) -> (String, Vec<String>) {
        let (observed, mut decision) = self.observe().await;
        self.issue(&observed, &mut decision);
        let state = PassState::of(&decision, &mut Windows::default(), Instant::now());
        let inventory = inventory::prunable(&observed.inventory(), decision.prune, &self.settings);
        let objects: Vec<_> = decision.all().cloned().collect();
        let preview = self.engine.preview(&objects, &inventory).await;
        let mut problems = unknown(&observed.infrastructure, &state);
        problems.extend(preview.failures.iter().map(ToString::to_string));
        (preview.text, problems)
    }
}

/// What could not be decided, each once: operands that wait for a part repeat its message. Without an Infrastructure a pass changes
/// nothing, although changes may be necessary.
fn unknown(infrastructure: &Read<Infrastructure>, state: &PassState) -> Vec<String> {
    let parts = [&state.cloud_config, &state.trusted_ca].into_iter().flatten();
    let mut problems: Vec<_> = parts
        .filter_map(|outcome| match outcome {
            PartState::Failed(cause) => Some(cause.clone()),
            _ => None,
        })
        .collect();
    match &state.operands {
        Some(Operands::Failed(cause)) if problems.is_empty() => problems.push(cause.clone()),
        Some(Operands::Waiting) if problems.is_empty() && state.undecided.is_empty() => {
            problems.push("the cloud configuration or the certificates are not known yet".to_owned());
        }
        _ => {}
    }
    // A failure that may be temporary is not reported as a failure yet, but it is the reason here.
    for cause in &state.undecided {
        if !problems
            .iter()
            .any(|problem| problem.contains(cause) || cause.contains(problem))
        {
            problems.push(cause.clone());
        }
    }
    if matches!(infrastructure, Ok(None)) {
        problems.push(NO_INFRASTRUCTURE.to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn failed(cause: &str) -> PartState {
        PartState::Failed(cause.to_owned())
    }

    #[rstest]
    #[case::all_is_known(None, None, &[], &[])]
    #[case::a_part_fails(Some(failed("no cloud.conf")), Some(Operands::Waiting), &[], &["no cloud.conf"])]
    #[case::so_do_the_operands(Some(failed("no cloud.conf")), Some(Operands::Failing), &["CloudConfigControllerDegraded: no cloud.conf"], &["no cloud.conf"])]
    #[case::operands_fail(None, Some(Operands::Failed("no image".to_owned())), &[], &["no image"])]
    #[case::another_process_is_waited_for(None, Some(Operands::Waiting), &[], &["the cloud configuration or the certificates are not known yet"])]
    #[case::it_may_pass(Some(PartState::Failing), Some(Operands::Waiting), &["cannot read Proxy cluster: 403"], &["cannot read Proxy cluster: 403"])]
    #[case::each_once(Some(failed("cannot read x")), Some(Operands::Failing), &["cannot read x", "cannot read y", "cannot read y"], &["cannot read x", "cannot read y"])]
    fn reports_unknown_changes(
        #[case] cloud_config: Option<PartState>,
        #[case] operands: Option<Operands>,
        #[case] unread: &[&str],
        #[case] expected: &[&str],
    ) {
        let exists = Ok(Some(
            serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": {}})).unwrap(),
        ));
        let state = PassState {
            cloud_config,
            operands,
            undecided: unread.iter().map(|&cause| cause.to_owned()).collect(),
            ..PassState::default()
        };
        assert_eq!(unknown(&exists, &state), expected);
    }

    #[test]
    fn reports_that_the_infrastructure_does_not_exist() {
        assert_eq!(unknown(&Ok(None), &PassState::default()), [NO_INFRASTRUCTURE]);
    }
}
