//! The requests and writes of the operator, from the audit log: the same on `OpenShift` and standalone.

use crate::process_fixture::{Entry, Mark};
use lab::ControlPlane;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::{Instant, sleep};

/// How long an operator without work does not write.
pub const A_WHILE: Duration = Duration::from_millis(700);
/// Long enough for a busy machine, and far too long for an operator that stops writing.
const PATIENCE: Duration = Duration::from_mins(4);

/// The operator's requests since then, apart from Leases and Events, under any of its names.
pub fn requests_since(plane: &ControlPlane, mark: Mark) -> Vec<Entry> {
    let names = ["outrigger/", "cluster-", "config-sync"];
    let ours = |entry: &Entry| names.iter().any(|name| entry.agent.starts_with(name));
    let is_report = |entry: &Entry| matches!(entry.resource.as_str(), "leases" | "events");
    let all = mark.read(&plane.audit_log()).into_iter();
    all.filter(|entry| ours(entry) && !is_report(entry)).collect()
}

/// Its writes since then: `verb resource name`.
pub fn writes_since(plane: &ControlPlane, mark: Mark) -> Vec<String> {
    let all = requests_since(plane, mark).into_iter().filter(Entry::is_write);
    all.map(|entry| format!("{} {} {}", entry.verb, entry.resource, entry.name))
        .collect()
}

/// Waits until the operator has not written anything for this time.
pub async fn quiet(plane: &ControlPlane, time: Duration) {
    let end = || Mark::end_of(&plane.audit_log());
    let mut mark = end();
    let news = || {
        let since = std::mem::replace(&mut mark, end());
        writes_since(plane, since)
    };
    come_to_rest(time, PATIENCE, news).await;
}

/// Waits until there are no new writes for this time; fails with the writes if they never end.
async fn come_to_rest(time: Duration, patience: Duration, mut news: impl FnMut() -> Vec<String>) {
    let end = Instant::now() + patience;
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        sleep(time).await;
        let writes = news();
        if writes.is_empty() {
            return;
        }
        for write in writes {
            *all.entry(write).or_default() += 1;
        }
        assert!(
            Instant::now() < end,
            "it does not come to rest, and wrote so often: {all:#?}"
        );
    }
}

#[tokio::test]
#[should_panic(expected = "patch deployments a")]
async fn an_object_that_never_settles_is_given_up() {
    let news = || vec!["patch deployments a".to_owned()];
    come_to_rest(Duration::ZERO, Duration::from_millis(5), news).await;
}

#[tokio::test]
async fn an_object_that_settles_is_not_reported() {
    let mut left = 5;
    let news = || {
        left -= 1;
        vec![String::new(); left]
    };
    come_to_rest(Duration::ZERO, PATIENCE, news).await;
    assert_eq!(left, 0);
}
