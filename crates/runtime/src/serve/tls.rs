//! TLS of a port: the sources of its certificates, their selection by server name, and their rotation while the server runs.

mod any_client;
mod keys;
mod profile;
mod self_signed;
mod sni;
mod source;

pub use profile::{CURVES, INSECURE_CIPHERS, PREFERRED_CIPHERS, Profile, ProfileError, VERSIONS};
pub use sni::{SniError, SniPair};
pub use source::{Certificate, SourceError};

use super::trust::Trust;
use crate::logging::chain;
use any_client::AnyClient;
use arc_swap::ArcSwap;
use keys::{Always, Keys};
use parking_lot::Mutex;
use rustls::{
    DistinguishedName, ServerConfig,
    server::{NoServerSessionStorage, ResolvesServerCert},
};
use source::Source;
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Whether HTTP/2 is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http2 {
    /// It is, with a maximum number of streams per connection.
    On {
        /// The maximum number.
        streams: u32,
    },
    /// It is not.
    Off,
}

/// The TLS settings of a port.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The default certificate.
    pub certificate: Certificate,
    /// Certificates for certain names.
    pub sni: Vec<SniPair>,
    /// Versions, cipher suites, curves.
    pub profile: Profile,
    /// Whether HTTP/2 is offered.
    pub http2: Http2,
    /// How often the files are read again.
    pub reload: Duration,
}

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate or key is not available.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A certificate is not PEM.
    #[error("the certificate {place} is not PEM")]
    Certificate {
        /// The names it is for.
        place: String,
        /// The cause.
        source: rustls::pki_types::pem::Error,
    },
    /// There is no certificate.
    #[error("the certificate {place} is empty")]
    Empty {
        /// The names it is for.
        place: String,
    },
    /// A key is not PEM.
    #[error("the key {place} is not PEM")]
    Key {
        /// The names it is for.
        place: String,
        /// The cause.
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key do not match.
    #[error("the certificate and the key {place} do not fit together")]
    Pair {
        /// The names it is for.
        place: String,
        /// The cause.
        source: rustls::Error,
    },
    /// The profile leaves no protocol version.
    #[error("the TLS settings leave nothing to serve")]
    Profile(#[source] rustls::Error),
}

/// The TLS of a port.
pub(super) struct Tls {
    settings: Settings,
    source: Arc<Mutex<Source>>,
    trust: watch::Receiver<Trust>,
    current: ArcSwap<Current>,
}

/// The current certificates.
struct Current {
    keys: Arc<Keys>,
    subjects: Vec<DistinguishedName>,
    config: Arc<ServerConfig>,
    /// For clients that send no server name, by the address they connect to.
    by_address: HashMap<IpAddr, Arc<ServerConfig>>,
}

impl Tls {
    /// Loads the certificates. `address` is the listen address, for a self-signed certificate.
    pub(super) fn load(settings: Settings, address: IpAddr, trust: watch::Receiver<Trust>) -> Result<Self, Error> {
        let source = Source::new(&settings.certificate, settings.sni.clone(), address)?;
        let keys = Keys::load(&source.read()?, &settings)?;
        let subjects = trust.borrow().subjects();
        let current = Current::new(Arc::new(keys), subjects, &settings)?;
        Ok(Self {
            settings,
            source: Arc::new(Mutex::new(source)),
            trust,
            current: ArcSwap::from_pointee(current),
        })
    }

    /// The configuration for a client that requests `name` and connects to `address`.
    pub(super) fn config(&self, name: Option<&str>, address: IpAddr) -> Arc<ServerConfig> {
        let current = self.current.load();
        let special = if name.is_none() {
            current.by_address.get(&address.to_canonical())
        } else {
            None
        };
        special.unwrap_or(&current.config).clone()
    }

    pub(super) fn http2(&self) -> Http2 {
        self.settings.http2
    }

    /// Reloads the certificates when the files or the client certificate authorities change, until cancelled. An invalid
    /// certificate is logged once and not served.
    pub(super) async fn run(&self, cancel: CancellationToken) {
        let mut tick = tokio::time::interval(self.settings.reload);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut trust = self.trust.clone();
        let mut reported = None;
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                _ = tick.tick() => {}
                Ok(()) = trust.changed() => {}
            }
            let problem = self.refresh().await.err().map(|error| chain(&error).to_string());
            if let Some(problem) = problem.as_ref().filter(|_| problem != reported) {
                tracing::warn!(problem, "cannot load the new serving certificate; keeping the old one");
            }
            reported = problem;
        }
    }

    async fn refresh(&self) -> Result<(), Error> {
        let current = self.current.load_full();
        let loaded = self.reload(&current).await;
        let keys = loaded.as_ref().map_or_else(|_| current.keys.clone(), Clone::clone);
        let subjects = self.trust.borrow().subjects();
        let changed = keys.fingerprint != current.keys.fingerprint;
        let rotated = !subjects
            .iter()
            .map(AsRef::<[u8]>::as_ref)
            .eq(current.subjects.iter().map(AsRef::as_ref));
        if changed || rotated {
            self.current
                .store(Arc::new(Current::new(keys, subjects, &self.settings)?));
        }
        if changed {
            tracing::info!("loaded a new serving certificate");
        }
        loaded.map(|_| ())
    }

    async fn reload(&self, current: &Current) -> Result<Arc<Keys>, Error> {
        let source = self.source.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut source = source.lock();
            source.renew()?;
            source.read()
        });
        // The task neither panics nor is aborted before the process ends.
        let Ok(content) = read.await else {
            return Ok(current.keys.clone());
        };
        let content = content?;
        if content.fingerprint == current.keys.fingerprint {
            return Ok(current.keys.clone());
        }
        Ok(Arc::new(Keys::load(&content, &self.settings)?))
    }
}

impl Current {
    fn new(keys: Arc<Keys>, subjects: Vec<DistinguishedName>, settings: &Settings) -> Result<Self, Error> {
        let serve = |resolver: Arc<dyn ResolvesServerCert>| server_config(settings, &subjects, resolver);
        let config = serve(keys.clone())?;
        let mut by_address = HashMap::new();
        for (name, pair) in &keys.table {
            if let Ok(address) = name.parse::<IpAddr>() {
                let always = Always(keys.pairs[*pair].clone());
                by_address.insert(address.to_canonical(), serve(Arc::new(always))?);
            }
        }
        Ok(Self {
            keys,
            subjects,
            config,
            by_address,
        })
    }
}

fn server_config(
    settings: &Settings,
    subjects: &[DistinguishedName],
    resolver: Arc<dyn ResolvesServerCert>,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = settings.profile.provider.clone();
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Arc::new(AnyClient {
        subjects: subjects.to_vec(),
        algorithms,
    });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&settings.profile.versions)
        .map_err(Error::Profile)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(resolver);
    config.alpn_protocols = match settings.http2 {
        Http2::On { .. } => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Http2::Off => vec![b"http/1.1".to_vec()],
    };
    // Frequent clients keep their connection, so session resumption would only cost memory.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
