//! SHA-256, from the crypto provider that TLS uses.

use rustls::{SupportedCipherSuite, crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256};

/// A hash that identifies a value without revealing it.
pub(super) type Digest = [u8; 32];

/// SHA-256.
pub(super) fn sha256(data: &[u8]) -> Digest {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        return Digest::default();
    };
    let hash = suite.common.hash_provider.hash(data);
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn is_sha256() {
        let hex = sha256(b"abc").iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
