//! A fake cloud, as its tests see it.

use crate::{
    Call, Details, Fault, FaultId, Latency, Mark, Now, Verdict,
    clock::Clock,
    fault::{Access, Faults},
    recorder::Recorder,
};
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

/// The state of a fake cloud, and how it changes with time. A cloud with an HTTP API implements [`crate::Api`] instead.
pub trait Model: Send + 'static {
    /// What is recorded of a call.
    type Call: Details;
    /// How a call can fail.
    type Failure: Clone + Send + 'static;

    /// Applies the changes that are due by now. Called before every read and write.
    fn settle(&mut self, now: Now) {
        let _ = now;
    }

    /// When the next change is due.
    fn next_due(&self) -> Option<Instant> {
        None
    }
}

/// A fake cloud. Clones share it.
pub struct Cloud<M: Model> {
    inner: Arc<Inner<M>>,
}

struct Inner<M: Model> {
    state: Mutex<State<M>>,
    clock: Clock,
    in_flight: AtomicUsize,
    changed: Arc<watch::Sender<()>>,
}

struct State<M: Model> {
    model: M,
    faults: Faults<M::Failure>,
    recorder: Recorder<M::Call>,
    latency: Latency,
}

impl<M: Model> Cloud<M> {
    /// A cloud in this state.
    pub fn new(model: M) -> Self {
        Self::build(model, Arc::default())
    }

    /// Another cloud that shares a part of its state with this one: [`Cloud::until`] sees changes of both.
    #[must_use]
    pub fn beside(&self, model: M) -> Self {
        Self::build(model, Arc::clone(&self.inner.changed))
    }

