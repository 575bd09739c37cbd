//! The provider passes the behaviour suite on the real services and on the simulation, so that the simulation cannot drift
//! from the truth.

mod operator;
mod real;
mod simulated;
#[path = "../support/mod.rs"]
mod support;
mod world;

use conformance::Case;
use real::Real;

/// What `OpenStack` does otherwise, and why.
const OTHERWISE: [(&str, &str); 1] = [(
    "load balancers: the name depends on nothing but the Service",
    "running clusters have balancers that are named after namespace and name; the UID is in a tag",
)];

#[expect(clippy::print_stdout, reason = "nothing is left out in silence")]
fn cases() -> Vec<Case> {
    let is_otherwise = |case: &Case| OTHERWISE.iter().any(|(name, _)| *name == case.name);
    let (otherwise, cases): (Vec<Case>, Vec<Case>) = conformance::cases().into_iter().partition(is_otherwise);
    assert_eq!(otherwise.len(), OTHERWISE.len());
    for (name, why) in OTHERWISE {
        println!("otherwise   {name}: {why}");
    }
    cases
}

#[tokio::test]
async fn on_the_simulation() -> Result<(), conformance::Failed> {
    let report = conformance::run(&cases(), simulated::world).await;
    println!("{report}");
    let unable = report.unable();
    assert!(unable.iter().all(|case| case.name.contains("half-done")), "{unable:?}");
    report.check()
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn on_the_real_services() -> Result<(), conformance::Failed> {
    let real = Real::connect().await.expect("the lab");
    let report = conformance::run(&cases(), async || Ok(real.world())).await;
    println!("{report}");
    real.clear().await.expect("cleaned up");
    report.check()
}
