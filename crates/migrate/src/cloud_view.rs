//! Reads the cloud of a cluster: the instance of each Node, and the load balancer of each Service.

use crate::snapshot::{Adoption, CloudView, Match};
use cloud::{Answer, Detail, LoadBalancers, Provider};
use controllers::{
    node::{
        Labels,
        plan::{Plan, Rules, plan},
    },
    nodes,
    service::{hosts::HostSet, spec},
};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Service};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The time for all instances together.
const DEADLINE: Duration = Duration::from_mins(2);
/// Load balancers that are searched at a time.
const AT_A_TIME: usize = 4;

/// Reads the cloud by a provider. It makes no call that changes something.
pub async fn of(provider: &dyn Provider, cluster_name: &str, all: &[Node], services: &[Service]) -> CloudView {
    let services = services.iter().filter(|service| crate::check::is_balanced(service));
    let searched = stream::iter(services).map(|service| async move {
        let adoption = match provider.load_balancers() {
            Some(balancers) => adoption(balancers, service, cluster_name).await,
            None => Adoption::Unknown(format!("{} has no load balancers", provider.name())),
        };
        (crate::check::key(service), adoption)
    });
    CloudView {
        provider: provider.name().to_owned(),
        cluster_name: cluster_name.to_owned(),
        nodes: instances(provider, all).await,
        services: searched.buffer_unordered(AT_A_TIME).collect().await,
    }
}

async fn instances(provider: &dyn Provider, all: &[Node]) -> BTreeMap<String, Match> {
    let instances = provider.instances();
    let all: Vec<Arc<Node>> = all.iter().cloned().map(Arc::new).collect();
    let answers = nodes::describe(instances, &all, Detail::Full, DEADLINE).await;
    let rules = Rules {
        provider_ids: instances.provider_ids(),
        found_by: instances.found_by(),
        labels: Labels::Follow,
        before: None,
    };
    let matches = all.iter().zip(&answers).map(|(node, answer)| {
        let found = match answer {
            Ok(Answer::Missing) => Match::Missing,
            Ok(Answer::NotYet) => Match::Unknown("the cloud does not describe it yet".to_owned()),
            Err(error) => Match::Unknown(error.report()),
            Ok(Answer::Unmanaged) => unchanged(None),
            Ok(Answer::Found(instance)) => match plan(node, answer, rules) {
                Plan::Keep => unchanged(instance.provider_id.as_ref().map(ToString::to_string)),
                writes => Match::Found {
                    provider_id: instance.provider_id.as_ref().map(ToString::to_string),
                    changes: writes.to_string(),
                },
            },
        };
        (nodes::name(node).to_owned(), found)
    });
    matches.collect()
}

fn unchanged(provider_id: Option<String>) -> Match {
    Match::Found {
        provider_id,
        changes: String::new(),
    }
}

async fn adoption(balancers: &dyn LoadBalancers, service: &Service, cluster: &str) -> Adoption {
    let none = HostSet::of([], |_| false);
    let spec = match spec::of(service, &none, cluster, balancers.bad_ranges()) {
        Ok(spec) => spec,
        Err(invalid) => return Adoption::Unknown(invalid.to_string()),
    };
    let name = balancers.name(cluster, &spec.service);
    match balancers.find(&spec).await {
        Ok(Some(status)) => {
            let ingress = status.ingress.into_iter();
            let addresses = ingress.filter_map(|ingress| ingress.ip.or(ingress.hostname)).collect();
            Adoption::Found { name, addresses }
        }
        Ok(None) => Adoption::Missing { name },
        Err(error) => Adoption::Unknown(error.report()),
    }
}
