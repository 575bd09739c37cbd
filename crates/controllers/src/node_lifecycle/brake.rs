//! The brake: a cloud that says that most machines are gone is more likely to be wrong than right.
//!
//! Pure: the caller says what time it is.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// When the brake holds, and when it lets go.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Which part of all Nodes may go within the window; 1 releases the brake for good.
    pub fraction: f64,
    /// How many may go within the window in any case, unless that is more than half of all. Nobody expects a part of few
    /// to be so strict; but who gave the part himself means it, and has none of this.
    pub floor: usize,
    /// The window.
    pub window: Duration,
    /// How long a machine must have been missing, at every look, to be believed gone when too many are.
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
    /// How many of so many Nodes may go within the window.
    ///
    /// One may always go, be it the only one: a part that rounds to none would keep every dead Node for ever, and one
    /// Node, which its kubelet has given up on as well, is no mass. A cluster of one cannot be told from a cloud that is
    /// wrong about everything, so its Node is treated as one of many would be.
    #[must_use]
    pub fn allowance(&self, nodes: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of a count of Nodes"
        )]
        let part = (nodes as f64 * self.fraction) as usize;
        part.max(self.floor.min(nodes / 2)).max(1)
    }
}

/// Remembers which machines are missing since when, and how many Nodes went lately.
#[derive(Debug)]
pub struct Brake {
    limits: Limits,
    missing: HashMap<String, Instant>,
    gone: VecDeque<Instant>,
    /// When too many were missing the last time.
    doubted: Option<Instant>,
}

/// What the brake says about the Nodes that are to go, by UID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// These may go.
    pub release: Vec<String>,
    /// These are held back.
    pub hold: Vec<String>,
}

impl Brake {
    /// A brake that holds nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            missing: HashMap::new(),
            gone: VecDeque::new(),
            doubted: None,
        }
    }

    /// Decides which of the Nodes whose machines are missing may go, of `nodes` in all. To be called at every look: a
    /// machine that is neither missing nor unknown is there, and begins anew when it is missing again.
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
            self.doubted = Some(now);
        }
        let in_doubt = self
            .doubted
            .is_some_and(|at| now.saturating_duration_since(at) < self.limits.confirm);
        let (mut release, mut hold): (Vec<_>, Vec<_>) = missing
            .iter()
            .cloned()
            .partition(|uid| !in_doubt || self.is_confirmed(uid, now));
        hold.extend(release.split_off(room.min(release.len())));
        Verdict { release, hold }
    }

    /// A Node went.
    pub fn went(&mut self, uid: &str, now: Instant) {
        self.missing.remove(uid);
        self.gone.push_back(now);
    }

    fn room(&mut self, nodes: usize, now: Instant) -> usize {
        while self
            .gone
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) >= self.limits.window)
        {
            self.gone.pop_front();
        }
        self.limits
            .allowance(nodes + self.gone.len())
            .saturating_sub(self.gone.len())
    }

    fn is_confirmed(&self, uid: &str, now: Instant) -> bool {
        self.missing
            .get(uid)
            .is_some_and(|since| now.saturating_duration_since(*since) >= self.limits.confirm)
    }
}

#[cfg(test)]
mod tests;
