//! The in-cluster configuration.

use super::config::{ConfigError, Scheme, certificates, read, server_url};
use kube::Config;
use std::path::PathBuf;

/// The environment of a pod.
#[derive(Debug)]
pub(super) struct Environment {
    /// `KUBERNETES_SERVICE_HOST`
    pub(super) host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`
    pub(super) port: Option<String>,
    /// The mount path of the service account.
    pub(super) account: PathBuf,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        Self {
            host: std::env::var("KUBERNETES_SERVICE_HOST").ok(),
            port: std::env::var("KUBERNETES_SERVICE_PORT").ok(),
            account: "/var/run/secrets/kubernetes.io/serviceaccount".into(),
        }
    }
}

/// Loads the in-cluster configuration.
pub(super) fn load(environment: &Environment) -> Result<Config, ConfigError> {
    let Environment { host, port, account } = environment;
    let (Some(host), Some(port)) = (present(host.as_deref()), present(port.as_deref())) else {
        return Err(ConfigError::new(
            "neither --kubeconfig nor --master is given and this is not a pod \
             (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): give --kubeconfig",
        ));
    };
    let token = account.join("token");
    let what = "the token of this pod's service account (is automountServiceAccountToken off?)";
    read(what, &token)?;
    let mut config = Config::new(url(host, port)?);
    config.auth_info.token_file = Some(token.display().to_string());
    if let Ok(namespace) = std::fs::read_to_string(account.join("namespace")) {
        namespace.trim().clone_into(&mut config.default_namespace);
    }
    trust(&mut config, account.join("ca.crt"));
    Ok(config)
}

fn url(host: &str, port: &str) -> Result<http::Uri, ConfigError> {
    let address = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    server_url(&address, Scheme::Https).map_err(|source| {
        let variables = format!("KUBERNETES_SERVICE_HOST={host} and KUBERNETES_SERVICE_PORT={port}");
        ConfigError::because(format!("{variables} are not a valid URL"), source)
    })
}

fn trust(config: &mut Config, ca: PathBuf) {
    let roots = read("the certificate authority", &ca);
    match roots.map_err(Into::into).and_then(|pem| certificates(&pem)) {
        Ok(roots) => (config.root_cert, config.root_cert_file) = (Some(roots), Some(ca)),
        // As in client-go: the server's certificate may be signed by an authority of the system.
        Err(error) => {
            tracing::error!(path = %ca.display(), %error, "no cluster CA; trusting the certificate authorities of the system");
        }
    }
}

fn present(variable: Option<&str>) -> Option<&str> {
    variable.filter(|value| !value.is_empty())
}
