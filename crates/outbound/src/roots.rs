//! Trusted certificate authorities.

use rustls::{Error, RootCertStore, pki_types::CertificateDer};

/// The trusted certificate authorities.
#[derive(Debug, Clone)]
pub enum Roots {
    /// Only these.
    Only(Vec<CertificateDer<'static>>),
    /// These and those of the system.
    SystemAnd(Vec<CertificateDer<'static>>),
}

impl Roots {
    /// The store that certificate chains must end in. Unreadable certificates of the system are ignored.
    pub(crate) fn store(&self) -> Result<RootCertStore, Error> {
        let mut store = RootCertStore::empty();
        for certificate in self.given() {
            store.add(certificate.clone())?;
        }
        if let Self::SystemAnd(_) = self {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Ok(store)
    }

    /// Whether this certificate itself is trusted. This reads the certificates of the system, which is slow but rare.
    pub(crate) fn contain(&self, certificate: &CertificateDer<'_>) -> bool {
        let system = || rustls_native_certs::load_native_certs().certs;
        self.given().contains(certificate) || matches!(self, Self::SystemAnd(_)) && system().contains(certificate)
    }

    fn given(&self) -> &[CertificateDer<'static>] {
        let (Self::Only(given) | Self::SystemAnd(given)) = self;
        given
    }
}
