//! Load balancers: made once, changed in place, gone without a trace.

mod bad_luck;
mod changing;
mod deleting;
mod making;
mod telling_apart;

use crate::{
    Case, Marks, Scene, Stop,
    case::{check, same},
    sample::names,
    scene::wrong,
};
use cloud::{Owned, Spec};
use std::collections::BTreeSet;

pub(crate) fn cases() -> Vec<Case> {
    [
        making::cases(),
        changing::cases(),
        deleting::cases(),
        telling_apart::cases(),
        bad_luck::cases(),
    ]
    .concat()
}

/// A load balancer may be made of several objects, each of which tells its Service.
async fn owned_are(scene: &Scene, cluster: &str, specs: &[&Spec]) -> Result<(), Stop> {
    let owned = scene
        .balancers()?
        .owned(cluster)
        .await
        .map_err(|error| wrong("owned", &error))?;
    if scene.world().marks() == Marks::ConfiguredCluster {
        let told = owned.iter().filter(|object| object.service.is_some()).count();
        same!(
            (owned.len(), told),
            (specs.len(), 0),
            "what is owned, and tells its Service"
        );
        return Ok(());
    }
    let uid = |owned: &Owned| owned.service.as_ref().map(|service| service.uid.clone());
    let uids: BTreeSet<_> = owned.iter().map(uid).collect();
    same!(
        uids,
        specs.iter().map(|spec| Some(spec.service.uid.clone())).collect(),
        "the Services of what is owned"
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

/// The operator sees what the Service asks for.
async fn as_asked(scene: &Scene, spec: &Spec) -> Result<(), Stop> {
    let seen = scene.seen(spec).await?;
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

async fn exactly(scene: &Scene, cluster: &str, count: usize) -> Result<(), Stop> {
    same!(
        scene.world().count_load_balancers(cluster).await?,
        count,
        "load balancers of the cluster"
    );
    Ok(())
}

async fn gone(scene: &Scene, spec: &Spec) -> Result<(), Stop> {
    same!(scene.find(spec).await?, None, "the load balancer found after delete");
    exactly(scene, &spec.cluster, 0).await?;
    owned_are(scene, &spec.cluster, &[]).await
}
