//! The connection pool beneath a client.

use crate::{
    config::{Config, Proxy, Trust},
    environment::Environment,
};
use reqwest::{Certificate, ClientBuilder, Identity, NoProxy, redirect};
use secrecy::ExposeSecret;
use std::{error::Error as StdError, time::Duration};

/// Longer than any server keeps an idle connection is only an invitation to write into a closed one, and each holds on to the
/// largest buffer that it ever needed. It may be twice as long until somebody looks.
const IDLE: Duration = Duration::from_secs(10);

/// How soon a peer that vanished without a word is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Builds the pool. It neither follows redirects nor retries: both would bypass the gate and could carry a token to
/// another host.
pub(crate) fn build(config: &Config) -> cloud::Result<reqwest::Client> {
    // Without one, the layers beneath panic.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(cloud::Error::invalid(
            "TLS",
            "the process has not installed a crypto provider",
        ));
    }
    let builder = reqwest::Client::builder()
        .user_agent(&config.user_agent)
        .connect_timeout(config.connect_timeout)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .pool_idle_timeout(IDLE)
        .tcp_keepalive(KEEP_ALIVE)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE);
    let builder = trust(builder, &config.trust)?;
    let builder = proxy(identity(builder, config)?, &config.proxy)?;
    builder.build().map_err(|error| invalid("HTTP client", &error))
}

fn trust(builder: ClientBuilder, trust: &Trust) -> cloud::Result<ClientBuilder> {
    Ok(match trust {
        Trust::System => builder,
        Trust::SystemAnd(pem) => builder.tls_certs_merge(authorities(pem)?),
        Trust::Only(pem) => builder.tls_certs_only(authorities(pem)?),
        Trust::Anything => builder.tls_danger_accept_invalid_certs(true),
    })
}

fn authorities(pem: &str) -> cloud::Result<Vec<Certificate>> {
    const FIELD: &str = "certificate authorities";
    let found = Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| invalid(FIELD, &error))?;
    if found.is_empty() {
        return Err(cloud::Error::invalid(FIELD, "there is no PEM certificate in it"));
    }
    Ok(found)
}

fn identity(builder: ClientBuilder, config: &Config) -> cloud::Result<ClientBuilder> {
    let Some(pem) = &config.identity else {
        return Ok(builder);
    };
    // The reason is not shown: it may quote the key.
    let identity = Identity::from_pem(pem.expose_secret().as_bytes()).map_err(|_| {
        cloud::Error::invalid(
            "client certificate",
            "a PEM certificate and its private key are needed, and nothing else",
        )
    })?;
    Ok(builder.identity(identity))
}

fn proxy(builder: ClientBuilder, proxy: &Proxy) -> cloud::Result<ClientBuilder> {
    Ok(match proxy {
        Proxy::Environment => Environment::read().lead(builder)?,
        Proxy::Given(environment) => environment.lead(builder)?,
        Proxy::Direct => builder.no_proxy(),
        Proxy::Url(url) => {
            // The reason is not shown: it quotes the URL.
            let proxy = reqwest::Proxy::all(url.expose_secret())
                .map_err(|_| cloud::Error::invalid("proxy", "not a URL like http://proxy.example:3128"))?;
            builder.proxy(proxy.no_proxy(NoProxy::from_env()))
        }
    })
}

fn invalid(field: &str, error: &reqwest::Error) -> cloud::Error {
    let causes: Vec<_> = std::iter::successors(error.source(), |&cause| cause.source())
        .map(ToString::to_string)
        .collect();
    let reason = if causes.is_empty() {
        error.to_string()
    } else {
        causes.join(": ")
    };
    cloud::Error::invalid(field, reason)
}