    fn build(model: M, changed: Arc<watch::Sender<()>>) -> Self {
        let state = State {
            model,
            faults: Faults::default(),
            recorder: Recorder::default(),
            latency: Latency::default(),
        };
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                clock: Clock::default(),
                in_flight: AtomicUsize::new(0),
                changed,
            }),
        }
    }

    /// Reads the state.
    pub fn read<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        look(&self.lock(self.now()).model)
    }

    /// Changes the state, without a call.
    pub fn write<T>(&self, change: impl FnOnce(&mut M, Now) -> T) -> T {
        let now = self.now();
        self.edit(|state| change(&mut state.model, now))
    }

    /// Injects a fault from now on.
    pub fn inject(&self, fault: Fault<M::Failure>) -> FaultId {
        self.edit(|state| state.faults.inject(fault))
    }

    /// Ends a fault; calls that it holds up continue.
    pub fn withdraw(&self, fault: FaultId) {
        self.edit(|state| state.faults.withdraw(fault));
    }

    /// Ends all faults.
    pub fn withdraw_all(&self) {
        self.edit(|state| state.faults.clear());
    }

    /// The faults that were injected and not withdrawn, oldest first.
    pub fn faults(&self) -> Vec<(FaultId, Fault<M::Failure>)> {
        self.look(|state| state.faults.all().map(|(id, fault)| (id, fault.clone())).collect())
    }

    /// How often a fault has struck, whether it was withdrawn since or not.
    pub fn struck(&self, fault: FaultId) -> u64 {
        self.look(|state| state.faults.struck(fault))
    }

    /// How long calls take from now on.
    pub fn set_latency(&self, latency: impl Into<Latency>) {
        self.edit(|state| state.latency = latency.into());
    }

    /// Keeps at most so many calls on record from now on; the oldest go first. Counters are always kept.
    pub fn set_capacity(&self, calls: usize) {
        self.edit(|state| state.recorder.set_capacity(calls));
    }

    /// The calls, oldest first, as far as the record goes back.
    pub fn calls(&self) -> Vec<Call<M::Call>> {
        self.look(|state| state.recorder.all().cloned().collect())
    }

    /// The end of the record, to count from.
    pub fn mark(&self) -> Mark {
        self.look(|state| state.recorder.mark())
    }

    /// The calls that arrived after a mark, oldest first, as far as the record goes back.
    pub fn calls_since(&self, mark: Mark) -> Vec<Call<M::Call>> {
        self.look(|state| state.recorder.since(mark).cloned().collect())
    }

    /// The calls after a mark that request a change, oldest first.
    pub fn writes_since(&self, mark: Mark) -> Vec<Call<M::Call>> {
        let mut calls = self.calls_since(mark);
        calls.retain(|call| call.subject().access == Access::Write);
        calls
    }

    /// The number of calls of this operation.
    pub fn count(&self, operation: impl AsRef<str>) -> u64 {
        self.look(|state| state.recorder.count(operation.as_ref()))
    }

    /// The number of calls.
    pub fn total(&self) -> u64 {
        self.look(|state| state.recorder.total())
    }

    /// Forgets all calls and resets the counters.
    pub fn forget_calls(&self) {
        self.edit(|state| state.recorder.clear());
    }

    /// Waits until this holds. Checks after every call, every change of the state, and whenever a change is due.
    pub async fn until(&self, holds: impl Fn() -> bool) {
        let mut changed = self.inner.changed.subscribe();
        while !holds() {
            match self.look(|state| state.model.next_due()) {
                Some(due) => tokio::select! {
                    _ = changed.changed() => {}
                    () = sleep_until(self.inner.clock.timer(due)) => {}
                },
                // The sender exists as long as this cloud does.
                None => drop(changed.changed().await),
            }
        }
    }

    /// The current time of the cloud.
    pub fn now(&self) -> Now {
        self.inner.clock.now()
    }

    /// How long the cloud has existed.
    pub fn age(&self) -> Duration {
        self.inner.clock.age()
    }

    /// Advances the cloud's clock at once. Delays and latency of calls keep to tokio's clock.
    pub fn advance(&self, by: Duration) {
        self.inner.clock.advance(by);
        self.touch();
    }

    /// Reports to [`Cloud::until`] that something may have changed outside of the state.
    pub fn touch(&self) {
        self.inner.changed.send_replace(());
    }

    /// Performs one call: records it, delays and blocks it as the faults require, acts on the state, and records what
    /// `act` returns besides the answer.
    pub async fn perform<T, C: FnOnce(&mut M::Call)>(
        &self,
        call: M::Call,
        act: impl FnOnce(&mut M, &Verdict<M::Failure>, Now) -> (T, C),
    ) -> T {
        let in_flight = InFlight::new(&self.inner.in_flight);
        let (number, verdict) = self.open(call, in_flight.count);
        if !verdict.delay.is_zero() {
            sleep(verdict.delay).await;
        }
        self.withdrawn(&verdict.hangs).await;
        let now = self.now();
        let (answer, close) = if verdict.withheld.is_empty() {
            return self.edit(|state| {
                let (answer, close) = act(&mut state.model, &verdict, now);
                state.recorder.close(number, self.age(), close);
                answer
            });
        } else {
            self.write(|model, now| act(model, &verdict, now))
        };
        self.withdrawn(&verdict.withheld).await;
        self.edit(|state| state.recorder.close(number, self.age(), close));
        answer
    }

    fn open(&self, call: M::Call, in_flight: usize) -> (u64, Verdict<M::Failure>) {
        let at = self.age();
        self.edit(|state| {
            let mut verdict = state.faults.judge(&call.subject());
            verdict.delay += state.latency.of(in_flight);
            (state.recorder.open(call, at), verdict)
        })
    }

    /// Waits until all of these faults are withdrawn.
    async fn withdrawn(&self, faults: &[FaultId]) {
        if !faults.is_empty() {
            self.until(|| self.look(|state| !state.faults.hold(faults))).await;
        }
    }

    fn look<T>(&self, look: impl FnOnce(&State<M>) -> T) -> T {
        look(&self.lock(self.now()))
    }

    fn edit<T>(&self, change: impl FnOnce(&mut State<M>) -> T) -> T {
        let result = change(&mut self.lock(self.now()));
        self.touch();
        result
    }

    fn lock(&self, now: Now) -> MutexGuard<'_, State<M>> {
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.model.settle(now);
        state
    }
}

impl<M: Model> Clone for Cloud<M> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<M: Model + Default> Default for Cloud<M> {
    fn default() -> Self {
        Self::new(M::default())
    }
}

impl<M: Model> fmt::Debug for Cloud<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cloud").finish_non_exhaustive()
    }
}

/// Counts a call for as long as it runs, also if its caller gives up.
struct InFlight<'a> {
    calls: &'a AtomicUsize,
    count: usize,
}

impl<'a> InFlight<'a> {
    fn new(calls: &'a AtomicUsize) -> Self {
        let count = calls.fetch_add(1, Ordering::Relaxed) + 1;
        Self { calls, count }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }
}
