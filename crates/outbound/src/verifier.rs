//! Verification of server certificates.

use crate::Roots;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use std::sync::Arc;
use x509_parser::prelude::{ASN1Time, X509Certificate};

/// Trusts a server whose certificate chain ends in a trusted authority, or whose certificate is itself one of them: that is what
/// `openssl req -x509` creates, and Go accepts it. In both cases it must be valid now, for the server name and for servers.
#[derive(Debug)]
pub struct Verifier {
    /// `None` if there are no trusted authorities: then no server is trusted. That is no error before a connection needs TLS.
    chains: Option<Arc<WebPkiServerVerifier>>,
    roots: Roots,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Trusts these authorities.
    ///
    /// # Errors
    /// If one of the given certificates cannot be used.
    pub fn new(roots: Roots) -> Result<Self, Error> {
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let store = roots.store()?;
        let chains = if store.is_empty() {
            None
        } else {
            let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build();
            Some(chains.map_err(|error| Error::General(error.to_string()))?)
        };
        Ok(Self {
            chains,
            roots,
            algorithms,
        })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chains) = &self.chains else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        match chains.verify_server_cert(leaf, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(_)) if self.roots.contain(leaf) => verify_trusted_leaf(leaf, name, now),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, leaf, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, leaf, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Verifies a certificate that is itself trusted, in the order of Go's `x509.Certificate.Verify`.
fn verify_trusted_leaf(
    leaf: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(|_| CertificateError::BadEncoding)?;
    check_time(&parsed, now)?;
    // This also rejects unknown critical extensions.
    verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
    if is_for_servers(&parsed) {
        Ok(ServerCertVerified::assertion())
    } else {
        Err(CertificateError::InvalidPurpose.into())
    }
}

fn check_time(leaf: &X509Certificate<'_>, now: UnixTime) -> Result<(), CertificateError> {
    let now = i64::try_from(now.as_secs())
        .ok()
        .and_then(|now| ASN1Time::from_timestamp(now).ok());
    let now = now.ok_or(CertificateError::Expired)?;
    let validity = leaf.validity();
    if now < validity.not_before {
        Err(CertificateError::NotValidYet)
    } else if now > validity.not_after {
        Err(CertificateError::Expired)
    } else {
        Ok(())
    }
}

/// A certificate without extended key usage may be used for everything.
fn is_for_servers(leaf: &X509Certificate<'_>) -> bool {
    match leaf.extended_key_usage() {
        Ok(None) => true,
        Ok(Some(usage)) => usage.value.any || usage.value.server_auth,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
    use rstest::rstest;

    /// 2026-01-01, when all of these are valid.
    const NOW: u64 = 1_767_225_600;

    fn params(purpose: Option<ExtendedKeyUsagePurpose>) -> CertificateParams {
        let mut params = CertificateParams::new(vec!["api.example".to_owned(), "192.0.2.1".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.extended_key_usages = purpose.into_iter().collect();
        (params.not_before, params.not_after) = (rcgen::date_time_ymd(2025, 1, 1), rcgen::date_time_ymd(2027, 1, 1));
        params
    }

    fn self_signed(params: &CertificateParams) -> CertificateDer<'static> {
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn verify(roots: Vec<CertificateDer<'static>>, leaf: &CertificateDer<'_>, name: &str, now: u64) -> String {
        let name = ServerName::try_from(name).unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now));
        let verified =
            Verifier::new(Roots::Only(roots)).and_then(|ours| ours.verify_server_cert(leaf, &[], &name, &[], now));
        verified.map_or_else(|error| error.to_string(), |_| "trusted".to_owned())
    }

    const YEAR: u64 = 366 * 24 * 60 * 60;

    #[rstest]
    #[case::by_name("api.example", None, NOW, "trusted")]
    #[case::by_address("192.0.2.1", None, NOW, "trusted")]
    #[case::for_servers("api.example", Some(ExtendedKeyUsagePurpose::ServerAuth), NOW, "trusted")]
    #[case::for_anything("api.example", Some(ExtendedKeyUsagePurpose::Any), NOW, "trusted")]
    #[case::for_clients("api.example", Some(ExtendedKeyUsagePurpose::ClientAuth), NOW, "InvalidPurpose")]
    #[case::another_name("other.example", None, NOW, "not valid for name")]
    #[case::too_late("api.example", None, NOW + YEAR, "Expired")]
    #[case::too_early("api.example", None, NOW - YEAR, "NotValidYet")]
    fn a_server_certificate_may_be_an_authority(
        #[case] name: &str,
        #[case] purpose: Option<ExtendedKeyUsagePurpose>,
        #[case] now: u64,
        #[case] expected: &str,
    ) {
        let leaf = self_signed(&params(purpose));
        let result = verify(vec![leaf.clone()], &leaf, name, now);
        assert!(result.contains(expected), "{result}");
    }

    #[test]
    fn rejects_another_authority_of_the_same_name() {
        let (known, unknown) = (self_signed(&params(None)), self_signed(&params(None)));
        assert_ne!(verify(vec![known], &unknown, "api.example", NOW), "trusted");
    }

    /// As in Go: a trusted certificate needs no chain.
    #[test]
    fn trusts_a_leaf_that_is_itself_in_the_roots() {
        let authority = CertifiedIssuer::self_signed(params(None), KeyPair::generate().unwrap()).unwrap();
        let mut server = params(None);
        server.is_ca = IsCa::NoCa;
        let leaf = server.signed_by(&KeyPair::generate().unwrap(), &authority).unwrap();
        let result = |roots| verify(roots, leaf.der(), "api.example", NOW);
        assert_eq!(result(vec![leaf.der().clone()]), "trusted");
        assert_eq!(result(vec![authority.der().clone()]), "trusted");
        assert_ne!(result(vec![self_signed(&params(None))]), "trusted");
    }

    #[test]
    fn trusts_no_server_without_authorities() {
        let leaf = self_signed(&params(None));
        let result = verify(Vec::new(), &leaf, "api.example", NOW);
        assert!(result.contains("UnknownIssuer"), "{result}");
    }
}
