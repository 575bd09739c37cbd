//! The condition that reports whether the load balancer of a Service is ready, and what the controller waits for.

use k8s_openapi::{
    api::core::v1::Service,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// Whether the load balancer matches the Service; if not, the message is what the controller waits for.
pub const READY: &str = "outrigger.dev/LoadBalancerReady";

/// Longer errors of a cloud are truncated.
const MESSAGE_LIMIT: usize = 1024;

/// Status, reason and message of the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Readiness {
    /// The load balancer matches the Service.
    #[must_use]
    pub fn ready() -> Self {
        Self {
            status: "True",
            reason: "Ensured",
            message: "the load balancer matches the Service".into(),
        }
    }

    /// It is being created or updated.
    #[must_use]
    pub fn provisioning(waiting_for: &str) -> Self {
        Self {
            status: "False",
            reason: "Provisioning",
            message: truncated(waiting_for),
        }
    }

    /// It is being deleted.
    #[must_use]
    pub fn deleting(waiting_for: &str) -> Self {
        Self {
            status: "False",
            reason: "Deleting",
            message: truncated(waiting_for),
        }
    }

    /// It could not be ensured.
    #[must_use]
    pub fn failed(reason: &'static str, report: &str) -> Self {
        Self {
            status: "False",
            reason,
            message: truncated(report),
        }
    }

    /// It works, but its hosts are out of date.
    #[must_use]
    pub fn hosts_outdated(report: &str) -> Self {
        Self {
            status: "True",
            reason: "HostsOutdated",
            message: truncated(report),
        }
    }
}

/// The reason for an error of the cloud.
#[must_use]
pub fn reason(error: &cloud::Error) -> &'static str {
    match error {
        cloud::Error::Invalid { .. } => "Invalid",
        cloud::Error::NotSupported { .. } => "NotSupported",
        cloud::Error::Throttled { .. } => "Throttled",
        cloud::Error::Unavailable { .. } => "CloudUnavailable",
        cloud::Error::Denied { .. } => "Denied",
        cloud::Error::Quota { .. } => "QuotaExceeded",
        _ => "Failed",
    }
}

/// The condition of the Service.
#[must_use]
pub fn find(service: &Service) -> Option<&Condition> {
    all(service).iter().find(|condition| condition.type_ == READY)
}

/// Since when the load balancer has not been ready, if the condition reports that.
#[must_use]
pub fn not_ready_since(service: &Service) -> Option<Timestamp> {
    let condition = find(service).filter(|condition| condition.status == "False")?;
    Some(condition.last_transition_time.0)
}

/// Whether the condition is worth a write. A Service that is ready and has no condition does not need one: after a
/// restart nothing is written.
#[must_use]
pub fn worth_writing(service: &Service, readiness: &Readiness) -> bool {
    match find(service) {
        Some(current) => {
            let Readiness {
                status,
                reason,
                message,
            } = readiness;
            current.status != *status || current.reason != *reason || current.message != *message
        }
        None => readiness.status != "True",
    }
}

/// The Service's conditions with this one set; `None` removes it.
#[must_use]
pub fn with(service: &Service, readiness: Option<&Readiness>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = all(service).to_vec();
    let position = conditions.iter().position(|condition| condition.type_ == READY);
    let current = position.map(|index| conditions.remove(index));
    if let Some(Readiness {
        status,
        reason,
        message,
    }) = readiness
    {
        let unchanged = current
            .filter(|current| current.status == *status)
            .map(|current| current.last_transition_time);
        let condition = Condition {
            last_transition_time: unchanged.unwrap_or(Time(now)),
            message: message.clone(),
            observed_generation: service.metadata.generation,
            reason: (*reason).to_owned(),
            status: (*status).to_owned(),
            type_: READY.to_owned(),
        };
        conditions.insert(position.unwrap_or(conditions.len()), condition);
    }
    conditions
}

fn all(service: &Service) -> &[Condition] {
    service
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default()
}

fn truncated(report: &str) -> String {
    report.chars().take(MESSAGE_LIMIT).collect()
}

#[cfg(test)]
mod tests;
