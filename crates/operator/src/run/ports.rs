//! The ports: health for everybody on this machine, metrics for those who may.

use super::{Process, Program};
use crate::{options::address, platforms::tls};
use runtime::{
    client::{Builder, explain},
    configz::Configz,
    serve::{
        self, Chain, Debugging, Plain, Server,
        authn::{self, Authenticator, Lookup},
        authz::{self, Authorizer},
        tls::{Certificate, Profile},
    },
};
use std::{path::Path, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long the API server may take to say who somebody is, and what he may do.
const REVIEW: Duration = Duration::from_secs(10);
/// How long its answers are believed.
const ALLOWED: Duration = Duration::from_mins(1);
const DENIED: Duration = Duration::from_secs(10);

/// The ports, while they are served.
pub(super) struct Ports {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Ports {
    pub(super) async fn close(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Listens, and serves in the background.
pub(super) fn open(process: &Process, program: &Program<'_>, tls: &tls::Settings) -> Result<Ports, String> {
    let ports = Ports {
        cancel: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    if let Some(address) = address(&process.options.health_address)? {
        let chain = Chain::open(serve::health_endpoints(&process.checks));
        let port = Plain::bind(address, chain).map_err(|error| taken("--health-addr", &error))?;
        ports.tasks.spawn(port.run(ports.cancel.clone()));
    }
    if let Some(address) = address(&process.options.metrics_address)? {
        let metrics = serve::Metrics::register(process.metrics.registry())
            .map_err(|error| format!("cannot register metrics: {error}"))?;
        let mut options = serve::Options {
            address: address.ip(),
            port: address.port(),
            ..serve::Options::default()
        };
        options.tls.profile = profile(tls)?;
        options.tls.certificate = certificate(&process.options.cert_dir);
        let server = Server::bind(options, chain(process, program, &metrics)?, &metrics)
            .map_err(|error| taken("--metrics-bind-address", &error))?;
        ports.tasks.spawn(server.run(ports.cancel.clone()));
    }
    Ok(ports)
}

fn taken(flag: &str, error: &serve::Error) -> String {
    let problem = runtime::logging::chain(error);
    format!("{problem}; end the program that listens there, or choose another {flag}")
}

/// What the platform's name for a version and the suites mean to the port.
fn profile(tls: &tls::Settings) -> Result<Profile, String> {
    Profile::parse(&tls.min_version, &tls.cipher_suites, &[]).map_err(|problems| {
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| runtime::logging::chain(problem).to_string())
            .collect();
        problems.join("; ")
    })
}

/// The mounted certificate, also when it comes late or is replaced.
fn certificate(folder: &str) -> Certificate {
    if folder.is_empty() {
        return Certificate::Memory;
    }
    Certificate::FilesOnceThere {
        cert: Path::new(folder).join("tls.crt"),
        key: Path::new(folder).join("tls.key"),
    }
}

fn chain(process: &Process, program: &Program<'_>, metrics: &serve::Metrics) -> Result<Chain, String> {
    let clients = Builder::new(process.cluster.config.clone()).timeout(REVIEW).build();
    let clients = clients.map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
    let debugging = Debugging::On {
        verbosity: program.verbosity.clone(),
    };
    let mux = serve::endpoints(&process.checks, &process.metrics, &Configz::default(), debugging);
    let identify = authn::Options {
        client: Some(clients.plain("authentication")),
        lookup: Lookup::Skip,
        ..authn::Options::default()
    };
    let authenticator = Authenticator::new(identify, metrics.clone()).map_err(|error| error.to_string())?;
    let allow = authz::Options {
        client: Some(clients.plain("authorization")),
        allow_ttl: ALLOWED,
        deny_ttl: DENIED,
        ..authz::Options::default()
    };
    let authorizer = Authorizer::new(allow, metrics.clone()).map_err(|error| error.to_string())?;
    Ok(Chain::guarded(mux, authenticator, authorizer))
}
