//! Reads the Secrets.

use super::{CA_SECRET, Live, plan::Reason};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

pub(super) const CERT: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";
pub(super) const PREVIOUS: &str = "previous.crt";

/// A certificate and its fields.
pub(super) struct Certificate {
    pub(super) pem: String,
    pub(super) der: CertificateDer<'static>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    /// Its subject, if that is only a common name.
    pub(super) common_name: Option<String>,
    pub(super) names: Vec<String>,
    kind: Kind,
    public_key: Vec<u8>,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Authority,
    Leaf,
}

/// A certificate with its key.
pub(super) struct Pair {
    pub(super) certificate: Certificate,
    pub(super) key: SecretString,
}

/// The authority and its predecessor.
pub(super) struct Authority {
    pub(super) pair: Pair,
    pub(super) previous: Option<Certificate>,
}

impl Certificate {
    pub(super) fn parse(pem: String) -> Result<Self, Reason> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| Reason::NotACertificate(CERT))?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| Reason::NotACertificate(CERT))?;
        let seconds = |time: x509_parser::time::ASN1Time| {
            Timestamp::from_second(time.timestamp()).map_err(|_| Reason::NotACertificate(CERT))
        };
        let kind = if parsed.is_ca() { Kind::Authority } else { Kind::Leaf };
        Ok(Self {
            not_before: seconds(parsed.validity().not_before)?,
            not_after: seconds(parsed.validity().not_after)?,
            common_name: common_name(&parsed),
            names: names(&parsed),
            kind,
            public_key: parsed.public_key().subject_public_key.data.to_vec(),
            der: der.clone().into_owned(),
            pem,
        })
    }

    pub(super) fn is_valid(&self, now: Timestamp) -> Result<(), Reason> {
        if now < self.not_before {
            return Err(Reason::NotYetValid);
        }
        if now >= self.not_after {
            return Err(Reason::Expired);
        }
        Ok(())
    }

    pub(super) fn is_authority(&self) -> bool {
        self.kind == Kind::Authority
    }
}

impl Pair {
    /// Reads a Secret of the type `kubernetes.io/tls`.
    pub(super) fn read(secret: Option<&Value>) -> Result<Self, Reason> {
        let secret = secret.ok_or(Reason::Missing)?;
        let certificate = Certificate::parse(text(secret, CERT)?)?;
        let key = SecretString::from(text(secret, KEY)?);
        let pair = KeyPair::from_pem(key.expose_secret()).map_err(|_| Reason::NotAKey)?;
        if pair.public_key_raw() != certificate.public_key {
            return Err(Reason::WrongKey);
        }
        Ok(Self { certificate, key })
    }
}

impl Authority {
    /// Reads the authority, if it can sign certificates.
    pub(super) fn read(live: Live<'_>, now: Timestamp) -> Result<Self, Reason> {
        let pair = Pair::read(live.ca)?;
        if !pair.certificate.is_authority() || !is_ours(&pair.certificate) {
            return Err(Reason::Foreign);
        }
        pair.certificate.is_valid(now)?;
        let previous = previous(live, now, PREVIOUS);
        Ok(Self { pair, previous })
    }
}

/// The certificate of an authority under this key, if certificates that it signed may still be in use.
pub(super) fn previous(live: Live<'_>, now: Timestamp, key: &'static str) -> Option<Certificate> {
    let certificate = Certificate::parse(text(live.ca?, key).ok()?).ok()?;
    (certificate.is_authority() && certificate.is_valid(now).is_ok()).then_some(certificate)
}

/// Certificates that the operator signs name their issuer as the operator names its authorities; it cannot sign for another one.
fn is_ours(certificate: &Certificate) -> bool {
    let name = certificate.common_name.as_deref();
    name.is_some_and(|name| name.starts_with(&format!("{CA_SECRET}@")))
}

fn text(secret: &Value, key: &'static str) -> Result<String, Reason> {
    let encoded = secret["data"][key].as_str().ok_or(Reason::NoKey(key))?;
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .map_err(|_| Reason::NotACertificate(key))?;
    String::from_utf8(bytes).map_err(|_| Reason::NotACertificate(key))
}

fn common_name(certificate: &X509Certificate<'_>) -> Option<String> {
    let mut all = certificate.subject().iter_attributes();
    let only = all.next().filter(|_| all.next().is_none())?;
    let mut names = certificate.subject().iter_common_name();
    names
        .next()
        .filter(|name| **name == *only)?
        .as_str()
        .ok()
        .map(str::to_owned)
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    extension.value.general_names.iter().filter_map(name).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(|bytes| Ipv4Addr::from(bytes).into());
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(|bytes| Ipv6Addr::from(bytes).into()))
        .ok()
}
