//! The requests of a client to the API server.

use kube::client::{Body, ClientBuilder};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tower::util::MapRequestLayer;

/// The requests of a client so far. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Requests(Arc<Mutex<Vec<String>>>);

impl Requests {
    /// A client, and its requests.
    ///
    /// # Panics
    /// If the configuration is invalid.
    #[must_use]
    pub fn of(config: kube::Config) -> (kube::Client, Self) {
        let requests = Self::default();
        let recorder = requests.clone();
        let layer = MapRequestLayer::new(move |request: http::Request<Body>| {
            recorder
                .lock()
                .push(format!("{} {}", request.method(), request.uri().path()));
            request
        });
        let client = ClientBuilder::try_from(config)
            .expect("a configuration for tests")
            .with_layer(&layer)
            .build();
        (client, requests)
    }

    /// All requests so far, as `METHOD /path`, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Those whose text contains this.
    #[must_use]
    pub fn with(&self, text: &str) -> Vec<String> {
        self.lock()
            .iter()
            .filter(|request| request.contains(text))
            .cloned()
            .collect()
    }

    /// Forgets all requests.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
