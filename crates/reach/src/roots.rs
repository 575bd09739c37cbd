//! Which authorities are believed.

use rustls::{Error, RootCertStore, pki_types::CertificateDer};

/// Which authorities are believed.
#[derive(Debug, Clone)]
pub enum Roots {
    /// These.
    Only(Vec<CertificateDer<'static>>),
    /// These, and the system's.
    SystemAnd(Vec<CertificateDer<'static>>),
}

impl Roots {
    /// What chains may lead to. What cannot be read of the system's is left out.
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

    /// Whether this very certificate is among them. The system's are read for that: nobody asks often.
    pub(crate) fn contain(&self, certificate: &CertificateDer<'_>) -> bool {
        let system = || rustls_native_certs::load_native_certs().certs;
        self.given().contains(certificate) || matches!(self, Self::SystemAnd(_)) && system().contains(certificate)
    }

    fn given(&self) -> &[CertificateDer<'static>] {
        let (Self::Only(given) | Self::SystemAnd(given)) = self;
        given
    }
}
