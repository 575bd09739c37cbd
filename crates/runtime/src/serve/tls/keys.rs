//! Certificates with their keys, ready to serve.

use super::{
    Error, Profile, Settings, sni,
    source::{Content, Pem},
};
use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use secrecy::ExposeSecret;
use std::{collections::HashMap, sync::Arc};

/// All certificates with their keys, and the names they are served for.
#[derive(Debug)]
pub(super) struct Keys {
    /// The first is the default.
    pub(super) pairs: Vec<Arc<CertifiedKey>>,
    pub(super) table: HashMap<String, usize>,
    pub(super) fingerprint: u64,
}

impl Keys {
    pub(super) fn load(content: &Content, settings: &Settings) -> Result<Self, Error> {
        let places = std::iter::once("for all names".to_owned()).chain(
            settings
                .sni
                .iter()
                .map(|pair| format!("for names in {}", pair.cert.display())),
        );
        let keys = content
            .pems
            .iter()
            .zip(places)
            .map(|(pem, place)| certified(pem, &place, &settings.profile));
        let pairs = keys.collect::<Result<Vec<_>, _>>()?;
        // The default has index 0, so the pair of the n-th flag has index n + 1.
        let named = settings
            .sni
            .iter()
            .zip(&pairs[1..])
            .map(|(pair, key)| (pair.names.as_slice(), names_of(key)));
        let table = sni::table(named).into_iter().map(|(name, at)| (name, at + 1)).collect();
        Ok(Self {
            pairs,
            table,
            fingerprint: content.fingerprint,
        })
    }
}

impl ResolvesServerCert for Keys {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let pair = hello
            .server_name()
            .and_then(|name| sni::find(&self.table, name))
            .unwrap_or(0);
        self.pairs.get(pair).cloned()
    }
}

/// Serves one certificate to all clients.
#[derive(Debug)]
pub(super) struct Always(pub(super) Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn certified(pem: &Pem, place: &str, profile: &Profile) -> Result<Arc<CertifiedKey>, Error> {
    let place = || place.to_owned();
    let certificates = CertificateDer::pem_slice_iter(&pem.cert).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|source| Error::Certificate { place: place(), source })?;
    if certificates.is_empty() {
        return Err(Error::Empty { place: place() });
    }
    let key = PrivateKeyDer::from_pem_slice(pem.key.expose_secret());
    let key = key.map_err(|source| Error::Key { place: place(), source })?;
    let certified = outbound::pair(certificates, key, &profile.provider);
    Ok(Arc::new(
        certified.map_err(|source| Error::Pair { place: place(), source })?,
    ))
}

fn names_of(key: &CertifiedKey) -> Vec<String> {
    let leaf = key
        .cert
        .first()
        .and_then(|der| x509_parser::parse_x509_certificate(der).ok());
    leaf.map(|(_, certificate)| sni::names_in(&certificate))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::version_1::{CERTIFICATE, KEY};

    /// It has only a common name.
    #[test]
    fn a_certificate_may_be_of_version_1() {
        let pem = Pem {
            cert: CERTIFICATE.into(),
            key: KEY.as_bytes().to_vec().into(),
        };
        let key = certified(&pem, "for all names", &Profile::default()).unwrap();
        assert_eq!(names_of(&key), ["version-1"]);
    }
}
