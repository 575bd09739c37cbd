//! Many Services at once: when the first, the median and the last one have an address.

use crate::{
    fixture::Fixture,
    replica::{Program, Replica},
    scenarios::{names, seconds},
    table::Table,
};
use anyhow::{Result, bail};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Service;
use kube::runtime::{WatchStreamExt, watcher};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// How many Services are created at once.
pub const SERVICES: usize = 40;

/// The number of workers that suits the Go program best. Ours gets no flags.
const WORKERS: &[&str] = &["--concurrent-service-syncs=10"];

/// Who is compared: with its one worker by default, the Go program creates one load balancer after the other.
pub const PROGRAMS: [Program; 2] = [Program::Ours, Program::PeerTuned];

/// Starts a program, creates one Service, and then [`SERVICES`] at once.
pub async fn measure(fixture: &Fixture, cloud: &str, program: Program, table: &mut Table) -> Result<()> {
    let more = if program == Program::Ours { &[] } else { WORKERS };
    let replica = Replica::start(fixture, program, more)?;
    fixture.initialised(|| replica.check()).await?;
    // What a program learns once about a cloud is not part of a Service's time.
    publish(fixture, &names("warm-up", 1), &replica).await?;
    let single = publish(fixture, &names("single", 1), &replica).await?;
    let all = publish(fixture, &names("burst", SERVICES), &replica).await?;
    table.put(
        &format!("one Service, {cloud}: address after"),
        program,
        seconds(single[0]),
    );
    let what = format!("{SERVICES} Services at once, {cloud}: first address after");
    table.put(&what, program, seconds(all[0]));
    let ratio = all[0].as_secs_f64() / single[0].as_secs_f64();
    table.put(
        &format!("… so many times one Service, {cloud}"),
        program,
        format!("{ratio:.2}"),
    );
    table.put(&format!("… median, {cloud}"), program, seconds(all[SERVICES / 2]));
    table.put(&format!("… last, {cloud}"), program, seconds(all[SERVICES - 1]));
    Ok(())
}

/// Creates Services, and answers when they got their addresses, the earliest first.
async fn publish(fixture: &Fixture, names: &[String], replica: &Replica) -> Result<Vec<Duration>> {
    let start = Instant::now();
    let (mut times, ()) = futures::try_join!(addresses(fixture, names, start, replica), fixture.publish(names, 1))?;
    times.sort();
    Ok(times)
}

async fn addresses(fixture: &Fixture, names: &[String], start: Instant, replica: &Replica) -> Result<Vec<Duration>> {
    let watch = watcher(fixture.services(), watcher::Config::default()).applied_objects();
    let mut watch = std::pin::pin!(watch);
    let mut times = BTreeMap::new();
    while let Some(service) = watch.try_next().await? {
        replica.check()?;
        let name = service.metadata.name.clone().unwrap_or_default();
        if names.contains(&name) && has_address(&service) {
            times.entry(name).or_insert_with(|| start.elapsed());
        }
        if times.len() == names.len() {
            return Ok(times.into_values().collect());
        }
    }
    bail!("the watch ended")
}

fn has_address(service: &Service) -> bool {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    status.is_some_and(|status| status.ingress.as_ref().is_some_and(|ingress| !ingress.is_empty()))
}
