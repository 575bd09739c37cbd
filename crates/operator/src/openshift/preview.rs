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
        Some(Operands::Waiting) if problems.is_empty() => {
            problems.push("the cloud configuration or the certificates are not known yet".to_owned());
        }
        _ => {}
    }
    if problems.is_empty() && found.failing {
        problems.push("not everything could be read that is needed to say; the log says what".to_owned());
    }
    problems
}
