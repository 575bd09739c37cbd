//! Reads a cluster. Nothing is written; what cannot be read is recorded, and the rest is read all the same.

use crate::{
    Cluster, Snapshot,
    cluster::Origin,
    snapshot::{Access, Given, Unread},
};
use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use operator_api::Infrastructure;
use runtime::{client::explain, leader_migration::Config};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeSet, fmt::Debug, time::Duration};

/// Objects of one request.
const PAGE: u32 = 500;
/// Kubelets that are asked at a time, and how long one may take.
const KUBELETS: usize = 8;
const KUBELET_TIMEOUT: Duration = Duration::from_secs(10);
/// The namespaces with programs of the control plane, of kubeadm and others and of `OpenShift`.
const NAMESPACE: &str = "kube-system";
const OPENSHIFT: [&str; 3] = [
    "openshift-kube-apiserver",
    "openshift-kube-controller-manager",
    "openshift-cloud-controller-manager",
];
/// What a controller manager does with the migration lock.
const VERBS: [&str; 3] = ["create", "get", "update"];
/// The account of our manager without the operator.
const ACCOUNT: &str = "system:serviceaccount:kube-system:cloud-controller-manager";

/// How much to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Everything.
    All,
    /// Not the configuration of kubelets, which is a request for each: it does not change the plan.
    Plan,
}

/// Reads a cluster. `given` are the command lines that the user named files for.
pub async fn collect(client: &Client, given: Vec<Given>, depth: Depth) -> Snapshot {
    let mut reader = Reader {
        client,
        snapshot: Snapshot {
            given,
            ..Snapshot::default()
        },
    };
    reader.version().await;
    reader.openshift().await;
    reader.namespaces().await;
    reader.objects().await;
    reader.machine_configs().await;
    if depth == Depth::All {
        reader.kubelets().await;
    }
    reader.access().await;
    reader.snapshot
}

struct Reader<'a> {
    client: &'a Client,
    snapshot: Snapshot,
}

