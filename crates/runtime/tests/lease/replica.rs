//! Candidates on a real Lease.

use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    config::{KubeConfigOptions, Kubeconfig},
};
use lab::ControlPlane;
use runtime::{
    client::Builder,
    events::{Event, Recorder},
    fence::Fence,
    lease::{Elector, Leadership, Metrics, Params, Status},
};
use serde_json::{Value, json};
use std::{
    future::Future,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub const NAMESPACE: &str = "default";

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The timings of most tests: quick, but with room for a machine that is busy.
pub fn params(name: &str, identity: &str) -> Params {
    Params {
        namespace: NAMESPACE.into(),
        name: name.into(),
        identity: identity.into(),
        lease_duration: ms(4_000),
        renew_deadline: ms(2_500),
        retry_period: ms(500),
    }
}

/// What is in a kubeconfig.
pub async fn config(kubeconfig: &Path) -> kube::Config {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    kube::Config::from_custom_kubeconfig(file, &options).await.unwrap()
}

/// A candidate and everything that can be seen of it.
pub struct Replica {
    pub identity: String,
    pub fence: Fence,
    pub status: Status,
    pub registry: prometheus::Registry,
    pub events: mpsc::Receiver<Event>,
    pub elector: Elector,
}

impl Replica {
    pub fn new(plane: &ControlPlane, name: &str, identity: &str) -> Self {
        Self::with(plane.config(), params(name, identity))
    }

    /// A candidate that acts as the user of this kubeconfig.
    pub async fn of(kubeconfig: &Path, params: Params) -> Self {
        Self::with(config(kubeconfig).await, params)
    }

    pub fn with(config: kube::Config, params: Params) -> Self {
        let client = Builder::new(config)
            .build()
            .unwrap()
            .for_leases(params.request_timeout())
            .unwrap();
        let (identity, fence, registry) = (params.identity.clone(), Fence::closed(), prometheus::Registry::new());
        let metrics = Metrics::register(&registry).unwrap();
        let (queue, events) = mpsc::channel(16);
        let recorder = Recorder::new("cloud-controller-manager", queue);
        let elector = Elector::new(client, params, fence.clone(), &metrics, Some(recorder)).unwrap();
        Self {
            identity,
            fence,
            status: elector.status(),
            registry,
            events,
            elector,
        }
    }

    /// Waits until it leads.
    pub async fn lead(self) -> Leader {
        let Self {
            identity,
            fence,
            status,
            registry,
            events,
            elector,
        } = self;
        let (cancel, what) = (CancellationToken::new(), format!("{identity} to lead"));
        let leadership = within(ms(30_000), &what, elector.acquire(&cancel)).await.unwrap();
        Leader {
            identity,
            fence,
            status,
            registry,
            events,
            leadership,
            since: Instant::now(),
        }
    }

    /// Waits until it leads, in the background.
    pub fn stand_by(self) -> JoinHandle<Leader> {
        tokio::spawn(self.lead())
    }
}

/// A replica that leads.
pub struct Leader {
    pub identity: String,
    pub fence: Fence,
    pub status: Status,
    pub registry: prometheus::Registry,
    pub events: mpsc::Receiver<Event>,
    pub leadership: Leadership,
    pub since: Instant,
}

impl Leader {
    pub fn metric(&self, name: &str) -> u64 {
        metric(&self.registry, name)
    }
}

pub fn metric(registry: &prometheus::Registry, name: &str) -> u64 {
    let text = prometheus::TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

pub fn leases(plane: &ControlPlane) -> Api<Lease> {
    Api::namespaced(plane.client(), NAMESPACE)
}

/// The Lease's spec as the API server shows it.
pub async fn spec(plane: &ControlPlane, name: &str) -> Value {
    lease(plane, name).await["spec"].clone()
}

pub async fn lease(plane: &ControlPlane, name: &str) -> Value {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}");
    plane
        .client()
        .request(http::Request::get(path).body(Vec::new()).unwrap())
        .await
        .unwrap()
}

/// Changes the Lease without the replicas.
pub async fn meddle(plane: &ControlPlane, name: &str, patch: &Value) {
    let patch = kube::api::Patch::Merge(patch);
    leases(plane)
        .patch(name, &kube::api::PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// A Lease whose holder does not exist.
pub async fn ghost(plane: &ControlPlane, name: &str, seconds: u32, renewed: &str) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": name },
        "spec": {
            "holderIdentity": "ghost", "leaseDurationSeconds": seconds, "acquireTime": renewed, "renewTime": renewed,
            "leaseTransitions": 7
        }
    });
    leases(plane)
        .create(
            &kube::api::PostParams::default(),
            &serde_json::from_value(lease).unwrap(),
        )
        .await
        .unwrap();
}

/// The requests of a user, from the audit log of the API server.
#[derive(Debug, PartialEq, Eq)]
pub struct Audited {
    pub verb: String,
    pub resource: String,
    pub code: u64,
    pub at: jiff::Timestamp,
}

pub fn requests(plane: &ControlPlane, user: &str) -> Vec<Audited> {
    let text = |event: &Value, pointer: &str| {
        event
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let log = std::fs::read_to_string(plane.audit_log()).unwrap();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["user"]["username"] == user && event["stage"] == "ResponseComplete")
        .map(|event| Audited {
            verb: text(&event, "/verb"),
            resource: text(&event, "/objectRef/resource"),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            at: text(&event, "/requestReceivedTimestamp").parse().unwrap(),
        })
        .collect()
}

pub async fn within<T>(time: Duration, what: &str, future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(time, future).await;
    waited.unwrap_or_else(|_| panic!("waited {time:?} for {what}"))
}

/// Waits for something to become true.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    within(ms(240_000), what, async {
        while !condition().await {
            tokio::time::sleep(ms(20)).await;
        }
    })
    .await;
}
