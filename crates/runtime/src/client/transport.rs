//! The connections to the API server, and the credentials that belong to them.

use super::{answer::Incoming, files::Files, metrics::Metrics, outgoing::Outgoing, tls::https};
use arc_swap::ArcSwap;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::rt::{Read, Write};
use hyper_util::{
    client::{
        legacy::connect::{
            Connection, HttpConnector,
            proxy::{SocksV5, Tunnel},
        },
        proxy::matcher::{Intercept, Matcher},
    },
    rt::{TokioExecutor, TokioTimer},
};
use kube::{Config, client::ConfigExt, config::AuthInfo};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A vanished peer is noticed after about a minute, also by a watch without events.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Each connection keeps its largest buffer. Idle connections may be closed after twice this time.
const IDLE: Duration = Duration::from_secs(10);
/// The minimum time between two reads of rejected credentials: a plugin may be slow.
const RENEW: Duration = Duration::from_secs(10);

/// One exchange with the server. It is always ready.
pub(super) type Exchange = BoxCloneSyncService<Request<Outgoing>, Response<Incoming>, BoxError>;

/// The connections to the API server. Clones share them.
#[derive(Clone)]
pub(super) struct Transport(Arc<Inner>);

struct Inner {
    exchange: ArcSwap<Exchange>,
    /// The configuration to create new connections from; `None` in tests.
    config: Option<Config>,
    /// When the credentials were last read again.
    renewed: Mutex<Option<Instant>>,
    /// Whether the credential plugin has not yet returned any credentials.
    waiting: AtomicBool,
    /// The files of the client certificate and of the certificate authorities.
    files: Option<Files>,
    metrics: Option<Metrics>,
}

/// The credential plugin has not returned credentials yet.
#[derive(Debug, Clone, thiserror::Error)]
#[error("there are no credentials yet")]
pub(super) struct NoCredentials(#[source] Arc<kube::Error>);

impl Transport {
    /// Reads the credentials of the connections; a credential plugin is run here, and blocks. If it fails, it is run again with later
    /// requests.
    pub(super) fn new(config: Config, metrics: Option<Metrics>) -> kube::Result<Self> {
        // Read before they are used, so that a change in between is noticed later.
        let files = Files::of(&config);
        let (exchange, waiting) = match counted(&config, metrics.as_ref()) {
            Err(error) if is_of_plugin(&config, &error) => {
                let reason = super::explain(&error);
                tracing::warn!(
                    reason,
                    "no credentials yet: the plugin is run again with later requests"
                );
                (refusing(error), true)
            }
            made => (made?, false),
        };
        if let Some(metrics) = &metrics {
            metrics.transport_made();
        }
        Ok(Self(Arc::new(Inner {
            exchange: ArcSwap::from_pointee(exchange),
            config: Some(config),
            renewed: Mutex::new(waiting.then(Instant::now)),
            waiting: waiting.into(),
            files,
            metrics,
        })))
    }

    /// A transport without renewal.
    #[cfg(test)]
    pub(super) fn of(exchange: Exchange) -> Self {
        Self(Arc::new(Inner {
            exchange: ArcSwap::from_pointee(exchange),
            config: None,
            renewed: Mutex::default(),
            waiting: false.into(),
            files: None,
            metrics: None,
        }))
    }

    /// The exchange for one request. Checks the files first, at most once a minute.
    pub(super) async fn exchange(&self) -> Exchange {
        if self.0.files.as_ref().is_some_and(Files::are_due) {
            self.blocking(Inner::follow).await;
        }
        if self.0.waiting.load(Ordering::Relaxed) {
            self.run_plugin().await;
        }
        Exchange::clone(&self.0.exchange.load())
    }

    /// The server rejected the credentials that were sent at that time: reads them again, and returns whether there are new ones to
    /// try. Requests in flight keep their connections.
    pub(super) async fn renew(&self, sent: Instant) -> bool {
        if !self
            .0
            .config
            .as_ref()
            .is_some_and(|config| can_change(&config.auth_info))
        {
            return false;
        }
        let mut renewed = self.0.renewed.lock().await;
        match *renewed {
            Some(last) if last > sent => return true,
            Some(last) if last.elapsed() < RENEW => return false,
            _ => *renewed = Some(Instant::now()),
        }
        self.blocking(Inner::reread).await
    }

    /// Runs a plugin again that has not returned credentials yet, at most every few seconds.
    async fn run_plugin(&self) {
        let mut renewed = self.0.renewed.lock().await;
        let is_due = renewed.is_none_or(|last| last.elapsed() >= RENEW);
        if is_due && self.0.waiting.load(Ordering::Relaxed) {
            *renewed = Some(Instant::now());
            self.blocking(Inner::reread).await;
        }
    }

    async fn blocking(&self, act: fn(&Inner) -> bool) -> bool {
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || act(&inner)).await;
        done.unwrap_or_else(|error| {
            tracing::error!(%error, "reading the credentials panicked");
            false
        })
    }
}

