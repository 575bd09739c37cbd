//! The JSON of the server: what crosses, and how it becomes the contract's types. Documented in [`crate::server`].

pub(crate) mod balancers;
pub(crate) mod control;
pub(crate) mod error;
pub(crate) mod instances;
pub(crate) mod outcomes;
pub(crate) mod routes;

use cloud::{AddressKind, ProviderId, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// `{"type": "InternalIP", "address": "10.0.0.1"}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    #[serde(rename = "type")]
    kind: AddressKind,
    address: String,
}

impl From<cloud::Address> for Address {
    fn from(cloud::Address { kind, address }: cloud::Address) -> Self {
        Self { kind, address }
    }
}

impl From<Address> for cloud::Address {
    fn from(Address { kind, address }: Address) -> Self {
        Self { kind, address }
    }
}

/// One answer of a batch of writes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Written {
    /// It was done.
    Ok,
    /// It was not.
    Error { error: error::Error },
}

impl From<Result<()>> for Written {
    fn from(result: Result<()>) -> Self {
        result.map_or_else(
            |error| Self::Error {
                error: error::Error::of(&error),
            },
            |()| Self::Ok,
        )
    }
}

impl From<Written> for Result<()> {
    fn from(written: Written) -> Self {
        match written {
            Written::Ok => Ok(()),
            Written::Error { error } => Err(error.into()),
        }
    }
}

/// One answer for each thing asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers<T> {
    pub(crate) answers: Vec<T>,
}

/// A question about a whole cluster.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    pub(crate) cluster: String,
}

/// Both ways between an enum on the wire and one of the same variants.
macro_rules! mirror {
    ($wire:ty, $ours:ty, $($variant:ident),+) => {
        impl From<$ours> for $wire {
            fn from(ours: $ours) -> Self {
                match ours { $(<$ours>::$variant => Self::$variant),+ }
            }
        }

        impl From<$wire> for $ours {
            fn from(wire: $wire) -> Self {
                match wire { $(<$wire>::$variant => Self::$variant),+ }
            }
        }
    };
}
pub(crate) use mirror;

/// Converts each.
pub(crate) fn each<A, B: From<A>>(items: impl IntoIterator<Item = A>) -> Vec<B> {
    items.into_iter().map(B::from).collect()
}

/// An empty text is none.
pub(crate) fn text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

pub(crate) fn id(text: Option<String>) -> Option<ProviderId> {
    ProviderId::parse(text?)
}

pub(crate) fn id_text(id: Option<ProviderId>) -> Option<String> {
    id.map(|id| id.as_str().to_owned())
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
