//! The authorities in a file, which somebody else may renew.

use super::{certificate::LOOK, config::certificates};
use reach::{Roots, Verifier};
use rustls::{
    DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;
use tower::BoxError;

/// Trusts the authorities that are in a file, and looks at it again before a connection, if nobody has for a minute. A file
/// that cannot be used changes nothing.
#[derive(Debug)]
pub(super) struct Followed {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    verifier: Arc<Verifier>,
    read: Instant,
}

impl Followed {
    pub(super) fn new(path: PathBuf) -> Result<Self, BoxError> {
        let state = State {
            verifier: Arc::new(load(&path)?),
            read: Instant::now(),
        };
        Ok(Self {
            path,
            state: Mutex::new(state),
        })
    }

    /// Those that were read last.
    fn known(&self) -> Arc<Verifier> {
        self.lock().verifier.clone()
    }

    /// Those that are in the file, as far as it is time to look.
    fn current(&self) -> Arc<Verifier> {
        let mut state = self.lock();
        if state.read.elapsed() >= LOOK {
            state.read = Instant::now();
            match load(&self.path) {
                Ok(verifier) => state.verifier = Arc::new(verifier),
                Err(error) => tracing::warn!(
                    path = %self.path.display(), error,
                    "cannot read the certificate authorities again; using those before"
                ),
            }
        }
        state.verifier.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(path: &Path) -> Result<Verifier, BoxError> {
    let found = certificates(&std::fs::read(path)?)?;
    let roots = found.into_iter().map(CertificateDer::from).collect();
    Ok(Verifier::new(Roots::Only(roots))?)
}

impl ServerCertVerifier for Followed {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.current().verify_server_cert(leaf, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.known().verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.known().verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known().supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem() -> String {
        let pair = rcgen::generate_simple_self_signed(["test".to_owned()]).unwrap();
        pair.cert.pem()
    }

    #[tokio::test(start_paused = true)]
    async fn are_read_again_once_a_minute_and_survive_their_file() {
        let path = std::env::temp_dir().join(format!("authorities-{}", uuid::Uuid::new_v4()));
        std::fs::write(&path, pem()).unwrap();
        let followed = Followed::new(path.clone()).unwrap();
        let first = followed.current();

        std::fs::write(&path, pem()).unwrap();
        assert!(Arc::ptr_eq(&first, &followed.current()), "it looks too often");
        tokio::time::advance(LOOK).await;
        let second = followed.current();
        assert!(!Arc::ptr_eq(&first, &second));

        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(LOOK).await;
        assert!(Arc::ptr_eq(&second, &followed.current()));
    }
}
