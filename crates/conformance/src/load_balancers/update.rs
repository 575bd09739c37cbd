//! Updates in place.

use crate::{
    Case, Fixture, Stop,
    case::{case, check, same},
    load_balancers::{exactly, matches_spec},
    objects::port,
};
use cloud::{Error, Protocol, RangesFrom, Spec};
use std::sync::Arc;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("load balancers: ensure adds, removes and replaces hosts", ensure_hosts),
        case!(
            "load balancers: update_hosts adds, removes and replaces hosts",
            update_hosts
        ),
        case!(
            "load balancers: update_hosts of none is not found",
            update_hosts_of_none
        ),
        case!(
            "load balancers: update_hosts changes nothing but the hosts",
            update_hosts_only
        ),
        case!(
            "load balancers: update_hosts to the same hosts writes nothing",
            update_hosts_writes_nothing
        ),
        case!("load balancers: a port is added, removed, changed", ports),
        case!("load balancers: source ranges change", source_ranges),
        case!(
            "load balancers: without source ranges any client may connect",
            ranges_not_given
        ),
        case!("load balancers: a change keeps the address", address_stays),
    ]
}

async fn ensure_hosts(fixture: &Fixture) -> Result<(), Stop> {
    let all = fixture.spec(4).await?;
    for hosts in host_changes(fixture, &all) {
        let spec = Spec {
            hosts: hosts.into(),
            ..all.clone()
        };
        fixture.ensure(&spec).await?;
        matches_spec(fixture, &spec).await?;
    }
    exactly(fixture, &all.cluster, 1).await
}

async fn update_hosts(fixture: &Fixture) -> Result<(), Stop> {
    let all = fixture.spec(4).await?;
    for (number, hosts) in host_changes(fixture, &all).into_iter().enumerate() {
        let spec = Spec {
            hosts: hosts.into(),
            ..all.clone()
        };
        match number {
            0 => fixture.ensure(&spec).await?,
            _ => fixture.update_hosts(&spec).await?,
        };
        matches_spec(fixture, &spec).await?;
    }
    exactly(fixture, &all.cluster, 1).await
}

/// Two of four, one more, one less, one replaced, none (where that can be), all.
fn host_changes(fixture: &Fixture, all: &Spec) -> Vec<Vec<Arc<cloud::Host>>> {
    let enough = |hosts: &&[usize]| hosts.len() >= fixture.world().fewest_hosts();
    let pick = |indices: &[usize]| {
        indices
            .iter()
            .filter_map(|index| all.hosts.get(*index).cloned())
            .collect()
    };
    let changes = [&[0, 1][..], &[0, 1, 2], &[0, 2], &[0, 3], &[], &[0, 1, 2, 3]];
    changes.into_iter().filter(enough).map(pick).collect()
}

async fn update_hosts_of_none(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    let answer = fixture.balancers()?.update_hosts(&spec).await;
    check!(
        matches!(answer, Err(Error::NotFound { .. })),
        "update_hosts without a load balancer was answered with {answer:?}"
    );
    same!(fixture.find(&spec).await?, None, "the load balancer after that");
    Ok(())
}

async fn update_hosts_only(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    let hosts = spec.hosts[..1].to_vec();
    fixture
        .update_hosts_there(&Spec {
            ports: vec![port(Protocol::Tcp, 81)],
            hosts: hosts.clone().into(),
            ..spec.clone()
        })
        .await?;
    matches_spec(
        fixture,
        &Spec {
            hosts: hosts.into(),
            ..spec
        },
    )
    .await
}

async fn update_hosts_writes_nothing(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    let before = fixture.world().count_writes().await?;
    fixture.update_hosts(&spec).await?;
    same!(
        fixture.world().count_writes().await?,
        before,
        "writes, before and after"
    );
    Ok(())
}

async fn ports(fixture: &Fixture) -> Result<(), Stop> {
    let mut spec = fixture.spec(2).await?;
    for ports in [&[80][..], &[80, 443], &[443], &[8443], &[8443, 80, 443]] {
        spec.ports = ports.iter().map(|number| port(Protocol::Tcp, *number)).collect();
        fixture.ensure(&spec).await?;
        matches_spec(fixture, &spec).await?;
    }
    exactly(fixture, &spec.cluster, 1).await
}

async fn source_ranges(fixture: &Fixture) -> Result<(), Stop> {
    let mut spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    if fixture.seen(&spec).await?.source_ranges.is_none() {
        return Err(Stop::unable("restrict who may connect"));
    }
    spec.ranges_from = RangesFrom::Spec;
    for ranges in [
        &["192.0.2.0/24"][..],
        &["192.0.2.0/24", "198.51.100.0/24"],
        &["198.51.100.0/24"],
        &["0.0.0.0/0"],
    ] {
        spec.source_ranges = ranges.iter().filter_map(|range| range.parse().ok()).collect();
        fixture.ensure(&spec).await?;
        matches_spec(fixture, &spec).await?;
    }
    Ok(())
}

async fn ranges_not_given(fixture: &Fixture) -> Result<(), Stop> {
    let default = fixture.spec(2).await?;
    let given = Spec {
        source_ranges: "192.0.2.0/24".parse().into_iter().collect(),
        ranges_from: RangesFrom::Spec,
        ..default.clone()
    };
    fixture.ensure(&given).await?;
    if fixture.seen(&given).await?.source_ranges.is_none() {
        return Err(Stop::unable("restrict who may connect"));
    }
    for spec in [&given, &default, &given] {
        fixture.ensure(spec).await?;
        matches_spec(fixture, spec).await?;
    }
    Ok(())
}

async fn address_stays(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(3).await?;
    let first = fixture.ensure(&spec).await?;
    let fewer = Spec {
        hosts: spec.hosts[..1].into(),
        ..spec.clone()
    };
    let more = Spec {
        ports: vec![port(Protocol::Tcp, 80), port(Protocol::Tcp, 443)],
        ..spec
    };
    for changed in [fewer, more] {
        same!(fixture.ensure(&changed).await?, first, "the status after a change");
    }
    Ok(())
}
