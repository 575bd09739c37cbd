//! Issues certificates, and creates the objects that hold them.

use super::{
    BUNDLE_KEY, CA_SECRET, CA_VALIDITY, Error, Live, Names, Plan, SERVING_SECRET, SERVING_VALIDITY, SKEW, Serving,
    read::{self, Authority, CERT, Certificate, KEY, PREVIOUS, Pair},
};
use crate::{Key, Object};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::{fmt, time::Duration};

const OWNER: (&str, &str) = (
    "openshift.io/owning-component",
    "Cloud Compute / Cloud Controller Manager",
);

/// The certificates as they should be. `Debug` does not print the keys.
pub struct Issued {
    plan: Plan,
    names: Names,
    ca: Signed,
    previous: Option<String>,
    serving: Signed,
}

/// A certificate with its key, in PEM.
struct Signed {
    cert: String,
    key: SecretString,
    not_after: Timestamp,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            plan,
            names,
            ca,
            serving,
            ..
        } = self;
        f.debug_struct("Issued")
            .field("plan", plan)
            .field("names", names)
            .field("ca_expires", &ca.not_after)
            .field("serving_expires", &serving.not_after)
            .finish_non_exhaustive()
    }
}

impl Issued {
    /// The plan that was carried out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// When the certificate of the authority expires.
    pub fn ca_expires(&self) -> Timestamp {
        self.ca.not_after
    }

    /// When the serving certificate expires.
    pub fn serving_expires(&self) -> Timestamp {
        self.serving.not_after
    }

    /// The certificates that clients trust.
    #[must_use]
    pub fn bundle(&self) -> String {
        let trusted = [Some(self.ca.cert.as_str()), self.previous.as_deref()];
        let pems: Vec<_> = trusted.into_iter().flatten().map(str::trim_end).collect();
        pems.join("\n") + "\n"
    }

    /// The three objects, in the order in which they are applied: the bundle comes before the certificates that it verifies.
    #[must_use]
    pub fn objects(&self) -> Vec<Object> {
        let mut ca = tls(&self.names.ca_secret(), &self.ca);
        if let Some(previous) = &self.previous {
            ca["data"][PREVIOUS] = BASE64_STANDARD.encode(previous).into();
        }
        let bundle = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(&self.names.bundle()),
            "data": { BUNDLE_KEY: self.bundle() },
        });
        let serving = tls(&self.names.serving_secret(), &self.serving);
        [ca, bundle, serving]
            .into_iter()
            .filter_map(|value| Object::new(value).ok())
            .collect()
    }
}

/// Carries out a plan. What the plan keeps is taken from the Secrets unchanged.
///
/// # Errors
/// If a certificate cannot be issued.
pub fn issue(now: Timestamp, plan: Plan, live: Live<'_>, names: &Names) -> Result<Issued, Error> {
    let (ca, previous) = match &plan {
        Plan::Keep | Plan::IssueServing(_) => kept(now, live, names)?,
        Plan::RotateCa(..) | Plan::IssueAll(_) => {
            let old = read::previous(live, now, CERT).map(|certificate| certificate.pem);
            (authority(now, names)?, old)
        }
    };
    let serving = match &plan {
        Plan::Keep | Plan::RotateCa(_, Serving::Keep) => Pair::read(live.serving).ok().map(Signed::from),
        Plan::IssueServing(_) | Plan::RotateCa(_, Serving::Issue(_)) | Plan::IssueAll(_) => None,
    };
    let serving = match serving {
        Some(serving) => serving,
        None => leaf(now, &ca, names)?,
    };
    Ok(Issued {
        plan,
        names: names.clone(),
        ca,
        previous,
        serving,
    })
}

/// The existing authority; a new one if the Secret has changed since it was planned.
fn kept(now: Timestamp, live: Live<'_>, names: &Names) -> Result<(Signed, Option<String>), Error> {
    match Authority::read(live, now) {
        Ok(Authority { pair, previous }) => Ok((pair.into(), previous.map(|certificate| certificate.pem))),
        Err(_) => Ok((authority(now, names)?, None)),
    }
}

impl From<Pair> for Signed {
    fn from(Pair { certificate, key }: Pair) -> Self {
        let Certificate { pem, not_after, .. } = certificate;
        Self {
            cert: pem,
            key,
            not_after,
        }
    }
}

fn authority(now: Timestamp, names: &Names) -> Result<Signed, Error> {
    let failed = |source| Error::Issue {
        what: Box::new(names.ca_secret()),
        source,
    };
    let key = KeyPair::generate().map_err(failed)?;
    // Clients that look up authorities by name would confuse two of the same name.
    let name = format!("{CA_SECRET}@{}", now.as_second());
    let not_after = now + CA_VALIDITY;
    let mut params = authority_params(&name);
    valid(&mut params, now - SKEW, not_after);
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(Signed {
        cert: certificate.pem(),
        key: key.serialize_pem().into(),
        not_after,
    })
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn leaf(now: Timestamp, ca: &Signed, names: &Names) -> Result<Signed, Error> {
    let failed = |source| Error::Issue {
        what: Box::new(names.serving_secret()),
        source,
    };
    let signer = KeyPair::from_pem(ca.key.expose_secret()).map_err(failed)?;
    let parsed = Certificate::parse(ca.cert.clone());
    let name = parsed
        .ok()
        .and_then(|certificate| certificate.common_name)
        .unwrap_or_default();
    let issuer = Issuer::new(authority_params(&name), signer);
    let key = KeyPair::generate().map_err(failed)?;
    let not_after = (now + SERVING_VALIDITY).min(ca.not_after);
    let mut params = CertificateParams::new(names.all()).map_err(failed)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, SERVING_SECRET);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, now - SKEW, not_after);
    let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
    Ok(Signed {
        cert: certificate.pem(),
        key: key.serialize_pem().into(),
        not_after,
    })
}

/// rcgen's date type can only be named by this function.
fn valid(params: &mut CertificateParams, from: Timestamp, until: Timestamp) {
    let since = |at: Timestamp| Duration::from_secs(u64::try_from(at.as_second()).unwrap_or_default());
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since(from);
    params.not_after = epoch + since(until);
}

fn tls(secret: &Key, signed: &Signed) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(secret),
        "type": "kubernetes.io/tls",
        "data": {
            CERT: BASE64_STANDARD.encode(&signed.cert),
            KEY: BASE64_STANDARD.encode(signed.key.expose_secret()),
        },
    })
}

fn metadata(key: &Key) -> Value {
    json!({ "namespace": key.namespace, "name": key.name, "annotations": { OWNER.0: OWNER.1 } })
}
