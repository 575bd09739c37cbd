//! The condition that says how far a load balancer is, and what is being waited for.

use k8s_openapi::{
    api::core::v1::Service,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// Whether the load balancer matches the Service; if not, the message says what is being waited for.
pub const READY: &str = "outrigger.dev/LoadBalancerReady";

/// More of a cloud's error would help nobody.
const MESSAGE_LIMIT: usize = 1024;

/// What there is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Say {
    /// The load balancer matches the Service.
    #[must_use]
    pub fn ready() -> Self {
        Self {
            status: "True",
            reason: "Ensured",
            message: "the load balancer matches the Service".into(),
        }
    }

    /// It is being made, or changed.
    #[must_use]
    pub fn provisioning(waiting_for: &str) -> Self {
        Self {
            status: "False",
            reason: "Provisioning",
            message: shortened(waiting_for),
        }
    }

    /// It is going away.
    #[must_use]
    pub fn deleting(waiting_for: &str) -> Self {
        Self {
            status: "False",
            reason: "Deleting",
            message: shortened(waiting_for),
        }
    }

    /// It could not be made to match.
    #[must_use]
    pub fn failed(reason: &'static str, report: &str) -> Self {
        Self {
            status: "False",
            reason,
            message: shortened(report),
        }
    }

    /// It works, but with the hosts of earlier.
    #[must_use]
    pub fn hosts_outdated(report: &str) -> Self {
        Self {
            status: "True",
            reason: "HostsOutdated",
            message: shortened(report),
        }
    }
}

/// The word for an error of the cloud.
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

/// What the Service says of its load balancer.
#[must_use]
pub fn find(service: &Service) -> Option<&Condition> {
    all(service).iter().find(|condition| condition.type_ == READY)
}

/// Whether this deserves a write of its own. That all is well does not, unless something else was said before: a
/// Service that was fine before we came costs nothing.
#[must_use]
pub fn worth_writing(service: &Service, say: &Say) -> bool {
    match find(service) {
        Some(there) => there.status != say.status || there.reason != say.reason || there.message != say.message,
        None => say.status != "True",
    }
}

/// The Service's conditions with this one said; `None` takes it back.
#[must_use]
pub fn with(service: &Service, say: Option<&Say>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = all(service).to_vec();
    let there = conditions.iter().position(|condition| condition.type_ == READY);
    let since = there.map(|index| conditions.remove(index));
    if let Some(Say {
        status,
        reason,
        message,
    }) = say
    {
        let unchanged = since
            .filter(|there| there.status == *status)
            .map(|there| there.last_transition_time);
        let condition = Condition {
            last_transition_time: unchanged.unwrap_or(Time(now)),
            message: message.clone(),
            observed_generation: service.metadata.generation,
            reason: (*reason).to_owned(),
            status: (*status).to_owned(),
            type_: READY.to_owned(),
        };
        conditions.insert(there.unwrap_or(conditions.len()), condition);
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

fn shortened(report: &str) -> String {
    report.chars().take(MESSAGE_LIMIT).collect()
}

#[cfg(test)]
mod tests;
