//! Octavia: load balancers and what hangs on them.

mod listeners;
mod load_balancers;
mod members;
mod monitors;
mod pools;

pub use listeners::{Listener, ListenerChange, NewListener};
pub use load_balancers::{AdditionalVip, LoadBalancer, LoadBalancerChange, NewLoadBalancer, Provisioning};
pub use members::{Member, NewMember};
pub use monitors::{Monitor, MonitorChange, NewMonitor};
pub use pools::{NewPool, Persistence, Pool, PoolChange};

use super::{ApiVersion, Call, Service, Session};
use cloud::Result;
use serde::{Deserialize, Deserializer, Serialize};

/// Octavia's API, as one user.
#[derive(Clone)]
pub struct Octavia(Session);

impl Octavia {
    /// Octavia through this session.
    pub fn new(session: Session) -> Self {
        Self(session)
    }

    /// The versions that it offers, oldest first. A failure is not remembered.
    pub async fn versions(&self) -> Result<Vec<ApiVersion>> {
        self.0.versions(Service::LoadBalancer).await
    }
}

/// Something that is known by its ID only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id {
    /// Its ID.
    pub id: String,
}

impl Id {
    /// This ID.
    pub fn of(id: &str) -> Self {
        Self { id: id.to_owned() }
    }
}

fn get<'a>(operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Call {
    Call::get(Service::LoadBalancer, operation, below(path))
}

fn post<'a>(operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Call {
    Call::post(Service::LoadBalancer, operation, below(path))
}

fn put<'a>(operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Call {
    Call::put(Service::LoadBalancer, operation, below(path))
}

fn delete<'a>(operation: &'static str, path: impl IntoIterator<Item = &'a str>) -> Call {
    Call::delete(Service::LoadBalancer, operation, below(path))
}

fn below<'a>(path: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    ["lbaas"].into_iter().chain(path)
}

/// Octavia says `null` where others say nothing.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
