//! The connection in use.

use arc_swap::ArcSwap;
use std::sync::Arc;

/// The connection in use, shared by all parts of a provider. It is replaced as a whole. A caller loads it once for an operation.
pub struct Current<C>(Arc<ArcSwap<C>>);

impl<C> Current<C> {
    /// Starts with this connection.
    pub fn new(connection: C) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(connection)))
    }

    /// The connection in use at this time.
    pub fn load(&self) -> Arc<C> {
        self.0.load_full()
    }

    /// Uses this connection from now on, whether the cloud accepts it or not: [`LiveConfig::replace`](super::LiveConfig::replace)
    /// asks first.
    pub fn replace(&self, connection: C) {
        self.0.store(Arc::new(connection));
    }
}

impl<C> Clone for Current<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
