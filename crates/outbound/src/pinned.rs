//! Trust in one server certificate, by its thumbprint.

use crate::Verifier;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls::{
    DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::fmt;

/// The SHA-1 of a certificate, as clouds print it: `AA:BB:…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Thumbprint([u8; 20]);

impl Thumbprint {
    /// Reads 20 bytes in hexadecimal digits, with colons or without.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text.trim().bytes().filter(|byte| *byte != b':').collect();
        if digits.len() != 40 {
            return None;
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            // `from_str_radix` also takes a sign.
            let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// The thumbprint of a certificate.
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

/// Trusts the server certificate with this thumbprint, and every other one that the verifier trusts.
#[derive(Debug)]
pub struct Pinned {
    thumbprint: Thumbprint,
    otherwise: Verifier,
}

impl Pinned {
    /// Trusts this certificate; the verifier decides on others.
    pub fn new(thumbprint: Thumbprint, otherwise: Verifier) -> Self {
        Self { thumbprint, otherwise }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Thumbprint::of(leaf) == self.thumbprint {
            return Ok(ServerCertVerified::assertion());
        }
        self.otherwise.verify_server_cert(leaf, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.otherwise.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.otherwise.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.otherwise.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roots;
    use rstest::rstest;

    const TEXT: &str = "A9:99:3E:36:47:06:81:6A:BA:3E:25:71:78:50:C2:6C:9C:D0:D8:9D";

    #[rstest]
    #[case::colons(TEXT, Some(TEXT))]
    #[case::small_without_colons("a9993e364706816aba3e25717850c26c9cd0d89d", Some(TEXT))]
    #[case::short("A9:99", None)]
    #[case::no_digits("zz993e364706816aba3e25717850c26c9cd0d89d", None)]
    #[case::signs("+9993e364706816aba3e25717850c26c9cd0d89d", None)]
    fn parses(#[case] text: &str, #[case] expected: Option<&str>) {
        let parsed = Thumbprint::parse(text).map(|thumbprint| thumbprint.to_string());
        assert_eq!(parsed.as_deref(), expected);
    }

    #[test]
    fn only_the_pinned_certificate_is_trusted() {
        let certificate = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert;
        let (pinned, other) = (certificate("vcenter"), certificate("other"));
        let verifier = Verifier::new(Roots::Only(Vec::new())).unwrap();
        let verifier = Pinned::new(Thumbprint::of(pinned.der()), verifier);
        // A pin holds for any name: that of the certificate may differ.
        let name = ServerName::try_from("elsewhere").unwrap();
        let verify = |leaf: &CertificateDer<'_>| verifier.verify_server_cert(leaf, &[], &name, &[], UnixTime::now());
        assert!(verify(pinned.der()).is_ok());
        assert!(verify(other.der()).is_err());
    }
}
