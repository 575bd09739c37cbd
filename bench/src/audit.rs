//! What a user did, according to the API server's audit log.

use anyhow::Result;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Requests by what they were, for example `patch nodes/status`.
pub type Counts = BTreeMap<String, u64>;

/// A moment, and its place in the audit log: what comes later can be counted.
pub struct Mark {
    log: PathBuf,
    offset: u64,
    at: Timestamp,
}

impl Mark {
    /// Here.
    pub fn now(log: &Path) -> Result<Self> {
        Ok(Self {
            log: log.to_owned(),
            offset: std::fs::metadata(log)?.len(),
            at: Timestamp::now(),
        })
    }

    /// What `user` has done since, finished or not.
    pub fn since(&self, user: &str) -> Result<Counts> {
        let mut counts = Counts::new();
        for event in self.events(user)? {
            *counts.entry(name(&event)).or_default() += 1;
        }
        Ok(counts)
    }

    /// How many requests of `user` failed since with a conflict.
    pub fn conflicts(&self, user: &str) -> Result<u64> {
        let refused = |event: &&Value| event["responseStatus"]["code"] == 409;
        Ok(self.events(user)?.iter().filter(refused).count() as u64)
    }

    /// The time of the first request of `user` that `matches`.
    pub fn first(&self, user: &str, matches: impl Fn(&str) -> bool) -> Result<Option<String>> {
        let found = self.events(user)?.into_iter().find(|event| matches(&name(event)));
        Ok(found.and_then(|event| event["requestReceivedTimestamp"].as_str().map(str::to_owned)))
    }

    fn events(&self, user: &str) -> Result<Vec<Value>> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut events = Vec::new();
        for line in BufReader::new(file).lines() {
            let line = line?;
            if !line.contains(user) {
                continue;
            }
            // The last line may be half written.
            let Ok(event) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            let answered = event["stage"] == "ResponseComplete" || event["verb"] == "watch";
            if event["user"]["username"] == user && answered && asked_since(&event, self.at) {
                events.push(event);
            }
        }
        Ok(events)
    }
}

/// Whether a request came then or later: the answer to one that came before may be written down after it.
fn asked_since(event: &Value, at: Timestamp) -> bool {
    let received = event["requestReceivedTimestamp"].as_str();
    received.is_some_and(|time| time.parse().is_ok_and(|time: Timestamp| time >= at))
}

fn name(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = &event["objectRef"];
    let resource = match (text(&reference["resource"]), text(&reference["subresource"])) {
        (resource, _) if resource.is_empty() => text(&event["requestURI"]),
        (resource, subresource) if subresource.is_empty() => resource,
        (resource, subresource) => format!("{resource}/{subresource}"),
    };
    format!("{} {resource}", text(&event["verb"]))
}

/// Writes among the requests, other than of events and leases.
pub fn writes(counts: &Counts) -> u64 {
    let is_write = |name: &str| {
        let (verb, resource) = name.split_once(' ').unwrap_or_default();
        ["create", "update", "patch", "delete"].contains(&verb)
            && !["events", "leases", "tokenreviews", "subjectaccessreviews"].contains(&resource)
    };
    counts
        .iter()
        .filter(|(name, _)| is_write(name))
        .map(|(_, count)| count)
        .sum()
}

/// Reads of single objects among the requests: what list and watch should make needless.
pub fn gets(counts: &Counts) -> u64 {
    let is_get = |name: &str| name.starts_with("get ") && !name.ends_with(" leases") && !name.contains('/');
    counts
        .iter()
        .filter(|(name, _)| is_get(name))
        .map(|(_, count)| count)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::asked_since;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    #[test]
    fn only_requests_of_the_period_are_counted() {
        let at = Timestamp::from_second(1_800_000_000).expect("a time");
        for (received, counts) in [
            (json!("2027-01-15T07:59:59.999999Z"), false),
            (json!("2027-01-15T08:00:00.000000Z"), true),
            (json!("2027-01-15T08:00:00.000001Z"), true),
            (json!("once"), false),
            (json!(null), false),
        ] {
            let event = json!({"requestReceivedTimestamp": received});
            assert_eq!(asked_since(&event, at), counts, "{event}");
        }
    }
}
