//! Whole again after something went wrong.

use crate::{
    Case, Scene, Stop, WriteFault,
    balancers::{as_asked, exactly, gone},
    case::case,
    scene::settle,
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

async fn ensure_after_failure(scene: &Scene) -> Result<(), Stop> {
    ensure_after(scene, WriteFault::Fails).await
}

async fn ensure_after_half(scene: &Scene) -> Result<(), Stop> {
    ensure_after(scene, WriteFault::FailsHalfway).await
}

async fn ensure_after_lost_answer(scene: &Scene) -> Result<(), Stop> {
    ensure_after(scene, WriteFault::LosesAnswer).await
}

async fn ensure_after(scene: &Scene, fault: WriteFault) -> Result<(), Stop> {
    let spec = scene.spec(3).await?;
    spoilt_ensure(scene, &spec, fault).await?;
    scene.ensure(&spec).await?;
    exactly(scene, &spec.cluster, 1).await?;
    as_asked(scene, &spec).await
}

async fn ensure_after_cancel(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(3).await?;
    let balancers = scene.balancers()?;
    for millis in [0, 1, 2, 5, 10] {
        // Too late or not: both are fine.
        let _ = tokio::time::timeout(Duration::from_millis(millis), balancers.ensure(&spec)).await;
    }
    scene.ensure(&spec).await?;
    exactly(scene, &spec.cluster, 1).await?;
    as_asked(scene, &spec).await
}

async fn delete_after_half(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(3).await?;
    spoilt_ensure(scene, &spec, WriteFault::FailsHalfway).await?;
    scene.delete(&spec).await?;
    gone(scene, &spec).await
}

async fn delete_after_lost_answer(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.ensure(&spec).await?;
    scene.world().spoil_next_write(WriteFault::LosesAnswer).await?;
    // A provider may notice by itself that the answer was lost, and succeed.
    let _ = scene.balancers()?.delete(&spec).await;
    scene.delete(&spec).await?;
    gone(scene, &spec).await
}

/// An ensure in which a write goes wrong. A provider may repair that by itself; it must not call a failure a success.
async fn spoilt_ensure(scene: &Scene, spec: &Spec, fault: WriteFault) -> Result<(), Stop> {
    let balancers = scene.balancers()?;
    scene.world().spoil_next_write(fault).await?;
    match settle(scene, || balancers.ensure(spec)).await {
        Ok(_) => as_asked(scene, spec).await,
        Err(_) => Ok(()),
    }
}
