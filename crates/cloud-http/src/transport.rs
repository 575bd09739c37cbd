//! The connection pool beneath a client.

use crate::{
    config::{Config, Proxy, Trust},
    environment,
};
use outbound::{AcceptAny, Environment, Pinned, Roots, Verifier};
use reqwest::{ClientBuilder, redirect};
use rustls::{
    ClientConfig,
    client::danger::ServerCertVerifier,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::SingleCertAndKey,
};
use secrecy::{ExposeSecret, SecretString};
use std::{error::Error as StdError, sync::Arc, time::Duration};

/// Longer than any server keeps an idle connection is only an invitation to write into a closed one, and each holds on to the
/// largest buffer that it ever needed. It may take twice as long.
const IDLE: Duration = Duration::from_secs(10);

/// How soon a peer that vanished without a word is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const AUTHORITIES: &str = "certificate authorities";

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
    let builder = proxy(builder.tls_backend_preconfigured(tls(config)?), &config.proxy)?;
    builder.build().map_err(|error| invalid("HTTP client", &error))
}

fn tls(config: &Config) -> cloud::Result<ClientConfig> {
    let builder = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(trust(&config.trust)?);
    let mut tls = match &config.identity {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let (chain, key) = identity(pem)?;
            let pair = outbound::pair(chain, key, builder.crypto_provider());
            let pair = pair.map_err(|error| invalid("client certificate", &error))?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
        }
    };
    tls.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
    Ok(tls)
}

fn trust(trust: &Trust) -> cloud::Result<Arc<dyn ServerCertVerifier>> {
    let roots = match trust {
        Trust::System | Trust::Pinned(_, None) => Roots::SystemAnd(Vec::new()),
        Trust::SystemAnd(pem) => Roots::SystemAnd(authorities(pem)?),
        Trust::Only(pem) | Trust::Pinned(_, Some(pem)) => Roots::Only(authorities(pem)?),
        Trust::Anything => return Ok(Arc::new(AcceptAny)),
    };
    let verifier = Verifier::new(roots).map_err(|error| invalid(AUTHORITIES, &error))?;
    Ok(match trust {
        Trust::Pinned(thumbprint, _) => Arc::new(Pinned::new(*thumbprint, verifier)),
        _ => Arc::new(verifier),
    })
}

fn authorities(pem: &str) -> cloud::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let found = found.map_err(|error| invalid(AUTHORITIES, &error))?;
    if found.is_empty() {
        return Err(cloud::Error::invalid(AUTHORITIES, "there is no PEM certificate in it"));
    }
    Ok(found)
}

fn identity(pem: &SecretString) -> cloud::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let pem = pem.expose_secret().as_bytes();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match (chain, PrivateKeyDer::from_pem_slice(pem)) {
        (Ok(chain), Ok(key)) if !chain.is_empty() => Ok((chain, key)),
        // The reason is not shown: it may quote the key.
        _ => Err(cloud::Error::invalid(
            "client certificate",
            "a PEM certificate and its private key are needed",
        )),
    }
}

fn proxy(builder: ClientBuilder, proxy: &Proxy) -> cloud::Result<ClientBuilder> {
    Ok(match proxy {
        Proxy::Environment => environment::lead(&Environment::read(), builder)?,
        Proxy::Given(given) => environment::lead(given, builder)?,
        Proxy::Direct => builder.no_proxy(),
        Proxy::Url(url) => {
            // The reason is not shown: it quotes the URL.
            let refused = || cloud::Error::invalid("proxy", "not a URL like http://proxy.example:3128");
            let proxy = environment::parse(url.expose_secret()).ok_or_else(refused)?;
            environment::through(builder, Environment::read().exceptions, move |_| Some(proxy.clone()))
        }
    })
}

fn invalid(field: &str, error: &(dyn StdError + 'static)) -> cloud::Error {
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
