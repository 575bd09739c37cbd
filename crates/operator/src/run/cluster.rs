//! The API server, and the credentials for it.

use crate::{
    clients::{self, COMPONENT},
    monitoring,
    options::Options,
};
use kube::Config;
use runtime::{
    client::{self, Builder, Clients, Source, explain},
    events::{self, Broadcaster, Recorder},
    fence::Fence,
    metrics::Metrics,
    version,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The API server, and the credentials for it.
pub(crate) struct Cluster {
    pub(crate) clients: Clients,
    pub(crate) fence: Fence,
    pub(crate) config: Config,
    /// The operator's own namespace, and that of the leases.
    pub(crate) operator_namespace: String,
    metrics: monitoring::Metrics,
    events: Broadcaster,
    broadcasting: TaskTracker,
    end: CancellationToken,
}

impl Cluster {
    pub(super) fn new(options: &Options, program: &str, metrics: &Metrics) -> Result<Self, String> {
        let exists = |path: &Path| path.exists();
        let config = Origin::choose(&options.kubeconfig, |name| std::env::var_os(name), exists)?.load()?;
        let fence = if options.election.elect.is_on() {
            Fence::closed()
        } else {
            Fence::open()
        };
        let failed = |error: prometheus::Error| format!("cannot register metrics: {error}");
        let requests = client::Metrics::register(metrics.registry()).map_err(failed)?;
        let clients = Builder::new(config.clone())
            .binary(program, version::Info::current())
            .fence(fence.clone())
            .metrics(requests)
            .build()
            .map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
        let counted = events::Metrics::register(metrics.registry()).map_err(failed)?;
        let events = Broadcaster::new(clients.plain("events"), Some(counted));
        let (broadcasting, end) = (TaskTracker::new(), CancellationToken::new());
        let (broadcaster, ended) = (events.clone(), end.clone());
        broadcasting.spawn(async move { broadcaster.run(ended).await });
        let given = &options.election.resource_namespace;
        let operator_namespace = if given.is_empty() {
            &config.default_namespace
        } else {
            given
        }
        .clone();
        Ok(Self {
            clients,
            fence,
            config,
            operator_namespace,
            metrics: monitoring::Metrics::register(metrics.registry()).map_err(failed)?,
            events,
            broadcasting,
            end,
        })
    }

    pub(crate) fn recorder(&self) -> Recorder {
        self.events.recorder(COMPONENT)
    }

    /// The clients of a part of the operator that writes with this one.
    pub(crate) fn clients(&self, write: kube::Client) -> clients::Clients {
        clients::Clients {
            read: self.clients.plain("informers"),
            write,
            recorder: self.recorder(),
            metrics: self.metrics.clone(),
        }
    }

    /// Writes the pending events, for a few seconds at most.
    pub(super) async fn flush(&self) {
        self.end.cancel();
        self.broadcasting.close();
        self.broadcasting.wait().await;
    }
}

/// Where the configuration of the client comes from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Flag(PathBuf),
    Variable(PathBuf),
    Home(PathBuf),
    InCluster,
}

impl Origin {
    /// Precedence: the flag, `$KUBECONFIG`, the in-cluster configuration, `~/.kube/config`.
    fn choose(
        flag: &str,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, String> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if !flag.is_empty() {
            return Ok(Self::Flag(flag.into()));
        }
        if let Some(path) = given("KUBECONFIG") {
            return Ok(Self::Variable(path));
        }
        if given("KUBERNETES_SERVICE_HOST").is_some() {
            return Ok(Self::InCluster);
        }
        let home = given("HOME").map(|home| home.join(".kube/config"));
        home.filter(|path| exists(path)).map(Self::Home).ok_or_else(|| {
            "no API server is configured: --kubeconfig and KUBECONFIG are not set, ~/.kube/config does not exist, and this \
             is not a Pod (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig"
                .to_owned()
        })
    }

    fn load(self) -> Result<Config, String> {
        let (kubeconfig, name) = match self {
            Self::Flag(path) => (Some(path), "--kubeconfig="),
            Self::Variable(path) => (Some(path), "KUBECONFIG="),
            Self::Home(path) => (Some(path), ""),
            Self::InCluster => (None, ""),
        };
        let source = Source {
            kubeconfig,
            master: None,
        };
        // The error of the client names the flag in any case.
        let explain = |error| {
            runtime::logging::chain(&error)
                .to_string()
                .replace("--kubeconfig=", name)
        };
        source.load().map_err(explain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const HOME: (&str, &str) = ("HOME", "/home/u");
    const POD: (&str, &str) = ("KUBERNETES_SERVICE_HOST", "10.0.0.1");

    fn choose(flag: &str, variables: &[(&str, &str)], home: bool) -> Result<Origin, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Origin::choose(flag, variable, |_| home)
    }

    #[rstest]
    #[case::flag("/f", &[("KUBECONFIG", "/v"), POD, HOME], Origin::Flag("/f".into()))]
    #[case::variable("", &[("KUBECONFIG", "/v"), POD, HOME], Origin::Variable("/v".into()))]
    #[case::pod("", &[("KUBECONFIG", ""), POD, HOME], Origin::InCluster)]
    #[case::home("", &[HOME], Origin::Home("/home/u/.kube/config".into()))]
    fn precedence(#[case] flag: &str, #[case] variables: &[(&str, &str)], #[case] expected: Origin) {
        assert_eq!(choose(flag, variables, true), Ok(expected));
    }

    #[test]
    fn names_what_may_be_set() {
        let problem = choose("", &[HOME], false).unwrap_err();
        for part in [
            "--kubeconfig",
            "KUBECONFIG",
            "~/.kube/config",
            "KUBERNETES_SERVICE_HOST",
        ] {
            assert!(problem.contains(part), "{part} is not in {problem}");
        }
        assert!(!problem.contains("--master"), "{problem}");
    }

    #[test]
    fn names_the_variable_if_that_is_wrong() {
        let problem = Origin::Variable("/nope".into()).load().map(drop).unwrap_err();
        assert!(problem.starts_with("cannot read KUBECONFIG=/nope"), "{problem}");
    }
}
