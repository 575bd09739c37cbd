//! The address of the API server and the credentials, from `--kubeconfig` and `--master`, as in client-go.

use super::{in_cluster, kubeconfig, proxy};
use kube::Config;
use std::path::{Path, PathBuf};
use tower::BoxError;

/// The flags about the API server. Empty values count as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// `--kubeconfig`: a file with the address and the credentials.
    pub kubeconfig: Option<PathBuf>,
    /// `--master`: the address; wins over the one in the kubeconfig.
    pub master: Option<String>,
}

/// The configuration of the API server cannot be used; the message names file and key, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    message: String,
    source: Option<BoxError>,
}

impl ConfigError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    pub(super) fn because(message: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self {
            message: message.into(),
            source: Some(source.into()),
        }
    }
}

impl Source {
    /// Loads the configuration: the kubeconfig if it is given, else the address alone, else the in-cluster configuration.
    /// `KUBECONFIG` and the home directory are not used.
    ///
    /// Without TLS there are no credentials. Files are only read; no request is sent.
    ///
    /// # Errors
    /// If a file is missing or invalid.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let kubeconfig = self.kubeconfig.as_deref().filter(|path| !path.as_os_str().is_empty());
        let master = self.master.as_deref().filter(|master| !master.is_empty());
        let mut config = match (kubeconfig, master) {
            (Some(path), master) => kubeconfig::load(path, master)?,
            (None, Some(master)) => {
                Config::new(server_url(master, Scheme::Http).map_err(|source| bad_master(master, source))?)
            }
            (None, None) => in_cluster::load(&in_cluster::Environment::of_process())?,
        };
        config.default_retry = false;
        config.disable_compression = true;
        if config.proxy_url.is_none() {
            config.proxy_url = proxy::find(&outbound::Environment::read(), &config.cluster_url)?;
        }
        Ok(config)
    }
}

/// The default scheme of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// The URL of a server given as a URL, `host:port` or `host`.
pub(super) fn server_url(server: &str, default: Scheme) -> Result<http::Uri, BoxError> {
    if let Ok(url) = server.parse::<http::Uri>()
        && let (Some(scheme), Some(_)) = (url.scheme_str(), url.host())
    {
        return if matches!(scheme, "http" | "https") {
            Ok(url)
        } else {
            Err("the scheme must be http or https".into())
        };
    }
    let scheme = if default == Scheme::Https { "https" } else { "http" };
    let url: http::Uri = format!("{scheme}://{server}").parse()?;
    if matches!(url.path(), "" | "/") {
        Ok(url)
    } else {
        Err("not a URL and not host:port".into())
    }
}

pub(super) fn bad_master(master: &str, source: BoxError) -> ConfigError {
    ConfigError::because(format!("--master={master:?} is not the URL of an API server"), source)
}

/// The certificates in PEM, at least one. As in Go, certificates that cannot be used are skipped.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, BoxError> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let (mut found, mut problem) = (Vec::new(), None);
    for certificate in CertificateDer::pem_slice_iter(pem) {
        match certificate.map_err(Into::into).and_then(usable) {
            Ok(certificate) => found.push(certificate),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    match problem {
        None if found.is_empty() => Err("there is no certificate in it".into()),
        Some(error) if found.is_empty() => Err(error),
        Some(error) => {
            tracing::warn!(error, "skipping certificate authorities that cannot be used");
            Ok(found)
        }
        None => Ok(found),
    }
}

fn usable(certificate: rustls::pki_types::CertificateDer<'_>) -> Result<Vec<u8>, BoxError> {
    let der = certificate.to_vec();
    rustls::RootCertStore::empty().add(certificate.into_owned())?;
    Ok(der)
}

pub(super) fn read(what: &str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    std::fs::read(path).map_err(|source| ConfigError::because(format!("cannot read {what} {}", path.display()), source))
}

#[cfg(test)]
mod tests;
