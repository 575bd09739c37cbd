//! The status of the operator: the conditions of its `ClusterOperator`, decided purely.
//!
//! [`next`] turns the summary of a pass into the next status; [`Window`] distinguishes a short interruption from a failure.

mod conditions;
mod window;

pub(crate) use conditions::limited;
pub use conditions::set;
pub use window::{Verdict, Window};

use k8s_openapi::jiff::Timestamp;
use operator_api::cluster_operator::{Condition, ObjectReference, OperandVersion, Status};

/// The name of our `ClusterOperator`.
pub const NAME: &str = "cloud-controller-manager";

/// The condition types of the part that writes the cloud configuration.
pub const CLOUD_CONFIG: Part = Part {
    available: "CloudConfigControllerAvailable",
    degraded: "CloudConfigControllerDegraded",
    title: "Cloud Config Controller",
    task: "sync cloud config",
};

/// The condition types of the part that writes the trusted certificates; the doubled word is the original's.
pub const TRUSTED_CA: Part = Part {
    available: "TrustedCABundleControllerControllerAvailable",
    degraded: "TrustedCABundleControllerControllerDegraded",
    title: "Trusted CA Bundle Controller",
    task: "sync the trusted CA bundle",
};

/// The reason if no Pod is available.
const NOTHING_RUNS: &str = "NothingRuns";
/// The reason while a version is being rolled out.
const SYNCING: &str = "SyncingResources";
/// The message of `Available` before the first rollout.
const NOT_ROLLED_OUT: &str = "nothing has been rolled out yet";

/// A part of the operator with conditions of its own.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The type that is true if it works.
    pub available: &'static str,
    /// The type that is true if it does not.
    pub degraded: &'static str,
    title: &'static str,
    task: &'static str,
}

/// The state of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartState {
    /// It works.
    Fine,
    /// It works, with a warning for the user.
    Warning(String),
    /// It has failed for a short time: nothing is reported yet.
    Failing,
    /// It fails, for this reason.
    Failed(String),
}

/// The state of the operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operands {
    /// They match the desired state, and so do their Pods; or the platform has none.
    Done,
    /// They have been changed and are not rolled out completely: what is pending.
    Progressing(Vec<String>),
    /// They match the desired state, but no Pod runs.
    Down(String),
    /// They are not known yet: another part has not reported.
    Waiting,
    /// Something has failed for a short time: nothing is reported yet.
    Failing,
    /// The same, or another part has not reported; but some Pods run.
    Running,
    /// Something fails, for this reason; it is not known whether any Pod runs.
    Failed(String),
    /// Something fails, for this reason, but some Pods run.
    Impaired(String),
    /// Something fails, for this reason, and no Pod runs.
    Outage(String),
}

impl Operands {
    /// The state from the objects and from their Pods: neither hides the other.
    #[must_use]
    pub fn and(self, pods: Self) -> Self {
        use Operands::{Done, Down, Failed, Failing, Impaired, Outage, Progressing, Running, Waiting};
        let both = |objects: &str, pods: &str| format!("{objects}; {pods}");
        match (self, pods) {
            (Failed(cause), Down(why) | Outage(why)) => Outage(both(&cause, &why)),
            (Failed(cause), Impaired(why)) => Impaired(both(&cause, &why)),
            (Failed(cause), Done | Running) => Impaired(cause),
            (Progressing(waiting), Down(why)) => Down(both(&waiting.join("; "), &why)),
            (Progressing(waiting), Outage(why)) => Outage(both(&waiting.join("; "), &why)),
            (Waiting | Failing, pods @ (Down(_) | Outage(_) | Impaired(_))) => pods,
            (Waiting | Failing, Done | Running) => Running,
            (objects, _) => objects,
        }
    }
}

/// The summary of a pass. `None` for what this process does not manage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The cloud configuration.
    pub cloud_config: Option<PartState>,
    /// The trusted certificates.
    pub trusted_ca: Option<PartState>,
    /// The operands.
    pub operands: Option<Operands>,
    /// Informational messages.
    pub remarks: Vec<String>,
    /// What prevents the roll-out of the operands.
    pub obstacles: Vec<String>,
    /// The objects that the operator has created, or is about to create.
    pub related: Vec<ObjectReference>,
    /// The version to which the operator rolls out.
    pub release: String,
}

