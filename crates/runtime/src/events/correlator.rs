//! Decides how an event is written, as client-go's `EventCorrelator` does: similar events are combined, equal ones are counted,
//! and too many are dropped.

use super::{Event, Kind, lru::Lru};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::{Event as Object, EventSource},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use std::{
    fmt,
    hash::{BuildHasher, RandomState},
};

/// The limits for events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of entries of each cache.
    pub(super) entries: usize,
    /// The burst of events about one object.
    pub(super) burst: u32,
    /// The time after which one more event is allowed.
    pub(super) refill: SignedDuration,
    /// The number of events that differ only in their message from which on they are combined.
    pub(super) similar: usize,
    /// The maximum time between events that are combined.
    pub(super) interval: SignedDuration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 4096,
            burst: 25,
            refill: SignedDuration::from_mins(5),
            similar: 10,
            interval: SignedDuration::from_mins(10),
        }
    }
}

/// What to do about an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Create this object.
    Create(Object),
    /// This object should exist: update its count, message and last time, or create it if it was deleted.
    Count(Object),
}

impl Step {
    pub(super) fn object(&self) -> &Object {
        match self {
            Self::Create(object) | Self::Count(object) => object,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.object().count.unwrap_or_default();
        let message = self.object().message.as_deref().unwrap_or_default();
        match self {
            Self::Create(_) => write!(f, "create {count}× {message}"),
            Self::Count(_) => write!(f, "count {count}× {message}"),
        }
    }
}

/// The recorded events. Only hashes are kept: a collision loses one event.
#[derive(Debug)]
pub(super) struct Correlator {
    limits: Limits,
    hasher: RandomState,
    similar: Lru<u64, Similar>,
    seen: Lru<u64, Option<Seen>>,
    spam: Lru<u64, Tokens>,
}

/// Events that differ only in their message.
#[derive(Debug)]
struct Similar {
    messages: Vec<u64>,
    last: Timestamp,
}

/// An object that was written.
#[derive(Debug, Clone)]
struct Seen {
    name: String,
    first: Timestamp,
    count: i32,
}

#[derive(Debug)]
struct Tokens {
    left: f64,
    last: Timestamp,
}

impl Correlator {
    pub(super) fn new(limits: Limits) -> Self {
        let entries = limits.entries;
        Self {
            limits,
            hasher: RandomState::new(),
            similar: Lru::new(entries),
            seen: Lru::new(entries),
            spam: Lru::new(entries),
        }
    }

    /// Decides about an event that is recorded now; `None` if it is dropped.
    pub(super) fn correlate(&mut self, event: &Event, now: Timestamp) -> Option<Step> {
        let (message, key) = self.combine(event, now);
        let step = self.observe(event, message, key, now);
        // Last, so that a dropped event is still part of the count of the next one.
        self.admit(event, now).then_some(step)
    }

    /// The message and the key to count it under: its own, or those of all similar events.
    fn combine(&mut self, event: &Event, now: Timestamp) -> (String, u64) {
        let kind = self.hasher.hash_one((identity(event), event.reason));
        let message = self.hasher.hash_one(&event.message);
        let exact = self
            .hasher
            .hash_one((kind, &event.regarding.field_path, &event.message));
        let Limits { similar, interval, .. } = self.limits;
        let group = self.similar.entry(kind, || Similar {
            messages: Vec::new(),
            last: now,
        });
        if now.duration_since(group.last) > interval {
            group.messages.clear();
        }
        group.last = now;
        if group.messages.contains(&message) {
            return (event.message.clone(), exact);
        }
        if group.messages.len() + 1 >= similar {
            return (format!("(combined from similar events): {}", event.message), kind);
        }
        group.messages.push(message);
        (event.message.clone(), exact)
    }

    /// A new object, or a higher count on the one before.
    fn observe(&mut self, event: &Event, message: String, key: u64, now: Timestamp) -> Step {
        let seen = self.seen.entry(key, || None);
        let before = seen.take();
        let known = before.is_some();
        let new = || Seen {
            name: name(event.regarding.name.as_deref().unwrap_or_default(), now),
            first: now,
            count: 0,
        };
        let mut current = before.unwrap_or_else(new);
        current.count = current.count.saturating_add(1);
        *seen = Some(current.clone());
        let object = object(event, message, current, now);
        if known {
            Step::Count(object)
        } else {
            Step::Create(object)
        }
    }

    /// Whether the event is within the limit of its object.
    fn admit(&mut self, event: &Event, now: Timestamp) -> bool {
        let Limits { burst, refill, .. } = self.limits;
        let tokens = self.spam.entry(self.hasher.hash_one(identity(event)), || Tokens {
            left: f64::from(burst),
            last: now,
        });
        let refilled = now.duration_since(tokens.last).as_secs_f64().max(0.0) / refill.as_secs_f64();
        tokens.left = (tokens.left + refilled).min(f64::from(burst));
        tokens.last = now;
        let admitted = tokens.left >= 1.0;
        if admitted {
            tokens.left -= 1.0;
        }
        admitted
    }
}

/// What all events about one object from one source share.
fn identity(event: &Event) -> impl std::hash::Hash + '_ {
    let regarding = &event.regarding;
    (
        event.component,
        event.kind,
        &regarding.api_version,
        &regarding.kind,
        &regarding.namespace,
        &regarding.name,
        &regarding.uid,
    )
}

fn object(event: &Event, message: String, seen: Seen, now: Timestamp) -> Object {
    let Event {
        component,
        regarding,
        kind,
        reason,
        message: _,
    } = event;
    let Seen { name, first, count } = seen;
    let namespace = regarding.namespace.clone().filter(|namespace| !namespace.is_empty());
    Object {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.unwrap_or_else(|| "default".to_owned())),
            ..ObjectMeta::default()
        },
        involved_object: regarding.clone(),
        type_: Some(Kind::as_str(*kind).to_owned()),
        reason: Some((*reason).to_owned()),
        message: Some(message),
        source: Some(EventSource {
            component: Some((*component).to_owned()),
            host: None,
        }),
        reporting_component: Some((*component).to_owned()),
        reporting_instance: Some(String::new()),
        first_timestamp: Some(Time(first)),
        last_timestamp: Some(Time(now)),
        count: Some(count),
        ..Object::default()
    }
}

/// `<object>.<time in hexadecimal>`, or a UUID if that is not a valid name.
fn name(object: &str, now: Timestamp) -> String {
    let name = format!("{object}.{:x}", now.as_nanosecond());
    if is_subdomain(&name) {
        name
    } else {
        uuid::Uuid::new_v4().to_string()
    }
}

fn is_subdomain(name: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().copied().is_some_and(edge)
            && bytes.last().copied().is_some_and(edge)
            && bytes.iter().all(|byte| edge(*byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests;
