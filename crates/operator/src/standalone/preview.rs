//! What a pass would change, without changing it.

use super::{decide::Action, observe, operator::Operator};
use kube::ResourceExt;

impl Operator {
    /// The changes, as `kubectl diff` prints them, and what could not be determined, each one sentence that names the manager.
    pub(crate) async fn preview(&mut self) -> (String, Vec<String>) {
        self.find_own_image().await;
        let managers = match self.managers().await {
            Ok(managers) => managers,
            Err(reason) => return (String::new(), vec![reason.0]),
        };
        let about = |name: &str, why: &str| format!("{}: {why}", observe::key(name));
        let unreadable = managers.unreadable.iter();
        let mut problems: Vec<_> = unreadable.map(|each| about(&each.name, &each.why)).collect();
        let (leftovers, platform) = (self.leftovers(&managers).await, self.platform(&managers).await);
        let refusals = managers.refusals(&leftovers, &platform);
        let mut text = String::new();
        for manager in &managers.readable {
            let name = manager.name_any();
            let decision = self.decide(manager, refusals.get(&name)).await;
            match decision.action {
                Action::Unmanaged => {}
                Action::Refuse(problem) => problems.push(about(&name, &problem.message().1)),
                Action::Remove | Action::Apply => {
                    let preview = self.engine.preview(&decision.objects, &decision.prune).await;
                    let failures = preview.failures.iter();
                    problems.extend(failures.map(|failure| about(&name, &failure.to_string())));
                    text += &preview.text;
                }
            }
        }
        (text, problems)
    }
}