/// The status after this summary. Equal to `before` if nothing has changed.
#[must_use]
pub fn next(before: &Status, summary: &Summary, now: Timestamp) -> Status {
    let mut status = before.clone();
    for (part, outcome) in [(CLOUD_CONFIG, &summary.cloud_config), (TRUSTED_CA, &summary.trusted_ca)] {
        if let Some(outcome) = outcome {
            part.report(&mut status.conditions, outcome, now);
        }
    }
    if let Some(operands) = &summary.operands {
        report(&mut status, operands, summary, now);
    }
    if !summary.related.is_empty() {
        status.related_objects.clone_from(&summary.related);
    }
    status
}

impl Part {
    fn report(self, conditions: &mut Vec<Condition>, outcome: &PartState, now: Timestamp) {
        let works = format!("{} works as expected", self.title);
        let (available, reason, message) = match outcome {
            PartState::Failing => return,
            PartState::Fine => ("True", "AsExpected", works),
            PartState::Warning(what) => ("True", "AsExpected", format!("{works}; warning: {what}")),
            PartState::Failed(cause) => {
                let message = format!("{} failed to {}: {cause}", self.title, self.task);
                ("False", "SyncingFailed", message)
            }
        };
        let degraded = if available == "True" { "False" } else { "True" };
        set(conditions, self.available, available, reason, &message, now);
        set(conditions, self.degraded, degraded, reason, &message, now);
    }

    /// Whether the part has reported that it works.
    #[must_use]
    pub fn works(self, conditions: &[Condition]) -> bool {
        is_true(conditions, self.available)
    }

    /// Its message if it does not.
    #[must_use]
    pub fn complaint(self, conditions: &[Condition]) -> Option<&str> {
        let degraded = conditions.iter().find(|condition| condition.type_ == self.degraded)?;
        (degraded.status == "True").then_some(degraded.message.as_str())
    }
}

fn report(status: &mut Status, operands: &Operands, summary: &Summary, now: Timestamp) {
    let Summary {
        release,
        remarks,
        obstacles,
        ..
    } = summary;
    let versions = vec![OperandVersion {
        name: "operator".to_owned(),
        version: release.clone(),
    }];
    let moving = status.versions != versions;
    match operands {
        Operands::Waiting | Operands::Failing => not_installed(&mut status.conditions, obstacles, release, now),
        Operands::Running => again(status, now),
        Operands::Done => {
            let message: Vec<_> = [available(release)].iter().chain(remarks).cloned().collect();
            let all = &mut status.conditions;
            set(all, "Available", "True", "AsExpected", &message.join("; "), now);
            set(all, "Progressing", "False", "AsExpected", "", now);
            set(all, "Degraded", "False", "AsExpected", "", now);
            set(all, "Upgradeable", "True", "AsExpected", "", now);
            status.versions = versions;
            // A condition of former versions, in which the operator took controllers over from another program.
            all.retain(|condition| condition.type_ != "CloudControllerOwner");
        }
        Operands::Progressing(waiting) => {
            let all = &mut status.conditions;
            first(all, "Available", SYNCING, NOT_ROLLED_OUT, now);
            progressing(all, waiting, moving, release, now);
            // The failure has been corrected; if it has not, the roll-out stalls and is reported again.
            set(all, "Degraded", "False", "AsExpected", "", now);
            set(all, "Upgradeable", "True", "AsExpected", "", now);
            return;
        }
        Operands::Down(why) => {
            set(&mut status.conditions, "Available", "False", NOTHING_RUNS, why, now);
        }
        Operands::Failed(cause) => failed(&mut status.conditions, cause, moving, release, now),
        Operands::Impaired(cause) => {
            again(status, now);
            failed(&mut status.conditions, cause, moving, release, now);
        }
        Operands::Outage(cause) => {
            set(&mut status.conditions, "Available", "False", NOTHING_RUNS, cause, now);
            failed(&mut status.conditions, cause, moving, release, now);
        }
    }
    // The pending objects may have changed.
    if !obstacles.is_empty() && is_true(&status.conditions, "Progressing") {
        progressing(&mut status.conditions, obstacles, moving, release, now);
    }
}

