//! The provider passes the behaviour suite on the real services and on the simulation, so that the simulation cannot drift
//! from the truth.

#[path = "../it/fixture.rs"]
mod fixture;
mod operator;
mod real;
mod simulated;
mod world;

use conformance::{Failed, Report};
use real::Real;

/// Left out is only what `OpenStack` itself cannot do: to stop in the middle of creating a load balancer, and to
/// have a node that it does not manage.
#[expect(clippy::print_stdout, reason = "nothing is left out in silence")]
fn verdict(report: &Report) -> Result<(), Failed> {
    println!("{report}");
    let unable = report.unable();
    let impossible = ["half-done", "does not manage"];
    let is_known = |name: &str| impossible.iter().any(|words| name.contains(words));
    assert!(unable.iter().all(|case| is_known(case.name)), "{unable:?}");
    report.check()
}

#[tokio::test]
async fn on_the_simulation() -> Result<(), Failed> {
    // Each world has a cloud of its own, and most of the time is waiting for it.
    verdict(&conformance::run_concurrently(8, &conformance::cases(), simulated::world).await)
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn on_the_real_services() -> Result<(), Failed> {
    let real = Real::connect().await.expect("the lab");
    let report = conformance::run_concurrently(real::LANES, &conformance::cases(), || real.world()).await;
    verdict(&report)
}
