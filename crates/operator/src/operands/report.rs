//! The outcome for each object.

use super::kinds::{self, Rank, Unknown};
use crate::Key;
use kube::core::Status;
use runtime::client::{explain, is_fenced};
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It did not exist.
    Created,
    /// It differed from the desired state.
    Updated,
    /// Nothing had to be written.
    Kept,
    /// It was deleted and created, because it could not be changed.
    Recreated,
    /// It is not desired any more, and was deleted.
    Pruned,
    /// It is not desired any more, and did not exist.
    Gone,
    /// It is not desired any more, but may not be deleted, for this reason.
    Left(String),
    /// It cannot be deleted yet, and waits for this.
    Pending(String),
    /// It does not match the desired state, for this reason.
    Failed(Failure),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => f.write_str("created"),
            Self::Updated => f.write_str("updated"),
            Self::Kept => f.write_str("kept"),
            Self::Recreated => f.write_str("recreated"),
            Self::Pruned => f.write_str("pruned"),
            Self::Gone => f.write_str("gone"),
            Self::Left(why) => write!(f, "left: {why}"),
            Self::Pending(why) => write!(f, "pending: {why}"),
            Self::Failed(failure) => write!(f, "{failure}"),
        }
    }
}

/// Why an object does not match the desired state, in one sentence that names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} {key}: {reason}")]
pub struct Failure {
    /// The object.
    pub key: Box<Key>,
    /// The operation that failed.
    pub operation: Operation,
    /// The kind of failure.
    pub class: Class,
    /// The message of the API server, or ours.
    pub reason: String,
}

/// An operation on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads it.
    Read,
    /// Creates it.
    Create,
    /// Changes it.
    Update,
    /// Replaces it.
    Recreate,
    /// Deletes it.
    Delete,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Recreate => "recreate",
            Self::Delete => "delete",
        })
    }
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A retry may succeed: a conflict, an overloaded or unavailable API server, a namespace that is being deleted.
    Transient,
    /// A retry fails until something changes: a permission, a policy, the object.
    Refused,
    /// The API server does not serve this kind: its definition is not installed.
    Unserved,
    /// This process is not the leader any more.
    Fenced,
}

/// An event about an object, under the reasons that the Go operator uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent<'a> {
    /// The object.
    pub key: &'a Key,
    /// The type of the event.
    pub severity: Severity,
    /// `ResourceCreateSuccess`
    pub reason: &'static str,
    /// The message.
    pub message: String,
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A change without problems.
    Normal,
    /// The user should check it.
    Warning,
}

/// The outcomes for all objects.
#[derive(Clone, Default)]
pub struct Report {
    outcomes: BTreeMap<Key, Outcome>,
    objects: BTreeMap<Key, Arc<Value>>,
}

impl Report {
    pub(super) fn add(&mut self, key: Key, (outcome, object): (Outcome, Option<Arc<Value>>)) {
        if let Some(object) = object {
            self.objects.insert(key.clone(), object);
        }
        self.outcomes.insert(key, outcome);
    }

    /// Adds the outcomes for further objects.
    pub fn absorb(&mut self, other: Self) {
        self.outcomes.extend(other.outcomes);
        self.objects.extend(other.objects);
    }

