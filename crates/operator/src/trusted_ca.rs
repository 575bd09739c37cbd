//! The bundle of certificates that the operands trust.
//!
//! [`sources`] finds the bundles, [`merge`] merges them, [`config_map`] is the object with the result. All of it is
//! pure. A source that is invalid is left out and reported, so that one mistake does not remove the trust in everything else.

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
/// Its key, and that of the proxy's `ConfigMap`.
pub const KEY: &str = "ca-bundle.crt";
/// The key with a bundle beside the cloud configuration.
pub const CLOUD_KEY: &str = "ca-bundle.pem";
/// The path of the system's bundle in the operator's image.
pub const SYSTEM_FILE: &str = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";

/// The maximum size of a `ConfigMap`.
const LIMIT: usize = 1024 * 1024;

/// Where certificates come from, in the order of the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// `ca-bundle.pem` beside the cloud configuration.
    CloudConfig,
    /// The `ConfigMap` that the Proxy's `spec.trustedCA` names.
    Proxy,
    /// The operator's image.
    System,
}

/// The bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundles<'a> {
    /// The one beside the cloud configuration.
    pub cloud: Option<&'a str>,
    /// The proxy's.
    pub proxy: Option<&'a str>,
    /// The system's.
    pub system: &'a str,
}

/// The merged bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The certificates, each once.
    pub bundle: String,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// Certificates in it that a handshake would reject.
    pub warnings: Vec<String>,
}

/// A source, or a certificate of it, that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The source.
    pub source: Source,
    /// Whether all of it was left out.
    pub extent: Extent,
    /// The reason, and what to do.
    pub why: String,
}

/// Whether all of a source was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All.
    Bundle,
    /// One certificate.
    Certificate,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No certificate is left that the operands could trust; the image is broken.
    #[error("{system} holds no certificate that can be used: {why}", system = Source::System)]
    System {
        /// The reason.
        why: String,
    },
    /// The certificates are too large for a `ConfigMap`.
    #[error("the trusted certificates have {size} bytes, but a ConfigMap holds {LIMIT}: {sizes}; remove some of them")]
    TooBig {
        /// The size of all certificates.
        size: usize,
        /// The size of each source.
        sizes: String,
    },
}

/// Finds the bundles of the user.
///
/// `proxy_name` is the Proxy's `spec.trustedCA.name`, `proxy` the `ConfigMap` of that name in `openshift-config`, and
/// `cloud_conf` the data of the operands' `cloud-conf`. An object that is named and does not exist is reported.
pub fn sources<'a>(
    system: &'a str,
    proxy_name: &str,
    proxy: Option<&'a ConfigMap>,
    cloud_conf: Option<&'a BTreeMap<String, String>>,
) -> (Bundles<'a>, Vec<Skipped>) {
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
        extent: Extent::Bundle,
        why,
    });
    let proxy = found.filter(|_| !proxy_name.is_empty());
    (Bundles { cloud, proxy, system }, skipped.into_iter().collect())
}

/// Merges the bundles: the cloud configuration's certificates, the proxy's, the system's; each once, at its first occurrence.
/// The texts are those of the sources, with an empty line between them, as in the original, where possible.
///
/// A user's bundle that contains something else than certificates is left out as a whole, as in the original; a block that cannot be
/// parsed is left out alone, and so is an invalid block of the system's bundle.
///
/// # Errors
/// If the system's bundle has no certificate, or all of them are too large for a `ConfigMap`.
pub fn merge(sources: &Bundles<'_>, now: Timestamp) -> Result<Merged, Error> {
    let mut merged = Merged::default();
    let mut seen = BTreeSet::new();
    let mut sizes = Vec::new();
    let users = [(Source::CloudConfig, sources.cloud), (Source::Proxy, sources.proxy)];
    let users = users.into_iter().filter_map(|(source, text)| Some((source, text?)));
    for (source, text) in users.chain([(Source::System, sources.system)]) {
        let certificates = merged.accept(source, text)?;
        // The user cannot replace certificates of the image
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
/// Never: the object has a name.
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
    /// The certificates of a source for the bundle; the others are recorded.
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
        let skipped = |extent, why| Skipped { source, extent, why };
        match source {
            Source::System if good.is_empty() => return Err(Error::System { why: all() }),
            Source::CloudConfig | Source::Proxy if good.is_empty() || is_strange => {
                self.skipped.push(skipped(Extent::Bundle, all()));
                return Ok(Vec::new());
            }
            _ => {}
        }
        let each = flaws
            .iter()
            .map(|flaw| skipped(Extent::Certificate, flaw.why().to_owned()));
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
        let what = match self.extent {
            Extent::Certificate => "a certificate of ",
            Extent::Bundle => "",
        };
        write!(f, "{what}{} is not used: {}", self.source, self.why)
    }
}

#[cfg(test)]
mod tests;
