//! The bundle of certificates that the operands trust.
//!
//! [`sources`] finds the bundles, [`merge`] makes one of them, [`config_map`] is the object that holds it. All of it is
//! pure. A source that is wrong is left out and reported, so that one mistake does not take the trust from everything else.

mod certificate;
mod pem;

use crate::object::Object;
use certificate::{Certificate, Flaw};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use std::{collections::BTreeMap, collections::BTreeSet, fmt};

/// The `ConfigMap` with the bundle, in the operands' namespace.
pub const NAME: &str = "ccm-trusted-ca";
/// Its key, and the one of the proxy's.
pub const KEY: &str = "ca-bundle.crt";
/// The key with a bundle beside the cloud configuration.
pub const CLOUD_KEY: &str = "ca-bundle.pem";
/// Where the operator's image has the system's bundle.
pub const SYSTEM_FILE: &str = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";

/// What the API server lets a `ConfigMap` hold.
const LIMIT: usize = 1024 * 1024;

/// Where certificates come from, in the order in which they stand in the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `ca-bundle.pem` beside the cloud configuration.
    CloudConfig,
    /// What the Proxy's `spec.trustedCA` names.
    Proxy,
    /// The operator's image.
    System,
}

/// The bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources<'a> {
    /// The one beside the cloud configuration.
    pub cloud: Option<&'a str>,
    /// The proxy's.
    pub proxy: Option<&'a str>,
    /// The system's.
    pub system: &'a str,
}

/// One bundle of all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The certificates, each once.
    pub bundle: String,
    /// What is not in it.
    pub skipped: Vec<Skipped>,
    /// What is in it and will be refused in a handshake.
    pub warnings: Vec<String>,
}

/// A source, or a certificate of it, that is not in the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Which.
    pub source: Source,
    /// How much of it.
    pub part: Part,
    /// What is wrong with it and what to do.
    pub why: String,
}

/// How much of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All.
    Bundle,
    /// One certificate.
    Certificate,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing is left that the operands could trust; the image is broken.
    #[error("{system} holds no certificate that can be used: {why}", system = Source::System)]
    System {
        /// What is wrong with it.
        why: String,
    },
    /// There are too many certificates for a `ConfigMap`.
    #[error("the trusted certificates have {size} bytes, but a ConfigMap holds {LIMIT}: {sizes}; remove some of them")]
    TooBig {
        /// All of them.
        size: usize,
        /// Each source's.
        sizes: String,
    },
}

/// Finds the bundles of the user.
///
/// `proxy_name` is the Proxy's `spec.trustedCA.name`, `proxy` the `ConfigMap` of that name in `openshift-config`, and
/// `cloud_conf` what is in the operands' `cloud-conf`. What is named and does not exist is reported.
pub fn sources<'a>(
    system: &'a str,
    proxy_name: &str,
    proxy: Option<&'a ConfigMap>,
    cloud_conf: Option<&'a BTreeMap<String, String>>,
) -> (Sources<'a>, Vec<Skipped>) {
    let cloud = cloud_conf.and_then(|data| data.get(CLOUD_KEY)).map(String::as_str);
    let data = proxy.and_then(|map| map.data.as_ref());
    let found = data.and_then(|data| data.get(KEY)).map(String::as_str);
    let object = format!("ConfigMap openshift-config/{proxy_name}");
    let missing = match (proxy_name, proxy, found) {
        ("", ..) | (_, _, Some(_)) => None,
        (_, None, None) => Some(format!(
            "{object} does not exist: create it or correct the Proxy's spec.trustedCA"
        )),
        (_, Some(_), None) => Some(format!("{object} has no key {KEY:?}: put the certificates there")),
    };
    let skipped = missing.map(|why| Skipped {
        source: Source::Proxy,
        part: Part::Bundle,
        why,
    });
    let proxy = found.filter(|_| !proxy_name.is_empty());
    (Sources { cloud, proxy, system }, skipped.into_iter().collect())
}

