//! Runs cases, each in a world of its own.

use crate::{Case, CaseResult, Fixture, Report, Stop, Verdict, World, cases};
use futures::{FutureExt, StreamExt, stream};
use std::{
    any::Any,
    future::Future,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::Instant;

/// Runs every case, each in a world of its own, and prints one line for each.
pub async fn run_all<W, F>(make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    run(&cases(), make_world).await
}

/// Runs these cases one after the other, each in a world of its own, and prints one line for each.
pub async fn run<W, F>(cases: &[Case], make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    run_concurrently(1, cases, make_world).await
}

/// Runs these cases, at most `limit` at the same time, each in a world of its own, and prints one line for each when it ends. The
/// worlds must be independent of each other.
///
/// There is no limit of time: only a case that makes no progress for [`World::patience`] fails.
pub async fn run_concurrently<W, F>(limit: usize, cases: &[Case], make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    let numbered = stream::iter(cases).enumerate();
    let running = numbered.map(|(number, case)| {
        let result = run_one(case, &make_world);
        async move { (number, result.await) }
    });
    let mut results: Vec<_> = running.buffer_unordered(limit.max(1)).collect().await;
    results.sort_by_key(|(number, _)| *number);
    Report {
        results: results.into_iter().map(|(_, result)| result).collect(),
    }
}

#[expect(clippy::print_stdout, reason = "a long run on a real cloud is watched")]
async fn run_one<W, F>(case: &Case, make_world: impl Fn() -> F) -> CaseResult
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    let began = Instant::now();
    let (verdict, took) = match make_world().await {
        Ok(world) => run_in(case, Box::new(world)).await,
        Err(stop) => (verdict(Err(stop)), began.elapsed()),
    };
    let result = CaseResult {
        name: case.name,
        verdict,
        took,
    };
    println!("{result}");
    result
}

async fn run_in(case: &Case, world: Box<dyn World>) -> (Verdict, Duration) {
    let fixture = Fixture::new(world, token());
    let began = Instant::now();
    let result = bounded(&fixture, (case.run)(&fixture)).await;
    let took = began.elapsed();
    let cleaned_up = bounded(&fixture, fixture.clean_up())
        .await
        .map_err(|stop| Stop::Failed(format!("cleaning up: {stop}")));
    (verdict(both(result, cleaned_up)), took)
}

/// A provider that hangs or panics fails the case, not the run.
async fn bounded(fixture: &Fixture, work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    tokio::select! {
        ended = AssertUnwindSafe(work).catch_unwind() => {
            ended.unwrap_or_else(|panic| Err(Stop::Failed(format!("panicked: {}", words(panic.as_ref())))))
        }
        () = fixture.stalled() => {
            Err(Stop::Failed(format!("no progress for {:?}", fixture.world().patience())))
        }
    }
}

/// Both failures are reported; a case that could not run must clean up, too.
fn both(result: Result<(), Stop>, cleaned_up: Result<(), Stop>) -> Result<(), Stop> {
    match (result, cleaned_up) {
        (Err(Stop::Failed(one)), Err(other)) => Err(Stop::Failed(format!("{one}; {other}"))),
        (result, cleaned_up) => cleaned_up.and(result),
    }
}

fn verdict(result: Result<(), Stop>) -> Verdict {
    match result {
        Ok(()) => Verdict::Passed,
        Err(Stop::Failed(why)) => Verdict::Failed(why),
        Err(stop @ Stop::Unable(_)) => Verdict::Unable(stop.to_string()),
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// Twelve hexadecimal digits that no other case has, in this process or another.
fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_micros()
        & 0xff_ffff_ffff;
    format!("{time:010x}{:02x}", NEXT.fetch_add(1, Ordering::Relaxed) & 0xff)
}
