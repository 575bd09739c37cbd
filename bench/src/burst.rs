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

/// When Services got their addresses.
pub struct Times {
    single: Duration,
    first: Duration,
    median: Duration,
    last: Duration,
}

/// Starts a program, creates one Service, and then [`SERVICES`] at once.
pub async fn measure(fixture: &Fixture, cloud: &str, program: Program, table: &mut Table) -> Result<Times> {
    let more = if program == Program::Ours { &[] } else { WORKERS };
    let replica = Replica::start(fixture, program, more)?;
    fixture.initialised(|| replica.check()).await?;
    // What a program learns once about a cloud is not part of a Service's time.
    publish(fixture, &names("warm-up", 1), &replica).await?;
    let single = publish(fixture, &names("single", 1), &replica).await?;
    let all = publish(fixture, &names("burst", SERVICES), &replica).await?;
    let times = Times {
        single: single[0],
        first: all[0],
        median: all[SERVICES / 2],
        last: all[SERVICES - 1],
    };
    table.put(
        &format!("one Service, {cloud}: address after"),
        program,
        seconds(times.single),
    );
    let what = format!("{SERVICES} Services at once, {cloud}: first address after");
    table.put(&what, program, seconds(times.first));
    let ratio = times.first.as_secs_f64() / times.single.as_secs_f64();
    table.put(
        &format!("… so many times one Service, {cloud}"),
        program,
        format!("{ratio:.2}"),
    );
    table.put(&format!("… median, {cloud}"), program, seconds(times.median));
    table.put(&format!("… last, {cloud}"), program, seconds(times.last));
    Ok(times)
}

/// What we promise of many Services at once, beside the other program.
pub fn promise(cloud: &str, ours: &Times, peer: &Times, table: &mut Table) {
    let is_prompt = ours.first.as_secs_f64() <= 1.5 * ours.single.as_secs_f64();
    table.promise(
        &format!("{cloud}: the first address after at most 1.5 times one Service"),
        is_prompt,
    );
    table.promise(
        &format!("{cloud}: the median ahead of the peer"),
        ours.median < peer.median,
    );
    table.promise(
        &format!("{cloud}: the last one ahead of the peer"),
        ours.last < peer.last,
    );
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