    /// Every object that is or was desired, and its outcome.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Key, &Outcome)> {
        self.outcomes.iter()
    }

    /// The outcome for one object.
    pub fn outcome(&self, key: &Key) -> Option<&Outcome> {
        self.outcomes.get(key)
    }

    /// A desired object as the server returned it last, with its status: for [`health`](super::health).
    pub fn object(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Whether anything was written.
    pub fn has_changed(&self) -> bool {
        use Outcome::{Created, Pruned, Recreated, Updated};
        self.outcomes
            .values()
            .any(|outcome| matches!(outcome, Created | Updated | Recreated | Pruned))
    }

    /// The failures.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.outcomes.values().filter_map(|outcome| match outcome {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        })
    }

    /// Messages about what is still pending: objects that wait for the same are in one of them.
    pub fn waiting(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for (key, why) in self.pending() {
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, keys)) => keys.push(key.to_string()),
                None => reasons.push((why, vec![key.to_string()])),
            }
        }
        let sentences = reasons.into_iter();
        sentences
            .map(|(why, keys)| format!("{}: {why}", keys.join(", ")))
            .collect()
    }

    /// Objects that are still pending, and why.
    pub fn pending(&self) -> impl Iterator<Item = (&Key, &str)> {
        self.outcomes.iter().filter_map(|(key, outcome)| match outcome {
            Outcome::Pending(why) => Some((key, why.as_str())),
            _ => None,
        })
    }

    /// Whether everything matches the desired state.
    pub fn is_complete(&self) -> bool {
        self.failures().next().is_none() && self.pending().next().is_none()
    }

    /// The objects that the next run has to know: all desired ones, and all others that still exist.
    pub fn inventory(&self) -> Vec<Key> {
        let gone = |outcome: &Outcome| matches!(outcome, Outcome::Pruned | Outcome::Gone | Outcome::Left(_));
        let kept = self.outcomes.iter().filter(|(_, outcome)| !gone(outcome));
        kept.map(|(key, _)| key.clone()).collect()
    }

    /// The events of all outcomes.
    pub fn events(&self) -> impl Iterator<Item = ObjectEvent<'_>> {
        self.outcomes
            .iter()
            .flat_map(|(key, outcome)| recreating(key, outcome).into_iter().chain(event(key, outcome)))
    }
}

/// Without the objects: there are Secrets among them.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.outcomes).finish()
    }
}

/// The Go operator emits an event before it replaces an object.
fn recreating<'a>(key: &'a Key, outcome: &Outcome) -> Option<ObjectEvent<'a>> {
    let tried = match outcome {
        Outcome::Recreated => true,
        Outcome::Failed(failure) => failure.operation == Operation::Recreate,
        _ => false,
    };
    tried.then(|| ObjectEvent {
        key,
        severity: Severity::Normal,
        reason: "ResourceRecreating",
        message: "Resource cannot be changed and is recreated".to_owned(),
    })
}

fn event<'a>(key: &'a Key, outcome: &Outcome) -> Option<ObjectEvent<'a>> {
    let good = |reason, message: &str| {
        Some(ObjectEvent {
            key,
            severity: Severity::Normal,
            reason,
            message: message.to_owned(),
        })
    };
    match outcome {
        Outcome::Created => good("ResourceCreateSuccess", "Resource was successfully created"),
        Outcome::Updated => good("ResourceUpdateSuccess", "Resource was successfully updated"),
        Outcome::Recreated => good("ResourceRecreateSuccess", "Resource was successfully recreated"),
        Outcome::Pruned => good("ResourceDeleteSuccess", "Resource was successfully deleted"),
        Outcome::Kept | Outcome::Gone | Outcome::Left(_) | Outcome::Pending(_) => None,
        Outcome::Failed(failure) => {
            let reason = match failure.operation {
                Operation::Read => "ResourceCreateOrUpdateFailed",
                Operation::Create => "ResourceCreateFailed",
                Operation::Update => "ResourceUpdateFailed",
                Operation::Recreate => "ResourceRecreateFailed",
                Operation::Delete => "ResourceDeleteFailed",
            };
            Some(ObjectEvent {
                key,
                severity: Severity::Warning,
                reason,
                message: failure.to_string(),
            })
        }
    }
}

impl Failure {
    pub(super) fn new(key: &Key, operation: Operation, class: Class, reason: impl Into<String>) -> Self {
        Self {
            key: Box::new(key.clone()),
            operation,
            class,
            reason: reason.into(),
        }
    }

