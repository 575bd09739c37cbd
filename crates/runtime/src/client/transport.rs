//! The connections to the API server, and the credentials that belong to them.

use super::{answer::Incoming, metrics::Metrics, outgoing::Outgoing};
use arc_swap::ArcSwap;
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::rt::{Read, Write};
use hyper_util::{
    client::{
        legacy::connect::{Connection, HttpConnector, proxy::Tunnel},
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioTimer},
};
use kube::{Config, client::ConfigExt, config::AuthInfo};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A peer that is gone without a word is noticed after about a minute, also by a watch that has nothing to say.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Each connection holds on to the largest buffer that it ever needed. It may be twice as long until somebody looks.
const IDLE: Duration = Duration::from_secs(10);
/// How often credentials that the server rejects are read again at most: a plugin may be slow.
const RENEW: Duration = Duration::from_secs(10);

/// One exchange with the server. Always ready, so that it may be called at any time.
pub(super) type Exchange = BoxCloneSyncService<Request<Outgoing>, Response<Incoming>, BoxError>;

/// The connections to the API server. Clones share them.
#[derive(Clone)]
pub(super) struct Transport(Arc<Inner>);

struct Inner {
    exchange: ArcSwap<Exchange>,
    /// What to make a new one from, if that can make a difference.
    renewable: Option<Config>,
    renewed: Mutex<Option<Instant>>,
    metrics: Option<Metrics>,
}

impl Transport {
    /// Reads the credentials that the connections need; a plugin that gives them is run here, and blocks.
    pub(super) fn new(config: Config, metrics: Option<Metrics>) -> kube::Result<Self> {
        let exchange = counted(&config, metrics.as_ref())?;
        if let Some(metrics) = &metrics {
            metrics.transport_made();
        }
        let renewable = can_change(&config.auth_info).then_some(config);
        Ok(Self::of(exchange, renewable, metrics))
    }

    pub(super) fn of(exchange: Exchange, renewable: Option<Config>, metrics: Option<Metrics>) -> Self {
        Self(Arc::new(Inner {
            exchange: ArcSwap::from_pointee(exchange),
            renewable,
            renewed: Mutex::default(),
            metrics,
        }))
    }

    /// The way to send one request.
    pub(super) fn exchange(&self) -> Exchange {
        Exchange::clone(&self.0.exchange.load())
    }

    /// The server did not accept what was sent at that time: reads the credentials again, and answers whether there is
    /// something new to try. Requests under way stay on their connections.
    pub(super) async fn renew(&self, sent: Instant) -> bool {
        let Some(config) = self.0.renewable.clone() else {
            return false;
        };
        let mut renewed = self.0.renewed.lock().await;
        match *renewed {
            Some(last) if last > sent => return true,
            Some(last) if last.elapsed() < RENEW => return false,
            _ => *renewed = Some(Instant::now()),
        }
        let metrics = self.0.metrics.clone();
        match tokio::task::spawn_blocking(move || counted(&config, metrics.as_ref())).await {
            Ok(Ok(exchange)) => {
                self.0.exchange.store(Arc::new(exchange));
                true
            }
            Ok(Err(error)) => {
                tracing::warn!(reason = super::explain(&error), "cannot read the credentials again");
                false
            }
            Err(error) => {
                tracing::error!(%error, "reading the credentials panicked");
                false
            }
        }
    }
}

/// Whether reading the credentials again can give others.
fn can_change(user: &AuthInfo) -> bool {
    user.client_certificate.is_some()
        || user.client_key.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some()
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
            // The cluster's authority and our certificate are for the API server, not for the proxy.
            let tls = Config::new(proxy.clone()).rustls_https_connector_with_connector(tcp)?;
            over(config, tunnel(proxy, tls))
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
    match credentials(proxy) {
        Some(credentials) => tunnel.with_auth(credentials),
        None => tunnel,
    }
}

/// The credentials in the URL of a proxy, as a header.
fn credentials(proxy: &Uri) -> Option<HeaderValue> {
    let any = Uri::from_static("https://any");
    Matcher::builder()
        .https(proxy.to_string())
        .build()
        .intercept(&any)?
        .basic_auth()
        .cloned()
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
        // It gave a token: no need to run it again to see whether it gives a certificate.
        tls.auth_info.exec = None;
    }
    let connector = tls.rustls_https_connector_with_connector(connector)?;
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
