//! What this process has learned about Octavia and Neutron, besides the state of load balancers. All of it may be lost at any time.

use cloud::Spec;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A load balancer that was failed over and is broken again needs a human being.
const FAIL_OVER_AGAIN: Duration = Duration::from_hours(24);

/// What this process has learned.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Certificates that exist.
    certificates: HashSet<String>,
    /// Pools and the algorithms that Octavia refused for them, with its answer.
    refused: HashMap<(String, String), String>,
    /// Pools and the algorithms that were in conflict with something once.
    conflicts: HashSet<(String, String)>,
    /// UIDs of Services that have no security group any more.
    without_group: HashSet<String>,
    /// By cluster and UID: Services that cannot have the address again that they had.
    lost_address: HashSet<(String, String)>,
    /// By load balancer: when it was failed over.
    failed_over: HashMap<String, Instant>,
}

impl Learned {
    /// Whether this certificate was found before.
    pub fn has_certificate(&self, reference: &str) -> bool {
        self.lock().certificates.contains(reference)
    }

    /// This certificate exists.
    pub fn found_certificate(&self, reference: &str) {
        self.lock().certificates.insert(reference.to_owned());
    }

    /// Octavia's answer when it refused this algorithm for this pool.
    pub fn refusal(&self, pool: &str, algorithm: &str) -> Option<String> {
        let key = (pool.to_owned(), algorithm.to_owned());
        self.lock().refused.get(&key).cloned()
    }

    /// Octavia refused this algorithm for this pool.
    pub fn refused(&self, pool: &str, algorithm: &str, why: String) {
        let key = (pool.to_owned(), algorithm.to_owned());
        self.lock().refused.insert(key, why);
    }

    /// This algorithm is in conflict with the state of this pool. Answers whether that is new.
    pub fn note_conflict(&self, pool: &str, algorithm: &str) -> bool {
        self.lock().conflicts.insert((pool.to_owned(), algorithm.to_owned()))
    }

    /// Whether the Service is known to have no security group.
    pub fn has_no_group(&self, uid: &str) -> bool {
        self.lock().without_group.contains(uid)
    }

    /// The Service has no security group.
    pub fn no_group(&self, uid: &str) {
        self.lock().without_group.insert(uid.to_owned());
    }

    /// The Service cannot have the address again that it had.
    pub fn lost_address(&self, spec: &Spec) {
        self.lock().lost_address.insert(key(spec));
    }

    /// The Service has an address.
    pub fn got_address(&self, spec: &Spec) {
        self.lock().lost_address.remove(&key(spec));
    }

    /// Whether the Service cannot have the address again that it had.
    pub fn has_lost_address(&self, spec: &Spec) -> bool {
        self.lock().lost_address.contains(&key(spec))
    }

    /// Takes the right to fail over a load balancer, which there is once a day.
    pub fn take_failover(&self, id: &str) -> bool {
        let now = Instant::now();
        let mut inner = self.lock();
        let last = inner.failed_over.get(id);
        let may = last.is_none_or(|last| now.duration_since(*last) > FAIL_OVER_AGAIN);
        if may {
            inner.failed_over.insert(id.to_owned(), now);
        }
        may
    }

    /// The load balancer was not failed over, for a reason that may inputs.
    pub fn give_back_failover(&self, id: &str) {
        self.lock().failed_over.remove(id);
    }

    /// The configuration was replaced: what follows from it has to be learned again.
    pub fn reconfigured(&self) {
        let mut inner = self.lock();
        inner.certificates.clear();
        inner.without_group.clear();
    }

    /// Nothing is left of a Service.
    pub fn forget_service(&self, spec: &Spec) {
        let mut inner = self.lock();
        inner.without_group.remove(&spec.service.uid);
        inner.lost_address.remove(&key(spec));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two clusters can have a Service of the same UID, if one was restored from the other's backup.
fn key(spec: &Spec) -> (String, String) {
    (spec.cluster.clone(), spec.service.uid.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn fails_over_once_a_day() {
        let learned = Learned::default();
        assert!(learned.take_failover("lb") && !learned.take_failover("lb"));
        tokio::time::advance(FAIL_OVER_AGAIN + Duration::from_secs(1)).await;
        assert!(learned.take_failover("lb"));
        learned.give_back_failover("lb");
        assert!(learned.take_failover("lb"), "nothing came of it");
    }
}
