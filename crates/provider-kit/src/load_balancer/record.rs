//! What is stored on a Service to recognise its load balancer later, also after a restart.

use super::Digest;
use cloud::{Notes, Spec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The annotation that holds the record, on every cloud.
pub const ANNOTATION: &str = "outrigger.dev/load-balancer";

/// The schema of the record. A record of another schema is ignored, and the load balancer is read again.
const VERSION: u32 = 1;

/// The load balancer that served a Service last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    pub(super) version: u32,
    /// The cloud's ID of the load balancer.
    pub id: String,
    /// Whether the load balancer was created for the Service.
    pub ownership: Ownership,
    /// When the Service and the load balancer were last seen to match. `None` if the cloud refused a part of what the Service asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced: Option<Synced>,
    /// Load balancers that the Service used before and that still have to be released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<String>,
    /// `spec.loadBalancerIP`, if the Service keeps another address that it had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored_ip: Option<String>,
    /// The cloud's IDs of the parts that the hosts are registered with, by a name that the provider chooses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, String>,
}

/// Whether a load balancer was created for a Service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ownership {
    /// It was created for this Service.
    #[default]
    Owner,
    /// It was created for another Service or by a user, and this Service uses it, too.
    Guest,
}

/// The state in which a Service and its load balancer matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Synced {
    /// Of everything that the Service asks for, except its hosts.
    settings: String,
    /// Of its hosts.
    hosts: String,
    /// The load balancer's version, as the provider determines it.
    load_balancer: String,
}

impl Record {
    /// A record of this load balancer, to be completed by the caller.
    #[must_use]
    pub fn new(id: impl Into<String>, ownership: Ownership) -> Self {
        Self {
            version: VERSION,
            id: id.into(),
            ownership,
            ..Self::default()
        }
    }

    /// The record on a Service. `None` if it has none that this version can read; then the cloud is read instead.
    #[must_use]
    pub fn of(spec: &Spec) -> Option<Self> {
        let text = spec.annotations.get(ANNOTATION)?;
        let record: Self = serde_json::from_str(text).ok()?;
        (record.version == VERSION).then_some(record)
    }

    /// The same record, saying that the Service and this version of the load balancer match.
    #[must_use]
    pub fn synced(mut self, digest: &Digest, load_balancer: impl Into<String>) -> Self {
        self.synced = Some(Synced {
            settings: digest.settings.clone(),
            hosts: digest.hosts.clone(),
            load_balancer: load_balancer.into(),
        });
        self
    }

    /// Whether the Service and the load balancer are both what they were when they matched.
    #[must_use]
    pub fn matches(&self, digest: &Digest, id: &str, load_balancer: &str) -> bool {
        let hosts = |synced: &Synced| synced.hosts == digest.hosts;
        self.matches_but_for_hosts(digest, id, load_balancer) && self.synced.as_ref().is_some_and(hosts)
    }

    /// Whether nothing but the Service's hosts has changed since they matched.
    #[must_use]
    pub fn matches_but_for_hosts(&self, digest: &Digest, id: &str, load_balancer: &str) -> bool {
        let settings = |synced: &Synced| synced.settings == digest.settings && synced.load_balancer == load_balancer;
        self.id == id && self.synced.as_ref().is_some_and(settings)
    }

    /// The load balancers that the Service used before this one.
    #[must_use]
    pub fn before(&self, id: &str) -> Vec<String> {
        let all = self.previous.iter().chain([&self.id]);
        all.filter(|other| !other.is_empty() && *other != id).cloned().collect()
    }

