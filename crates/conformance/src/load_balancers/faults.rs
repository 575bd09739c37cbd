//! Recovery from faults.

use crate::{
    Case, Fixture, Stop, WriteFault,
    case::case,
    fixture::settle,
    load_balancers::{exactly, gone, matches_spec},
};
use cloud::Spec;
use std::time::Duration;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            "load balancers: ensure after a failed ensure completes it",
            ensure_after_failure
        ),
        case!(
            "load balancers: ensure after a half-done ensure completes it",
            ensure_after_half
        ),
        case!(
            "load balancers: ensure after a lost answer makes no second one",
            ensure_after_lost_answer
        ),
        case!(
            "load balancers: ensure after a cancelled ensure makes no second one",
            ensure_after_cancel
        ),
        case!(
            "load balancers: delete after a half-done ensure leaves nothing",
            delete_after_half
        ),
        case!(
            "load balancers: delete after a delete with a lost answer is a success",
            delete_after_lost_answer
        ),
    ]
}

async fn ensure_after_failure(fixture: &Fixture) -> Result<(), Stop> {
    ensure_after(fixture, WriteFault::Fails).await
}

async fn ensure_after_half(fixture: &Fixture) -> Result<(), Stop> {
    ensure_after(fixture, WriteFault::FailsHalfway).await
}

async fn ensure_after_lost_answer(fixture: &Fixture) -> Result<(), Stop> {
    ensure_after(fixture, WriteFault::LosesAnswer).await
}

async fn ensure_after(fixture: &Fixture, fault: WriteFault) -> Result<(), Stop> {
    let spec = fixture.spec(3).await?;
    failing_ensure(fixture, &spec, fault).await?;
    fixture.ensure(&spec).await?;
    exactly(fixture, &spec.cluster, 1).await?;
    matches_spec(fixture, &spec).await
}

async fn ensure_after_cancel(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(3).await?;
    let balancers = fixture.balancers()?;
    for millis in [0, 1, 2, 5, 10] {
        // It may have finished before it is cancelled.
        let _ = tokio::time::timeout(Duration::from_millis(millis), balancers.ensure(&spec)).await;
    }
    fixture.ensure(&spec).await?;
    exactly(fixture, &spec.cluster, 1).await?;
    matches_spec(fixture, &spec).await
}

async fn delete_after_half(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(3).await?;
    failing_ensure(fixture, &spec, WriteFault::FailsHalfway).await?;
    fixture.delete(&spec).await?;
    gone(fixture, &spec).await
}

async fn delete_after_lost_answer(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    fixture.world().spoil_next_write(WriteFault::LosesAnswer).await?;
    // A provider may detect that the answer was lost, and succeed.
    let _ = fixture.balancers()?.delete(&spec).await;
    fixture.delete(&spec).await?;
    gone(fixture, &spec).await
}

/// An ensure with a write that fails. A provider may recover, but must not report a failure as a success.
async fn failing_ensure(fixture: &Fixture, spec: &Spec, fault: WriteFault) -> Result<(), Stop> {
    let balancers = fixture.balancers()?;
    fixture.world().spoil_next_write(fault).await?;
    match settle(fixture, || balancers.ensure(spec)).await {
        Ok(_) => matches_spec(fixture, spec).await,
        Err(_) => Ok(()),
    }
}
