//! The trusted client certificate authorities. They change while the server runs: files and a `ConfigMap` are rotated.

use rustls::{
    DistinguishedName, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use std::{fmt, sync::Arc};

/// Why a bundle of certificate authorities cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not PEM.
    #[error("it is not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// It contains no certificate.
    #[error("there is no certificate in it")]
    Empty,
    /// A certificate cannot be used.
    #[error("a certificate in it cannot be used")]
    Certificate(#[source] rustls::Error),
    /// The certificates cannot be used together.
    #[error("its certificates cannot be used")]
    Verifier(#[source] rustls::server::VerifierBuilderError),
}

/// A bundle of certificate authorities.
pub struct Authority {
    pem: Vec<u8>,
    verifier: Arc<dyn ClientCertVerifier>,
    subjects: Vec<DistinguishedName>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("certificates", &self.subjects.len())
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// Parses a bundle.
    ///
    /// # Errors
    /// If it is empty or one of its certificates is broken.
    pub fn parse(pem: &[u8]) -> Result<Self, BundleError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            roots
                .add(certificate.map_err(BundleError::Pem)?)
                .map_err(BundleError::Certificate)?;
        }
        if roots.is_empty() {
            return Err(BundleError::Empty);
        }
        let subjects = roots.subjects();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self {
            pem: pem.to_vec(),
            verifier: verifier.map_err(BundleError::Verifier)?,
            subjects,
        })
    }

    /// Whether it was parsed from `pem`.
    pub(super) fn is(&self, pem: &[u8]) -> bool {
        self.pem == pem
    }

    /// Verifies that a chain ends in this bundle, is valid now and is for clients.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let (leaf, between) = chain.split_first().ok_or(rustls::Error::NoCertificatesPresented)?;
        self.verifier
            .verify_client_cert(leaf, between, UnixTime::now())
            .map(|_| ())
    }
}

/// The headers in which a front proxy names the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderNames {
    /// Common names that the proxy's certificate may have; empty means any.
    pub allowed_names: Vec<String>,
    /// Headers with the user; the first existing one counts.
    pub username: Vec<String>,
    /// Headers with the user's UID; the first existing one counts.
    pub uid: Vec<String>,
    /// Headers with groups; all count.
    pub group: Vec<String>,
    /// Prefixes of headers with extra values.
    pub extra_prefix: Vec<String>,
}

/// A front proxy.
#[derive(Debug)]
pub struct Proxy {
    /// The certificate authorities of its certificate.
    pub authority: Arc<Authority>,
    /// Its headers.
    pub names: HeaderNames,
}

/// The trusted certificate authorities.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The certificate authorities of users.
    pub client: Option<Arc<Authority>>,
    /// The front proxy.
    pub proxy: Option<Arc<Proxy>>,
}

impl Trust {
    /// The subjects that a server sends, so that clients can select their certificate.
    pub(super) fn subjects(&self) -> Vec<DistinguishedName> {
        let proxy = self.proxy.as_ref().map(|proxy| &proxy.authority);
        self.client
            .iter()
            .chain(proxy)
            .flat_map(|authority| authority.subjects.iter().cloned())
            .collect()
    }
}
