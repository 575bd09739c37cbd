//! The services over HTTP, on loopback.

use crate::{Cloud, Service};
use fakecloud::Server;
use std::{io, net::SocketAddr, ops::Deref};

/// A cloud that is served. Dropped, it stops listening and breaks its connections.
///
/// All services share one port: `/identity`, `/compute`, `/network`, `/load-balancer`, `/key-manager`, `/image`.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use openstack_sim::{Cloud, Sim};
///
/// let cloud = Cloud::new();
/// let server = cloud.boot("node-1");
/// let sim = Sim::start(&cloud).await.unwrap();
/// assert!(sim.auth_url().ends_with("/identity/v3"));
/// assert_eq!(cloud.server(server.id).unwrap().name, "node-1");
/// # });
/// ```
#[derive(Debug)]
pub struct Sim {
    cloud: Cloud,
    server: Server,
}

impl Sim {
    /// Serves this cloud on a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(cloud: &Cloud) -> io::Result<Self> {
        Ok(Self::of(cloud, Server::start(&**cloud).await?))
    }

    /// Serves this cloud at this address, which must be on loopback.
    ///
    /// # Errors
    /// If the address is not on loopback, or in use.
    pub async fn bind(cloud: &Cloud, address: SocketAddr) -> io::Result<Self> {
        Ok(Self::of(cloud, Server::bind(&**cloud, address).await?))
    }

    /// Serves this cloud on a free port over TLS: see [`Server::start_tls`].
    ///
    /// # Errors
    /// If no port is free, or a certificate cannot be created.
    pub async fn start_tls(cloud: &Cloud) -> io::Result<Self> {
        Ok(Self::of(cloud, Server::start_tls(&**cloud).await?))
    }

    /// The same, for clients with a certificate: see [`Server::start_mutual_tls`].
    ///
    /// # Errors
    /// As [`Sim::start_tls`].
    pub async fn start_mutual_tls(cloud: &Cloud) -> io::Result<Self> {
        Ok(Self::of(cloud, Server::start_mutual_tls(&**cloud).await?))
    }

    fn of(cloud: &Cloud, server: Server) -> Self {
        let cloud = cloud.clone();
        Self { cloud, server }
    }

    /// The cloud that is served.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// The URL of Keystone, with its version.
    pub fn auth_url(&self) -> String {
        self.endpoint(Service::Keystone)
    }

    /// The URL of a service, as in the catalog.
    pub fn endpoint(&self, service: Service) -> String {
        format!("{}/{service}{}", self.url(), service.version_path())
    }
}

impl Deref for Sim {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
