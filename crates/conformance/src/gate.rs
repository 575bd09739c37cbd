//! A replica that may have lost its lease reads, and writes nothing.

use crate::{
    Case, Fixture, Stop,
    case::{case, check, same},
    fixture::unexpected,
    objects::names,
    routes::new_routes,
};
use cloud::{Detail, Error, Gate, IpFamily, Provider, Result as CloudResult, Spec};
use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("gate: closed, ensure makes nothing", ensure),
        case!("gate: closed, ensure and update_hosts change nothing", update),
        case!("gate: closed, delete deletes nothing", delete),
        case!("gate: closed, routes are neither created nor deleted", routes),
        case!("gate: closed, everything can be read", read),
        case!("gate: opened again, writes go through", reopened),
    ]
}

async fn ensure(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.balancers()?;
    let provider = fixture.world().provider(closed());
    refused("ensure", &balancers(&provider)?.ensure(&spec).await)?;
    same!(fixture.find(&spec).await?, None, "the load balancer found after that");
    count(fixture, &spec, 0).await
}

async fn update(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    let provider = fixture.world().provider(closed());
    let fewer = Spec {
        hosts: spec.hosts[..1].into(),
        ..spec.clone()
    };
    refused("ensure", &balancers(&provider)?.ensure(&fewer).await)?;
    refused("update_hosts", &balancers(&provider)?.update_hosts(&fewer).await)?;
    same!(
        fixture.seen(&spec).await?.hosts,
        names(&spec.hosts),
        "the hosts after that"
    );
    Ok(())
}

async fn delete(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    let status = fixture.ensure(&spec).await?;
    let provider = fixture.world().provider(closed());
    refused("delete", &balancers(&provider)?.delete(&spec).await)?;
    same!(
        fixture.find(&spec).await?,
        Some(status),
        "the load balancer found after that"
    );
    count(fixture, &spec, 1).await
}

async fn routes(fixture: &Fixture) -> Result<(), Stop> {
    fixture.routes()?;
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 2, &[IpFamily::V4]).await?;
    fixture.create_routes(&cluster, &new[..1]).await?;
    let before = fixture.list_routes(&cluster).await?;

    let provider = fixture.world().provider(closed());
    let routes = provider
        .routes()
        .ok_or_else(|| Stop::failed("a provider with a closed gate offers no routes"))?;
    refused_all("create", 2, &routes.create(&cluster, &new).await)?;
    refused_all("delete", 1, &routes.delete(&cluster, &before).await)?;
    same!(fixture.list_routes(&cluster).await?, before, "the routes after that");
    Ok(())
}

async fn read(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    let provider = fixture.world().provider(closed());
    let answers = provider.instances().describe(&[node], Detail::Full).await;
    check!(
        answers.len() == 1 && answers[0].is_ok(),
        "describe answered {answers:?}"
    );
    if let Some(balancers) = provider.load_balancers() {
        let spec = fixture.spec(1).await?;
        balancers
            .find(&spec)
            .await
            .map_err(|error| unexpected("find", &error))?;
        balancers
            .owned(&spec.cluster)
            .await
            .map_err(|error| unexpected("owned", &error))?;
    }
    if let Some(routes) = provider.routes() {
        routes
            .list(&fixture.cluster(""))
            .await
            .map_err(|error| unexpected("list", &error))?;
    }
    Ok(())
}

async fn reopened(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.balancers()?;
    let may_write = Arc::new(AtomicBool::new(false));
    let gate = may_write.clone();
    let gate: Gate = Arc::new(move || {
        if gate.load(Ordering::SeqCst) {
            Ok(())
        } else {
            Err(Error::NotLeader)
        }
    });
    let provider = fixture.world().provider(gate);
    refused("ensure", &balancers(&provider)?.ensure(&spec).await)?;
    may_write.store(true, Ordering::SeqCst);
    balancers(&provider)?
        .ensure(&spec)
        .await
        .map_err(|error| unexpected("ensure", &error))?;
    fixture.ensure(&spec).await?;
    count(fixture, &spec, 1).await
}

fn closed() -> Gate {
    Arc::new(|| Err(Error::NotLeader))
}

fn balancers(provider: &Arc<dyn Provider>) -> Result<&dyn cloud::LoadBalancers, Stop> {
    provider
        .load_balancers()
        .ok_or_else(|| Stop::failed("a provider with a gate offers no load balancers"))
}

fn refused<T: Debug>(call: &str, answer: &CloudResult<T>) -> Result<(), Stop> {
    check!(
        matches!(answer, Err(Error::NotLeader)),
        "{call} should be refused as NotLeader, the answer is {answer:?}"
    );
    Ok(())
}

fn refused_all<T: Debug>(call: &str, count: usize, answers: &[CloudResult<T>]) -> Result<(), Stop> {
    same!(answers.len(), count, "the answers of {call}");
    answers.iter().try_for_each(|answer| refused(call, answer))
}

async fn count(fixture: &Fixture, spec: &Spec, expected: usize) -> Result<(), Stop> {
    same!(
        fixture.world().count_load_balancers(&spec.cluster).await?,
        expected,
        "the load balancers of the cluster"
    );
    Ok(())
}
