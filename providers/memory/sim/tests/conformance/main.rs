//! The memory cloud passes the behaviour suite, in the process and over HTTP; and the suite notices when it would not.

mod mutants;
mod world;

use conformance::{cases, run_all};
use world::MemoryWorld;

/// Nothing is beyond this world: every case really runs.
fn nothing_left_out(report: &conformance::Report) {
    assert_eq!(report.unable(), []);
    assert_eq!(report.results.len(), cases().len());
}

#[tokio::test(start_paused = true)]
async fn in_the_process() -> Result<(), conformance::Failed> {
    let report = run_all(async || Ok(MemoryWorld::in_process())).await;
    nothing_left_out(&report);
    report.check()
}

#[tokio::test]
async fn over_http() -> Result<(), conformance::Failed> {
    let report = run_all(MemoryWorld::over_http).await;
    nothing_left_out(&report);
    report.check()
}
