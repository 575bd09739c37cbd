//! Health monitors: how members are probed.

use super::{Calls, Child, Id, Object, Readable, nullable};
use crate::api::Resource;
use serde::{Deserialize, Serialize};

/// A monitor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitor {
    /// Its ID.
    pub id: String,
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// `TCP`, `HTTP`, `UDP-CONNECT`, ….
    #[serde(rename = "type")]
    pub kind: String,
    /// In seconds.
    pub delay: i64,
    /// In seconds.
    pub timeout: i64,
    /// Successes until a member is up.
    pub max_retries: i64,
    /// Failures until a member is down.
    #[serde(default, deserialize_with = "nullable")]
    pub max_retries_down: i64,
    /// The pool it is for.
    #[serde(default, deserialize_with = "nullable")]
    pub pools: Vec<Id>,
}

impl Resource for Monitor {
    const ONE: &'static str = "healthmonitor";
    const ALL: &'static str = "healthmonitors";
}

/// A new monitor, by itself or together with its load balancer. As in occm, only the last number is omitted if it is 0, because Octavia has a
/// default for it. Octavia accepts 0 as a delay and as a timeout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewMonitor {
    /// The pool; none if it is created together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `TCP`, `HTTP`, `UDP-CONNECT`, ….
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// In seconds.
    pub delay: i64,
    /// In seconds.
    pub timeout: i64,
    /// Successes until a member is up.
    pub max_retries: i64,
    /// Failures until a member is down.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_retries_down: i64,
    /// The path of the probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<&'static str>,
    /// The method of the probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<&'static str>,
    /// The status of a healthy member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<&'static str>,
}

/// A change of a monitor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MonitorChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<i64>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
    /// Successes until a member is up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// Failures until a member is down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries_down: Option<i64>,
}

impl MonitorChange {
    /// The same with the fields that do not change, as occm sends it: old versions of Octavia answer 500 to a change of a UDP monitor without
    /// its delay.
    #[must_use]
    pub fn whole(&self, there: &Monitor) -> Self {
        let stays = |number: i64| Some(number).filter(|number| *number != 0);
        Self {
            name: self.name.clone().or_else(|| Some(there.name.clone())),
            delay: self.delay.or_else(|| stays(there.delay)),
            timeout: self.timeout.or_else(|| stays(there.timeout)),
            max_retries: self.max_retries.or_else(|| stays(there.max_retries)),
            max_retries_down: self.max_retries_down.or_else(|| stays(there.max_retries_down)),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Object for Monitor {
    type New = NewMonitor;
    type Change = MonitorChange;
    const KIND: &'static str = "monitor";
    const CALLS: Calls = Calls {
        list: "loadbalancer_healthmonitor_list",
        create: "loadbalancer_healthmonitor_create",
        update: "loadbalancer_healthmonitor_update",
        delete: "loadbalancer_healthmonitor_delete",
    };

    fn name(new: &NewMonitor) -> &str {
        &new.name
    }
}

impl Child for Monitor {}

impl Readable for Monitor {
    const GET: &'static str = "loadbalancer_healthmonitor_get";
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Octavia accepts a delay and a timeout of 0, and rejects a request without them.
    #[test]
    fn required_fields_of_octavia_are_always_sent() {
        let sent = serde_json::to_value(NewMonitor::default()).unwrap();
        assert_eq!(
            sent,
            json!({"name": "", "type": "", "delay": 0, "timeout": 0, "max_retries": 0})
        );
    }

    /// A field that an answer omits is 0.
    #[test]
    fn a_change_repeats_unchanged_fields() {
        let there = Monitor {
            name: "hm".into(),
            delay: 5,
            timeout: 3,
            max_retries: 1,
            ..Monitor::default()
        };
        let change = MonitorChange {
            timeout: Some(4),
            ..MonitorChange::default()
        };
        let sent = serde_json::to_value(change.whole(&there)).unwrap();
        assert_eq!(sent, json!({"name": "hm", "delay": 5, "timeout": 4, "max_retries": 1}));
    }
}
