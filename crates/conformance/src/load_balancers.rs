//! Load balancers: created once, updated in place, deleted completely.

mod create;
mod delete;
mod faults;
mod ownership;
mod update;

use crate::{
    Case, Fixture, Marks, Stop,
    case::{check, same},
    fixture::unexpected,
    objects::names,
};
use cloud::{Owned, Spec};
use std::collections::BTreeSet;

pub(crate) fn cases() -> Vec<Case> {
    [
        create::cases(),
        update::cases(),
        delete::cases(),
        ownership::cases(),
        faults::cases(),
    ]
    .concat()
}

/// A load balancer may consist of several objects, each marked with its Service.
async fn owned_are(fixture: &Fixture, cluster: &str, specs: &[&Spec]) -> Result<(), Stop> {
    let owned = fixture
        .balancers()?
        .owned(cluster)
        .await
        .map_err(|error| unexpected("owned", &error))?;
    if fixture.world().marks() == Marks::ConfiguredCluster {
        let marked = owned.iter().filter(|object| object.service.is_some()).count();
        same!(
            (owned.len(), marked),
            (specs.len(), 0),
            "the objects, and those with a Service"
        );
        return Ok(());
    }
    if fixture.world().marks() == Marks::ConfiguredClusterAndName {
        return owned_by_name(&owned, specs);
    }
    let uid = |owned: &Owned| owned.service.as_ref().map(|service| service.uid.clone());
    let uids: BTreeSet<_> = owned.iter().map(uid).collect();
    same!(
        uids,
        specs.iter().map(|spec| Some(spec.service.uid.clone())).collect(),
        "the Services of the objects"
    );
    for object in &owned {
        let known = specs.iter().any(|spec| Some(&spec.service) == object.service.as_ref());
        check!(known, "owned is marked with {:?}", object.service);
        check!(
            !object.kind.is_empty() && !object.id.is_empty(),
            "owned is without kind or ID: {object:?}"
        );
    }
    Ok(())
}

/// There is one load balancer for each Service, and no object is marked with another Service.
fn owned_by_name(owned: &[Owned], specs: &[&Spec]) -> Result<(), Stop> {
    let balancers = owned.iter().filter(|object| object.kind.ends_with("load balancer"));
    same!(balancers.count(), specs.len(), "the load balancers among {owned:?}");
    check!(
        !specs.is_empty() || owned.is_empty(),
        "without Services there are {owned:?}"
    );
    for object in owned {
        let of = object
            .service
            .as_ref()
            .map(|service| (&service.namespace, &service.name));
        let known = |spec: &&Spec| of == Some((&spec.service.namespace, &spec.service.name));
        check!(of.is_none() || specs.iter().any(known), "owned is marked with {of:?}");
        check!(
            !object.kind.is_empty() && !object.id.is_empty(),
            "owned is without kind or ID: {object:?}"
        );
    }
    Ok(())
}

/// The load balancer is what the Service asks for.
async fn matches_spec(fixture: &Fixture, spec: &Spec) -> Result<(), Stop> {
    let seen = fixture.seen(spec).await?;
    let ports: BTreeSet<_> = spec.ports.iter().map(|port| (port.protocol, port.port)).collect();
    same!(seen.ports, ports, "the ports");
    same!(seen.hosts, names(&spec.hosts), "the hosts");
    if let Some(ranges) = seen.source_ranges {
        same!(
            ranges,
            spec.source_ranges.iter().copied().collect(),
            "the source ranges"
        );
    }
    Ok(())
}

async fn exactly(fixture: &Fixture, cluster: &str, count: usize) -> Result<(), Stop> {
    same!(
        fixture.world().count_load_balancers(cluster).await?,
        count,
        "load balancers of the cluster"
    );
    Ok(())
}

async fn gone(fixture: &Fixture, spec: &Spec) -> Result<(), Stop> {
    same!(fixture.find(spec).await?, None, "the load balancer found after delete");
    exactly(fixture, &spec.cluster, 0).await?;
    owned_are(fixture, &spec.cluster, &[]).await
}
