//! Which way out the environment says, as Go's programs understand it: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in
//! capitals or not, and no `ALL_PROXY`; nothing on this machine is behind a proxy.

use reqwest::{ClientBuilder, NoProxy};
use secrecy::{ExposeSecret, SecretString};

/// What is never behind a proxy, whatever `NO_PROXY` says.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// What the environment says. The URLs are secret, because they may hold a password.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    http: Option<SecretString>,
    https: Option<SecretString>,
    no_proxy: String,
}

impl Environment {
    /// What this process was started with.
    #[must_use]
    pub fn read() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// What these variables say. Capitals win.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| {
            let names = [name.to_owned(), name.to_ascii_lowercase()];
            names
                .iter()
                .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        };
        Self {
            http: get("HTTP_PROXY").map(SecretString::from),
            https: get("HTTPS_PROXY").map(SecretString::from),
            no_proxy: get("NO_PROXY").unwrap_or_default(),
        }
    }

    /// Makes a client go that way and no other.
    pub(crate) fn lead(&self, builder: ClientBuilder) -> cloud::Result<ClientBuilder> {
        let Self { http, https, no_proxy } = self;
        let entries: Vec<_> = no_proxy.split(',').map(|entry| without_star(entry.trim())).collect();
        // To the layer beneath this means all names, and no addresses.
        if entries.contains(&"*") {
            return Ok(builder.no_proxy());
        }
        let direct = NoProxy::from_string(&format!("{},{LOOPBACK}", entries.join(",")));
        let mut builder = builder.no_proxy();
        if let Some(url) = http {
            let proxy = reqwest::Proxy::http(told_names(url)).map_err(|_| unusable("HTTP_PROXY"))?;
            builder = builder.proxy(proxy.no_proxy(direct.clone()));
        }
        if let Some(url) = https {
            let proxy = reqwest::Proxy::https(told_names(url)).map_err(|_| unusable("HTTPS_PROXY"))?;
            builder = builder.proxy(proxy.no_proxy(direct));
        }
        Ok(builder)
    }
}

/// `*.example.com` is `.example.com`, which the layer beneath knows.
fn without_star(entry: &str) -> &str {
    entry
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(entry)
}

/// As in Go, a SOCKS proxy is told names by either scheme; to the layer beneath only the second means that.
fn told_names(url: &SecretString) -> String {
    let url = url.expose_secret();
    url.strip_prefix("socks5://")
        .map_or_else(|| url.to_owned(), |rest| format!("socks5h://{rest}"))
}

/// The reason is not shown: it quotes the URL.
fn unusable(name: &str) -> cloud::Error {
    cloud::Error::invalid(name, "not a URL like http://proxy.example:3128")
}
