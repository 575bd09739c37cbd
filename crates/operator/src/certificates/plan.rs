//! What has to be issued, and why.

use super::{
    Live, Names, SETTLE,
    read::{Authority, Certificate, Pair},
};
use jiff::{SignedDuration, Timestamp};
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::{ServerName, UnixTime},
};
use std::{fmt, sync::Arc, time::Duration};

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Keep,
    /// A new serving certificate, from the existing authority.
    IssueServing(Reason),
    /// A new authority. The previous one stays trusted, and the certificate that it signed is kept if it is valid.
    RotateCa(Reason, Serving),
    /// Everything is issued again: without an authority no certificate can be kept.
    IssueAll(Reason),
}

/// What to do with the serving certificate when the authority changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serving {
    /// Keep it.
    Keep,
    /// Issue it again, too.
    Issue(Reason),
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It does not exist.
    Missing,
    /// The Secret has no such key.
    NoKey(&'static str),
    /// The value of this key is not a certificate.
    NotACertificate(&'static str),
    /// The private key cannot be read.
    NotAKey,
    /// The private key belongs to another certificate.
    WrongKey,
    /// It is not an authority that the operator issued.
    Foreign,
    /// It is not valid yet.
    NotYetValid,
    /// It has expired.
    Expired,
    /// It expires soon.
    Due,
    /// It lacks a name.
    Nameless(String),
    /// No trusted authority has signed it.
    Distrusted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it does not exist"),
            Self::NoKey(key) => write!(f, "it has no {key}"),
            Self::NotACertificate(key) => write!(f, "its {key} is not a certificate"),
            Self::NotAKey => f.write_str("its tls.key is not a private key"),
            Self::WrongKey => f.write_str("its tls.key does not belong to its tls.crt"),
            Self::Foreign => f.write_str("it is not an authority of the operator"),
            Self::NotYetValid => f.write_str("it is not valid yet"),
            Self::Expired => f.write_str("it has expired"),
            Self::Due => f.write_str("two thirds of its time are over"),
            Self::Nameless(name) => write!(f, "it is not for {name}"),
            Self::Distrusted => f.write_str("it is not signed by the authority"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::IssueServing(reason) => write!(f, "issue the serving certificate: {reason}"),
            Self::RotateCa(reason, Serving::Keep) => write!(f, "rotate the CA: {reason}"),
            Self::RotateCa(reason, Serving::Issue(why)) => {
                write!(f, "rotate the CA: {reason}; issue the serving certificate: {why}")
            }
            Self::IssueAll(reason) => write!(f, "issue the CA and the serving certificate: the CA: {reason}"),
        }
    }
}

/// Decides what to issue, from the two existing Secrets.
#[must_use]
pub fn plan(now: Timestamp, live: Live<'_>, names: &Names) -> Plan {
    let authority = match Authority::read(live, now) {
        Ok(authority) => authority,
        Err(reason) => return Plan::IssueAll(reason),
    };
    let serving = serving(now, live, &authority, names);
    if is_due(&authority.pair.certificate, now) {
        let serving = match serving {
            // A certificate that only expires soon waits until clients trust the new authority.
            Ok(()) | Err(Reason::Due) => Serving::Keep,
            Err(reason) => Serving::Issue(reason),
        };
        return Plan::RotateCa(Reason::Due, serving);
    }
    match serving {
        Ok(()) => Plan::Keep,
        Err(Reason::Due) if is_settling(now, live, &authority) => Plan::Keep,
        Err(reason) => Plan::IssueServing(reason),
    }
}

fn serving(now: Timestamp, live: Live<'_>, authority: &Authority, names: &Names) -> Result<(), Reason> {
    let pair = Pair::read(live.serving)?;
    let leaf = &pair.certificate;
    leaf.is_valid(now)?;
    let lacking = names.all().into_iter().find(|name| !leaf.names.contains(name));
    if let Some(name) = lacking {
        return Err(Reason::Nameless(name));
    }
    verify(now, leaf, authority)?;
    if is_due(leaf, now) { Err(Reason::Due) } else { Ok(()) }
}

/// Verifies the certificate as a client with the bundle does.
fn verify(now: Timestamp, leaf: &Certificate, authority: &Authority) -> Result<(), Reason> {
    let mut roots = RootCertStore::empty();
    let trusted = [Some(&authority.pair.certificate), authority.previous.as_ref()];
    for root in trusted.into_iter().flatten() {
        roots.add(root.der.clone()).map_err(|_| Reason::Distrusted)?;
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|_| Reason::Distrusted)?;
    let since = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
    let localhost = ServerName::try_from("localhost").map_err(|_| Reason::Distrusted)?;
    verifier
        .verify_server_cert(&leaf.der, &[], &localhost, &[], UnixTime::since_unix_epoch(since))
        .map(drop)
        .map_err(|_| Reason::Distrusted)
}

fn is_due(certificate: &Certificate, now: Timestamp) -> bool {
    let whole = certificate.not_after.duration_since(certificate.not_before);
    now.duration_since(certificate.not_before) >= whole / 3 * 2
}

/// Whether clients may not trust the authority yet, and there is time to wait for them.
fn is_settling(now: Timestamp, live: Live<'_>, authority: &Authority) -> bool {
    let young = now.duration_since(authority.pair.certificate.not_before) < super::SKEW + SETTLE;
    let left = Pair::read(live.serving).map_or(SignedDuration::ZERO, |pair| {
        pair.certificate.not_after.duration_since(now)
    });
    young && authority.previous.is_some() && left > SETTLE
}
