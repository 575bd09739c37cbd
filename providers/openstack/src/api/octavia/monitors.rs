//! Monitors: who is asked how often whether it is well.

use super::{Id, Octavia, delete, get, nullable, post, put};
use crate::api::{Deleted, Listed};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A monitor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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

impl Listed for Monitor {
    const KEY: &'static str = "healthmonitors";
}

/// A monitor to be made, on its own or with its load balancer. As the Go program does it, only the last number is left out
/// if it is 0, which Octavia has a default for; it takes 0 as a delay and as a timeout, and says what it takes as retries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewMonitor {
    /// The pool; none if it is made together with it.
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
    /// What is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_path: Option<&'static str>,
    /// How it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_method: Option<&'static str>,
    /// The answer of one that is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_codes: Option<&'static str>,
}

/// What is to be changed about a monitor.
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
    /// The same with what stays as it is, as the Go program sends it: an old Octavia has no answer but 500 to a change of a
    /// UDP monitor that does not repeat its delay.
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

#[derive(Serialize, Deserialize)]
struct Body<T> {
    healthmonitor: T,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Octavia {
    /// All monitors of the project.
    pub async fn monitors(&self) -> Result<Vec<Monitor>> {
        self.0
            .list(get("loadbalancer_healthmonitor_list", ["healthmonitors"]))
            .await
    }

    /// One monitor.
    pub async fn monitor(&self, id: &str) -> Result<Option<Monitor>> {
        let call = get("loadbalancer_healthmonitor_get", ["healthmonitors", id]).about(format!("monitor {id}"));
        let body: Option<Body<Monitor>> = self.0.find(call).await?;
        Ok(body.map(|body| body.healthmonitor))
    }

    /// Makes a monitor.
    pub async fn create_monitor(&self, new: &NewMonitor) -> Result<Monitor> {
        let call = post("loadbalancer_healthmonitor_create", ["healthmonitors"])
            .json(&Body { healthmonitor: new })
            .about(format!("monitor {}", new.name));
        let body: Body<Monitor> = self.0.json(call).await?;
        Ok(body.healthmonitor)
    }

    /// Changes a monitor.
    pub async fn update_monitor(&self, id: &str, change: &MonitorChange) -> Result<()> {
        let call = put("loadbalancer_healthmonitor_update", ["healthmonitors", id])
            .json(&Body { healthmonitor: change })
            .about(format!("monitor {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Deletes a monitor.
    pub async fn delete_monitor(&self, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_healthmonitor_delete", ["healthmonitors", id]).about(format!("monitor {id}"));
        self.0.delete(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Octavia takes a delay and a timeout of 0, and calls them missing if they are left out.
    #[test]
    fn what_octavia_needs_is_always_sent() {
        let sent = serde_json::to_value(NewMonitor::default()).unwrap();
        assert_eq!(
            sent,
            json!({"name": "", "type": "", "delay": 0, "timeout": 0, "max_retries": 0})
        );
    }

    /// 0 is what an answer has that does not say it.
    #[test]
    fn a_change_repeats_what_stays() {
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