    pub(super) fn of(key: &Key, operation: Operation, error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if is_unserved(status) => {
                let reason = format!(
                    "the cluster has no {} of {}: install its definition",
                    key.kind, key.api_version
                );
                Self::new(key, operation, Class::Unserved, reason)
            }
            // The message of etcd, with the UID and the version, means a concurrent write.
            kube::Error::Api(status) if status.code == 409 && status.message.contains("Precondition failed") => {
                Self::new(
                    key,
                    operation,
                    Class::Transient,
                    "it was changed or replaced at the same time",
                )
            }
            kube::Error::Api(status) => Self::new(key, operation, classify(status), explain(error)),
            _ if is_fenced(error) => Self::new(key, operation, Class::Fenced, explain(error)),
            _ => Self::new(key, operation, Class::Transient, explain(error)),
        }
    }

    /// Whether a harmless object is kept although it is not desired any more, because its kind may not be deleted: the Go
    /// operator never deletes, so its permissions do not allow it. A workload is not harmless: two of them are in conflict.
    pub fn is_left_behind(&self) -> bool {
        let may_not = self.class == Class::Refused && self.reason.contains("cannot delete resource");
        let is_workload = kinds::get(&self.key).is_ok_and(|kind| kind.rank == Rank::Workload);
        self.operation == Operation::Delete && may_not && !is_workload
    }

    pub(super) fn unknown(key: &Key, operation: Operation, error: &Unknown) -> Self {
        Self::new(key, operation, Class::Refused, error.to_string())
    }
}

/// Whether a 404 means that the kind is not served, rather than that the object does not exist.
pub(super) fn is_unserved(status: &Status) -> bool {
    let named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
    status.code == 404 && !named
}

