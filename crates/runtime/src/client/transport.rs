//! The connections to the API server, and the credentials that belong to them.

use super::{answer::Incoming, certificate::Files, metrics::Metrics, outgoing::Outgoing, tls::https};
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
    /// Whether a plugin has yet to give the first credentials.
    waiting: AtomicBool,
    /// The files of a client certificate, which are looked at from time to time.
    files: Option<Files>,
    metrics: Option<Metrics>,
}

/// A plugin has given no credentials yet.
#[derive(Debug, Clone, thiserror::Error)]
#[error("there are no credentials yet")]
pub(super) struct NoCredentials(#[source] Arc<kube::Error>);

impl Transport {
    /// Reads the credentials that the connections need; a plugin that gives them is run here, and blocks. One that fails is
    /// run again with later requests.
    pub(super) fn new(config: Config, metrics: Option<Metrics>) -> kube::Result<Self> {
        // Before they are used: what changes meanwhile is noticed later.
        let files = Files::of(&config.auth_info);
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
            renewable: can_change(&config.auth_info).then_some(config),
            renewed: Mutex::new(waiting.then(Instant::now)),
            waiting: waiting.into(),
            files,
            metrics,
        })))
    }

    /// One that has nothing to renew.
    #[cfg(test)]
    pub(super) fn of(exchange: Exchange) -> Self {
        Self(Arc::new(Inner {
            exchange: ArcSwap::from_pointee(exchange),
            renewable: None,
            renewed: Mutex::default(),
            waiting: false.into(),
            files: None,
            metrics: None,
        }))
    }

    /// The way to send one request. A client certificate is looked at first, if nobody has for a minute.
    pub(super) async fn exchange(&self) -> Exchange {
        if self.0.files.as_ref().is_some_and(Files::are_due) {
            self.blocking(Inner::follow).await;
        }
        if self.0.waiting.load(Ordering::Relaxed) {
            self.ask_plugin().await;
        }
        Exchange::clone(&self.0.exchange.load())
    }

    /// The server did not accept what was sent at that time: reads the credentials again, and answers whether there is
    /// something new to try. Requests under way stay on their connections.
    pub(super) async fn renew(&self, sent: Instant) -> bool {
        if self.0.renewable.is_none() {
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

    /// Runs a plugin again that has given nothing yet, if nobody has for a while.
    async fn ask_plugin(&self) {
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
    /// Reads the credentials again, and answers whether there are new connections now.
    fn reread(&self) -> bool {
        let Some(config) = &self.renewable else { return false };
        let read = self.files.as_ref().map(|files| (files, files.read()));
        match counted(config, self.metrics.as_ref()) {
            Ok(exchange) => {
                self.exchange.store(Arc::new(exchange));
                if self.waiting.swap(false, Ordering::Relaxed) {
                    tracing::info!("the credential plugin has given credentials");
                }
                if let Some((files, read)) = read {
                    files.used(read);
                }
                true
            }
            // Who asked is told why, and the log was.
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

    /// Reads the credentials again if there is another client certificate, and answers whether there is. One that is only
    /// half written is refused, and looked at again.
    fn follow(&self) -> bool {
        let changed = self.files.as_ref().is_some_and(Files::have_changed) && self.reread();
        if changed {
            tracing::info!("using the client certificate that is in its files now");
        }
        changed
    }
}

/// Whether reading the credentials again can give others.
fn can_change(user: &AuthInfo) -> bool {
    user.client_certificate.is_some()
        || user.client_key.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some()
}

/// Whether it is the plugin that failed, which may be better later, rather than something that stays wrong.
fn is_of_plugin(config: &Config, error: &kube::Error) -> bool {
    config.auth_info.exec.is_some() && matches!(error, kube::Error::Auth(_))
}

/// Sends nothing.
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
            // The cluster's authority and our certificate are for the API server, not for the proxy.
            let tls = https(&Config::new(proxy.clone()), tcp)?;
            over(config, tunnel(proxy, tls))
        }
        Some("socks5" | "socks5h") => {
            // Without a port it takes every server for one with TLS.
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

/// As in Go, the proxy is told the server's name by either scheme.
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
        // It gave a token: no need to run it again to see whether it gives a certificate.
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
    #[case::said("http://api.example:8080", "http://api.example:8080/")]
    fn a_socks_proxy_has_a_port_and_is_told_one(#[case] url: &'static str, #[case] expected: &str) {
        assert_eq!(with_port(&Uri::from_static(url)).to_string(), expected);
    }
}
