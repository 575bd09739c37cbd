//! A certificate with its key, to show who we are.

use rustls::{
    CertificateError, Error, InconsistentKeys,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer},
    sign::CertifiedKey,
};

/// Brings a certificate together with its key. As in Go, it may be of X.509 version 1, which the layer beneath cannot read.
///
/// # Errors
/// If the key cannot be used, or belongs to another certificate.
pub fn pair(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, Error> {
    let pair = CertifiedKey::new(chain, provider.key_provider.load_private_key(key)?);
    match pair.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(Error::InvalidCertificate(_)) => check(&pair)?,
        Err(error) => return Err(error),
    }
    Ok(pair)
}

fn check(pair: &CertifiedKey) -> Result<(), Error> {
    let leaf = x509_parser::parse_x509_certificate(pair.end_entity_cert()?);
    let (_, leaf) = leaf.map_err(|_| CertificateError::BadEncoding)?;
    match pair.key.public_key() {
        Some(key) if key.as_ref() != leaf.public_key().raw => Err(InconsistentKeys::KeyMismatch.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::KeyPair;
    use rstest::rstest;
    use rustls::{crypto::ring, pki_types::pem::PemObject};
    use testkit::version_1::{CERTIFICATE, KEY};

    #[rstest]
    #[case::version_1(CERTIFICATE, KEY, "")]
    #[case::of_another(CERTIFICATE, "", "KeyMismatch")]
    #[case::nonsense("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", KEY, "BadEncoding")]
    fn is_one_if_the_key_fits(#[case] certificate: &str, #[case] key: &str, #[case] expected: &str) {
        let stranger = KeyPair::generate().unwrap().serialize_pem();
        let key = if key.is_empty() { &stranger } else { key };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let said =
            pair(chain, key, &ring::default_provider()).map_or_else(|error| format!("{error:?}"), |_| String::new());
        assert!(
            said.contains(expected) && said.is_empty() == expected.is_empty(),
            "{said}"
        );
    }
}
