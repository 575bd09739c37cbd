//! What was applied last, so that a value which the server normalizes is not applied again and again.

use super::contest::Contest;
use crate::Key;
use serde_json::Value;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// What this process has applied. It does not correct mistakes of [`compare`](crate::operands::compare), which return after a restart; it
/// only limits them to one write.
#[derive(Default)]
pub(in crate::operands) struct Applied(Mutex<HashMap<Key, Entry>>);

struct Entry {
    wanted: u64,
    live: u64,
    version: Option<u64>,
    contest: Contest,
}

impl Applied {
    /// Records that applying `wanted` at this time resulted in this object. If the same was desired before, another program has
    /// changed it in between.
    pub(in crate::operands) fn remember(&self, key: &Key, wanted: &Value, live: &Value, now: Instant) {
        let (wanted, mut applied) = (hash(wanted), self.lock());
        let before = applied.remove(key).filter(|before| before.wanted == wanted);
        let contest = before.map_or_else(Contest::default, |before| {
            let mut contest = before.contest;
            contest.repaired(now);
            contest
        });
        let entry = Entry {
            wanted,
            live: fingerprint(live),
            version: version(live),
            contest,
        };
        applied.insert(key.clone(), entry);
    }

    /// Whether another program reverts the object again and again, so that it is not applied at this time.
    pub(in crate::operands) fn is_contested(&self, key: &Key, wanted: &Value, now: Instant) -> bool {
        let is_paused = |entry: &Entry| entry.wanted == hash(wanted) && entry.contest.is_paused(now);
        self.lock().get(key).is_some_and(is_paused)
    }

    /// Forgets an object, because it does not exist any more.
    pub(in crate::operands) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Whether applying `wanted` resulted in this object, so that applying it again would change nothing.
    pub(in crate::operands) fn knows(&self, key: &Key, wanted: &Value, live: &Value) -> bool {
        let known = |entry: &Entry| entry.wanted == hash(wanted) && entry.live == fingerprint(live);
        self.lock().get(key).is_some_and(known)
    }

    /// Whether a copy of the object is older than our last write; `None` for an object that seems not to exist.
    pub(in crate::operands) fn is_stale(&self, key: &Key, copy: Option<&Value>) -> bool {
        let applied = self.lock();
        let Some(entry) = applied.get(key) else { return false };
        copy.is_none_or(|copy| version(copy).zip(entry.version).is_some_and(|(copy, own)| copy < own))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version(live: &Value) -> Option<u64> {
    live["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// Changes only with a write of the object, not with a write of its status.
fn fingerprint(live: &Value) -> u64 {
    let mut live = live.clone();
    if let Some(fields) = live.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
        let written = ["uid", "labels", "annotations", "finalizers", "ownerReferences"];
        metadata.retain(|name, _| written.contains(&name.as_str()));
    }
    hash(&live)
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn key() -> Key {
        Key {
            api_version: "v1".into(),
            kind: "Service".into(),
            namespace: Some("ns".into()),
            name: "x".into(),
        }
    }

    fn live() -> Value {
        json!({
            "metadata": { "resourceVersion": "7", "uid": "u", "labels": { "a": "b" }, "managedFields": [{ "time": "now" }] },
            "spec": { "memory": "1024Mi" },
            "status": { "ready": 1 },
        })
    }

    fn remembered() -> Applied {
        let applied = Applied::default();
        applied.remember(&key(), &json!({ "spec": { "memory": "1Gi" } }), &live(), Instant::now());
        applied
    }

    #[rstest]
    #[case::the_same("/status/ready", json!(1), true)]
    #[case::status("/status/ready", json!(2), true)]
    #[case::version("/metadata/resourceVersion", json!("8"), true)]
    #[case::when("/metadata/managedFields/0/time", json!("later"), true)]
    #[case::content("/spec/memory", json!("2Gi"), false)]
    #[case::label("/metadata/labels/a", json!("c"), false)]
    #[case::another_of_its_name("/metadata/uid", json!("v"), false)]
    fn applied_objects_are_known(#[case] pointer: &str, #[case] value: Value, #[case] known: bool) {
        let mut there = live();
        *there.pointer_mut(pointer).expect("a field") = value;
        let applied = remembered();
        assert_eq!(
            applied.knows(&key(), &json!({ "spec": { "memory": "1Gi" } }), &there),
            known
        );
        assert!(!applied.knows(&key(), &json!({ "spec": { "memory": "2Gi" } }), &there));
        applied.forget(&key());
        assert!(!applied.knows(&key(), &json!({ "spec": { "memory": "1Gi" } }), &there));
    }

    #[test]
    fn a_new_desired_state_is_no_repair() {
        let (applied, now) = (Applied::default(), Instant::now());
        for number in 0..100 {
            applied.remember(&key(), &json!({ "spec": number }), &live(), now);
        }
        assert!(!applied.is_contested(&key(), &json!({ "spec": 99 }), now));
        for _ in 0..100 {
            applied.remember(&key(), &json!({ "spec": 99 }), &live(), now);
        }
        assert!(applied.is_contested(&key(), &json!({ "spec": 99 }), now));
        assert!(!applied.is_contested(&key(), &json!({ "spec": 100 }), now));
    }

    #[rstest]
    #[case::older(Some("6"), true)]
    #[case::ours(Some("7"), false)]
    #[case::newer(Some("10"), false)]
    #[case::seems_gone(None, true)]
    fn copies_from_before_our_write_are_stale(#[case] version: Option<&str>, #[case] stale: bool) {
        let copy = version.map(|version| json!({ "metadata": { "resourceVersion": version } }));
        assert_eq!(remembered().is_stale(&key(), copy.as_ref()), stale);
        assert!(!Applied::default().is_stale(&key(), copy.as_ref()));
    }
}
