//! Not confused with others.

use crate::{
    Case, Marks, Scene, Stop,
    balancers::{as_asked, owned_are},
    case::{case, check, same},
    sample::port,
};
use cloud::{Protocol, Spec};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("load balancers: Services of one name and two UIDs are two", two_uids),
        case!("load balancers: the same Service in two clusters is two", two_clusters),
        case!(
            "load balancers: owned lists exactly those of the cluster, with their Services",
            owned
        ),
    ]
}

async fn two_uids(scene: &Scene) -> Result<(), Stop> {
    let one = scene.spec(2).await?;
    let other = Spec {
        ports: vec![port(Protocol::Tcp, 81)],
        ..scene.spec(2).await?
    };
    same!(one.service.name, other.service.name, "the names of both Services");
    remain_apart(scene, &one, &other).await
}

async fn two_clusters(scene: &Scene) -> Result<(), Stop> {
    if scene.world().marks() == Marks::ConfiguredCluster {
        return Err(Stop::unable(
            "tell clusters apart by --cluster-name: its configuration names the cluster",
        ));
    }
    let one = scene.spec(2).await?;
    let cluster = scene.cluster("-other");
    let other = Spec {
        cluster,
        ports: vec![port(Protocol::Tcp, 81)],
        ..one.clone()
    };
    scene.clean_up(&other);
    remain_apart(scene, &one, &other).await
}

/// Both can be made; deleting one leaves the other as it is.
async fn remain_apart(scene: &Scene, one: &Spec, other: &Spec) -> Result<(), Stop> {
    let (first, second) = (scene.ensure(one).await?, scene.ensure(other).await?);
    check!(first != second, "both are reached in the same way: {first:?}");
    as_asked(scene, one).await?;
    as_asked(scene, other).await?;
    scene.delete(one).await?;
    same!(scene.find(one).await?, None, "the one deleted");
    same!(scene.find(other).await?, Some(second), "the other one");
    as_asked(scene, other).await
}

async fn owned(scene: &Scene) -> Result<(), Stop> {
    let (one, other) = (scene.spec(1).await?, scene.spec(1).await?);
    if scene.world().marks() == Marks::ConfiguredCluster {
        return owned_by_one_cluster(scene, &one, &other).await;
    }
    let foreign = Spec {
        cluster: scene.cluster("-other"),
        ..scene.spec(1).await?
    };
    scene.clean_up(&foreign);
    owned_are(scene, &one.cluster, &[]).await?;
    for spec in [&one, &other, &foreign] {
        scene.ensure(spec).await?;
    }
    owned_are(scene, &one.cluster, &[&one, &other]).await?;
    scene.delete(&one).await?;
    owned_are(scene, &one.cluster, &[&other]).await?;
    scene.delete(&other).await?;
    owned_are(scene, &one.cluster, &[]).await?;
    owned_are(scene, &foreign.cluster, &[&foreign]).await
}

async fn owned_by_one_cluster(scene: &Scene, one: &Spec, other: &Spec) -> Result<(), Stop> {
    owned_are(scene, &one.cluster, &[]).await?;
    for spec in [one, other] {
        scene.ensure(spec).await?;
    }
    owned_are(scene, &one.cluster, &[one, other]).await?;
    scene.delete(one).await?;
    owned_are(scene, &one.cluster, &[other]).await
}
