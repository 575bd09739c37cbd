//! The ports: health without authentication on this machine only, metrics for authorized clients.

use super::{Process, Program, profile};
use crate::platforms::tls;
use runtime::{
    client::{Builder, explain},
    configz::Configz,
    health::Checks,
    metrics::Metrics,
    serve::{
        self, Chain, Debugging, Server, SetVerbosity, address,
        authn::{self, Authenticator, Lookup},
        authz::{self, Authorizer},
        tls::{Certificate, Profile},
    },
};
use std::{net::SocketAddr, path::Path, time::Duration};
use tokio::{sync::watch, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{info, warn};

/// The deadline of a review by the API server.
const REVIEW: Duration = Duration::from_secs(10);
/// How long its result is cached.
const ALLOWED: Duration = Duration::from_mins(1);
const DENIED: Duration = Duration::from_secs(10);
/// How long to wait for a port that another program uses.
const RETRY: Duration = Duration::from_secs(2);

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

/// The TLS settings of the metrics port.
pub(super) enum Tls {
    /// These, which do not change.
    Given(tls::Settings),
    /// These, and then those of the cluster's profile.
    Followed {
        settings: tls::Settings,
        client: kube::Client,
    },
}

/// Listens, and serves in the background.
pub(super) fn open(process: &Process, program: &Program<'_>, tls: Tls) -> Result<Ports, String> {
    let ports = Ports {
        cancel: CancellationToken::new(),
        tasks: TaskTracker::new(),
    };
    if let Some(address) = address(&process.options.health_address)? {
        let chain = Chain::open(serve::health_endpoints(&process.checks));
        let port = Server::bind_plain(address, chain).map_err(|error| taken("--health-addr", &error))?;
        ports.tasks.spawn(port.run(ports.cancel.clone()));
    }
    if let Some(address) = address(&process.options.metrics_address)? {
        let port = MetricsPort::new(process, program, address)?;
        match tls {
            Tls::Given(settings) => {
                let server = port.bind(parsed(&settings)?)?;
                ports.tasks.spawn(server.run(ports.cancel.clone()));
            }
            Tls::Followed { settings, client } => {
                let server = port.bind(of_cluster(&settings))?;
                let (sender, changes) = watch::channel(settings);
                ports.tasks.spawn(profile::follow(client, sender, ports.cancel.clone()));
                ports
                    .tasks
                    .spawn(follow_profile(port, server, changes, ports.cancel.clone()));
            }
        }
    }
    Ok(ports)
}

/// Serves metrics; whenever the profile changes, with the new one. Clients then have to connect again.
async fn follow_profile(
    port: MetricsPort,
    first: Server,
    mut changes: watch::Receiver<tls::Settings>,
    cancel: CancellationToken,
) {
    let mut server = first;
    loop {
        let round = cancel.child_token();
        let mut serving = std::pin::pin!(server.run(round.clone()));
        tokio::select! {
            () = &mut serving => return,
            // The sender is dropped only when the process ends.
            Ok(()) = changes.changed() => {}
        }
        round.cancel();
        serving.await;
        let settings = changes.borrow_and_update().clone();
        info!(
            min_version = settings.min_version,
            "the cluster's TLS profile has changed"
        );
        let bound = cancel.run_until_cancelled(port.bind_again(&settings)).await;
        match bound {
            Some(again) => server = again,
            None => return,
        }
    }
}

/// The port of the metrics, before it is opened.
struct MetricsPort {
    options: serve::Options,
    config: kube::Config,
    checks: Checks,
    metrics: Metrics,
    counted: serve::Metrics,
    verbosity: SetVerbosity,
}

impl MetricsPort {
    fn new(process: &Process, program: &Program<'_>, address: SocketAddr) -> Result<Self, String> {
        let counted = serve::Metrics::register(process.metrics.registry());
        let mut options = serve::Options {
            address: address.ip(),
            port: address.port(),
            ..serve::Options::default()
        };
        options.tls.certificate = certificate(&process.options.cert_dir);
        Ok(Self {
            options,
            config: process.cluster.config.clone(),
            checks: process.checks.clone(),
            metrics: process.metrics.clone(),
            counted: counted.map_err(|error| format!("cannot register metrics: {error}"))?,
            verbosity: program.verbosity.clone(),
        })
    }

    fn bind(&self, profile: Profile) -> Result<Server, String> {
        for warning in &profile.warnings {
            warn!("metrics port: {warning}");
        }
        let mut options = self.options.clone();
        options.tls.profile = profile;
        Server::bind(options, self.chain()?, &self.counted).map_err(|error| taken("--metrics-bind-address", &error))
    }

    /// Binds the address again, which another program may use meanwhile.
    async fn bind_again(&self, settings: &tls::Settings) -> Server {
        loop {
            match self.bind(of_cluster(settings)) {
                Ok(server) => return server,
                Err(problem) => warn!("{problem}"),
            }
            sleep(RETRY).await;
        }
    }

    fn chain(&self) -> Result<Chain, String> {
        let clients = Builder::new(self.config.clone()).timeout(REVIEW).build();
        let clients = clients.map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
        let debugging = Debugging::On {
            verbosity: self.verbosity.clone(),
        };
        let mux = serve::endpoints(&self.checks, &self.metrics, &Configz::default(), debugging);
        let identify = authn::Options {
            client: Some(clients.plain("authentication")),
            lookup: Lookup::Skip,
            ..authn::Options::default()
        };
        let authenticator = Authenticator::new(identify, self.counted.clone()).map_err(|error| error.to_string())?;
        let allow = authz::Options {
            client: Some(clients.plain("authorization")),
            allow_ttl: ALLOWED,
            deny_ttl: DENIED,
            ..authz::Options::default()
        };
        let authorizer = Authorizer::new(allow, self.counted.clone()).map_err(|error| error.to_string())?;
        Ok(Chain::guarded(mux, authenticator, authorizer))
    }
}

fn taken(flag: &str, error: &serve::Error) -> String {
    let problem = runtime::logging::chain(error);
    format!("{problem}; end the program that listens there, or choose another {flag}")
}

/// The profile for the platform's name of a version and the suites.
fn parsed(tls: &tls::Settings) -> Result<Profile, String> {
    Profile::parse(&tls.min_version, &tls.cipher_suites, &[]).map_err(|problems| {
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| runtime::logging::chain(problem).to_string())
            .collect();
        problems.join("; ")
    })
}

/// The same for the profile of a cluster. If this program supports none of its suites, only the newest version is used, whose suites
/// cannot be chosen.
fn of_cluster(tls: &tls::Settings) -> Profile {
    parsed(tls).unwrap_or_else(|problem| {
        warn!("metrics port: {problem}; serving TLS 1.3 only");
        Profile::parse("VersionTLS13", &[], &[]).unwrap_or_default()
    })
}

/// The mounted certificate, which may be created later and replaced.
fn certificate(folder: &str) -> Certificate {
    if folder.is_empty() {
        return Certificate::Memory;
    }
    Certificate::FilesOnceThere {
        cert: Path::new(folder).join("tls.crt"),
        key: Path::new(folder).join("tls.key"),
    }
}
