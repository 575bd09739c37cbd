//! A kubeconfig file, checked key by key so that an error names the key.

mod user;

use super::{
    config::{ConfigError, Scheme, bad_master, certificates, read, server_url},
    proxy::is_supported,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::uri;
use kube::{
    Config,
    config::{Cluster, Context, Kubeconfig, KubeconfigError},
};
use secrecy::ExposeSecret;
use std::path::{Path, PathBuf};
use tower::BoxError;

/// The configuration of a kubeconfig's current context; `master` replaces its address.
pub(super) fn load(path: &Path, master: Option<&str>) -> Result<Config, ConfigError> {
    let file = File {
        path,
        content: parse(path)?,
    };
    let context = file.context(master)?;
    let cluster = file.cluster(&context, master)?;
    let url = file.url(&context, &cluster, master)?;
    let secure = url.scheme() == Some(&uri::Scheme::HTTPS);

    let mut config = Config::new(url);
    if let Some(namespace) = filled(context.namespace.as_deref()) {
        namespace.clone_into(&mut config.default_namespace);
    }
    if let Some(proxy) = filled(cluster.proxy_url.as_deref()) {
        config.proxy_url = Some(file.proxy(&context, proxy)?);
    }
    // Credentials are never sent without TLS.
    if secure {
        file.trust(&mut config, &context, &cluster, master)?;
        config.auth_info = file.user(&context, &cluster)?;
    }
    Ok(config)
}

fn parse(path: &Path) -> Result<Kubeconfig, ConfigError> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::because(format!("cannot read --kubeconfig={name}"), source))?;
    let mut content = Kubeconfig::from_yaml(&text).map_err(|error| match error {
        KubeconfigError::Parse(source) => {
            ConfigError::new(format!("--kubeconfig={name} is malformed {}", place(&source)))
        }
        other => ConfigError::because(format!("--kubeconfig={name} cannot be used"), other),
    })?;
    resolve(&mut content, path.parent().unwrap_or(Path::new("")));
    Ok(content)
}

/// Resolves the paths in a kubeconfig relative to its folder, and removes line ends from its data.
fn resolve(content: &mut Kubeconfig, folder: &Path) {
    let absolute = |file: &mut Option<String>| {
        if let Some(name) = filled(file.as_deref()) {
            *file = Some(folder.join(name).display().to_string());
        }
    };
    for cluster in content.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        absolute(&mut cluster.certificate_authority);
        join(&mut cluster.certificate_authority_data);
    }
    for user in content
        .auth_infos
        .iter_mut()
        .filter_map(|named| named.auth_info.as_mut())
    {
        absolute(&mut user.client_certificate);
        absolute(&mut user.client_key);
        absolute(&mut user.token_file);
        join(&mut user.client_certificate_data);
        user.client_key_data = user
            .client_key_data
            .take()
            .map(|data| one_line(data.expose_secret()).into());
        // A bare name is searched in `PATH`.
        if let Some(exec) = user
            .exec
            .as_mut()
            .filter(|exec| exec.command.as_ref().is_some_and(|name| name.contains('/')))
        {
            absolute(&mut exec.command);
        }
    }
}

fn join(data: &mut Option<String>) {
    *data = data.take().map(|data| one_line(&data));
}

/// Base64 may be wrapped, as in Go.
fn one_line(data: &str) -> String {
    data.replace(['\r', '\n'], "")
}

/// Position and kind of the error, without quotes from the file, because it contains secrets.
fn place(error: &serde_saphyr::Error) -> String {
    let place = error.location().map_or_else(String::new, |at| {
        format!("at line {}, column {}", at.line(), at.column())
    });
    let what = error.without_snippet().to_string();
    let what = what.lines().next().unwrap_or_default();
    if what.contains('"') || what.is_empty() {
        place
    } else {
        format!("{place}: {what}")
    }
}

struct File<'a> {
    path: &'a Path,
    content: Kubeconfig,
}

