//! Which of the operator's APIs the cluster serves. Definitions may be installed later than the operator.

use crate::standalone::{Cluster, Monitoring};
use futures::{StreamExt, future};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::APIGroupList,
};
use kube::{Api, Client, core::PartialObjectMeta, runtime::watcher};
use runtime::client::explain;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// How often the served groups are read while there are none for the operator.
const INTERVAL: Duration = Duration::from_secs(2);
/// How often the served groups are read if definitions may not be watched.
const WITHOUT_WATCH: Duration = Duration::from_mins(10);
/// How often the served groups are read after a definition was created, and how long the pause is if the group is not served then.
const TRIES: u32 = 15;
const REFUSED: Duration = Duration::from_mins(1);
/// The pause after a watch has failed; each further failure doubles it.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The message in a cluster that serves none of the operator's APIs.
pub(super) const NOT_SERVED: &str =
    "the cluster has neither config.openshift.io nor outrigger.dev: apply deploy/kubernetes/crd.yaml";

/// Which APIs are served; it may be both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) openshift: bool,
    pub(super) standalone: bool,
    pub(super) monitoring: Monitoring,
}

impl Served {
    pub(super) fn of(list: &APIGroupList) -> Self {
        let has = |name: &str| list.groups.iter().any(|group| group.name == name);
        Self {
            openshift: has("config.openshift.io"),
            standalone: has("outrigger.dev"),
            monitoring: if has("monitoring.coreos.com") {
                Monitoring::Served
            } else {
                Monitoring::Absent
            },
        }
    }

    /// The kind of cluster, for managers of our own kind.
    pub(super) fn cluster(self) -> Cluster {
        if self.openshift {
            Cluster::OpenShift
        } else {
            Cluster::Kubernetes
        }
    }

    /// One definition of each group that is not served.
    fn missing(self) -> Vec<&'static str> {
        let Self {
            openshift,
            standalone,
            monitoring,
        } = self;
        let all = [
            (openshift, "infrastructures.config.openshift.io"),
            (standalone, "cloudcontrollermanagers.outrigger.dev"),
            (
                monitoring == Monitoring::Served,
                "servicemonitors.monitoring.coreos.com",
            ),
        ];
        all.into_iter()
            .filter(|(there, _)| !there)
            .map(|(_, name)| name)
            .collect()
    }
}

/// Waits until the cluster serves one of the operator's APIs.
pub(super) async fn first(client: &Client, stop: &CancellationToken) -> Option<Served> {
    let mut logged = String::new();
    loop {
        let problem = match stop.run_until_cancelled(client.list_api_groups()).await? {
            Ok(list) => {
                let served = Served::of(&list);
                if served.openshift || served.standalone {
                    return Some(served);
                }
                NOT_SERVED.to_owned()
            }
            Err(error) => explain(&error),
        };
        if problem != logged {
            warn!("waiting: {problem}");
            logged = problem;
        }
        stop.run_until_cancelled(sleep(INTERVAL)).await?;
    }
}

/// Waits until the cluster serves more, and returns what it serves. Meanwhile no requests are sent: missing definitions are watched.
pub(super) async fn more(client: &Client, served: Served) -> Served {
    let missing = served.missing();
    if missing.is_empty() {
        return future::pending().await;
    }
    loop {
        let appear = missing.iter().map(|name| Box::pin(appears(client, name)));
        future::select_all(appear).await;
        // A definition is served a moment after it was created.
        for _ in 0..TRIES {
            match client.list_api_groups().await.map(|list| Served::of(&list)) {
                Ok(after) if after.missing().len() < missing.len() => {
                    info!(?after, "the cluster serves more than before");
                    return after;
                }
                Ok(_) => {}
                Err(error) => debug!(reason = %explain(&error), "cannot read which APIs are served"),
            }
            sleep(INTERVAL).await;
        }
        sleep(REFUSED).await;
    }
}

/// Waits until a definition exists; if definitions may not be watched, until the served groups are to be read again.
async fn appears(client: &Client, name: &str) {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client.clone());
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut pause = PAUSE;
    loop {
        let mut events = Box::pin(watcher(api.clone(), config.clone()));
        let error = loop {
            match events.next().await {
                Some(Ok(watcher::Event::Apply(_) | watcher::Event::InitApply(_))) | None => return,
                Some(Ok(_)) => pause = PAUSE,
                Some(Err(error)) => break error,
            }
        };
        if is_forbidden(&error) {
            debug!(
                name,
                "no permission to watch definitions; reading the served groups now and then instead"
            );
            return sleep(WITHOUT_WATCH).await;
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status)) | WatchStartFailed(kube::Error::Api(status)) => status.code == 403,
        _ => false,
    }
}