/// Makes one bundle: the cloud configuration's certificates, the proxy's, the system's; each once, where it comes first.
/// The texts are those of the sources, with an empty line between them, as in the original, where they can be.
///
/// A user's bundle with something in it that is no certificate is left out as a whole, as in the original; what cannot be
/// read is left out alone, and so is what is wrong with the system's.
///
/// # Errors
/// If the system's has none, or all of them are too big for a `ConfigMap`.
pub fn merge(sources: &Sources<'_>, now: Timestamp) -> Result<Merged, Error> {
    let mut merged = Merged::default();
    let mut seen = BTreeSet::new();
    let mut sizes = Vec::new();
    let users = [(Source::CloudConfig, sources.cloud), (Source::Proxy, sources.proxy)];
    let users = users.into_iter().filter_map(|(source, text)| Some((source, text?)));
    for (source, text) in users.chain([(Source::System, sources.system)]) {
        let certificates = merged.accept(source, text)?;
        // Those of the image cannot be replaced by the user
        let warned = certificates.iter().filter(|_| source != Source::System);
        let warnings = warned.filter_map(|certificate| certificate.warning(now));
        merged
            .warnings
            .extend(warnings.map(|warning| format!("{source}: {warning}")));
        let new: Vec<_> = certificates
            .iter()
            .filter(|certificate| seen.insert(certificate.der.clone()))
            .collect();
        let piece = if !new.is_empty() && new.len() == pem::strictly(text) {
            text.to_owned()
        } else {
            new.iter().map(ToString::to_string).collect()
        };
        sizes.push(format!("{source} has {}", piece.len()));
        if !merged.bundle.is_empty() && !piece.is_empty() {
            merged.bundle.push('\n');
        }
        merged.bundle.push_str(&piece);
    }
    match merged.bundle.len() {
        size if size > LIMIT => Err(Error::TooBig {
            size,
            sizes: sizes.join(", "),
        }),
        _ => Ok(merged),
    }
}

/// The object with the bundle.
///
/// # Panics
/// Never: it has a name.
pub fn config_map(namespace: &str, bundle: &str) -> Object {
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": namespace,
            "name": NAME,
            "annotations": { "openshift.io/owning-component": "Cloud Compute / Cloud Controller Manager" },
        },
        "data": { KEY: bundle },
    });
    Object::new(map).expect("it has a kind and a name")
}

impl Merged {
    /// The certificates of a source that go into the bundle; what does not is noted.
    fn accept(&mut self, source: Source, text: &str) -> Result<Vec<Certificate>, Error> {
        let mut good = Vec::new();
        let mut flaws = Vec::new();
        for block in certificate::read(text) {
            match block {
                Ok(certificate) => good.push(certificate),
                Err(flaw) => flaws.push(flaw),
            }
        }
        let is_strange = flaws.iter().any(|flaw| matches!(flaw, Flaw::Strange(_)));
        let all = || match flaws.as_slice() {
            [] => "it holds no certificate".to_owned(),
            flaws => flaws.iter().map(Flaw::why).collect::<Vec<_>>().join("; "),
        };
        let skipped = |part, why| Skipped { source, part, why };
        match source {
            Source::System if good.is_empty() => return Err(Error::System { why: all() }),
            Source::CloudConfig | Source::Proxy if good.is_empty() || is_strange => {
                self.skipped.push(skipped(Part::Bundle, all()));
                return Ok(Vec::new());
            }
            _ => {}
        }
        let each = flaws
            .iter()
            .map(|flaw| skipped(Part::Certificate, flaw.why().to_owned()));
        self.skipped.extend(each);
        Ok(good)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CloudConfig => "the bundle of the cloud configuration (key ca-bundle.pem)",
            Self::Proxy => "the bundle of the proxy (spec.trustedCA)",
            Self::System => "the bundle of the system",
        })
    }
}

impl fmt::Display for Skipped {
    /// One sentence for a condition or a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.part {
            Part::Certificate => "a certificate of ",
            Part::Bundle => "",
        };
        write!(f, "{what}{} is not used: {}", self.source, self.why)
    }
}

#[cfg(test)]
mod tests;
