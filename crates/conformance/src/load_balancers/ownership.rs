//! Ownership: load balancers are not confused with others.

use crate::{
    Case, Fixture, Stop,
    case::{case, check, same},
    load_balancers::{matches_spec, owned_are},
    objects::port,
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

async fn two_uids(fixture: &Fixture) -> Result<(), Stop> {
    let one = fixture.spec(2).await?;
    let other = Spec {
        ports: vec![port(Protocol::Tcp, 81)],
        ..fixture.spec(2).await?
    };
    same!(one.service.name, other.service.name, "the names of both Services");
    are_independent(fixture, &one, &other).await
}

async fn two_clusters(fixture: &Fixture) -> Result<(), Stop> {
    if fixture.world().marks().are_configured() {
        return Err(Stop::unable(
            "distinguish clusters by --cluster-name: its configuration names the cluster",
        ));
    }
    let one = fixture.spec(2).await?;
    let cluster = fixture.cluster("-other");
    let other = Spec {
        cluster,
        ports: vec![port(Protocol::Tcp, 81)],
        ..one.clone()
    };
    fixture.delete_later(&other);
    are_independent(fixture, &one, &other).await
}

/// Both can be created; deleting one keeps the other.
async fn are_independent(fixture: &Fixture, one: &Spec, other: &Spec) -> Result<(), Stop> {
    let (first, second) = (fixture.ensure(one).await?, fixture.ensure(other).await?);
    check!(first != second, "both are reached in the same way: {first:?}");
    matches_spec(fixture, one).await?;
    matches_spec(fixture, other).await?;
    fixture.delete(one).await?;
    same!(fixture.find(one).await?, None, "the one deleted");
    same!(fixture.find(other).await?, Some(second), "the other one");
    matches_spec(fixture, other).await
}

async fn owned(fixture: &Fixture) -> Result<(), Stop> {
    let (one, other) = (fixture.spec(1).await?, fixture.spec(1).await?);
    if fixture.world().marks().are_configured() {
        return owned_by_one_cluster(fixture, &one, &other).await;
    }
    let foreign = Spec {
        cluster: fixture.cluster("-other"),
        ..fixture.spec(1).await?
    };
    fixture.delete_later(&foreign);
    owned_are(fixture, &one.cluster, &[]).await?;
    for spec in [&one, &other, &foreign] {
        fixture.ensure(spec).await?;
    }
    owned_are(fixture, &one.cluster, &[&one, &other]).await?;
    fixture.delete(&one).await?;
    owned_are(fixture, &one.cluster, &[&other]).await?;
    fixture.delete(&other).await?;
    owned_are(fixture, &one.cluster, &[]).await?;
    owned_are(fixture, &foreign.cluster, &[&foreign]).await
}

async fn owned_by_one_cluster(fixture: &Fixture, one: &Spec, other: &Spec) -> Result<(), Stop> {
    owned_are(fixture, &one.cluster, &[]).await?;
    for spec in [one, other] {
        fixture.ensure(spec).await?;
    }
    owned_are(fixture, &one.cluster, &[one, other]).await?;
    fixture.delete(one).await?;
    owned_are(fixture, &one.cluster, &[other]).await
}
