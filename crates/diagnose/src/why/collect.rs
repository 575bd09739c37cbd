//! Reads the snapshot.

use super::{
    log,
    snapshot::{LogLine, Object, Snapshot, time_of},
    subject::{Kind, Subject},
};
use crate::cluster::Cluster;
use cloud::{Answer, Detail, Instance, Power, Provider};
use controllers::{nodes, service::spec};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, LogParams},
};
use operator_api::CloudControllerManager;
use runtime::client::explain;
use std::{collections::BTreeSet, time::Duration};

/// The namespaces of managers: of the Go programs, of our operator, and of `OpenShift`.
const NAMESPACES: [&str; 3] = ["kube-system", "outrigger-system", "openshift-cloud-controller-manager"];
/// A part of the names of managers and of their leases.
const MANAGER: &str = "cloud-controller-manager";
/// The longest part of a log that is read.
const LOG_LINES: i64 = 2000;
/// The longest time to wait for the cloud.
const CLOUD: Duration = Duration::from_mins(1);

/// Where to look.
pub struct Place<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The namespace of a Service.
    pub namespace: &'a str,
    /// A lease with another name or namespace than managers have by default: `namespace/name`.
    pub lease: Option<(&'a str, &'a str)>,
    /// The cloud, if it is asked, too.
    pub cloud: Option<&'a dyn Provider>,
    /// `--cluster-name` of the manager.
    pub cluster_name: &'a str,
}

/// The subject itself cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}: {reason}")]
pub struct Unreadable {
    what: String,
    reason: String,
}

/// Reads everything about the subject. What cannot be read, except the subject itself, is named in the snapshot.
///
/// # Errors
/// If the subject cannot be read.
pub async fn collect(subject: &Subject, place: &Place<'_>) -> Result<Snapshot, Unreadable> {
    let object = read_object(subject, place).await?;
    let mut snapshot = Snapshot {
        now: Timestamp::now(),
        object,
        events: Vec::new(),
        leases: None,
        pods: None,
        log: Vec::new(),
        cloud: None,
        unknown: Vec::new(),
    };
    if matches!(snapshot.object, Object::Missing { .. }) {
        return Ok(snapshot);
    }
    let client = &place.cluster.client;
    let is_relevant = |name: &str| match subject.kind {
        Kind::Manager => name.starts_with(&format!("{}-{MANAGER}", subject.name)),
        Kind::Service | Kind::Node => true,
    };
    let unknown = &mut snapshot.unknown;
    snapshot.events = events(client, subject, place.namespace, unknown).await;
    snapshot.leases = leases(client, place, unknown).await;
    let leases = snapshot.leases.iter_mut();
    leases.for_each(|leases| leases.retain(|lease| is_relevant(&lease.name_any())));
    let namespaces = snapshot.leases.iter().flatten().filter_map(ResourceExt::namespace);
    let namespaces: BTreeSet<String> = namespaces.chain(NAMESPACES.map(str::to_owned)).collect();
    snapshot.pods = pods(client, &namespaces, unknown).await;
    let pods = snapshot.pods.iter_mut();
    pods.for_each(|pods| pods.retain(|pod| is_relevant(&pod.name_any())));
    for pod in snapshot.pods.iter().flatten() {
        snapshot.log.extend(last_error(client, pod, subject, unknown).await);
    }
    if let Some(cloud) = place.cloud {
        match tokio::time::timeout(CLOUD, ask(cloud, &snapshot.object, place.cluster_name)).await {
            Ok(Ok(answer)) => snapshot.cloud = answer,
            Ok(Err(error)) => unknown.push(format!("what the cloud has: {}", error.report())),
            Err(_) => unknown.push(format!("what the cloud has: no answer within {} s", CLOUD.as_secs())),
        }
    }
    Ok(snapshot)
}

async fn read_object(subject: &Subject, place: &Place<'_>) -> Result<Object, Unreadable> {
    let Subject { kind, name } = subject;
    let client = place.cluster.client.clone();
    let (what, list) = match kind {
        Kind::Service => (
            format!("Service {}/{name}", place.namespace),
            "kubectl get services --all-namespaces",
        ),
        Kind::Node => (format!("Node {name}"), "kubectl get nodes"),
        Kind::Manager => (format!("CloudControllerManager {name}"), "kubectl get ccm"),
    };
    let found = match kind {
        Kind::Service => {
            let services: Api<Service> = Api::namespaced(client, place.namespace);
            let found = services.get_opt(name).await;
            found.map(|found| found.map(|it| Object::Service(Box::new(it))))
        }
        Kind::Node => {
            let found = Api::<Node>::all(client).get_opt(name).await;
            found.map(|found| found.map(|it| Object::Node(Box::new(it))))
        }
        Kind::Manager => {
            let found = Api::<CloudControllerManager>::all(client).get_opt(name).await;
            found.map(|found| found.map(|it| Object::Manager(Box::new(it))))
        }
    };
    match found {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Ok(Object::Missing {
            what,
            list: list.to_owned(),
        }),
        Err(error) => Err(Unreadable {
            what,
            reason: explain(&error),
        }),
    }
}

/// The events about the subject, oldest first. Those of objects without a namespace are in `default`.
async fn events(client: &Client, subject: &Subject, namespace: &str, unknown: &mut Vec<String>) -> Vec<Event> {
    let namespace = if subject.kind == Kind::Service {
        namespace
    } else {
        "default"
    };
    let Subject { kind, name } = subject;
    let about = format!("involvedObject.kind={kind},involvedObject.name={name}");
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let found = api.list(&ListParams::default().fields(&about)).await;
    let what = format!("events in namespace {namespace}");
    let mut events = known(&what, found, unknown).map_or_else(Vec::new, |list| list.items);
    events.sort_by_key(time_of);
    events
}

