//! Octavia: load balancers and the objects on them.

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

use super::{ApiVersion, Call, Deleted, Resource, Service, Session};
use cloud::Result;
use serde::{Deserialize, Deserializer, Serialize};

/// A kind of object in Octavia, and the calls about it.
pub trait Object: Resource {
    /// The body of a request that creates one.
    type New: Serialize + Sync;
    /// The body of a request that changes one.
    type Change: Serialize + Sync;
    /// Its name in messages.
    const KIND: &'static str;
    /// The calls, as occm's metrics name them.
    const CALLS: Calls;

    /// The name of a new one.
    fn name(new: &Self::New) -> &str;
}

/// An object on a load balancer.
pub trait Child: Object {}

/// An object that is read by its ID.
pub trait Readable: Object {
    /// The call, as occm's metrics name it.
    const GET: &'static str;
}

/// The calls about one kind of object.
pub struct Calls {
    list: &'static str,
    create: &'static str,
    update: &'static str,
    delete: &'static str,
}

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

    /// All objects of a kind in the project.
    pub async fn all<T: Child>(&self) -> Result<Vec<T>> {
        self.0.list(get(T::CALLS.list, [T::ALL])).await
    }

    /// The objects of a kind on a load balancer.
    pub async fn on<T: Child>(&self, load_balancer: &str) -> Result<Vec<T>> {
        let call = get(T::CALLS.list, [T::ALL]).query([("loadbalancer_id", load_balancer)]);
        self.0.list(call).await
    }

    /// One object.
    pub async fn find<T: Readable>(&self, id: &str) -> Result<Option<T>> {
        let call = get(T::GET, [T::ALL, id]);
        self.0.find_object(about::<T>(call, id)).await
    }

    /// Creates an object.
    pub async fn create<T: Object>(&self, new: &T::New) -> Result<T> {
        let call = post(T::CALLS.create, [T::ALL]).object::<T>(new);
        self.0.object(about::<T>(call, T::name(new))).await
    }

    /// Changes an object.
    pub async fn update<T: Object>(&self, id: &str, change: &T::Change) -> Result<()> {
        let call = put(T::CALLS.update, [T::ALL, id]).object::<T>(change);
        self.0.send(about::<T>(call, id)).await.map(drop)
    }

    /// Deletes an object: a listener without its pool, a pool with its members and its monitor, a load balancer that has nothing on it.
    pub async fn delete<T: Object>(&self, id: &str) -> Result<Deleted> {
        let call = delete(T::CALLS.delete, [T::ALL, id]);
        self.0.delete(about::<T>(call, id)).await
    }
}

fn about<T: Object>(call: Call, name: &str) -> Call {
    call.about(format!("{} {name}", T::KIND))
}

/// An object that is known by its ID only.
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

/// Octavia sends `null` where others send nothing.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
