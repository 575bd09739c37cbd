//! The certificates of a bundle.

use super::pem::{self, Block};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use std::fmt;
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

/// A certificate that can be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    pub(super) der: Vec<u8>,
    /// `certificate 2 (CN=example)`
    name: String,
    first: i64,
    last: i64,
}

/// The problem of a block, in one sentence that identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It is not PEM: the Go operator continues with the next block.
    Unreadable(String),
    /// It is not a certificate.
    Strange(String),
}

/// The certificate in each block of a text, or its problem.
pub(super) fn read(text: &str) -> Vec<Result<Certificate, Flaw>> {
    let blocks = pem::blocks(text);
    (1..)
        .zip(blocks)
        .map(|(number, block)| certificate(number, block))
        .collect()
}

fn certificate(number: usize, block: Block) -> Result<Certificate, Flaw> {
    let Block { label, bytes } = block;
    let der = bytes.map_err(|why| Flaw::Unreadable(format!("certificate {number} cannot be read: {why}")))?;
    if label != "CERTIFICATE" {
        let why = format!("block {number} is of the kind {label:?}, not \"CERTIFICATE\": remove it");
        return Err(Flaw::Strange(why));
    }
    let parsed = X509Certificate::from_der(&der).ok().filter(|(rest, _)| rest.is_empty());
    let Some((_, parsed)) = parsed else {
        let why = format!("certificate {number} is not an X.509 certificate: copy it again or remove it");
        return Err(Flaw::Strange(why));
    };
    let (name, validity) = (parsed.subject().to_string(), parsed.validity());
    let (first, last) = (validity.not_before.timestamp(), validity.not_after.timestamp());
    Ok(Certificate {
        der,
        name: format!("certificate {number} ({name})"),
        first,
        last,
    })
}

impl Flaw {
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Unreadable(why) | Self::Strange(why) => why,
        }
    }
}

impl Certificate {
    /// Why a handshake would reject it, in one sentence.
    pub(super) fn warning(&self, now: Timestamp) -> Option<String> {
        let Self { name, first, last, .. } = self;
        let day = |second: i64| {
            Timestamp::from_second(second)
                .map(|time| time.to_string())
                .unwrap_or_default()
        };
        match now.as_second() {
            now if now > *last => Some(format!("{name} expired on {}: replace it", day(*last))),
            now if now < *first => Some(format!("{name} is not valid before {}", day(*first))),
            _ => None,
        }
    }
}

impl fmt::Display for Certificate {
    /// As PEM.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("-----BEGIN CERTIFICATE-----\n")?;
        let body = BASE64_STANDARD.encode(&self.der);
        let mut rest = body.as_str();
        while !rest.is_empty() {
            let (line, more) = rest.split_at(rest.len().min(64));
            writeln!(f, "{line}")?;
            rest = more;
        }
        f.write_str("-----END CERTIFICATE-----\n")
    }
}
