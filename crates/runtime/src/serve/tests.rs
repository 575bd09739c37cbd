//! A server on a real socket, with well-behaved and other clients.

mod delegated;
mod endpoints;
mod limits;
mod port;
mod rotation;

use super::*;
use axum::{Router, routing::any};
use parking_lot::Mutex;
use prometheus::Registry;
use rustls::{
    ClientConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName},
};
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use tokio::{io::AsyncReadExt, net::TcpStream, task::JoinHandle};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A server that runs until it is dropped.
struct Running {
    address: SocketAddr,
    registry: Registry,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(options: Options, chain: impl FnOnce(&Metrics) -> Chain) -> Self {
        Self::try_start(options, chain).unwrap()
    }

    fn try_start(options: Options, chain: impl FnOnce(&Metrics) -> Chain) -> Result<Self, Error> {
        lab::install_crypto();
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        let server = Server::bind(options, chain(&metrics), &metrics)?;
        let (address, cancel) = (server.local_addr(), CancellationToken::new());
        let task = tokio::spawn(server.run(cancel.clone()));
        Ok(Self {
            address,
            registry,
            cancel,
            task,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.address.port())
    }

    fn metrics(&self) -> String {
        prometheus::TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap()
    }

    async fn status(&self, path: &str) -> u16 {
        client().get(self.url(path)).send().await.unwrap().status().as_u16()
    }

    async fn stop(mut self) {
        self.cancel.cancel();
        (&mut self.task).await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Loopback only, and quick to notice changes.
fn options() -> Options {
    let defaults = Options::default();
    let tls = tls::Settings {
        reload: Duration::from_millis(20),
        ..defaults.tls
    };
    Options {
        address: Ipv4Addr::LOCALHOST.into(),
        tls,
        ..defaults
    }
}

/// The endpoints, and `ok` at `/`.
fn open(endpoints: Router) -> impl FnOnce(&Metrics) -> Chain {
    move |_| Chain::open(endpoints.route("/", any(ok)))
}

async fn ok() -> Response {
    response::text(http::StatusCode::OK, "ok")
}

/// A client that trusts every server and opens a connection for each request.
fn client() -> reqwest::Client {
    client_builder().build().unwrap()
}

fn client_builder() -> reqwest::ClientBuilder {
    lab::install_crypto();
    reqwest::Client::builder()
        .no_proxy()
        .tls_danger_accept_invalid_certs(true)
        .pool_max_idle_per_host(0)
}

/// A TLS connection that requests `name`.
async fn connect(server: SocketAddr, name: &str) -> std::io::Result<TlsStream<TcpStream>> {
    connect_with(server, name, ring::default_provider(), rustls::DEFAULT_VERSIONS).await
}

async fn connect_with(
    server: SocketAddr,
    name: &str,
    provider: CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> std::io::Result<TlsStream<TcpStream>> {
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(outbound::AcceptAny))
        .with_no_client_auth();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).await?;
    TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from(name.to_owned()).unwrap(), stream)
        .await
}

/// The certificates that are served for `name`.
async fn served(server: SocketAddr, name: &str) -> Vec<CertificateDer<'static>> {
    let stream = connect(server, name).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap().to_vec()
}

/// Waits until the server closes the connection, and returns what it has sent.
async fn closed(stream: &mut TlsStream<TcpStream>) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    // A server that drops a connection sends no close notification.
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        text.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A folder that is deleted after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(lab::unique("serve"));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Replaces a file atomically, as a kubelet does.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let (path, new) = (self.0.join(name), self.0.join(format!("{name}.new")));
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, &path).unwrap();
        path
    }

    /// Writes a self-signed pair for these names; returns the certificate.
    fn write_pair(&self, name: &str, names: &[&str]) -> CertificateDer<'static> {
        let pair = Pair::new(names);
        self.write(&format!("{name}.crt"), pair.certificate.pem());
        self.write(&format!("{name}.key"), pair.key.serialize_pem());
        pair.certificate.der().clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Pair {
    certificate: rcgen::Certificate,
    key: rcgen::KeyPair,
}

impl Pair {
    fn new(names: &[&str]) -> Self {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let key = rcgen::KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap(),
            key,
        }
    }
}

/// The log of the current thread, which is that of all tasks in a test with one thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// The number of lines with this text.
    fn count(&self, text: &str) -> usize {
        self.text().lines().filter(|line| line.contains(text)).count()
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }

    async fn until(&self, text: &str) {
        testkit::wait::until(text, || {
            std::future::ready(if self.count(text) > 0 { Ok(()) } else { Err(self.text()) })
        })
        .await;
    }
}

impl Write for Log {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn files(folder: &Path, name: &str) -> Certificate {
    Certificate::Files {
        cert: folder.join(format!("{name}.crt")),
        key: folder.join(format!("{name}.key")),
    }
}
