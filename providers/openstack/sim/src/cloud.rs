//! What the operator of the cloud holds.

use crate::{
    Call, Fault, FaultId, Mark, Settings,
    clock::Clock,
    keystone::Identity,
    recorded,
    state::{Now, State},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// A cloud, as its operator sees it. Clones share it.
///
/// It begins with the projects and users `admin` and `demo` (password `labpass`, domain `default`), the flavors `m1.tiny`,
/// `m1.small` and `m1.medium`, the image `cirros`, and the external network `public` (203.0.113.0/24).
#[derive(Debug, Clone)]
pub struct Cloud {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    state: Mutex<State>,
    identity: Arc<Mutex<Identity>>,
    clock: Clock,
    changed: Arc<watch::Sender<()>>,
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Cloud {
    /// A cloud that works.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// A cloud that works like this.
    pub fn with(settings: Settings) -> Self {
        Self::build(settings, Arc::new(Mutex::new(Identity::new())), Arc::default())
    }

    /// Another region: a cloud with the same Keystone, and nothing else in common. Its endpoints must be put into the catalog
    /// with [`Cloud::add_endpoints`] once it is served.
    #[must_use]
    pub fn region(&self, settings: Settings) -> Self {
        Self::build(
            settings,
            Arc::clone(&self.inner.identity),
            Arc::clone(&self.inner.changed),
        )
    }

    fn build(settings: Settings, identity: Arc<Mutex<Identity>>, changed: Arc<watch::Sender<()>>) -> Self {
        let state = State {
            settings,
            ..State::default()
        };
        let cloud = Self {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                identity,
                clock: Clock::start(),
                changed,
            }),
        };
        cloud.furnish();
        cloud
    }

    /// How it works.
    pub fn settings(&self) -> Settings {
        self.read(|state| state.settings.clone())
    }

    /// Makes it work otherwise from now on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.write(|state, _| change(&mut state.settings));
    }

    /// Makes something go wrong from now on.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.write(|state, _| state.faults.inject(fault))
    }

    /// Ends a fault; calls that hang on it go on.
    pub fn withdraw(&self, fault: FaultId) {
        self.write(|state, _| state.faults.withdraw(fault));
    }

    /// How often a fault has struck, whether it was withdrawn since or not.
    pub fn struck(&self, fault: FaultId) -> u64 {
        self.read(|state| state.faults.struck(fault))
    }

    /// Ends all faults.
    pub fn withdraw_all(&self) {
        self.write(|state, _| state.faults.clear());
    }

    /// The calls so far, oldest first, as far as the log goes back.
    pub fn calls(&self) -> Vec<Call> {
        self.read(|state| state.calls.all().cloned().collect())
    }

    /// Where the call log is now.
    pub fn mark(&self) -> Mark {
        self.read(|state| state.calls.mark())
    }

    /// The calls since then, oldest first, as far as the log goes back.
    pub fn calls_since(&self, mark: Mark) -> Vec<Call> {
        self.read(|state| state.calls.since(mark).cloned().collect())
    }

    /// The calls since then that asked for a change, oldest first.
    pub fn writes_since(&self, mark: Mark) -> Vec<Call> {
        self.read(|state| {
            state
                .calls
                .since(mark)
                .filter(|call| call.is_write())
                .cloned()
                .collect()
        })
    }

    /// How many calls of this name there were; see [`crate::OPERATIONS`].
    pub fn count(&self, operation: &str) -> u64 {
        self.read(|state| state.calls.count(operation))
    }

    /// How many calls there were.
    pub fn total(&self) -> u64 {
        self.read(|state| state.calls.total())
    }

    /// What was asked and answered with 501, because the simulation does not know it. A test that cares ends with this empty.
    pub fn unknown(&self) -> Vec<String> {
        self.read(|state| state.unknown.clone())
    }

    /// What was asked in a way in which nobody asked the real services, so that nobody knows what those would say. Of what
    /// the log remembers, each once.
    pub fn unrecorded(&self) -> Vec<String> {
        let mut told: Vec<String> = self.read(|state| state.calls.all().filter_map(recorded::unrecorded).collect());
        told.sort();
        told.dedup();
        told
    }

    /// Waits until this holds; looks after every call, every change by the operator, and whenever a load balancer settles.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changed = self.inner.changed.subscribe();
        while !holds(self) {
            match self.read(|state| state.octavia.next_due()) {
                Some(due) => tokio::select! {
                    _ = changed.changed() => {}
                    () = sleep_until(due) => {}
                },
                // The sender lives as long as we do.
                None => drop(changed.changed().await),
            }
        }
    }

    /// How long the cloud has existed.
    pub fn age(&self) -> Duration {
        self.inner.clock.age()
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            wall: self.inner.clock.now(),
            instant: Instant::now(),
        }
    }

    pub(crate) fn identity(&self) -> MutexGuard<'_, Identity> {
        self.inner.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock(self.now()))
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut State, Now) -> T) -> T {
        let now = self.now();
        let answer = change(&mut self.lock(now), now);
        self.touch();
        answer
    }

    /// Tells those who wait that something may have changed.
    pub(crate) fn touch(&self) {
        self.inner.changed.send_replace(());
    }

    /// The state as of now.
    fn lock(&self, now: Now) -> MutexGuard<'_, State> {
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle(now);
        state
    }
}
