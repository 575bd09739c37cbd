//! A certificate for loopback.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{io, sync::Arc};
use tokio_rustls::TlsAcceptor;

/// What makes connections secure, and the PEM of its authority.
pub(super) fn acceptor() -> io::Result<(TlsAcceptor, String)> {
    let (config, authority) = config().map_err(io::Error::other)?;
    Ok((TlsAcceptor::from(Arc::new(config)), authority))
}

fn config() -> Result<(ServerConfig, String), Box<dyn std::error::Error + Send + Sync>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
    let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], secret)?;
    Ok((config, authority.pem()))
}