fn classify(status: &Status) -> Class {
    let going = |message: &str| message.contains("because it is being terminated");
    match status.code {
        // How server-side apply reports an unknown field.
        500 if status.message.contains("field not declared in schema") => Class::Refused,
        401 | 408 | 409 | 410 | 429 | 500.. => Class::Transient,
        403 if going(&status.message) => Class::Transient,
        _ => Class::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn key() -> Key {
        Key {
            api_version: "v1".into(),
            kind: "Service".into(),
            namespace: Some("ns".into()),
            name: "x".into(),
        }
    }

    #[rstest]
    #[case::conflict(409, "the object has been modified", Class::Transient)]
    #[case::too_old(410, "too old resource version", Class::Transient)]
    #[case::busy(429, "too many requests", Class::Transient)]
    #[case::broken(500, "etcdserver: request timed out", Class::Transient)]
    #[case::no_such_field(
        500,
        "failed to create typed patch object: .spec.prots: field not declared in schema",
        Class::Refused
    )]
    #[case::away(503, "apiserver is shutting down", Class::Transient)]
    #[case::going(
        403,
        "unable to create new content in namespace ns because it is being terminated",
        Class::Transient
    )]
    #[case::forbidden(403, "User \"me\" cannot patch resource \"services\"", Class::Refused)]
    #[case::invalid(422, "Service \"x\" is invalid", Class::Refused)]
    #[case::webhook(
        400,
        "admission webhook \"policy.example.com\" denied the request: not here",
        Class::Refused
    )]
    #[case::malformed(400, "strict decoding error: unknown field \"spec.prots\"", Class::Refused)]
    fn failures_are_sorted(#[case] code: u16, #[case] message: &str, #[case] expected: Class) {
        let error = kube::Error::Api(Status::failure(message, "Reason").with_code(code).boxed());
        let failure = Failure::of(&key(), Operation::Update, &error);
        assert_eq!(failure.class, expected);
        assert!(
            failure.to_string().starts_with("cannot update Service ns/x: "),
            "{failure}"
        );
        assert!(failure.to_string().ends_with(message), "{failure}");
    }

    #[test]
    fn a_precondition_is_explained() {
        let message = "StorageError: invalid object, Code: 4, Key: /registry/services/ns/x, ResourceVersion: 0, AdditionalErrorMsg: \
                       Precondition failed: UID in precondition: a, UID in object meta: b";
        let error = kube::Error::Api(Status::failure(message, "Conflict").with_code(409).boxed());
        let failure = Failure::of(&key(), Operation::Delete, &error);
        assert_eq!(failure.class, Class::Transient);
        assert_eq!(
            failure.to_string(),
            "cannot delete Service ns/x: it was changed or replaced at the same time"
        );
    }

    // The reasons of events.
    #[rstest]
    #[case(Outcome::Created, &["ResourceCreateSuccess"])]
    #[case(Outcome::Updated, &["ResourceUpdateSuccess"])]
    #[case(Outcome::Recreated, &["ResourceRecreating", "ResourceRecreateSuccess"])]
    #[case(Outcome::Pruned, &["ResourceDeleteSuccess"])]
    #[case(Outcome::Kept, &[])]
    #[case(Outcome::Gone, &[])]
    #[case(Outcome::Pending("x".into()), &[])]
    #[case(failed(Operation::Read), &["ResourceCreateOrUpdateFailed"])]
    #[case(failed(Operation::Create), &["ResourceCreateFailed"])]
    #[case(failed(Operation::Update), &["ResourceUpdateFailed"])]
    #[case(failed(Operation::Recreate), &["ResourceRecreating", "ResourceRecreateFailed"])]
    #[case(failed(Operation::Delete), &["ResourceDeleteFailed"])]
    fn events_of_outcomes(#[case] outcome: Outcome, #[case] expected: &[&str]) {
        let mut report = Report::default();
        report.add(key(), (outcome, None));
        let reasons: Vec<_> = report.events().map(|event| event.reason).collect();
        assert_eq!(reasons, expected);
    }

    #[test]
    fn objects_that_wait_for_the_same_are_named_together() {
        let mut report = Report::default();
        for name in ["a", "b", "c"] {
            let why = if name == "c" {
                "it is being deleted"
            } else {
                "waits for Deployment ns/x"
            };
            report.add(Key::secret("ns", name), (Outcome::Pending(why.to_owned()), None));
        }
        let expected = [
            "Secret ns/a, Secret ns/b: waits for Deployment ns/x",
            "Secret ns/c: it is being deleted",
        ];
        assert_eq!(report.waiting(), expected);
    }

    // Roles that may not be deleted with the permissions of the Go operator; a workload that is kept is a failure.
    #[rstest]
    #[case::a_role(
        "ClusterRole",
        "rbac.authorization.k8s.io/v1",
        Operation::Delete,
        Class::Refused,
        true
    )]
    #[case::a_workload("Deployment", "apps/v1", Operation::Delete, Class::Refused, false)]
    #[case::written(
        "ClusterRole",
        "rbac.authorization.k8s.io/v1",
        Operation::Update,
        Class::Refused,
        false
    )]
    #[case::a_busy_server(
        "ClusterRole",
        "rbac.authorization.k8s.io/v1",
        Operation::Delete,
        Class::Transient,
        false
    )]
    fn objects_that_may_not_be_deleted_are_left(
        #[case] kind: &str,
        #[case] api_version: &str,
        #[case] operation: Operation,
        #[case] class: Class,
        #[case] expected: bool,
    ) {
        let key = Key::of_cluster(api_version, kind, "x");
        let words = r#"x is forbidden: User "me" cannot delete resource "things" in API group """#;
        assert_eq!(Failure::new(&key, operation, class, words).is_left_behind(), expected);
        let policy = Failure::new(&key, operation, class, "a policy says no");
        assert!(!policy.is_left_behind());
    }

    fn failed(operation: Operation) -> Outcome {
        Outcome::Failed(Failure::new(&key(), operation, Class::Transient, "why"))
    }

    #[test]
    fn no_secret_is_printed() {
        let mut report = Report::default();
        let secret = serde_json::json!({ "kind": "Secret", "data": { "password": "czNjcmV0" } });
        report.add(key(), (Outcome::Kept, Some(Arc::new(secret))));
        assert!(report.object(&key()).is_some());
        assert!(!format!("{report:?}").contains("czNjcmV0"));
    }

    #[test]
    fn an_object_that_could_not_be_deleted_stays_in_the_inventory() {
        let named = |name: &str| Key {
            name: name.into(),
            ..key()
        };
        let mut report = Report::default();
        report.add(named("wanted"), (failed(Operation::Create), None));
        report.add(named("unwanted"), (failed(Operation::Delete), None));
        report.add(named("waiting"), (Outcome::Pending("x".into()), None));
        report.add(named("pruned"), (Outcome::Pruned, None));
        report.add(named("gone"), (Outcome::Gone, None));
        report.add(named("foreign"), (Outcome::Left("not ours".into()), None));
        let names: Vec<_> = report.inventory().into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["unwanted", "waiting", "wanted"]);
        assert!(!report.is_complete());
    }
}
