//! Barbican: certificates.

use super::{Call, Service, Session};
use cloud::Result;
use serde::de::IgnoredAny;

/// Barbican's API, as one user. The content of secrets is never requested.
#[derive(Clone)]
pub struct Barbican(Session);

/// Whether something exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// It does.
    Present,
    /// Barbican answers that it does not.
    Absent,
}

impl Barbican {
    /// Barbican through this session.
    pub fn new(session: Session) -> Self {
        Self(session)
    }

    /// Whether there is a container of this ID.
    pub async fn container(&self, id: &str) -> Result<Existence> {
        let call = Call::get(Service::KeyManager, "container_get", ["containers", id]);
        self.exists(call.about(format!("certificate container {id}"))).await
    }

    /// Whether there is a secret of this ID.
    pub async fn secret(&self, id: &str) -> Result<Existence> {
        let call = Call::get(Service::KeyManager, "secret_get", ["secrets", id]);
        self.exists(call.about(format!("secret {id}"))).await
    }

    async fn exists(&self, call: Call) -> Result<Existence> {
        let found: Option<IgnoredAny> = self.0.find(call).await?;
        Ok(found.map_or(Existence::Absent, |_| Existence::Present))
    }
}
