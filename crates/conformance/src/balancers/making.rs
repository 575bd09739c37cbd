//! Made once.

use crate::{
    Case, Naming, Scene, Stop,
    balancers::{as_asked, exactly},
    case::{case, check, same},
    sample::port,
    scene::{settle, wrong},
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
            "load balancers: what is not ready is pending, and nobody waits",
            pending
        ),
        case!("load balancers: TCP", tcp),
        case!("load balancers: UDP", udp),
        case!("load balancers: SCTP", sctp),
        case!("load balancers: TCP and UDP on the same port", tcp_and_udp),
        case!("load balancers: many at the same time", at_the_same_time),
    ]
}

async fn name(scene: &Scene) -> Result<(), Stop> {
    let (one, other) = (scene.spec(0).await?, scene.spec(0).await?);
    let name = |service: &ServiceRef| Ok::<_, Stop>(scene.balancers()?.name(&one.cluster, service));
    let first = name(&one.service)?;
    check!(!first.is_empty(), "the name is empty");
    same!(name(&one.service)?, first, "the name, asked again");
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
            matters_to == scene.world().naming(),
            "whether another {what} makes another name than {first:?}"
        );
    }
    Ok(())
}

async fn find_none(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    same!(scene.find(&spec).await?, None, "the load balancer of a new Service");
    Ok(())
}

async fn ensure(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    let status = scene.ensure(&spec).await?;
    let reachable = |ingress: &cloud::Ingress| ingress.ip.is_some() || ingress.hostname.is_some();
    check!(
        status.ingress.iter().all(reachable),
        "an ingress has neither address nor name: {status:?}"
    );
    same!(
        scene.find(&spec).await?,
        Some(status),
        "the load balancer found after ensure"
    );
    as_asked(scene, &spec).await
}

async fn ensure_twice(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    let first = scene.ensure(&spec).await?;
    for _ in 0..3 {
        same!(scene.ensure(&spec).await?, first, "the status after ensure again");
    }
    exactly(scene, &spec.cluster, 1).await?;
    as_asked(scene, &spec).await
}

async fn ensure_twice_writes_nothing(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.ensure(&spec).await?;
    let before = scene.world().count_writes().await?;
    scene.ensure(&spec).await?;
    let reordered = Spec {
        hosts: spec.hosts.iter().rev().cloned().collect(),
        ..spec
    };
    scene.ensure(&reordered).await?;
    same!(
        scene.world().count_writes().await?,
        before,
        "writes, before and after ensure again"
    );
    Ok(())
}

async fn pending(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(1).await?;
    scene.balancers()?;
    scene.world().slow_load_balancers(Duration::from_millis(500)).await?;
    let outcome = scene
        .balancers()?
        .ensure(&spec)
        .await
        .map_err(|error| wrong("ensure", &error))?
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
    check!(!poll_after.is_zero(), "pending, and to be asked again at once");
    check!(!waiting_for.is_empty(), "pending, and does not say what for");
    scene.ensure(&spec).await?;
    exactly(scene, &spec.cluster, 1).await
}

async fn tcp(scene: &Scene) -> Result<(), Stop> {
    protocol(scene, Protocol::Tcp).await
}

async fn udp(scene: &Scene) -> Result<(), Stop> {
    protocol(scene, Protocol::Udp).await
}

async fn sctp(scene: &Scene) -> Result<(), Stop> {
    protocol(scene, Protocol::Sctp).await
}

async fn protocol(scene: &Scene, protocol: Protocol) -> Result<(), Stop> {
    let spec = Spec {
        ports: vec![port(protocol, 5000)],
        ..scene.spec(2).await?
    };
    let balancers = scene.balancers()?;
    if scene.world().protocols().contains(&protocol) {
        scene.ensure(&spec).await?;
        return as_asked(scene, &spec).await;
    }
    match settle(scene, || balancers.ensure(&spec)).await {
        Err(Error::NotSupported { .. } | Error::Invalid { .. }) => Err(Stop::unable(format!(
            "balance {}, and its provider says so",
            protocol.as_str()
        ))),
        other => Err(Stop::Failed(format!(
            "a protocol that this cloud does not know was answered with {other:?}"
        ))),
    }
}

async fn tcp_and_udp(scene: &Scene) -> Result<(), Stop> {
    if !scene.world().protocols().contains(&Protocol::Udp) {
        return Err(Stop::unable("balance UDP"));
    }
    let spec = Spec {
        ports: vec![port(Protocol::Tcp, 53), port(Protocol::Udp, 53)],
        ..scene.spec(2).await?
    };
    scene.ensure(&spec).await?;
    as_asked(scene, &spec).await
}

async fn at_the_same_time(scene: &Scene) -> Result<(), Stop> {
    let mut specs = Vec::new();
    for _ in 0..8 {
        specs.push(scene.spec(3).await?);
    }
    let made = join_all(specs.iter().map(|spec| scene.ensure(spec))).await;
    let ways_in: Result<BTreeSet<_>, Stop> = made
        .into_iter()
        .map(|status| Ok(format!("{:?}", status?.ingress)))
        .collect();
    same!(ways_in?.len(), specs.len(), "different ways in");
    for spec in &specs {
        as_asked(scene, spec).await?;
    }
    exactly(scene, &scene.cluster(""), specs.len()).await
}
