//! Whose client certificates are believed. It changes while the server runs: files and a `ConfigMap` are rotated.

use rustls::{
    DistinguishedName, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use std::{fmt, sync::Arc};

/// Why a bundle of authorities cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not PEM.
    #[error("it is not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// There is none in it.
    #[error("there is no certificate in it")]
    Empty,
    /// One of them cannot be used.
    #[error("a certificate in it cannot be used")]
    Certificate(#[source] rustls::Error),
    /// They cannot be used together.
    #[error("its certificates cannot be used")]
    Verifier(#[source] rustls::server::VerifierBuilderError),
}

/// A bundle of authorities.
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
    /// Reads a bundle.
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

    /// Whether this is what [`Authority::parse`] made of `pem`.
    pub(super) fn is(&self, pem: &[u8]) -> bool {
        self.pem == pem
    }

    /// Checks that a chain leads here, is valid now and is meant for clients.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
        let (leaf, between) = chain.split_first().ok_or(rustls::Error::NoCertificatesPresented)?;
        self.verifier
            .verify_client_cert(leaf, between, UnixTime::now())
            .map(|_| ())
    }
}

/// The names in which a front proxy tells who is asking.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderNames {
    /// Common names that the proxy's certificate may have; empty means any.
    pub allowed_names: Vec<String>,
    /// Headers with the user; the first that is there counts.
    pub username: Vec<String>,
    /// Headers with the user's UID; the first that is there counts.
    pub uid: Vec<String>,
    /// Headers with groups; all count.
    pub group: Vec<String>,
    /// Prefixes of headers with anything else.
    pub extra_prefix: Vec<String>,
}

/// A front proxy.
#[derive(Debug)]
pub struct Proxy {
    /// Who signs its certificate.
    pub authority: Arc<Authority>,
    /// How it tells who is asking.
    pub names: HeaderNames,
}

/// Whom we believe at the moment.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Who signs the certificates of users.
    pub client: Option<Arc<Authority>>,
    /// The front proxy.
    pub proxy: Option<Arc<Proxy>>,
}

impl Trust {
    /// What clients are told, so that they know which of their certificates to send.
    pub(super) fn subjects(&self) -> Vec<DistinguishedName> {
        let proxy = self.proxy.as_ref().map(|proxy| &proxy.authority);
        self.client
            .iter()
            .chain(proxy)
            .flat_map(|authority| authority.subjects.iter().cloned())
            .collect()
    }
}
