//! HTTP and HTTPS on loopback.

mod body;
mod connection;
mod tls;

use crate::{Request, Response};
use connection::Scheme;
use std::{
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
};
use tls::{Clients, Identity};
use tokio::{net::TcpListener, task::JoinHandle};

/// What answers requests: a [`crate::Cloud`] whose state is a [`crate::Api`], or a program of its own.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn handle(&self, request: Request) -> impl Future<Output = Response> + Send;
}

/// A server on loopback. Dropped, it stops listening and breaks its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tls: Option<Tls>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Tls {
    authority: String,
    client: Identity,
}

impl Server {
    /// Serves on a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start(handler: &impl Handler) -> io::Result<Self> {
        Self::bind(handler, (Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Serves at this address, which must be on loopback.
    ///
    /// # Errors
    /// If the address is not on loopback, or in use.
    pub async fn bind(handler: &impl Handler, address: SocketAddr) -> io::Result<Self> {
        Self::serve(handler, address, None).await
    }

    /// Serves on a free port over TLS, with a certificate of an authority of its own: [`Server::authority`].
    ///
    /// # Errors
    /// If no port is free, or a certificate cannot be created.
    pub async fn start_tls(handler: &impl Handler) -> io::Result<Self> {
        Self::serve(handler, (Ipv4Addr::LOCALHOST, 0).into(), Some(Clients::All)).await
    }

    /// The same, and refuses clients without a certificate of that authority: [`Server::client_certificate`].
    ///
    /// # Errors
    /// As [`Server::start_tls`].
    pub async fn start_mutual_tls(handler: &impl Handler) -> io::Result<Self> {
        Self::serve(handler, (Ipv4Addr::LOCALHOST, 0).into(), Some(Clients::WithCertificate)).await
    }

    async fn serve(handler: &impl Handler, address: SocketAddr, clients: Option<Clients>) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let reason = format!("{address} is not on loopback, and the server does not authenticate clients");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let secured = clients.map(tls::secured).transpose()?;
        let scheme = match &secured {
            Some(secured) => Scheme::Https(secured.acceptor.clone()),
            None => Scheme::Http,
        };
        Ok(Self {
            address,
            tls: secured.map(|secured| Tls {
                authority: secured.authority,
                client: secured.client,
            }),
            task: tokio::spawn(connection::accept(listener, handler.clone(), scheme)),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The PEM of the authority of its certificate, if it serves over TLS.
    pub fn authority(&self) -> Option<&str> {
        Some(&self.tls.as_ref()?.authority)
    }

    /// The PEMs of a client's certificate of the same authority and of its key, if it serves over TLS.
    pub fn client_certificate(&self) -> Option<(&str, &str)> {
        let Identity { certificate, key } = &self.tls.as_ref()?.client;
        Some((certificate, key))
    }

    /// Breaks all connections, and returns when nothing listens any more.
    pub async fn stop(mut self) {
        self.task.abort();
        // The only error is that of the abort.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
