//! The limit of deletions: a cloud that suddenly lacks most instances is more likely to have a fault than to be right.
//!
//! Pure: the caller passes the time.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// When deletions are held, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The fraction of all Nodes that may be deleted within the window; 1 disables the limit.
    pub fraction: f64,
    /// The number of Nodes that may be deleted within the window even if it exceeds the fraction, up to half of all Nodes.
    /// It is 0 if the user set the fraction explicitly.
    pub floor: usize,
    /// The window.
    pub window: Duration,
    /// How long an instance must be missing in every pass before its Node is deleted while the limit is exceeded.
    pub confirm: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fraction: 0.2,
            floor: 10,
            window: Duration::from_mins(10),
            confirm: Duration::from_mins(2),
        }
    }
}

impl Limits {
    /// How many of `nodes` may be deleted within the window.
    ///
    /// At least one, even if it is the only one: with a fraction that rounds to none, a Node without an instance would be
    /// kept for ever.
    #[must_use]
    pub fn allowance(&self, nodes: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a fraction of a count of Nodes"
        )]
        let fraction = (nodes as f64 * self.fraction) as usize;
        fraction.max(self.floor.min(nodes / 2)).max(1)
    }
}

/// Records which instances are missing since when, and how many Nodes were deleted within the window.
#[derive(Debug)]
pub struct DeletionLimit {
    limits: Limits,
    missing: HashMap<String, Instant>,
    deletions: VecDeque<Instant>,
    /// When the limit was last exceeded.
    exceeded: Option<Instant>,
}

/// The decision about the Nodes to be deleted, by UID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Deleted now.
    pub allowed: Vec<String>,
    /// Kept for now.
    pub held: Vec<String>,
}

impl DeletionLimit {
    /// A limit with no deletions recorded.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            missing: HashMap::new(),
            deletions: VecDeque::new(),
            exceeded: None,
        }
    }

    /// Decides which of the Nodes with missing instances may be deleted, out of `nodes` in total. It must be called in every
    /// pass: an instance that is neither missing nor unknown exists, and its time starts again when it is missing.
    pub fn admit(&mut self, missing: &[String], unknown: &HashSet<String>, nodes: usize, now: Instant) -> Verdict {
        let mut before = std::mem::take(&mut self.missing);
        self.missing = missing
            .iter()
            .map(|uid| (uid.clone(), before.remove(uid).unwrap_or(now)))
            .collect();
        self.missing
            .extend(before.into_iter().filter(|(uid, _)| unknown.contains(uid)));
        let room = self.room(nodes, now);
        if missing.len() > room {
            self.exceeded = Some(now);
        }
        let is_held = self
            .exceeded
            .is_some_and(|at| now.saturating_duration_since(at) < self.limits.confirm);
        let (mut allowed, mut held): (Vec<_>, Vec<_>) = missing
            .iter()
            .cloned()
            .partition(|uid| !is_held || self.is_confirmed(uid, now));
        held.extend(allowed.split_off(room.min(allowed.len())));
        Verdict { allowed, held }
    }

    /// A Node was deleted.
    pub fn deleted(&mut self, uid: &str, now: Instant) {
        self.missing.remove(uid);
        self.deletions.push_back(now);
    }

    fn room(&mut self, nodes: usize, now: Instant) -> usize {
        while self
            .deletions
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) >= self.limits.window)
        {
            self.deletions.pop_front();
        }
        self.limits
            .allowance(nodes + self.deletions.len())
            .saturating_sub(self.deletions.len())
    }

    fn is_confirmed(&self, uid: &str, now: Instant) -> bool {
        self.missing
            .get(uid)
            .is_some_and(|since| now.saturating_duration_since(*since) >= self.limits.confirm)
    }
}

#[cfg(test)]
mod tests;
