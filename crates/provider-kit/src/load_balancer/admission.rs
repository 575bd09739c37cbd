//! Which new load balancers may begin, so that those that were begun are finished first. Pure: the time is passed in.
//!
//! If all load balancers are begun at the same time, an API that slows down under load gives the first address late. A cloud that takes a
//! minute for each of them, and works on all of them at the same time, must not be limited to a few. How long a load balancer is pending does
//! not distinguish these clouds, but how long the API takes to answer does. So a window limits how many Services keep the API busy before
//! another one begins: it grows while creating a load balancer takes about as long as the fastest time seen, and is halved when that takes much
//! longer. A load balancer that is only pending does not count. What was begun never waits, so it is finished first. The very first has a head
//! start: the others wait until it is finished, or for a few times as long as its creation took.

use std::{collections::HashMap, hash::Hash, time::Duration};
use tokio::time::Instant;

/// The first window, and the smallest.
const SMALLEST: u32 = 1;

/// An answer that takes at most three times as long as the fastest, and this, makes the window larger.
const NEAR: Duration = Duration::from_millis(100);

/// An answer that takes more than four times as long as the fastest, and this, makes it smaller.
const SLACK: Duration = Duration::from_millis(200);

/// This many slow answers in a row while the window is the smallest do not come from what was begun: the API is as fast as that now.
const LASTING: u32 = 4;

/// The head start of the first Service, as a multiple of the time that its creation took, and at most.
const HEAD_START: u32 = 3;
const LONGEST_HEAD_START: Duration = Duration::from_secs(5);

/// How often a waiting Service is reconciled. If many wait, the last ones are reconciled less often.
const POLL: Duration = Duration::from_millis(100);
const LAST_POLL: Duration = Duration::from_secs(5);

/// A call that takes longer than this is no measure of how busy the API is.
const HUNG: Duration = Duration::from_secs(30);

/// A Service that is late by this does not keep those behind it from beginning.
const LATE: Duration = Duration::from_secs(2);

/// A Service that is late by this is forgotten: the controller has nothing to do with it now.
const LOST: Duration = Duration::from_mins(1);

/// Whether a load balancer was created. A refusal is often faster than anything else, and is no measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Created,
    Refused,
}

/// Whether a Service may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may, or has begun.
    Begin,
    /// It is reconciled again after this time.
    Wait(Duration),
}

/// Services that begin, by a key of type `K`.
#[derive(Debug)]
pub(super) struct Admission<K> {
    services: HashMap<K, Entry>,
    /// The number of the next Service: they begin in the order in which they came.
    number: u64,
    window: u32,
    growth: Growth,
    /// Fast answers since the window last grew.
    fast: u32,
    pace: Pace,
    /// When the window was last halved: earlier calls do not halve it again.
    narrowed: Option<Instant>,
    /// The fastest answer.
    fastest: Option<Duration>,
    /// How many answers in a row were slow while the window was the smallest.
    slow: u32,
    /// The end of the head start of the first Service.
    head_start: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    phase: Phase,
    activity: Activity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// Its load balancer is being created.
    Creating,
    /// Its load balancer exists, and is not finished.
    Begun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// It has been reconciled since this time.
    Since(Instant),
    /// It is reconciled again at this time.
    Due(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// Until the first slow answer: by one for each fast answer, so that the window doubles when all of it was answered.
    Doubling,
    /// Afterwards: by one when all of it was answered.
    Linear,
}

/// What the last answer was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Fast,
    Slow,
}

impl<K> Default for Admission<K> {
    fn default() -> Self {
        Self {
            services: HashMap::new(),
            number: 0,
            window: SMALLEST,
            growth: Growth::Doubling,
            fast: 0,
            pace: Pace::Fast,
            narrowed: None,
            fastest: None,
            slow: 0,
            head_start: None,
        }
    }
}

/// Services.
impl<K: Eq + Hash> Admission<K> {
    /// A Service is being reconciled.
    pub fn resume(&mut self, key: &K, now: Instant) {
        if let Some(entry) = self.services.get_mut(key) {
            entry.activity = Activity::Since(now);
        }
    }

    /// Whether a Service may begin.
    pub fn ask(&mut self, key: K, now: Instant) -> Verdict {
        self.services.retain(|_, entry| !entry.is_late(now, LOST));
        let (places, number, window) = (self.places(now), self.number, self.window);
        let entry = self.services.entry(key).or_insert(Entry {
            number,
            phase: Phase::Waiting,
            activity: Activity::Since(now),
        });
        self.number += u64::from(entry.number == number);
        if entry.phase != Phase::Waiting {
            return Verdict::Begin;
        }
        let number = entry.number;
        let ahead = self.ahead(number, now);
        if ahead >= places {
            return Verdict::Wait(wait(ahead, window));
        }
        let mut entries = self.services.values_mut();
        if let Some(entry) = entries.find(|entry| entry.number == number) {
            (entry.phase, entry.activity) = (Phase::Creating, Activity::Since(now));
        }
        Verdict::Begin
    }