    /// Writes the record on its Service, unless it is up to date.
    pub fn write(&self, spec: &Spec, notes: &mut Notes) {
        // A record has nothing that JSON cannot hold.
        if let Ok(text) = serde_json::to_string(self)
            && spec.annotations.get(ANNOTATION) != Some(&text)
        {
            notes.annotate(ANNOTATION, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn digest(settings: &str, hosts: &str) -> Digest {
        Digest {
            settings: settings.into(),
            hosts: hosts.into(),
        }
    }

    fn service(record: &str) -> Spec {
        let mut spec = Spec::default();
        spec.annotations.insert(ANNOTATION.into(), record.into());
        spec
    }

    /// Clusters store these: fields may be added, and existing ones keep their meaning.
    #[rstest]
    #[case::minimal(
        Record::new("lb", Ownership::Owner),
        r#"{"version":1,"id":"lb","ownership":"owner"}"#
    )]
    #[case::synced(
        Record::new("lb", Ownership::Owner).synced(&digest("s", "h"), "v"),
        r#"{"version":1,"id":"lb","ownership":"owner","synced":{"settings":"s","hosts":"h","loadBalancer":"v"}}"#
    )]
    #[case::all(
        Record {
            previous: vec!["a".into(), "b".into()],
            ignored_ip: Some("203.0.113.9".into()),
            targets: [("TCP:80".into(), "pool".into())].into(),
            ..Record::new("lb", Ownership::Guest)
        },
        r#"{"version":1,"id":"lb","ownership":"guest","previous":["a","b"],"ignoredIp":"203.0.113.9","targets":{"TCP:80":"pool"}}"#
    )]
    fn is_stored_as_json(#[case] record: Record, #[case] stored: &str) {
        let mut notes = Notes::default();
        record.write(&Spec::default(), &mut notes);
        assert_eq!(notes.annotations[ANNOTATION].as_deref(), Some(stored));
        let spec = service(stored);
        assert_eq!(Record::of(&spec), Some(record.clone()));
        let mut unchanged = Notes::default();
        record.write(&spec, &mut unchanged);
        assert_eq!(unchanged, Notes::default());
    }

    #[rstest]
    #[case::not_json("d lb t h")]
    #[case::another_version(r#"{"version":2,"id":"lb","ownership":"owner"}"#)]
    #[case::an_unknown_field(r#"{"version":1,"id":"lb","ownership":"owner","color":"red"}"#)]
    #[case::empty("")]
    fn is_ignored(#[case] stored: &str) {
        assert_eq!(Record::of(&service(stored)), None);
    }

    #[rstest]
    #[case::unchanged("s", "h", "lb", "v", true, true)]
    #[case::another_host("s", "i", "lb", "v", false, true)]
    #[case::another_setting("t", "h", "lb", "v", false, false)]
    #[case::changed_in_the_cloud("s", "h", "lb", "w", false, false)]
    #[case::another_load_balancer("s", "h", "other", "v", false, false)]
    fn matches(
        #[case] settings: &str,
        #[case] hosts: &str,
        #[case] id: &str,
        #[case] version: &str,
        #[case] all: bool,
        #[case] but_for_hosts: bool,
    ) {
        let record = Record::new("lb", Ownership::Owner).synced(&digest("s", "h"), "v");
        let now = digest(settings, hosts);
        assert_eq!(record.matches(&now, id, version), all);
        assert_eq!(record.matches_but_for_hosts(&now, id, version), but_for_hosts);
        let refused = Record::new("lb", Ownership::Owner);
        assert!(!refused.matches(&now, id, version));
    }

    #[rstest]
    #[case::the_same("lb", &[], "lb", &[])]
    #[case::another("lb", &[], "new", &["lb"])]
    #[case::not_released_yet("lb", &["a"], "lb", &["a"])]
    #[case::back_to_one_of_before("lb", &["a", "new"], "new", &["a", "lb"])]
    fn finds_the_previous_load_balancer(
        #[case] id: &str,
        #[case] previous: &[&str],
        #[case] now: &str,
        #[case] expected: &[&str],
    ) {
        let record = Record {
            previous: previous.iter().map(|id| (*id).to_owned()).collect(),
            ..Record::new(id, Ownership::Owner)
        };
        assert_eq!(record.before(now), expected);
    }
}