impl Inner {
    /// Reads the credentials again, and returns whether there are new connections.
    fn reread(&self) -> bool {
        let Some(config) = &self.config else { return false };
        let read = self.files.as_ref().map(|files| (files, files.read()));
        match counted(config, self.metrics.as_ref()) {
            Ok(exchange) => {
                self.exchange.store(Arc::new(exchange));
                if self.waiting.swap(false, Ordering::Relaxed) {
                    tracing::info!("the credential plugin has returned credentials");
                }
                if let Some((files, read)) = read {
                    files.used(read);
                }
                true
            }
            // The caller gets the reason, and it was logged before.
            Err(error) if self.waiting.load(Ordering::Relaxed) => {
                self.exchange.store(Arc::new(refusing(error)));
                false
            }
            Err(error) => {
                tracing::warn!(reason = super::explain(&error), "cannot read the credentials again");
                false
            }
        }
    }

    /// Creates new connections if the files have changed, and returns whether it did. Files that are written only in part are
    /// rejected, and checked again.
    fn follow(&self) -> bool {
        let changed = self.files.as_ref().is_some_and(Files::have_changed) && self.reread();
        if changed {
            tracing::info!("using the new certificates");
        }
        changed
    }
}

/// Whether the credentials can change.
fn can_change(user: &AuthInfo) -> bool {
    user.client_certificate.is_some()
        || user.client_key.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some()
}

/// Whether the plugin failed, which may be temporary.
fn is_of_plugin(config: &Config, error: &kube::Error) -> bool {
    config.auth_info.exec.is_some() && matches!(error, kube::Error::Auth(_))
}

/// An exchange that rejects all requests.
fn refusing(error: kube::Error) -> Exchange {
    let error = NoCredentials(Arc::new(error));
    BoxCloneSyncService::new(tower::service_fn(move |_| {
        std::future::ready(Err(error.clone().into()))
    }))
}

/// Connects, and counts the run of a plugin.
fn counted(config: &Config, metrics: Option<&Metrics>) -> kube::Result<Exchange> {
    let connected = connect(config);
    if let (Some(metrics), true) = (metrics, config.auth_info.exec.is_some()) {
        metrics.plugin_called(&connected);
    }
    connected
}

fn connect(config: &Config) -> kube::Result<Exchange> {
    let tcp = tcp();
    let Some(proxy) = &config.proxy_url else {
        return over(config, tcp);
    };
    match proxy.scheme_str() {
        Some("http") => over(config, tunnel(proxy, tcp)),
        Some("https") => {
            // The cluster's authority and the client certificate are for the API server, not for the proxy.
            let tls = https(&Config::new(proxy.clone()), tcp)?;
            over(config, tunnel(proxy, tls))
        }
        Some("socks5" | "socks5h") => {
            // Without a port, it uses the port of TLS for every server.
            over(config, socks(proxy, tcp).map_request(|server: Uri| with_port(&server)))
        }
        _ => Err(kube::Error::ProxyProtocolUnsupported {
            proxy_url: Box::new(proxy.clone()),
        }),
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(KEEPALIVE + KEEPALIVE_INTERVAL * KEEPALIVE_RETRIES));
    tcp
}

fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    match parse(proxy).as_ref().and_then(Intercept::basic_auth) {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

/// As in Go, the proxy resolves the server's name with either scheme.
fn socks<C>(proxy: &Uri, connector: C) -> SocksV5<C> {
    let socks = SocksV5::new(with_port(proxy), connector);
    match parse(proxy).as_ref().and_then(Intercept::raw_auth) {
        Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
        None => socks,
    }
}

/// The URL of a proxy, with the credentials in it.
fn parse(proxy: &Uri) -> Option<Intercept> {
    let any = Uri::from_static("https://any");
    Matcher::builder().https(proxy.to_string()).build().intercept(&any)
}

/// This URL with the port of its scheme, if it has none.
fn with_port(url: &Uri) -> Uri {
    let (Some(scheme), Some(authority), None) = (url.scheme_str(), url.authority(), url.port()) else {
        return url.clone();
    };
    let port = match scheme {
        "https" => 443,
        "socks5" | "socks5h" => 1080,
        _ => 80,
    };
    let whole: Result<Uri, _> = format!("{scheme}://{authority}:{port}").parse();
    whole.unwrap_or_else(|_| url.clone())
}

fn over<C>(config: &Config, connector: C) -> kube::Result<Exchange>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + Send + Sync + 'static,
{
    let auth = config.auth_layer()?;
    let mut tls = config.clone();
    if auth.is_some() {
        // It returned a token: it is not run again for a certificate.
        tls.auth_info.exec = None;
    }
    let connector = https(&tls, connector)?;
    let connections = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(auth)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections)
        .map_response(|response| response.map(|body| body.map_err(BoxError::from).boxed_unsync()));
    Ok(BoxCloneSyncService::new(service))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::proxy("socks5://proxy", "socks5://proxy:1080/")]
    #[case::proxy_with_credentials("socks5h://me:p%40ss@proxy", "socks5h://me:p%40ss@proxy:1080/")]
    #[case::server("https://[2001:db8::1]", "https://[2001:db8::1]:443/")]
    #[case::plain_server("http://api.example", "http://api.example:80/")]
    #[case::given("http://api.example:8080", "http://api.example:8080/")]
    fn a_socks_proxy_needs_a_port(#[case] url: &'static str, #[case] expected: &str) {
        assert_eq!(with_port(&Uri::from_static(url)).to_string(), expected);
    }
}
