//! Whether a manager with these flags could do its work: everything that it needs is tried once, before it is started.
//!
//! Nothing is changed, neither in the cluster nor in the cloud.

mod machines;
mod report;
mod rights;

pub use report::{Outcome, Report, Row};

use crate::{
    cloud_access::{self, Access, Flags, Writes},
    cluster::Cluster,
};
use cloud::{ClusterMark, Provider};
use controllers::nodes;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, api::ListParams};
use manager::{
    Options, Setup,
    controllers_flag::{NODE_ROUTE, SERVICE_LB},
};
use runtime::client::explain;
use std::{future::Future, sync::Arc, time::Duration};

/// The longest time to wait for one answer of the cloud.
const CLOUD: Duration = Duration::from_mins(1);

/// The name of a cluster that has not been given one.
const DEFAULT_CLUSTER: &str = "kubernetes";

/// Tries everything that a manager with these options needs.
pub async fn run(options: &Options, setup: &dyn Setup) -> Report {
    let mut report = Report::default();
    flags(options, &mut report);
    let client = cluster(options, &mut report).await;
    let nodes = if let Some(client) = &client {
        rights::check(client, options, &mut report).await;
        list_nodes(client, options, &mut report).await
    } else {
        report.not_tried("permissions", "the API server does not answer");
        None
    };
    let Some(access) = open(options, setup, client.as_ref(), &mut report).await else {
        for check in ["machines", "load balancers", "routes"] {
            report.not_tried(check, "the cloud cannot be used");
        }
        return report;
    };
    let provider = access.provider.as_ref();
    match nodes {
        Some(nodes) => machines::check(provider, &nodes, CLOUD, &mut report).await,
        None => report.not_tried("machines", "the nodes could not be listed"),
    }
    balancers(provider, options, &mut report).await;
    routes(provider, options, &mut report).await;
    access.close().await;
    report
}

/// The flags are valid, or nothing would be checked; some are probably mistakes.
fn flags(options: &Options, report: &mut Report) {
    let given = options.parsed.given.iter().count();
    report.passed("flags", format!("{given} given, all of them valid"));
    for warning in &options.parsed.warnings {
        report.warning("flags", warning.clone(), "");
    }
    if options.generic.cloud.cluster_name == DEFAULT_CLUSTER && options.wants(SERVICE_LB.name) {
        report.warning(
            "flags",
            format!("--cluster-name is {DEFAULT_CLUSTER}, the default"),
            "choose a name that no other cluster of the account or project has, before the first load balancer exists",
        );
    }
}

/// The API server answers.
async fn cluster(options: &Options, report: &mut Report) -> Option<Client> {
    let cluster = match Cluster::open(&options.misc.kubeconfig, "check") {
        Ok(cluster) => cluster,
        Err(error) => {
            report.failed("API server", error.to_string(), "");
            return None;
        }
    };
    match cluster.client.apiserver_version().await {
        Ok(version) => {
            report.passed("API server", format!("{} at {}", version.git_version, cluster.address));
            Some(cluster.client)
        }
        Err(error) => {
            let advice = "check the address and the credentials in the kubeconfig";
            report.failed("API server", explain(&error), advice);
            None
        }
    }
}

/// The nodes that this manager would manage.
async fn list_nodes(client: &Client, options: &Options, report: &mut Report) -> Option<Vec<Arc<Node>>> {
    let found = Api::<Node>::all(client.clone()).list(&ListParams::default()).await;
    match found {
        Ok(found) => {
            let scope = options.outrigger.scope();
            let ours = found.items.into_iter().filter(|node| scope.contains(node));
            Some(ours.map(Arc::new).collect())
        }
        Err(error) => {
            report.failed("nodes", explain(&error), "");
            None
        }
    }
}

/// The cloud accepts the configuration and the credentials.
async fn open(options: &Options, setup: &dyn Setup, client: Option<&Client>, report: &mut Report) -> Option<Access> {
    let cloud = &options.generic.cloud;
    let flags = Flags {
        provider: cloud.provider.trim(),
        config: &cloud.config,
        allow_untagged_cloud: cloud.allow_untagged_cloud,
    };
    let opened = within(cloud_access::open(setup, flags, Writes::Refused, client)).await;
    let access = match opened {
        Some(Ok(access)) => access,
        Some(Err(error)) => {
            let advice = "correct the configuration or the credentials of the cloud";
            report.failed("cloud config", error.to_string(), advice);
            return None;
        }
        None => {
            report.failed("cloud config", late(), "check that the cloud can be reached from here");
            return None;
        }
    };
    report.passed("cloud config", format!("{} accepts it", access.provider.name()));
    for warning in &access.warnings {
        report.warning("cloud config", warning.clone(), "");
    }
    if access.provider.cluster_mark() == ClusterMark::Absent && !cloud.allow_untagged_cloud.is_on() {
        let advice = "tag the instances of the cluster, or set --allow-untagged-cloud";
        report.failed(
            "cloud config",
            "no cluster ID was found in the cloud".to_owned(),
            advice,
        );
    }
    Some(access)
}

async fn balancers(provider: &dyn Provider, options: &Options, report: &mut Report) {
    const CHECK: &str = "load balancers";
    if !options.wants(SERVICE_LB.name) {
        return report.not_tried(CHECK, "--controllers disables them");
    }
    let Some(balancers) = provider.load_balancers() else {
        return report.not_tried(CHECK, "this cloud has none");
    };
    let listed = within(balancers.owned(&options.generic.cloud.cluster_name)).await;
    listing(CHECK, listed.map(|listed| listed.map(|all| all.len())), report);
}

async fn routes(provider: &dyn Provider, options: &Options, report: &mut Report) {
    const CHECK: &str = "routes";
    let cloud = &options.generic.cloud;
    if !options.wants(NODE_ROUTE.name) || !cloud.configure_cloud_routes.is_on() {
        return report.not_tried(CHECK, "the flags disable them");
    }
    let Some(routes) = provider.routes() else {
        return report.not_tried(CHECK, "this cloud has none");
    };
    let listed = within(routes.list(&cloud.cluster_name)).await;
    listing(CHECK, listed.map(|listed| listed.map(|all| all.len())), report);
}

/// The result of listing the cluster's objects in the cloud.
fn listing(check: &'static str, listed: Option<cloud::Result<usize>>, report: &mut Report) {
    match listed {
        Some(Ok(count)) => report.passed(check, format!("can be listed; this cluster has {count}")),
        Some(Err(cloud::Error::NotSupported { what })) => {
            report.not_tried(check, &format!("{what} is not supported by this cloud"));
        }
        Some(Err(error)) => report.failed(check, error.report(), advice(&error)),
        None => report.failed(check, late(), "check that the cloud can be reached from here"),
    }
}

/// What to do about an error of the cloud.
fn advice(error: &cloud::Error) -> &'static str {
    match error {
        cloud::Error::Denied { .. } => "grant the credentials this permission",
        cloud::Error::Throttled { .. } => "repeat the check later",
        cloud::Error::Unavailable { .. } => "check that the cloud can be reached from here",
        _ => "",
    }
}

async fn within<T>(call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(CLOUD, call).await.ok()
}

fn late() -> String {
    format!("no answer within {} s", CLOUD.as_secs())
}

#[cfg(test)]
mod tests;
