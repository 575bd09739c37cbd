//! The certificate of the manager's secure port: issued by the operator, rotated in time, and trusted by monitoring.
//!
//! Three objects in the operands' namespace are the whole state ([`Names`] may add a prefix to their names):
//!
//! | object | content |
//! |---|---|
//! | Secret [`CA_SECRET`] | the certificate authority: `tls.crt`, `tls.key`, and the certificate of its predecessor, if there is one, as `previous.crt` |
//! | Secret [`SERVING_SECRET`] | the serving certificate: `tls.crt`, `tls.key`; the manager reloads it by itself |
//! | `ConfigMap` [`BUNDLE`] | what clients trust: the authority and its predecessor under [`BUNDLE_KEY`] |
//!
//! Read [`plan()`] first: it decides purely from the two Secrets what to do. Clients trust a new authority for a day before
//! it signs anything, because they read the bundle late. A predecessor stays in the bundle for as long as it is valid, so that
//! certificates that it signed are trusted until they are replaced. Whatever is missing, edited or
//! broken is issued again.

mod issue;
mod plan;
mod read;
#[cfg(test)]
mod tests;

pub use issue::{Issued, issue};
pub use plan::{Plan, Reason, Serving, plan};

use crate::{Key, Lookup};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;

/// The Secret with the authority.
pub const CA_SECRET: &str = "cloud-controller-manager-serving-ca";
/// The Secret that the manager serves with.
pub const SERVING_SECRET: &str = "cloud-controller-manager-serving-cert";
/// The `ConfigMap` with the certificates that clients trust.
pub const BUNDLE: &str = "cloud-controller-manager-serving-ca-bundle";
/// The key in [`BUNDLE`].
pub const BUNDLE_KEY: &str = "ca.crt";

/// How long an authority is valid.
pub const CA_VALIDITY: SignedDuration = SignedDuration::from_hours(2 * 365 * 24);
/// How long a serving certificate is valid.
pub const SERVING_VALIDITY: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How far clocks may be apart: certificates are valid from that long ago.
pub const SKEW: SignedDuration = SignedDuration::from_hours(1);
/// How long a new authority is only trusted before it signs.
pub const SETTLE: SignedDuration = SignedDuration::from_hours(24);

/// The names that clients use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The Service in front of the manager.
    pub service: String,
    /// Its namespace, which is also that of the three objects.
    pub namespace: String,
    /// The prefix of the names of the three objects, if several managers share a namespace; otherwise empty.
    pub prefix: String,
}

impl Names {
    /// The names in the certificate.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        let name = format!("{}.{}.svc", self.service, self.namespace);
        vec![
            format!("{name}.cluster.local"),
            name,
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
        ]
    }

    /// The Secret with the authority.
    #[must_use]
    pub fn ca_secret(&self) -> Key {
        Key::secret(&self.namespace, &self.prefixed(CA_SECRET))
    }

    /// The Secret that the manager serves with.
    #[must_use]
    pub fn serving_secret(&self) -> Key {
        Key::secret(&self.namespace, &self.prefixed(SERVING_SECRET))
    }

    /// The `ConfigMap` with the certificates that clients trust.
    #[must_use]
    pub fn bundle(&self) -> Key {
        Key::config_map(&self.namespace, &self.prefixed(BUNDLE))
    }

    fn prefixed(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// The two Secrets, as they are in the cluster.
#[derive(Clone, Copy, Default)]
pub struct Live<'a> {
    /// [`CA_SECRET`].
    pub ca: Option<&'a Value>,
    /// [`SERVING_SECRET`].
    pub serving: Option<&'a Value>,
}

/// Why a certificate could not be issued.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The names are not allowed in a certificate, or the random number generator failed.
    #[error("cannot issue the certificate of {what}")]
    Issue {
        /// The Secret of the certificate.
        what: Box<Key>,
        /// The cause.
        source: rcgen::Error,
    },
}

/// The three objects as they should be: the existing ones if they are valid, new ones otherwise.
///
/// # Errors
/// If a certificate cannot be issued.
pub fn desired(now: Timestamp, live: Live<'_>, names: &Names) -> Result<Issued, Error> {
    issue(now, plan(now, live, names), live, names)
}

/// The same, with the Secrets as they were observed.
///
/// # Errors
/// If a certificate cannot be issued.
pub(crate) fn observed(now: Timestamp, names: &Names, objects: &BTreeMap<Key, Lookup>) -> Result<Issued, Error> {
    let find = |key: &Key| match objects.get(key) {
        Some(Lookup::Found(secret)) => Some(&**secret),
        Some(Lookup::Absent | Lookup::Unknown(_)) | None => None,
    };
    let live = Live {
        ca: find(&names.ca_secret()),
        serving: find(&names.serving_secret()),
    };
    desired(now, live, names)
}