impl File<'_> {
    fn context(&self, master: Option<&str>) -> Result<Context, ConfigError> {
        let Some(name) = filled(self.content.current_context.as_deref()) else {
            return if master.is_some() {
                Ok(Context::default())
            } else {
                Err(self.wrong("has no current-context: set it with kubectl config use-context"))
            };
        };
        let found = self.content.contexts.iter().find(|context| context.name == name);
        found
            .and_then(|named| named.context.clone())
            .ok_or_else(|| self.wrong(format!("has no context {name:?}, which is its current-context")))
    }

    fn cluster(&self, context: &Context, master: Option<&str>) -> Result<Cluster, ConfigError> {
        let name = &context.cluster;
        match self.content.clusters.iter().find(|cluster| cluster.name == *name) {
            Some(named) => Ok(named.cluster.clone().unwrap_or_default()),
            None if master.is_some() => Ok(Cluster::default()),
            None => Err(self.wrong(format!("has no cluster {name:?}, which its current context names"))),
        }
    }

    fn url(&self, context: &Context, cluster: &Cluster, master: Option<&str>) -> Result<http::Uri, ConfigError> {
        let tls = filled(cluster.certificate_authority.as_deref()).is_some()
            || filled(cluster.certificate_authority_data.as_deref()).is_some()
            || cluster.insecure_skip_tls_verify == Some(true)
            || self.find_user(context).is_some_and(|user| {
                filled(user.client_certificate.as_deref()).is_some()
                    || filled(user.client_certificate_data.as_deref()).is_some()
            });
        let default = if tls { Scheme::Https } else { Scheme::Http };
        if let Some(master) = master {
            return server_url(master, default).map_err(|source| bad_master(master, source));
        }
        let cluster_name = &context.cluster;
        let Some(server) = filled(cluster.server.as_deref()) else {
            return Err(self.wrong(format!("has no server in its cluster {cluster_name:?}")));
        };
        server_url(server, default).map_err(|source| {
            self.because(
                format!("has a server in its cluster {cluster_name:?} that is not a URL: {server:?}"),
                source,
            )
        })
    }

    fn proxy(&self, context: &Context, proxy: &str) -> Result<http::Uri, ConfigError> {
        let wrong = |source: BoxError| {
            self.because(
                format!(
                    "has a proxy-url in its cluster {:?} that cannot be used",
                    context.cluster
                ),
                source,
            )
        };
        let url: http::Uri = proxy.parse().map_err(|source: uri::InvalidUri| wrong(source.into()))?;
        if is_supported(&url) {
            Ok(url)
        } else {
            Err(wrong("it must start with http://, https:// or socks5://".into()))
        }
    }

    /// The trusted server certificates.
    fn trust(
        &self,
        config: &mut Config,
        context: &Context,
        cluster: &Cluster,
        master: Option<&str>,
    ) -> Result<(), ConfigError> {
        let name = &context.cluster;
        // As in client-go, a name for one server does not count for another.
        config.tls_server_name = filled(cluster.tls_server_name.as_deref())
            .filter(|_| master.is_none())
            .map(str::to_owned);
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify == Some(true);
        let (file, data) = (
            filled(cluster.certificate_authority.as_deref()),
            filled(cluster.certificate_authority_data.as_deref()),
        );
        if config.accept_invalid_certs && (file.is_some() || data.is_some()) {
            return Err(self.wrong(format!(
                "has both insecure-skip-tls-verify and a certificate authority in its cluster {name:?}: remove one"
            )));
        }
        if let Some(pem) = self.data_or_file(&format!("certificate-authority of cluster {name:?}"), data, file)? {
            let roots = certificates(&pem).map_err(|source| {
                self.because(
                    format!(
                        "has an unusable certificate-authority{} in its cluster {name:?}",
                        named(data, file)
                    ),
                    source,
                )
            })?;
            config.root_cert = Some(roots);
            config.root_cert_file = file.filter(|_| data.is_none()).map(PathBuf::from);
        }
        Ok(())
    }

    /// The content of the inline data, or else of the file.
    fn data_or_file(&self, what: &str, data: Option<&str>, file: Option<&str>) -> Result<Option<Vec<u8>>, ConfigError> {
        match (data, file) {
            (Some(data), _) => BASE64_STANDARD
                .decode(data)
                .map(Some)
                .map_err(|source| self.because(format!("has a {what} whose data is not base64"), source)),
            (None, Some(file)) => read(
                &format!("the {what} in --kubeconfig={}:", self.path.display()),
                Path::new(file),
            )
            .map(Some),
            (None, None) => Ok(None),
        }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(format!("--kubeconfig={} {what}", self.path.display()))
    }

    fn because(&self, what: impl std::fmt::Display, source: impl Into<BoxError>) -> ConfigError {
        ConfigError::because(format!("--kubeconfig={} {what}", self.path.display()), source)
    }
}

fn filled(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

fn named(data: Option<&str>, file: Option<&str>) -> String {
    match (data, file) {
        (None, Some(file)) => format!(" ({file})"),
        _ => "-data".to_owned(),
    }
}
