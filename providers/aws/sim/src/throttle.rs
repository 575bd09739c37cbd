//! Token buckets, one for each action: as in AWS, an action that is throttled does not stop others.

use crate::wire::Refusal;
use fakecloud::Now;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

/// How often an action may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// So many calls at once.
    pub burst: u32,
    /// After these, one call each time this has passed.
    pub refill: Duration,
}

/// The calls that each limited action has left.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<String, (u32, Instant)>);

impl Buckets {
    /// Takes a token, or refuses the call.
    pub fn take(&mut self, action: &str, limit: Option<&Limit>, now: Now) -> Result<(), Refusal> {
        let Some(limit) = limit else { return Ok(()) };
        let (left, since) = self.0.entry(action.to_owned()).or_insert((limit.burst, now.instant));
        let refilled = now.instant.duration_since(*since).as_nanos() / limit.refill.as_nanos().max(1);
        let refilled = u32::try_from(refilled).unwrap_or(u32::MAX);
        if refilled > 0 {
            *left = left.saturating_add(refilled).min(limit.burst);
            *since = now.instant;
        }
        match left.checked_sub(1) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(Refusal {
                status: 503,
                ..Refusal::new("RequestLimitExceeded", format!("Request limit exceeded for {action}."))
            }),
        }
    }
}
