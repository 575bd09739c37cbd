//! Hashes, from the crypto provider that TLS uses anyway.

use rustls::{
    SupportedCipherSuite,
    crypto::{
        GetRandomFailed,
        ring::{self, cipher_suite::TLS13_AES_128_GCM_SHA256},
        tls13::OkmBlock,
    },
};

/// What identifies something without giving it away.
pub(super) type Digest = [u8; 32];

/// HMAC-SHA256 with a key of its own, so that nobody can know what a value hashes to.
pub(super) struct KeyedHash(OkmBlock);

impl KeyedHash {
    pub(super) fn new() -> Result<Self, GetRandomFailed> {
        let mut key = [0; 32];
        ring::default_provider().secure_random.fill(&mut key)?;
        Ok(Self(OkmBlock::new(&key)))
    }

    pub(super) fn of(&self, data: &[u8]) -> Digest {
        let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
            return Digest::default();
        };
        digest(suite.hkdf_provider.hmac_sign(&self.0, data).as_ref())
    }
}

/// SHA-256.
pub(super) fn sha256(data: &[u8]) -> Digest {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        return Digest::default();
    };
    digest(suite.common.hash_provider.hash(data).as_ref())
}

fn digest(bytes: &[u8]) -> Digest {
    bytes.try_into().expect("SHA-256 has 32 bytes")
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

    #[test]
    fn depends_on_the_key_and_on_the_value() {
        let (one, other) = (KeyedHash::new().unwrap(), KeyedHash::new().unwrap());
        assert_eq!(one.of(b"token"), one.of(b"token"));
        assert_ne!(one.of(b"token"), one.of(b"tokem"));
        assert_ne!(one.of(b"token"), other.of(b"token"));
        assert_ne!(one.of(b"token"), sha256(b"token"));
    }
}