/// The conditions of a first installation that cannot start: they exist from the beginning, and name what is missing.
fn not_installed(conditions: &mut Vec<Condition>, obstacles: &[String], release: &str, now: Timestamp) {
    first(conditions, "Available", SYNCING, NOT_ROLLED_OUT, now);
    if conditions.iter().any(|condition| condition.type_ == "Progressing") {
        return;
    }
    progressing(conditions, obstacles, true, release, now);
    set(conditions, "Degraded", "False", "AsExpected", "", now);
    set(conditions, "Upgradeable", "True", "AsExpected", "", now);
}

fn progressing(conditions: &mut Vec<Condition>, waiting: &[String], moving: bool, release: &str, now: Timestamp) {
    let towards = towards(release);
    let (reason, message) = match (moving, waiting) {
        (true, []) => (SYNCING, towards),
        (true, waiting) => (SYNCING, format!("{towards}: {}", waiting.join("; "))),
        (false, []) => ("AsExpected", "objects are being written".to_owned()),
        (false, waiting) => ("AsExpected", waiting.join("; ")),
    };
    set(conditions, "Progressing", "True", reason, &message, now);
}

/// The message about a version that is being rolled out.
fn towards(release: &str) -> String {
    format!("Progressing towards operator: {release}")
}

/// The condition of an upgrade that begins with this status. A change of what is pending is not a beginning.
#[must_use]
pub fn upgrade<'a>(before: &Status, after: &'a Status, release: &str) -> Option<&'a Condition> {
    let begun = |condition: &&Condition| {
        let rest = condition.message.strip_prefix(&towards(release));
        let to_this_version = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'));
        condition.type_ == "Progressing" && condition.status == "True" && condition.reason == SYNCING && to_this_version
    };
    let was = before.conditions.iter().any(|condition| begun(&condition));
    after.conditions.iter().find(begun).filter(|_| !was)
}

fn failed(conditions: &mut Vec<Condition>, cause: &str, moving: bool, release: &str, now: Timestamp) {
    let message = if moving {
        format!("Failed when progressing towards operator: {release} because {cause}")
    } else {
        format!("Failed to resync for operator: {release} because {cause}")
    };
    first(conditions, "Available", "SyncingFailed", &message, now);
    set(conditions, "Degraded", "True", "SyncingFailed", &message, now);
    let upgradeable = format!("an upgrade has to wait until this works again: {cause}");
    set(conditions, "Upgradeable", "False", "SyncingFailed", &upgradeable, now);
}

/// Ends the report that no Pod runs. An operand that has never been rolled out is not available because of that.
fn again(status: &mut Status, now: Timestamp) {
    let Status {
        conditions, versions, ..
    } = status;
    let is_down =
        |each: &&Condition| each.type_ == "Available" && each.status == "False" && each.reason == NOTHING_RUNS;
    if let (Some(_), Some(version)) = (conditions.iter().find(is_down), versions.first()) {
        set(
            conditions,
            "Available",
            "True",
            "AsExpected",
            &available(&version.version),
            now,
        );
    }
}

/// The message about a version that is available.
fn available(version: &str) -> String {
    format!("Cluster Cloud Controller Manager Operator is available at {version}")
}

/// Sets `False` where nothing has been reported before.
fn first(conditions: &mut Vec<Condition>, type_: &str, reason: &str, message: &str, now: Timestamp) {
    if conditions
        .iter()
        .all(|condition| condition.type_ != type_ || is_before_rollout(condition))
    {
        set(conditions, type_, "False", reason, message, now);
    }
}

/// Whether a condition is one from before the first roll-out.
fn is_before_rollout(condition: &Condition) -> bool {
    condition.status == "False" && matches!(condition.reason.as_str(), SYNCING | "SyncingFailed")
}

/// Whether a condition exists and is true.
#[must_use]
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    let found = conditions.iter().find(|condition| condition.type_ == type_);
    found.is_some_and(|condition| condition.status == "True")
}

#[cfg(test)]
mod tests;
