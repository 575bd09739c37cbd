//! A certificate with its private key.

use rustls::{
    CertificateError, Error, InconsistentKeys,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer},
    sign::CertifiedKey,
};

/// A certificate with its private key. As in Go, X.509 version 1 is allowed, which webpki cannot parse.
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
    #[case::other_key(CERTIFICATE, "", "KeyMismatch")]
    #[case::nonsense("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", KEY, "BadEncoding")]
    fn requires_the_matching_key(#[case] certificate: &str, #[case] key: &str, #[case] expected: &str) {
        let other = KeyPair::generate().unwrap().serialize_pem();
        let key = if key.is_empty() { &other } else { key };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let error =
            pair(chain, key, &ring::default_provider()).map_or_else(|error| format!("{error:?}"), |_| String::new());
        assert!(
            error.contains(expected) && error.is_empty() == expected.is_empty(),
            "{error}"
        );
    }
}
