//! Certificates for the server and for one client.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use std::{io, sync::Arc};
use tokio_rustls::TlsAcceptor;

type Authority = CertifiedIssuer<'static, KeyPair>;
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Which clients are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    All,
    /// Those with a certificate of the same authority.
    WithCertificate,
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// A server certificate and what clients need to use it.
pub(super) struct Secured {
    pub(super) acceptor: TlsAcceptor,
    /// The PEM of its authority.
    pub(super) authority: String,
    /// Accepted by [`Clients::WithCertificate`].
    pub(super) client: Identity,
}

pub(super) fn secured(clients: Clients) -> io::Result<Secured> {
    build(clients).map_err(io::Error::other)
}

fn build(clients: Clients) -> Result<Secured, Failed> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let config = config(&authority, clients)?;
    Ok(Secured {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        client: client(&authority)?,
        authority: authority.pem(),
    })
}

fn config(authority: &Authority, clients: Clients) -> Result<ServerConfig, Failed> {
    let key = KeyPair::generate()?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)?.signed_by(&key, authority)?;
    let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match clients {
        Clients::All => builder.with_no_client_auth(),
        Clients::WithCertificate => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.der().clone())?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build()?)
        }
    };
    Ok(builder.with_single_cert(vec![certificate.der().clone()], secret)?)
}

fn client(authority: &Authority) -> Result<Identity, Failed> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(["client".to_owned()])?.signed_by(&key, authority)?;
    Ok(Identity {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}
