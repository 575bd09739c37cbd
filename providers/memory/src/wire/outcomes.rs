//! What came of asking for load balancers.

use crate::wire::{balancers::Protocol, each, millis, mirror};
use cloud::{Progress, Status};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// [`cloud::Ingress`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Ingress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ip_mode: Option<IpMode>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ports: Vec<IngressPort>,
}

/// [`cloud::IpMode`]
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum IpMode {
    #[serde(rename = "VIP")]
    Vip,
    Proxy,
}

/// [`cloud::IngressPort`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IngressPort {
    port: u16,
    protocol: Protocol,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The answer of `find`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Found {
    Found { ingress: Vec<Ingress> },
    Missing,
}

/// The answer of `ensure` and `update-hosts`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    tag = "status",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Outcome {
    Ready { ingress: Vec<Ingress> },
    Pending { poll_after_ms: u64, waiting_for: String },
}

/// The answer of `delete`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    tag = "status",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Deletion {
    Gone,
    Pending { poll_after_ms: u64, waiting_for: String },
}

/// The answer of `owned`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnedList {
    pub(crate) owned: Vec<cloud::Owned>,
}

mirror!(IpMode, cloud::IpMode, Vip, Proxy);

impl From<cloud::Ingress> for Ingress {
    fn from(
        cloud::Ingress {
            ip,
            hostname,
            ip_mode,
            ports,
        }: cloud::Ingress,
    ) -> Self {
        Self {
            ip,
            hostname,
            ip_mode: ip_mode.map(Into::into),
            ports: each(ports),
        }
    }
}

impl From<Ingress> for cloud::Ingress {
    fn from(
        Ingress {
            ip,
            hostname,
            ip_mode,
            ports,
        }: Ingress,
    ) -> Self {
        Self {
            ip,
            hostname,
            ip_mode: ip_mode.map(Into::into),
            ports: each(ports),
        }
    }
}

impl From<cloud::IngressPort> for IngressPort {
    fn from(cloud::IngressPort { port, protocol, error }: cloud::IngressPort) -> Self {
        Self {
            port,
            protocol: protocol.into(),
            error,
        }
    }
}

impl From<IngressPort> for cloud::IngressPort {
    fn from(IngressPort { port, protocol, error }: IngressPort) -> Self {
        Self {
            port,
            protocol: protocol.into(),
            error,
        }
    }
}

impl From<Option<cloud::Status>> for Found {
    fn from(status: Option<cloud::Status>) -> Self {
        status.map_or(Self::Missing, |status| Self::Found {
            ingress: each(status.ingress),
        })
    }
}

impl From<Found> for Option<cloud::Status> {
    fn from(found: Found) -> Self {
        match found {
            Found::Found { ingress } => Some(cloud::Status { ingress: each(ingress) }),
            Found::Missing => None,
        }
    }
}

impl From<Progress<Status>> for Outcome {
    fn from(progress: Progress<Status>) -> Self {
        match progress {
            Progress::Done(status) => Self::Ready {
                ingress: each(status.ingress),
            },
            Progress::Pending {
                poll_after,
                waiting_for,
            } => Self::Pending {
                poll_after_ms: millis(poll_after),
                waiting_for,
            },
        }
    }
}

impl From<Outcome> for Progress<Status> {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ready { ingress } => Self::Done(cloud::Status { ingress: each(ingress) }),
            Outcome::Pending {
                poll_after_ms,
                waiting_for,
            } => Self::Pending {
                poll_after: Duration::from_millis(poll_after_ms),
                waiting_for,
            },
        }
    }
}

impl From<Progress<()>> for Deletion {
    fn from(progress: Progress<()>) -> Self {
        match progress {
            Progress::Done(()) => Self::Gone,
            Progress::Pending {
                poll_after,
                waiting_for,
            } => Self::Pending {
                poll_after_ms: millis(poll_after),
                waiting_for,
            },
        }
    }
}

impl From<Deletion> for Progress<()> {
    fn from(deletion: Deletion) -> Self {
        match deletion {
            Deletion::Gone => Self::Done(()),
            Deletion::Pending {
                poll_after_ms,
                waiting_for,
            } => Self::Pending {
                poll_after: Duration::from_millis(poll_after_ms),
                waiting_for,
            },
        }
    }
}