    /// The Service is pending, and is reconciled again at this time.
    pub fn keep(&mut self, key: &K, due: Instant) {
        if let Some(entry) = self.services.get_mut(key) {
            entry.activity = Activity::Due(due);
            if entry.phase == Phase::Creating {
                entry.phase = Phase::Begun;
            }
        }
    }

    /// Whether no Service waits or is begun.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// The Service is finished, failed, or is deleted.
    pub fn leave(&mut self, key: &K) {
        let left = self.services.remove(key);
        if left.is_some_and(|entry| entry.phase != Phase::Waiting) {
            self.head_start = None;
        }
    }

    /// How many more may begin.
    fn places(&self, now: Instant) -> u32 {
        if self.head_start.is_some_and(|end| now < end) {
            return 0;
        }
        let begun = self.services.values().filter(|entry| entry.phase != Phase::Waiting);
        let running = begun.filter_map(|entry| Some((entry.phase, entry.running(now)?)));
        let running: Vec<_> = running.filter(|(_, age)| *age < HUNG).collect();
        let overdue = |(phase, age): &(Phase, Duration)| *phase == Phase::Creating && self.is_slow(*age);
        match u32::try_from(running.len()).unwrap_or(u32::MAX) {
            0 => self.window,
            _ if self.pace == Pace::Slow || running.iter().any(overdue) => 0,
            busy => self.window.saturating_sub(busy),
        }
    }

    /// How many wait that came earlier and are not late.
    fn ahead(&self, number: u64, now: Instant) -> u32 {
        let waiting = self.services.values().filter(|entry| entry.phase == Phase::Waiting);
        let ahead = waiting.filter(|entry| entry.number < number && !entry.is_late(now, LATE));
        u32::try_from(ahead.count()).unwrap_or(u32::MAX)
    }
}

/// Answers.
impl<K> Admission<K> {
    /// A call that creates a load balancer was sent at this time and is answered now.
    pub fn answered(&mut self, outcome: Outcome, sent: Instant, now: Instant) {
        let took = now.saturating_duration_since(sent);
        if outcome == Outcome::Created {
            self.fastest = Some(self.fastest.map_or(took, |fastest| fastest.min(took)));
        }
        if self.is_slow(took) {
            self.narrow(took, sent, now);
        } else if outcome == Outcome::Created {
            (self.pace, self.slow) = (Pace::Fast, 0);
            self.widen(took);
            self.lead(took, now);
        }
    }

    /// Gives the first Service its head start.
    fn lead(&mut self, took: Duration, now: Instant) {
        let begun = self.services.values().filter(|entry| entry.phase != Phase::Waiting);
        if begun.count() == 1 {
            self.head_start = Some(now + (took * HEAD_START).min(LONGEST_HEAD_START));
        }
    }

    fn is_slow(&self, took: Duration) -> bool {
        self.fastest.is_some_and(|fastest| took > fastest * 4 + SLACK)
    }

    /// A window that is not used is no measure of what the API can do.
    fn widen(&mut self, took: Duration) {
        let is_near = self.fastest.is_some_and(|fastest| took <= fastest * 3 + NEAR);
        if !is_near || !self.services.values().any(|entry| entry.phase == Phase::Waiting) {
            return;
        }
        self.fast += 1;
        if self.growth == Growth::Doubling || self.fast >= self.window {
            (self.window, self.fast) = (self.window + 1, 0);
        }
    }

    fn narrow(&mut self, took: Duration, sent: Instant, now: Instant) {
        (self.pace, self.growth) = (Pace::Slow, Growth::Linear);
        if self.narrowed.is_some_and(|narrowed| sent < narrowed) {
            return;
        }
        (self.narrowed, self.fast) = (Some(now), 0);
        self.slow += u32::from(self.window == SMALLEST);
        self.window = (self.window / 2).max(SMALLEST);
        if self.slow >= LASTING {
            (self.fastest, self.pace, self.slow) = (Some(took), Pace::Fast, 0);
        }
    }
}

impl Entry {
    /// For how long it has been reconciled.
    fn running(&self, now: Instant) -> Option<Duration> {
        match self.activity {
            Activity::Since(since) => Some(now.saturating_duration_since(since)),
            Activity::Due(_) => None,
        }
    }

    fn is_late(&self, now: Instant, by: Duration) -> bool {
        matches!(self.activity, Activity::Due(due) if now > due + by)
    }
}

/// When to reconcile a Service again that has so many ahead of it. Those that may begin soon are reconciled often.
fn wait(ahead: u32, window: u32) -> Duration {
    POLL.saturating_mul(1 + ahead / (4 * window)).min(LAST_POLL)
}

#[cfg(test)]
mod tests;
