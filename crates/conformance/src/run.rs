//! Runs cases, each in a world of its own.

use crate::{Case, CaseResult, Report, Scene, Stop, Verdict, World, cases};
use futures::{FutureExt, StreamExt, stream};
use std::{
    any::Any,
    future::Future,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::Instant;

/// Runs every case, each in a world of its own, and prints one line a case.
pub async fn run_all<W, F>(make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    run(&cases(), make_world).await
}

/// Runs these cases one after the other, each in a world of its own, and prints one line a case.
pub async fn run<W, F>(cases: &[Case], make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    run_concurrently(1, cases, make_world).await
}

/// Runs at most so many of these cases at the same time, each in a world of its own, and prints one line a case when it has
/// ended. The worlds must be independent of each other.
///
/// A run takes as long as it takes: only a case that makes no progress for [`World::patience`] fails.
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
        Ok(world) => play(case, Box::new(world)).await,
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

async fn play(case: &Case, world: Box<dyn World>) -> (Verdict, Duration) {
    let scene = Scene::new(world, token());
    let began = Instant::now();
    let played = bounded(&scene, (case.run)(&scene)).await;
    let took = began.elapsed();
    let struck = bounded(&scene, scene.strike())
        .await
        .map_err(|stop| Stop::Failed(format!("cleaning up: {stop}")));
    (verdict(also(played, struck)), took)
}

/// A provider that hangs or panics fails the case, not the run.
async fn bounded(scene: &Scene, act: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    tokio::select! {
        ended = AssertUnwindSafe(act).catch_unwind() => {
            ended.unwrap_or_else(|panic| Err(Stop::Failed(format!("panicked: {}", words(panic.as_ref())))))
        }
        () = scene.stalled() => {
            Err(Stop::Failed(format!("no progress for {:?}", scene.world().patience())))
        }
    }
}

/// Both failures count; what could not be tried must still have been cleaned up.
fn also(played: Result<(), Stop>, struck: Result<(), Stop>) -> Result<(), Stop> {
    match (played, struck) {
        (Err(Stop::Failed(one)), Err(other)) => Err(Stop::Failed(format!("{one}; {other}"))),
        (played, struck) => struck.and(played),
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
        .unwrap_or("without words")
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
