//! The services over HTTP, on loopback.

mod body;
mod connection;
mod exchange;
mod tls;

use crate::{Cloud, Service};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// A cloud that is being served. Dropped, it listens no more and breaks its connections.
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
    address: SocketAddr,
    authority: Option<String>,
    visitor: Option<tls::Identity>,
    task: JoinHandle<()>,
}

impl Sim {
    /// Serves this cloud on a free port of loopback.
    ///
    /// # Errors
    /// If there is no port.
    pub async fn start(cloud: &Cloud) -> io::Result<Self> {
        Self::bind(cloud, (Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Serves this cloud at this address, which must be on loopback.
    ///
    /// # Errors
    /// If the address is not on loopback, or taken.
    pub async fn bind(cloud: &Cloud, address: SocketAddr) -> io::Result<Self> {
        let listener = listen(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(connection::accept(listener, cloud.clone(), None));
        Ok(Self {
            cloud: cloud.clone(),
            address,
            authority: None,
            visitor: None,
            task,
        })
    }

    /// Serves this cloud on a free port of loopback, over TLS with a certificate of its own authority.
    ///
    /// # Errors
    /// If there is no port or no certificate.
    pub async fn start_tls(cloud: &Cloud) -> io::Result<Self> {
        Self::secured(cloud, tls::Visitors::Anybody).await
    }

    /// The same, for those who show a certificate of that authority: [`Sim::visitor`] has one.
    ///
    /// # Errors
    /// As [`Sim::start_tls`].
    pub async fn start_mutual_tls(cloud: &Cloud) -> io::Result<Self> {
        Self::secured(cloud, tls::Visitors::Known).await
    }

    async fn secured(cloud: &Cloud, visitors: tls::Visitors) -> io::Result<Self> {
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let address = listener.local_addr()?;
        let secured = tls::secured(visitors)?;
        let task = tokio::spawn(connection::accept(listener, cloud.clone(), Some(secured.acceptor)));
        Ok(Self {
            cloud: cloud.clone(),
            address,
            authority: Some(secured.authority),
            visitor: Some(secured.visitor),
            task,
        })
    }

    /// The cloud that is served.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Where Keystone is, with its version.
    pub fn auth_url(&self) -> String {
        self.endpoint(Service::Keystone)
    }

    /// Where a service is, as the catalog has it.
    pub fn endpoint(&self, service: Service) -> String {
        format!("{}/{service}{}", self.url(), service.version_path())
    }

    /// The PEM of the authority of its certificate, if it has one.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// The PEMs of a certificate for a client, of the same authority, and of its key.
    pub fn visitor(&self) -> Option<(&str, &str)> {
        let tls::Identity { certificate, key } = self.visitor.as_ref()?;
        Some((certificate, key))
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if !address.ip().is_loopback() {
        let reason = format!("{address} is not on loopback");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    TcpListener::bind(address).await
}
