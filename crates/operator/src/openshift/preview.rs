//! What a pass would change, without changing it.

use super::pass::{Found, Operator};
use crate::status::{Operands, Outcome};

impl Operator {
    /// What would be changed, as `kubectl diff` prints it, and what nobody can say: each a sentence.
    pub async fn preview(&mut self) -> (String, Vec<String>) {
        let (observed, mut found) = (self.observe().await, Found::default());
        let desired = self.decide(&observed, &mut found).await;
        let inventory = self.prunable(&self.inventory(&observed), desired.prune);
        let preview = self.engine.preview(&desired.objects, &inventory).await;
        let mut problems = unknown(&found);
        problems.extend(preview.failures.iter().map(ToString::to_string));
        (preview.text, problems)
    }
}

/// What could not be decided, each once: operands that wait for a part say what it says.
fn unknown(found: &Found) -> Vec<String> {
    let parts = [&found.cloud_config, &found.trusted_ca].into_iter().flatten();
    let mut problems: Vec<_> = parts
        .filter_map(|outcome| match outcome {
            Outcome::Failed(cause) => Some(cause.clone()),
            _ => None,
        })
        .collect();
    match &found.operands {
        Some(Operands::Failed(cause)) if problems.is_empty() => problems.push(cause.clone()),
        Some(Operands::Waiting) if problems.is_empty() && found.unread.is_empty() => {
            problems.push("the cloud configuration or the certificates are not known yet".to_owned());
        }
        _ => {}
    }
    // What may pass by itself is no failure yet, but the reason why nobody can say.
    for cause in &found.unread {
        if !problems
            .iter()
            .any(|problem| problem.contains(cause) || cause.contains(problem))
        {
            problems.push(cause.clone());
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn failed(cause: &str) -> Outcome {
        Outcome::Failed(cause.to_owned())
    }

    #[rstest]
    #[case::all_is_known(None, None, &[], &[])]
    #[case::a_part_fails(Some(failed("no cloud.conf")), Some(Operands::Waiting), &[], &["no cloud.conf"])]
    #[case::so_do_the_operands(Some(failed("no cloud.conf")), Some(Operands::Failing), &["CloudConfigControllerDegraded: no cloud.conf"], &["no cloud.conf"])]
    #[case::operands_fail(None, Some(Operands::Failed("no image".to_owned())), &[], &["no image"])]
    #[case::another_process_is_waited_for(None, Some(Operands::Waiting), &[], &["the cloud configuration or the certificates are not known yet"])]
    #[case::it_may_pass(Some(Outcome::Failing), Some(Operands::Waiting), &["cannot read Proxy cluster: 403"], &["cannot read Proxy cluster: 403"])]
    #[case::each_once(Some(failed("cannot read x")), Some(Operands::Failing), &["cannot read x", "cannot read y", "cannot read y"], &["cannot read x", "cannot read y"])]
    fn says_what_nobody_knows(
        #[case] cloud_config: Option<Outcome>,
        #[case] operands: Option<Operands>,
        #[case] unread: &[&str],
        #[case] expected: &[&str],
    ) {
        let found = Found {
            cloud_config,
            operands,
            unread: unread.iter().map(|&cause| cause.to_owned()).collect(),
            ..Found::default()
        };
        assert_eq!(unknown(&found), expected);
    }
}
