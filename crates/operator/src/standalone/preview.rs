//! What a pass would change, without changing it.

use super::{apply::inventory, observe, operator::Operator};
use kube::ResourceExt;
use operator_api::{CloudControllerManager, cloud_controller_manager::ManagementState};

impl Operator {
    /// What would be changed, as `kubectl diff` prints it, and what is not known, each in a sentence that names the manager.
    pub(crate) async fn preview(&mut self) -> (String, Vec<String>) {
        let managers = match self.managers().await {
            Ok(managers) => managers,
            Err(reason) => return (String::new(), vec![reason]),
        };
        let about = |name: &str, why: &str| format!("{}: {why}", observe::key(name));
        let unreadable = managers.unreadable.iter();
        let mut problems: Vec<_> = unreadable.map(|each| about(&each.name, &each.why)).collect();
        let (leftovers, platform) = (self.leftovers(&managers).await, self.platform(&managers).await);
        let refusals = managers.refusals(&leftovers, &platform);
        let mut text = String::new();
        for manager in &managers.readable {
            let name = manager.name_any();
            let result = match refusals.get(&name) {
                Some(problem) if manager.spec.management_state == ManagementState::Managed => {
                    (String::new(), vec![problem.message().1.clone()])
                }
                _ => self.preview_one(manager).await,
            };
            text += &result.0;
            problems.extend(result.1.iter().map(|why| about(&name, why)));
        }
        (text, problems)
    }

    async fn preview_one(&mut self, manager: &CloudControllerManager) -> (String, Vec<String>) {
        let objects = match manager.spec.management_state {
            ManagementState::Unmanaged => return (String::new(), Vec::new()),
            ManagementState::Removed => Ok(Vec::new()),
            ManagementState::Managed => {
                let decision = self.observe(manager).await;
                self.objects(manager, &decision)
            }
        };
        match objects {
            Ok(objects) => {
                let preview = self.engine.preview(&objects, &inventory(manager)).await;
                (preview.text, preview.failures.iter().map(ToString::to_string).collect())
            }
            Err(problem) => (String::new(), vec![problem.message().1.clone()]),
        }
    }
}
