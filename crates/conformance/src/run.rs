//! Runs cases and says what came of them.

use crate::{Case, Scene, Stop, World, cases};
use futures::FutureExt;
use std::{
    any::Any,
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::Instant;

/// What came of each case; its `Display` is one line a case and a last line with the counts.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which the cases ran.
    pub results: Vec<CaseResult>,
}

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The name of the case.
    pub name: &'static str,
    /// What came of it.
    pub verdict: Verdict,
    /// How long it took, without cleaning up.
    pub took: Duration,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The provider does it.
    Passed,
    /// The provider does not do it.
    Failed(String),
    /// This world cannot try.
    Unable(String),
}

/// The provider does not conform.
#[derive(thiserror::Error)]
#[error("{} cases failed:{}", .0.len(), lines(.0))]
pub struct Failed(pub Vec<CaseResult>);

/// A test that ends with this error shows the list, not the structs.
impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Report {
    /// An error that lists what failed, if anything did.
    pub fn check(&self) -> Result<(), Failed> {
        let failed = self.of(|verdict| matches!(verdict, Verdict::Failed(_)));
        if failed.is_empty() { Ok(()) } else { Err(Failed(failed)) }
    }

    /// The cases that this world could not try.
    pub fn unable(&self) -> Vec<CaseResult> {
        self.of(|verdict| matches!(verdict, Verdict::Unable(_)))
    }

    fn of(&self, wanted: impl Fn(&Verdict) -> bool) -> Vec<CaseResult> {
        self.results
            .iter()
            .filter(|result| wanted(&result.verdict))
            .cloned()
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            writeln!(f, "{result}")?;
        }
        let (failed, unable) = (
            self.check().err().map_or(0, |failed| failed.0.len()),
            self.unable().len(),
        );
        write!(
            f,
            "{} passed, {failed} failed, {unable} impossible in this world",
            self.results.len() - failed - unable
        )
    }
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, verdict, took } = self;
        match verdict {
            Verdict::Passed => write!(f, "ok          {name} ({} ms)", took.as_millis()),
            Verdict::Failed(why) => write!(f, "FAILED      {name}: {why}"),
            Verdict::Unable(why) => write!(f, "impossible  {name}: {why}"),
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

/// Runs these cases, each in a world of its own, and prints one line a case.
#[expect(clippy::print_stdout, reason = "a long run on a real cloud is watched")]
pub async fn run<W, F>(cases: &[Case], make_world: impl Fn() -> F) -> Report
where
    W: World + 'static,
    F: Future<Output = Result<W, Stop>>,
{
    let mut report = Report::default();
    for case in cases {
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
        report.results.push(result);
    }
    report
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

fn lines(results: &[CaseResult]) -> String {
    results
        .iter()
        .flat_map(|result| ["\n  ".to_owned(), result.to_string()])
        .collect()
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
