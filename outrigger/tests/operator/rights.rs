//! With exactly the permissions of our manifests everything works, nothing is denied, and every permission is used: on `OpenShift`
//! and standalone.

mod openshift;
mod standalone;

pub use openshift::{MANAGED, OPERANDS, as_itself, managed, release, seal_source, start, user};

use crate::{
    fixture::Fixture,
    objects::kind,
    process_fixture::{Entry, Manager, Mark},
    standalone::cluster::Cluster,
    world::World,
};
use serde_json::Value;
use std::{collections::BTreeSet, path::PathBuf};

/// A cluster in which the operator needs all its permissions.
pub trait Scenario {
    /// Denials that are expected: `verb resource namespace/name`.
    const EXPECTED: &[&str];

    /// Permissions that are not used in this test, by a part of `verb resource in namespace names`, and why.
    const REASONS: &[(&str, &str)];

    /// Whether the operator has a permission only because it grants the same to managers.
    fn is_passed_on(rule: &Rule) -> bool;

    /// The manifest with the operator's own roles.
    fn manifest(&self) -> String;

    /// Grants the permissions.
    async fn grant(&self);

    /// The operator's account.
    fn account(&self) -> Account<'_>;

    /// Starts the operator with its own account.
    fn start(&self) -> Manager;

    /// Everything that the operator does for a manager, apart from its removal.
    async fn live(&self, operator: &Manager);

    /// The removal of the manager.
    async fn remove(&self, operator: &Manager);
}

/// The operator's account in a cluster.
pub struct Account<'a> {
    fixture: &'a Fixture,
    namespace: &'a str,
    name: &'static str,
}

/// One rule of a role.
pub struct Rule {
    /// Empty if the role is the cluster's.
    namespace: String,
    resources: Vec<String>,
    names: Vec<String>,
    verbs: Vec<String>,
}

impl Account<'_> {
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// A kubeconfig for this account.
    fn kubeconfig(&self) -> PathBuf {
        let group = format!("system:serviceaccounts:{}", self.namespace);
        let groups = ["system:serviceaccounts", &group];
        self.fixture.plane().kubeconfig_for(&self.user(), &groups)
    }

    /// The requests of this account.
    fn requests(&self, mark: Mark) -> Vec<Entry> {
        let (all, user) = (mark.read(&self.fixture.plane().audit_log()), self.user());
        all.into_iter().filter(|entry| entry.user == user).collect()
    }

    /// The requests of this account that were denied, apart from these.
    fn denied(&self, mark: Mark, expected: &[&str]) -> BTreeSet<String> {
        let all = self.requests(mark).into_iter();
        let denied = all.filter(|entry| matches!(entry.code, 401 | 403));
        let denied = denied.map(|entry| format!("{} {}/{}", entry.what(), entry.namespace, entry.name));
        denied.filter(|denied| !expected.contains(&denied.as_str())).collect()
    }
}

impl Rule {
    /// Every rule of the roles in a manifest.
    fn all(manifest: &str) -> Vec<Self> {
        let list = |rule: &Value, key: &str| -> Vec<String> {
            let all = rule[key].as_array().into_iter().flatten();
            all.map(|each| each.as_str().unwrap().to_owned()).collect()
        };
        let mut all = Vec::new();
        for object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
            let rules = object["rules"].as_array().into_iter().flatten();
            all.extend(rules.map(|rule| Self {
                namespace: namespace.to_owned(),
                resources: list(rule, "resources"),
                names: list(rule, "resourceNames"),
                verbs: list(rule, "verbs"),
            }));
        }
        all
    }

    /// The permissions in this rule that none of these requests has used, one verb and resource at a time.
    fn unused(&self, requests: &[Entry]) -> Vec<String> {
        let Self { namespace, names, .. } = self;
        let mut unused = Vec::new();
        for verb in &self.verbs {
            for resource in &self.resources {
                let uses = |entry: &Entry| {
                    // Server-side apply of a new object is a "create" for the authorizer.
                    let is_apply = verb == "create" && entry.verb == "patch" && entry.code == 201;
                    let place = namespace.is_empty() || entry.namespace == *namespace;
                    let named = names.is_empty() || entry.name.is_empty() || names.contains(&entry.name);
                    (entry.verb == *verb || is_apply) && entry.resource == *resource && place && named
                };
                if !requests.iter().any(uses) {
                    unused.push(format!("{verb} {resource} in {namespace:?} {names:?}"));
                }
            }
        }
        unused
    }

    /// Whether all resources are among these.
    fn is_about(&self, resources: &[&str]) -> bool {
        self.resources.iter().all(|each| resources.contains(&each.as_str()))
    }
}

/// Applies the objects of these files, after a change to each.
async fn apply(world: &Fixture, manifests: &[&str], mut change: impl FnMut(&mut Value)) {
    for manifest in manifests {
        for mut object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
            change(&mut object);
            let text = |pointer: &str| {
                let found = object.pointer(pointer).and_then(Value::as_str);
                found.unwrap_or_default().to_owned()
            };
            let (resource, name, namespace) = (
                kind(&text("/kind")),
                text("/metadata/name"),
                text("/metadata/namespace"),
            );
            world.apply(&resource, &namespace, &name, object.clone()).await;
        }
    }
}

/// Ends an operator once another one watches its lease, and waits until that one leads.
async fn hand_over(operator: Manager, standby: &Manager, account: &Account<'_>, mark: Mark) {
    let watches = |entry: &Entry| entry.what() == "watch leases";
    let look = async || {
        let watch = account.requests(mark).into_iter().find(watches);
        watch.ok_or_else(|| "no operator watches the lease".to_owned())
    };
    standby.until("a watch of the lease", look).await;
    operator.signal("TERM");
    assert_eq!(operator.exited().await.code, 0);
    standby.leading().await;
}

/// A manager is installed, changed and removed: the operator needs its permissions, and no others.
async fn rights_are_enough_and_used<S: Scenario>(scenario: &S) {
    let account = scenario.account();
    scenario.grant().await;
    let mark = account.fixture.mark();
    let operator = scenario.start();
    scenario.live(&operator).await;
    let standby = scenario.start();
    hand_over(operator, &standby, &account, mark).await;
    scenario.remove(&standby).await;
    account.fixture.settled().await;
    let denied = account.denied(mark, S::EXPECTED);
    assert!(denied.is_empty(), "{denied:#?}{}", standby.log_tail());

    let requests = account.requests(mark);
    let own = Rule::all(&scenario.manifest()).into_iter();
    let own = own.filter(|rule| !S::is_passed_on(rule));
    let mut unused: Vec<_> = own.flat_map(|rule| rule.unused(&requests)).collect();
    unused.retain(|line| !S::REASONS.iter().any(|(part, _)| line.contains(part)));
    assert!(unused.is_empty(), "granted and never used: {unused:#?}");
}

#[tokio::test]
async fn nothing_is_denied_on_openshift() {
    rights_are_enough_and_used(&World::in_namespace(OPERANDS).await).await;
}

#[tokio::test]
async fn nothing_is_denied_standalone() {
    rights_are_enough_and_used(&Cluster::new().await).await;
}
