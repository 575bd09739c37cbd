//! Creation.

use crate::{
    Case, Fixture, Naming, Stop,
    case::{case, check, same},
    fixture::{settle, unexpected},
    load_balancers::{exactly, matches_spec},
    objects::port,
};
use cloud::{Error, Progress, Protocol, ServiceRef, Spec};
use futures::future::join_all;
use std::{collections::BTreeSet, time::Duration};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            "load balancers: the name depends on what it must, and on nothing else",
            name
        ),
        case!("load balancers: find finds none before there is one", find_none),
        case!("load balancers: ensure makes one that becomes ready", ensure),
        case!("load balancers: ensure again makes no second one", ensure_twice),
        case!(
            "load balancers: ensure again writes nothing",
            ensure_twice_writes_nothing
        ),
        case!(
            "load balancers: what is not ready is pending, and the call does not wait",
            pending
        ),
        case!("load balancers: TCP", tcp),
        case!("load balancers: UDP", udp),
        case!("load balancers: SCTP", sctp),
        case!("load balancers: TCP and UDP on the same port", tcp_and_udp),
        case!("load balancers: many at the same time", at_the_same_time),
    ]
}

async fn name(fixture: &Fixture) -> Result<(), Stop> {
    let (one, other) = (fixture.spec(0).await?, fixture.spec(0).await?);
    let name = |service: &ServiceRef| Ok::<_, Stop>(fixture.balancers()?.name(&one.cluster, service));
    let first = name(&one.service)?;
    check!(!first.is_empty(), "the name is empty");
    same!(name(&one.service)?, first, "the name, the second time");
    let called = |namespace: &str, name: &str| ServiceRef {
        namespace: namespace.into(),
        name: name.into(),
        ..one.service.clone()
    };
    let changed = [
        ("UID", other.service.clone(), Naming::Uid),
        ("namespace", called("other", "web"), Naming::NamespaceAndName),
        ("name", called("default", "other"), Naming::NamespaceAndName),
    ];
    for (what, service, matters_to) in changed {
        let differs = name(&service)? != first;
        same!(
            differs,
            matters_to == fixture.world().naming(),
            "whether another {what} makes another name than {first:?}"
        );
    }
    Ok(())
}

async fn find_none(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    same!(fixture.find(&spec).await?, None, "the load balancer of a new Service");
    Ok(())
}

async fn ensure(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    let status = fixture.ensure(&spec).await?;
    let reachable = |ingress: &cloud::Ingress| ingress.ip.is_some() || ingress.hostname.is_some();
    check!(
        status.ingress.iter().all(reachable),
        "an ingress has neither address nor name: {status:?}"
    );
    same!(
        fixture.find(&spec).await?,
        Some(status),
        "the load balancer found after ensure"
    );
    matches_spec(fixture, &spec).await
}

async fn ensure_twice(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    let first = fixture.ensure(&spec).await?;
    for _ in 0..3 {
        same!(fixture.ensure(&spec).await?, first, "the status after ensure again");
    }
    exactly(fixture, &spec.cluster, 1).await?;
    matches_spec(fixture, &spec).await
}

async fn ensure_twice_writes_nothing(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    let before = fixture.world().count_writes().await?;
    fixture.ensure(&spec).await?;
    let reordered = Spec {
        hosts: spec.hosts.iter().rev().cloned().collect(),
        ..spec
    };
    fixture.ensure(&reordered).await?;
    same!(
        fixture.world().count_writes().await?,
        before,
        "writes, before and after ensure again"
    );
    Ok(())
}

async fn pending(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(1).await?;
    fixture.balancers()?;
    fixture.world().slow_load_balancers(Duration::from_millis(500)).await?;
    let outcome = fixture
        .balancers()?
        .ensure(&spec)
        .await
        .map_err(|error| unexpected("ensure", &error))?
        .answer;
    let Progress::Pending {
        poll_after,
        waiting_for,
    } = outcome
    else {
        return Err(Stop::Failed(format!(
            "ensure of a slow load balancer answered {outcome:?}"
        )));
    };
    check!(!poll_after.is_zero(), "pending, without a wait");
    check!(!waiting_for.is_empty(), "pending, and does not say what for");
    fixture.ensure(&spec).await?;
    exactly(fixture, &spec.cluster, 1).await
}

async fn tcp(fixture: &Fixture) -> Result<(), Stop> {
    protocol(fixture, Protocol::Tcp).await
}

async fn udp(fixture: &Fixture) -> Result<(), Stop> {
    protocol(fixture, Protocol::Udp).await
}

async fn sctp(fixture: &Fixture) -> Result<(), Stop> {
    protocol(fixture, Protocol::Sctp).await
}

async fn protocol(fixture: &Fixture, protocol: Protocol) -> Result<(), Stop> {
    let spec = Spec {
        ports: vec![port(protocol, 5000)],
        ..fixture.spec(2).await?
    };
    if fixture.world().protocols().contains(&protocol) {
        fixture.ensure(&spec).await?;
        return matches_spec(fixture, &spec).await;
    }
    refused(fixture, &spec, protocol.as_str()).await
}

/// The provider says that this cloud cannot do it.
async fn refused(fixture: &Fixture, spec: &Spec, what: &str) -> Result<(), Stop> {
    let balancers = fixture.balancers()?;
    match settle(fixture, || balancers.ensure(spec)).await {
        Err(Error::NotSupported { .. } | Error::Invalid { .. }) => {
            Err(Stop::unable(format!("balance {what}, and its provider says so")))
        }
        other => Err(Stop::Failed(format!(
            "{what}, which this cloud does not balance, was answered with {other:?}"
        ))),
    }
}

async fn tcp_and_udp(fixture: &Fixture) -> Result<(), Stop> {
    if !fixture.world().protocols().contains(&Protocol::Udp) {
        return Err(Stop::unable("balance UDP"));
    }
    let spec = Spec {
        ports: vec![port(Protocol::Tcp, 53), port(Protocol::Udp, 53)],
        ..fixture.spec(2).await?
    };
    if !fixture.world().mixes_protocols() {
        return refused(fixture, &spec, "TCP and UDP together").await;
    }
    fixture.ensure(&spec).await?;
    matches_spec(fixture, &spec).await
}

async fn at_the_same_time(fixture: &Fixture) -> Result<(), Stop> {
    let mut specs = Vec::new();
    for _ in 0..8 {
        specs.push(fixture.spec(3).await?);
    }
    let created = join_all(specs.iter().map(|spec| fixture.ensure(spec))).await;
    let ways_in: Result<BTreeSet<_>, Stop> = created
        .into_iter()
        .map(|status| Ok(format!("{:?}", status?.ingress)))
        .collect();
    same!(ways_in?.len(), specs.len(), "different ways in");
    for spec in &specs {
        matches_spec(fixture, spec).await?;
    }
    exactly(fixture, &fixture.cluster(""), specs.len()).await
}
