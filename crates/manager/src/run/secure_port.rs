//! The secure port, configured by the flags.

use super::{Program, process::Process};
use crate::options::{Authentication, SecureServing, Serving};
use runtime::{
    client::{Builder, Metrics, Source, explain},
    health::Scope,
    serve::{
        self, Chain, Debugging, Server, Sharing,
        authn::Lookup,
        authn::{self, Authenticator},
        authz::{self, Authorizer},
        tls,
        trust::HeaderNames,
    },
};
use std::{error::Error, io, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

/// Self-signed certificates are named after the program they are compatible with.
const CERTIFICATE: &str = "cloud-controller-manager";

/// The maximum time of a token or access review.
const REVIEW: Duration = Duration::from_secs(10);

/// The secure port, while it is served.
pub(super) struct Port {
    cancel: CancellationToken,
    task: TaskTracker,
}

impl Port {
    /// Answers the requests in flight, and closes.
    pub(super) async fn close(self) {
        self.cancel.cancel();
        self.task.close();
        self.task.wait().await;
    }
}

/// Listens, and serves in the background; `--secure-port=0` serves nothing.
pub(super) fn open(process: &Process, program: &Program<'_>) -> Result<Port, String> {
    let (cancel, task) = (CancellationToken::new(), TaskTracker::new());
    let serving = &process.options.secure_serving;
    if serving.serving.port.0 == 0 {
        return Ok(Port { cancel, task });
    }
    let metrics = serve::Metrics::register(process.metrics.registry())
        .map_err(|error| format!("cannot register metrics: {error}"))?;
    let server = Server::bind(options(serving)?, chain(process, program, &metrics)?, &metrics)
        .map_err(|error| format!("{}{}", one_line(&error), advice(&error, &serving.serving)))?;
    task.spawn(server.run(cancel.clone()));
    Ok(Port { cancel, task })
}

fn one_line(error: &(dyn Error + 'static)) -> String {
    runtime::logging::chain(error).to_string()
}

/// What the user can do, if the flags are the cause.
fn advice(error: &serve::Error, flags: &Serving) -> String {
    match error {
        serve::Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            "; end the program that listens there, or choose another --secure-port".to_owned()
        }
        serve::Error::Tls(_) if !flags.cert_file.is_empty() => {
            let (cert, key) = (&flags.cert_file, &flags.key_file);
            format!("; look at --tls-cert-file={cert} and --tls-private-key-file={key}")
        }
        _ => String::new(),
    }
}

fn options(flags: &SecureServing) -> Result<serve::Options, String> {
    let SecureServing {
        serving,
        http2_max_streams,
        permit_port_sharing,
        permit_address_sharing: _,
    } = flags;
    let profile =
        tls::Profile::parse(&serving.min_version, &serving.cipher_suites, &serving.curves.0).map_err(|problems| {
            problems
                .iter()
                .map(|problem| one_line(problem))
                .collect::<Vec<_>>()
                .join("; ")
        })?;
    let certificate = tls::Certificate::parse(&serving.cert_file, &serving.key_file, &serving.cert_dir, CERTIFICATE)
        .map_err(|error| one_line(&error))?;
    let streams = u32::try_from(*http2_max_streams)
        .ok()
        .filter(|streams| *streams > 0)
        .unwrap_or(serve::STREAMS);
    let http2 = if serving.disable_http2.is_on() {
        tls::Http2::Off
    } else {
        tls::Http2::On { streams }
    };
    Ok(serve::Options {
        address: serving.bind_address,
        port: serving.port.0,
        sharing: if permit_port_sharing.is_on() {
            Sharing::Shared
        } else {
            Sharing::Alone
        },
        tls: tls::Settings {
            certificate,
            sni: serving.sni_certs.pairs().to_vec(),
            profile,
            http2,
            reload: serve::RELOAD,
        },
        ..serve::Options::default()
    })
}

fn chain(process: &Process, program: &Program<'_>, metrics: &serve::Metrics) -> Result<Chain, String> {
    let debugging = if process.options.debugging.profiling.is_on() {
        Debugging::On {
            verbosity: program.verbosity.clone(),
        }
    } else {
        Debugging::Off
    };
    let endpoints = serve::endpoints(&process.checks, &process.metrics, &process.configz, debugging);
    let authentication = &process.options.authentication;
    let client = client_of(&authentication.kubeconfig, "authentication", &process.request_metrics)?;
    let authenticator =
        Authenticator::new(authenticator(authentication, client), metrics.clone()).map_err(|error| one_line(&error))?;
    process
        .checks
        .add("authentication", Scope::Ready, authenticator.check());
    let authorization = &process.options.authorization;
    let options = authz::Options {
        client: client_of(&authorization.kubeconfig, "authorization", &process.request_metrics)?,
        always_allow_paths: authorization.always_allow_paths.to_vec(),
        allow_ttl: authorization.allow_cache_ttl.std(),
        deny_ttl: authorization.deny_cache_ttl.std(),
    };
    let authorizer = Authorizer::new(options, metrics.clone()).map_err(|error| one_line(&error))?;
    Ok(Chain::guarded(endpoints, authenticator, authorizer))
}

/// Precedence as in the Go framework: the kubeconfig of the flag, then the in-cluster configuration, else no client.
fn client_of(kubeconfig: &str, name: &str, metrics: &Metrics) -> Result<Option<kube::Client>, String> {
    let given = !kubeconfig.is_empty();
    let source = Source {
        kubeconfig: given.then(|| kubeconfig.into()),
        master: None,
    };
    let config = match source.load() {
        Ok(config) => config,
        Err(error) if given => return Err(format!("--{name}-kubeconfig: {}", one_line(&error))),
        Err(_) => {
            warn!("no API server for {name}: set --{name}-kubeconfig, or run in a cluster");
            return Ok(None);
        }
    };
    let clients = Builder::new(config).timeout(REVIEW).metrics(metrics.clone()).build();
    let clients = clients.map_err(|error| format!("cannot use the credentials for {name}: {}", explain(&error)))?;
    Ok(Some(clients.plain(name)))
}

fn authenticator(flags: &Authentication, client: Option<kube::Client>) -> authn::Options {
    let file = |path: &String| Some(path).filter(|path| !path.is_empty()).map(Into::into);
    let header = &flags.request_header;
    let lookup = match (
        flags.skip_lookup.is_on() || client.is_none(),
        flags.tolerate_lookup_failure.is_on(),
    ) {
        (true, _) => Lookup::Skip,
        (false, true) => Lookup::Tolerated,
        (false, false) => Lookup::Required,
    };
    authn::Options {
        client,
        client_ca_file: file(&flags.client_ca_file),
        request_header_ca_file: file(&header.client_ca_file),
        request_header: HeaderNames {
            allowed_names: header.allowed_names.to_vec(),
            username: header.username_headers.to_vec(),
            uid: header.uid_headers.to_vec(),
            group: header.group_headers.to_vec(),
            extra_prefix: header.extra_headers_prefix.to_vec(),
        },
        lookup,
        token_ttl: flags.cache_ttl.std(),
        reload: serve::RELOAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Registry, TextEncoder};

    #[tokio::test]
    async fn review_requests_are_counted() {
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        let kubeconfig = lab::ControlPlane::shared().kubeconfig().display().to_string();
        let client = client_of(&kubeconfig, "authentication", &metrics).unwrap();
        client.unwrap().apiserver_version().await.unwrap();
        let page = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        assert!(page.contains(r#"rest_client_requests_total{code="200","#), "{page}");
    }
}
