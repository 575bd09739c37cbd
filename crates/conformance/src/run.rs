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

/// How many cases at a time, and for how long at most.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// So many run at the same time; their worlds must be able to stand beside each other.
    pub side_by_side: usize,
    /// What has not begun by then fails: a cloud that hangs ends the run, too.
    pub within: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            side_by_side: 1,
            within: Duration::MAX,
        }
    }
}

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
    run_at(Pace::default(), cases, make_world).await
}

/// Runs these cases at this pace, each in a world of its own, and prints one line a case when it has ended.
pub async fn run_at<W, F>(pace: Pace, cases: &[Case], make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    let began = Instant::now();
    let one = |case| {
        run_one(
            case,
            &make_world,
            (began.elapsed() > pace.within).then_some(pace.within),
        )
    };
    let numbered = stream::iter(cases).enumerate();
    let running = numbered.map(|(number, case)| {
        let result = one(case);
        async move { (number, result.await) }
    });
    let mut results: Vec<_> = running.buffer_unordered(pace.side_by_side.max(1)).collect().await;
    results.sort_by_key(|(number, _)| *number);
    Report {
        results: results.into_iter().map(|(_, result)| result).collect(),
    }
}

#[expect(clippy::print_stdout, reason = "a long run on a real cloud is watched")]
async fn run_one<W, F>(case: &Case, make_world: impl Fn() -> F, too_late: Option<Duration>) -> CaseResult
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    let began = Instant::now();
    let world = match too_late {
        Some(within) => Err(Stop::Failed(format!(
            "not begun: the run has taken more than {within:?}"
        ))),
        None => make_world().await,
    };
    let (verdict, took) = match world {
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
    let patience = world.patience();
    let scene = Scene::new(world, token());
    let began = Instant::now();
    let played = bounded(patience, (case.run)(&scene)).await;
    let took = began.elapsed();
    let struck = bounded(patience, scene.strike())
        .await
        .map_err(|stop| Stop::Failed(format!("cleaning up: {stop}")));
    (verdict(also(played, struck)), took)
}

/// A provider that hangs or panics fails the case, not the run.
async fn bounded(patience: Duration, act: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    match tokio::time::timeout(patience, AssertUnwindSafe(act).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(Stop::Failed(format!("panicked: {}", words(panic.as_ref())))),
        Err(_) => Err(Stop::Failed(format!("not finished after {patience:?}"))),
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