impl Reader<'_> {
    async fn version(&mut self) {
        let version = self.client.apiserver_version().await;
        self.snapshot.version = self.or_unread("version", version).map(|info| info.git_version);
    }

    /// The objects of `OpenShift`; none of them exists elsewhere.
    async fn openshift(&mut self) {
        let infrastructure: Api<Infrastructure> = Api::all(self.client.clone());
        let found = existing(infrastructure.get("cluster").await);
        self.snapshot.infrastructure = self.or_unread("Infrastructure cluster", found).flatten();
        if self.snapshot.infrastructure.is_none() {
            return;
        }
        self.snapshot.kube_controller_manager = self
            .cluster_object("operator.openshift.io", "KubeControllerManager", "cluster")
            .await;
        self.snapshot.cluster_operator = self
            .cluster_object("config.openshift.io", "ClusterOperator", "cloud-controller-manager")
            .await;
    }

    async fn cluster_object(&mut self, group: &str, kind: &str, name: &str) -> Option<Value> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let found = existing(api.get(name).await);
        let object = self.or_unread(&format!("{kind} {name}"), found).flatten()?;
        serde_json::to_value(object).ok()
    }

    async fn namespaces(&mut self) {
        let openshift = self.snapshot.infrastructure.iter().flat_map(|_| OPENSHIFT);
        for namespace in std::iter::once(NAMESPACE).chain(openshift).collect::<Vec<_>>() {
            let (pods, leases, maps) = tokio::join!(
                list(Api::namespaced(self.client.clone(), namespace)),
                list(Api::namespaced(self.client.clone(), namespace)),
                list(Api::namespaced(self.client.clone(), namespace)),
            );
            let (pods, leases, maps) = (
                self.or_unread(&format!("pods in {namespace}"), pods),
                self.or_unread(&format!("leases in {namespace}"), leases),
                self.or_unread(&format!("configmaps in {namespace}"), maps),
            );
            self.snapshot.pods.extend(pods.into_iter().flatten());
            self.snapshot.leases.extend(leases.into_iter().flatten());
            self.snapshot.config_maps.extend(maps.into_iter().flatten());
        }
    }

    async fn objects(&mut self) {
        let all = || self.client.clone();
        let (nodes, services, volumes, drivers, sets, deployments) = tokio::join!(
            list(Api::all(all())),
            list(Api::all(all())),
            list(Api::all(all())),
            list(Api::all(all())),
            list(Api::all(all())),
            list(Api::all(all())),
        );
        self.snapshot.nodes = self.or_unread("nodes", nodes).unwrap_or_default();
        self.snapshot.services = self.or_unread("services", services).unwrap_or_default();
        self.snapshot.volumes = self.or_unread("persistentvolumes", volumes).unwrap_or_default();
        self.snapshot.drivers = self.or_unread("csidrivers", drivers).unwrap_or_default();
        self.snapshot.daemon_sets = self.or_unread("daemonsets", sets).unwrap_or_default();
        self.snapshot.deployments = self.or_unread("deployments", deployments).unwrap_or_default();
    }

    /// Those that a node runs with.
    async fn machine_configs(&mut self) {
        const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
        let annotations = self
            .snapshot
            .nodes
            .iter()
            .filter_map(|node| node.metadata.annotations.as_ref());
        let names: BTreeSet<String> = annotations.filter_map(|all| all.get(CURRENT)).cloned().collect();
        for name in names {
            let config = self
                .cluster_object("machineconfiguration.openshift.io", "MachineConfig", &name)
                .await;
            self.snapshot.machine_configs.extend(config);
        }
    }

    /// The configuration of each kubelet. It needs the permission `nodes/proxy`, which few users have: then it is one entry of what
    /// could not be read.
    async fn kubelets(&mut self) {
        let names = self.snapshot.nodes.iter().filter_map(|node| node.metadata.name.clone());
        let client = self.client;
        let asked = stream::iter(names).map(|name| async move {
            let answer = configz(client, &name).await;
            (name, answer)
        });
        let answers: Vec<_> = asked.buffer_unordered(KUBELETS).collect().await;
        let mut failed = Vec::new();
        for (name, answer) in answers {
            match answer {
                Ok(mut config) => {
                    self.snapshot.configz.insert(name, config["kubeletconfig"].take());
                }
                Err(reason) => failed.push((name, reason)),
            }
        }
        failed.sort();
        if let Some((first, reason)) = failed.first() {
            let what = match failed.len() {
                1 => format!("the configuration of kubelet on {first}"),
                several => format!("the configuration of {several} kubelets"),
            };
            let reason = reason.clone();
            self.snapshot.unread.push(Unread { what, reason });
        }
    }

    /// Whether both controller managers may use the migration lock. A review is a request of its own kind: it changes nothing.
    async fn access(&mut self) {
        if self.snapshot.infrastructure.is_some() {
            return;
        }
        let ours = Cluster::of(&self.snapshot)
            .managers
            .into_iter()
            .find(|manager| manager.origin == Origin::Ours);
        let ours = ours.map_or_else(|| ACCOUNT.to_owned(), |manager| manager.user);
        let lease = Config::default().leader_name;
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        for user in ["system:kube-controller-manager".to_owned(), ours] {
            for verb in VERBS {
                let review = review(&user, verb, &lease);
                let answer = api.create(&PostParams::default(), &review).await;
                let Some(answer) = self.or_unread("the rights of controller managers", answer) else {
                    return;
                };
                self.snapshot.access.push(Access {
                    user: user.clone(),
                    verb: verb.to_owned(),
                    lease: lease.clone(),
                    allowed: answer.status.is_some_and(|status| status.allowed),
                });
            }
        }
    }

    fn or_unread<T>(&mut self, what: &str, answer: kube::Result<T>) -> Option<T> {
        let error = match answer {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        self.snapshot.unread.push(Unread {
            what: what.to_owned(),
            reason: explain(&error),
        });
        None
    }
}

/// `None` if the object does not exist, or no object of its kind: outside of `OpenShift` the API server does not know the path.
fn existing<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

async fn list<K: Resource + Clone + DeserializeOwned + Debug>(api: Api<K>) -> kube::Result<Vec<K>> {
    let (mut all, mut params) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = api.list(&params).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}

async fn configz(client: &Client, node: &str) -> Result<Value, String> {
    let request = http::Request::get(format!("/api/v1/nodes/{node}/proxy/configz")).body(Vec::new());
    let request = request.map_err(|error| error.to_string())?;
    match tokio::time::timeout(KUBELET_TIMEOUT, client.request(request)).await {
        Ok(Ok(config)) => Ok(config),
        Ok(Err(error)) => Err(explain(&error)),
        Err(_) => Err(format!("it did not respond within {} s", KUBELET_TIMEOUT.as_secs())),
    }
}

/// A right to a Lease; the name cannot be part of the right to create it.
fn review(user: &str, verb: &str, lease: &str) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: user.strip_prefix("system:serviceaccount:").map(|account| {
                let namespace = account.split(':').next().unwrap_or_default();
                vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                ]
            }),
            resource_attributes: Some(ResourceAttributes {
                group: Some("coordination.k8s.io".to_owned()),
                resource: Some("leases".to_owned()),
                namespace: Some(NAMESPACE.to_owned()),
                verb: Some(verb.to_owned()),
                name: (verb != "create").then(|| lease.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}
