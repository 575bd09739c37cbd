//! The report lists cases that a world cannot run, and failures with their messages.

use async_trait::async_trait;
use cloud::{Answer, Detail, Gate, Instances, NodeRef, Provider, Result as CloudResult};
use conformance::{Case, Stop, Verdict, World, cases, run, run_all, run_concurrently};
use std::{sync::Arc, time::Duration};

/// A cloud with one machine that all nodes are on, and nothing else.
struct Poor;

#[async_trait]
impl Instances for Poor {
    async fn describe(&self, nodes: &[NodeRef], _: Detail) -> Vec<CloudResult<Answer>> {
        nodes.iter().map(|_| Ok(Answer::Found(Box::default()))).collect()
    }
}

impl Provider for Poor {
    fn name(&self) -> &'static str {
        "poor"
    }

    fn instances(&self) -> &dyn Instances {
        self
    }
}

#[async_trait]
impl World for Poor {
    fn provider(&self, _: Gate) -> Arc<dyn Provider> {
        Arc::new(Self)
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        Ok(NodeRef::named(name).with_provider_id("poor://1"))
    }

    async fn delete_machine(&self, _: &NodeRef) -> Result<(), Stop> {
        Ok(())
    }

    fn most_machines(&self) -> usize {
        1
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }
}

#[tokio::test(start_paused = true)]
async fn skipped_cases_are_listed() {
    let report = run_all(async || Ok(Poor)).await;
    assert_eq!(report.results.len(), cases().len());
    for result in &report.results {
        let area = result.name.split(':').next().unwrap_or_default();
        if area == "load balancers" || area == "routes" {
            assert!(
                matches!(&result.verdict, Verdict::Unable(why) if why.starts_with("this world cannot ")),
                "{result}"
            );
        }
    }
    let off = "impossible  instances: a machine that is off is found and off: this world cannot turn a machine off";
    assert!(report.to_string().lines().any(|line| line == off), "{report}");
    let failed = report
        .check()
        .expect_err("a provider that finds everything does not conform")
        .to_string();
    assert!(
        failed.contains("\n  FAILED      instances: a name that never was is missing: "),
        "{failed}"
    );
    assert!(!failed.contains("impossible"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn names_are_unique() {
    let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases().len());
}

fn case(
    name: &'static str,
    run: for<'s> fn(&'s conformance::Fixture) -> futures::future::BoxFuture<'s, Result<(), Stop>>,
) -> Case {
    Case { name, run }
}

#[tokio::test(start_paused = true)]
async fn a_case_that_hangs_or_panics_does_not_end_the_run() {
    let cases = [
        case("hangs", |_| Box::pin(std::future::pending())),
        case("panics", |_| Box::pin(async { panic!("as requested") })),
        case("is fine", |_| Box::pin(async { Ok(()) })),
    ];
    let report = run(&cases, async || Ok(Poor)).await;
    let verdicts: Vec<_> = report.results.into_iter().map(|result| result.verdict).collect();
    let failed = |why: &str| Verdict::Failed(why.to_owned());
    assert_eq!(
        verdicts,
        [
            failed("no progress for 1s"),
            failed("panicked: as requested"),
            Verdict::Passed
        ]
    );
}

#[tokio::test]
async fn a_failed_setup_fails_the_case() {
    let cases = [case("is fine", |_| Box::pin(async { Ok(()) }))];
    let report = run(&cases, async || Err::<Poor, _>(Stop::failed("no credentials"))).await;
    assert_eq!(
        report.to_string(),
        "FAILED      is fine: no credentials\n0 passed, 1 failed, 0 impossible in this world"
    );
}

#[tokio::test(start_paused = true)]
async fn concurrent_cases_are_reported_in_their_order() {
    let cases = [
        case("slow", |_| Box::pin(slept(900))),
        case("quick", |_| Box::pin(slept(100))),
        case("also slow", |_| Box::pin(slept(900))),
    ];
    let began = tokio::time::Instant::now();
    let report = run_concurrently(3, &cases, async || Ok(Poor)).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let names: Vec<_> = report.results.iter().map(|result| result.name).collect();
    assert_eq!(names, ["slow", "quick", "also slow"]);
    report.check().expect("all passed");
}

/// A case that hangs fails; a slow one makes progress from time to time.
#[tokio::test(start_paused = true)]
async fn a_slow_case_is_waited_for_as_long_as_it_makes_progress() {
    let cases = [case("slow", |fixture| {
        Box::pin(async move {
            for _ in 0..100 {
                fixture.world().most_machines();
                slept(900).await?;
            }
            Ok(())
        })
    })];
    let report = run(&cases, async || Ok(Poor)).await;
    report.check().expect("it passes");
}

async fn slept(millis: u64) -> Result<(), Stop> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok(())
}