async fn leases(client: &Client, place: &Place<'_>, unknown: &mut Vec<String>) -> Option<Vec<Lease>> {
    if let Some((namespace, name)) = place.lease {
        let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
        let found = known(&format!("Lease {namespace}/{name}"), api.get_opt(name).await, unknown)?;
        return Some(found.into_iter().collect());
    }
    let mut all = None;
    for namespace in NAMESPACES {
        let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
        let found = api.list(&ListParams::default()).await;
        if let Some(found) = known(&format!("Leases in namespace {namespace}"), found, unknown) {
            let found = found.items.into_iter();
            let of_managers = found.filter(|lease| lease.name_any().contains(MANAGER));
            all.get_or_insert_with(Vec::new).extend(of_managers);
        }
    }
    all
}

async fn pods(client: &Client, namespaces: &BTreeSet<String>, unknown: &mut Vec<String>) -> Option<Vec<Pod>> {
    let mut all = None;
    for namespace in namespaces {
        let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let found = api.list(&ListParams::default()).await;
        if let Some(found) = known(&format!("Pods in namespace {namespace}"), found, unknown) {
            let managers = found.items.into_iter().filter(is_manager);
            all.get_or_insert_with(Vec::new).extend(managers);
        }
    }
    all
}

/// Whether a container of the Pod runs a cloud controller manager, by its name or command line.
fn is_manager(pod: &Pod) -> bool {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    pod.name_any().contains(MANAGER)
        || containers.any(|container| {
            let mut words = container.command.iter().chain(&container.args).flatten();
            words.any(|word| word == "ccm" || word.contains(MANAGER))
        })
}

/// The last error in the log of the Pod; of its previous container if it is not ready.
async fn last_error(client: &Client, pod: &Pod, subject: &Subject, unknown: &mut Vec<String>) -> Option<LogLine> {
    let name = pod.name_any();
    let namespace = pod.namespace().unwrap_or_default();
    let mut statuses = pod
        .status
        .iter()
        .flat_map(|status| status.container_statuses.iter().flatten());
    let crashed = statuses.any(|status| !status.ready && status.restart_count > 0);
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let params = LogParams {
        container: containers.next().map(|container| container.name.clone()),
        previous: crashed,
        tail_lines: Some(LOG_LINES),
        ..LogParams::default()
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let log = api.logs(&name, &params).await;
    let log = known(&format!("the log of Pod {namespace}/{name}"), log, unknown)?;
    let line = log::last_error(&log, &subject.name)?.to_owned();
    Some(LogLine { pod: name, line })
}

/// The result of a read; `None` with a reason in `unknown` if it failed.
fn known<T>(what: &str, result: kube::Result<T>, unknown: &mut Vec<String>) -> Option<T> {
    result
        .map_err(|error| unknown.push(format!("{what}: {}", explain(&error))))
        .ok()
}

/// What the cloud has, in a sentence.
async fn ask(provider: &dyn Provider, object: &Object, cluster: &str) -> cloud::Result<Option<String>> {
    match object {
        Object::Service(service) => find(provider, service, cluster).await,
        Object::Node(node) => {
            let node = nodes::node_ref(node);
            let mut answers = provider.instances().describe(&[node], Detail::Full).await;
            let found_by = provider.instances().found_by();
            answers
                .pop()
                .transpose()
                .map(|answer| answer.map(|it| machine(it, found_by)))
        }
        Object::Manager(_) | Object::Missing { .. } => Ok(None),
    }
}

async fn find(provider: &dyn Provider, service: &Service, cluster: &str) -> cloud::Result<Option<String>> {
    let Some(balancers) = provider.load_balancers() else {
        return Ok(Some("this cloud has no load balancers".to_owned()));
    };
    let spec = spec::for_deletion(service, cluster);
    let name = balancers.name(cluster, &spec.service);
    let found = balancers.find(&spec).await?;
    Ok(Some(match found {
        None => format!("it has no load balancer {name} of this Service"),
        Some(status) => {
            let addresses = status.ingress.into_iter().filter_map(|one| one.ip.or(one.hostname));
            let addresses: Vec<_> = addresses.collect();
            match addresses.as_slice() {
                [] => format!("it has the load balancer {name}, without an address yet"),
                some => format!("it has the load balancer {name} at {}", some.join(", ")),
            }
        }
    }))
}

fn machine(answer: Answer, found_by: &str) -> String {
    match answer {
        Answer::Missing => format!("it has no machine with the {found_by} or provider ID of this node"),
        Answer::NotYet => "it has the machine, and cannot describe it yet".to_owned(),
        Answer::Unmanaged => "the machine belongs to no cloud".to_owned(),
        Answer::Found(instance) => {
            let Instance {
                provider_id,
                addresses,
                power,
                ..
            } = *instance;
            let id = provider_id.map_or_else(String::new, |id| format!(" {id}"));
            let power = match power {
                Power::On => "runs",
                Power::Off => "is shut down",
                Power::Unknown => "exists",
            };
            let addresses: Vec<_> = addresses.into_iter().map(|address| address.address).collect();
            format!("the machine{id} {power} and has the addresses {}", addresses.join(", "))
        }
    }
}
