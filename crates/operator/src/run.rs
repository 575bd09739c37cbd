//! Runs the operator: from options to a clean stop.
//!
//! [`run()`] opens the ports, waits until it leads, runs the control loops, and stops in order: the loops, the lease, the ports.

mod cluster;
mod election;
mod ports;
mod profile;
mod served;

use crate::{
    openshift,
    options::{self, Options, Role},
    platforms::tls,
    standalone::{self, ImageSource, provider::Provider},
};
use cluster::Cluster;
use runtime::{
    health::{Checks, Scope},
    lease,
    metrics::Metrics,
    serve::SetVerbosity,
    version,
};
use served::{NOT_SERVED, Served};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::sync::Notify;
use tracing::info;

/// How long to wait for the TLS profile of the cluster at the start.
const DEADLINE: Duration = Duration::from_secs(10);

/// What the binary passes to the operator.
pub struct Program<'a> {
    /// The name under which it was started.
    pub name: &'a str,
    /// The providers of the binary.
    pub providers: Arc<[Provider]>,
    /// The flags of its cloud controller manager, without dashes.
    pub flags: Arc<[String]>,
    /// Sets the verbosity of the log.
    pub verbosity: SetVerbosity,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was stopped.
    Stopped,
    /// A dry run has printed differences.
    Differences,
}

/// What all parts share.
pub(crate) struct Process {
    pub(crate) options: Options,
    pub(crate) providers: Arc<[Provider]>,
    pub(crate) flags: Arc<[String]>,
    pub(crate) cluster: Cluster,
    pub(crate) metrics: Metrics,
    pub(crate) leases: lease::Metrics,
    pub(crate) checks: Checks,
    /// The version to which the operator rolls out.
    pub(crate) release: String,
}

/// Runs until a signal stops it, or until a dry run is complete.
///
/// # Errors
/// One sentence: why it could not start, or ended.
pub async fn run(options: Options, program: Program<'_>) -> Result<Ended, String> {
    let stop = runtime::signals::stop().map_err(|error| error.to_string())?;
    let process = Process::start(options, &program)?;
    if process.options.dry_run.is_on() {
        return dry_run(&process).await;
    }
    let tls = process.tls().await?;
    let ports = ports::open(&process, &program, tls)?;
    let ended = Box::pin(election::lead(&process, &stop)).await;
    ports.close().await;
    process.cluster.flush().await;
    ended.map(|()| Ended::Stopped)
}

impl Process {
    /// Creates all parts; no request is sent to the cluster yet.
    fn start(options: Options, program: &Program<'_>) -> Result<Self, String> {
        let name = program.name;
        let failed = |error: prometheus::Error| format!("cannot register metrics: {error}");
        let version = version::Info::current();
        let release = release(std::env::var("RELEASE_VERSION").ok());
        info!(%version, release, "starting {name}");
        let metrics = Metrics::new(&version).map_err(failed)?;
        let cluster = Cluster::new(&options, name, &metrics)?;
        let checks = Checks::new(metrics.slis().clone());
        // The checks of the original: they only show that the program answers.
        checks.add("health", Scope::Live, || Ok(()));
        checks.add("check", Scope::Ready, || Ok(()));
        Ok(Self {
            leases: lease::Metrics::register(metrics.registry()).map_err(failed)?,
            checks,
            options,
            providers: program.providers.clone(),
            flags: program.flags.clone(),
            cluster,
            metrics,
            release,
        })
    }

    /// The TLS flags, if any are set.
    fn tls_flags(&self) -> Result<Option<tls::Settings>, String> {
        let Options {
            tls_min_version,
            tls_cipher_suites,
            ..
        } = &self.options;
        let resolved = tls::resolve(tls_min_version, &tls_cipher_suites.0, None).map_err(|error| error.to_string())?;
        Ok((resolved.source == tls::Source::Flags).then_some(resolved.settings))
    }

    /// The TLS settings of the metrics port: the flags, or the cluster's profile if it can be read now.
    async fn tls(&self) -> Result<ports::Tls, String> {
        if let Some(flags) = self.tls_flags()? {
            return Ok(ports::Tls::Given(flags));
        }
        let client = self.cluster.clients.plain("tls-profile");
        let api: kube::Api<operator_api::ApiServer> = kube::Api::all(client.clone());
        let server = match tokio::time::timeout(DEADLINE, api.get_opt("cluster")).await {
            Ok(Ok(server)) => server,
            _ => None,
        };
        let settings = profile::resolved(server.as_ref());
        Ok(ports::Tls::Followed { settings, client })
    }

    fn standalone(&self, served: Served) -> standalone::Settings {
        let namespace = self.options.namespace.clone();
        let cluster = served.cluster();
        standalone::Settings {
            reserved: match cluster {
                standalone::Cluster::OpenShift => openshift::candidates(&namespace),
                standalone::Cluster::Kubernetes => BTreeSet::new(),
            },
            namespace,
            images: match self.options.own_pod.as_str() {
                "" => ImageSource::File(self.options.images.clone().into()),
                name => ImageSource::OwnPod {
                    namespace: self.cluster.operator_namespace.clone(),
                    name: name.to_owned(),
                },
            },
            metrics_service: Some(self.options.metrics_service.clone()).filter(|service| !service.is_empty()),
            monitor_labels: options::labels(&self.options.monitor_labels).unwrap_or_default(),
            providers: self.providers.clone(),
            flags: self.flags.clone(),
            monitoring: served.monitoring,
            cluster,
        }
    }

    pub(crate) fn settings(&self) -> Result<openshift::Settings, String> {
        Ok(openshift::Settings {
            namespace: self.options.namespace.clone(),
            release: self.release.clone(),
            images: self.options.images.clone().into(),
            system_bundle: self.options.system_bundle.clone().into(),
            tls: self.tls_flags()?,
            duties: match self.options.role {
                Role::Operator => openshift::Duties::Everything,
                Role::ConfigSync => openshift::Duties::ConfigSync,
            },
        })
    }
}

async fn dry_run(process: &Process) -> Result<Ended, String> {
    let client = process.cluster.clients.plain("dry-run");
    let groups = client.list_api_groups().await;
    let served = Served::of(&groups.map_err(|error| runtime::client::explain(&error))?);
    if !served.openshift && !served.standalone {
        return Err(NOT_SERVED.to_owned());
    }
    let clients = process.cluster.clients(client).without_events();
    let (mut text, mut problems) = (String::new(), Vec::new());
    if served.openshift {
        let mut operator = openshift::Operator::new(process.settings()?, clients.clone(), Arc::new(Notify::new()));
        let (changes, unknown) = Box::pin(operator.preview()).await;
        text += &changes;
        problems.extend(unknown);
    }
    if served.standalone && process.options.role == Role::Operator {
        let mut operator = standalone::Operator::new(process.standalone(served), clients, Arc::new(Notify::new()));
        let (changes, unknown) = Box::pin(operator.preview()).await;
        text += &changes;
        problems.extend(unknown);
    }
    #[expect(clippy::print_stdout, reason = "it is what was asked for")]
    {
        print!("{text}");
    }
    match (problems.is_empty(), text.is_empty()) {
        (false, _) => Err(problems.join("; ")),
        (true, true) => Ok(Ended::Stopped),
        (true, false) => Ok(Ended::Differences),
    }
}

/// As in the original: unknown if it is not set.
fn release(variable: Option<String>) -> String {
    variable
        .filter(|release| !release.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}
