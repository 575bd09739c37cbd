//! Health of all controllers on a real API server, with a cloud that fails or hangs. Only the minutes
//! until a check turns red pass at once.

use super::*;
use crate::{
    options::{Invocation, Options},
    run::{Program, Provide, election},
};
use cloud::{ClusterMark, Detail};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Event};
use kube::api::{DeleteParams, ListParams, PostParams};
use memory::{Call, Cloud, Effect, Failure, Fault, Memory, Offer, Operation};
use rstest::rstest;
use runtime::{
    flags::Problems,
    health::{Endpoint, Query},
    leader_migration::Main,
    lease::Params,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::wait::until;

const LABEL: &str = "outrigger.test/supervisor";

/// A process that needs no lease, and looks after the Nodes and Services of its own name.
struct Fixture {
    name: String,
    cloud: Cloud,
    process: Process,
}

impl Fixture {
    fn new(flags: &[&str]) -> Self {
        Self::on(Cloud::new(), flags).unwrap()
    }

    fn on(cloud: Cloud, flags: &[&str]) -> Result<Self, String> {
        let name = lab::unique("supervisor");
        let args = [
            "--cloud-provider=memory".to_owned(),
            format!("--kubeconfig={}", lab::ControlPlane::shared().kubeconfig().display()),
            format!("--cluster-name={name}"),
            format!("--node-selector={LABEL}={name}"),
            format!("--load-balancer-class={name}"),
            "--load-balancer-without-class=false".to_owned(),
            "--leader-elect=false".to_owned(),
            "--node-deletion-grace-period=1h".to_owned(),
            "--node-monitor-period=100ms".to_owned(),
        ];
        let args = args.into_iter().chain(flags.iter().map(|&flag| flag.to_owned()));
        let program = "cloud-controller-manager";
        let Ok(Invocation::Run(options)) = Options::parse(program, args, Vec::new(), |_| Problems::default()) else {
            panic!("wrong flags")
        };
        let provide = |ask: &Provide<'_>| Ok(Arc::new(Memory::new(&cloud).with_gate(ask.gate.clone())) as Arc<_>);
        let program = Program {
            name: program,
            setup: &provide,
            verbosity: Arc::new(|_| ()),
        };
        let process = Process::start(*options, &program)?;
        Ok(Self { name, cloud, process })
    }

    async fn supervisor(&self) -> Supervisor<'_> {
        let mut supervisor = Supervisor::new(&self.process);
        supervisor
            .start(Lock::Main, |_| true, &CancellationToken::new())
            .await
            .unwrap();
        supervisor
    }

    fn nodes() -> Api<Node> {
        Api::all(lab::ControlPlane::shared().client())
    }

    fn services() -> Api<Service> {
        Api::default_namespaced(lab::ControlPlane::shared().client())
    }

    async fn join(&self, name: &str, words: &str) -> String {
        let name = format!("{}-{name}", self.name);
        self.cloud.boot(&name);
        let mut node = testkit::node::node(&name, &format!("{words} {LABEL}={}", self.name));
        (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
        Self::nodes().create(&PostParams::default(), &node).await.unwrap();
        name
    }

    async fn serve(&self, name: &str) {
        let service = testkit::service::load_balancer(&format!("{}-{name}", self.name)).class(&self.name);
        let mut service = service.build();
        service.metadata.uid = None;
        Self::services().create(&PostParams::default(), &service).await.unwrap();
    }

    /// `Ok` if the check passes, its reason if it fails; `None` if this endpoint has no such check.
    fn check(&self, endpoint: Endpoint, name: &str) -> Option<Result<(), String>> {
        let report = self.process.checks.report_one(endpoint, name)?;
        Some(if report.status == 200 { Ok(()) } else { Err(report.body) })
    }

    /// The names of the red checks of an endpoint.
    fn red(&self, endpoint: Endpoint) -> Vec<String> {
        let report = self.process.checks.report(endpoint, &Query::parse("verbose"));
        let lines = report.body.lines().filter_map(|line| line.strip_prefix("[-]"));
        let names: Vec<String> = lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, _)| name.to_owned())
            .collect();
        assert_eq!(report.status == 200, names.is_empty(), "{}", report.body);
        names
    }

    async fn until_green(&self) {
        until("all checks to be green", || async {
            match self.red(Endpoint::Readyz) {
                red if red.is_empty() => Ok(()),
                red => Err(format!("{red:?} are red")),
            }
        })
        .await;
    }

    /// How many keys of a queue are waiting.
    fn waiting(&self, queue: &str) -> f64 {
        let families = self.process.metrics.registry().gather();
        let depth = families.iter().find(|family| family.name() == "workqueue_depth");
        let of_queue = |metric: &&prometheus::proto::Metric| metric.get_label().iter().any(|it| it.value() == queue);
        let metric = depth.and_then(|family| family.get_metric().iter().find(of_queue));
        metric.map_or(0.0, |metric| metric.get_gauge().get_value())
    }

    /// Waits until every loop has failed at least once.
    async fn until_all_failed(&self, full: &str) {
        let failed = |such: &dyn Fn(&Call) -> bool| {
            let calls = self.cloud.calls();
            calls.iter().any(|call| call.effect == Effect::Failed && such(call))
        };
        let events: Api<Event> = Api::default_namespaced(lab::ControlPlane::shared().client());
        until("everything to fail", || async {
            let message = events
                .list(&ListParams::default())
                .await
                .map_err(|error| error.to_string())?;
            let is_full = |event: &Event| {
                let (reason, name) = (event.reason.as_deref(), event.involved_object.name.as_deref());
                (reason, name) == (Some("CIDRNotAvailable"), Some(full))
            };
            let failures = [
                failed(&|call| call.detail == Some(Detail::Full)),
                failed(&|call| call.detail == Some(Detail::Liveness)),
                failed(&|call| call.operation == Operation::EnsureLoadBalancer),
                failed(&|call| call.operation == Operation::ListRoutes),
                message.iter().any(is_full),
            ];
            if failures.iter().all(|failed| *failed) {
                Ok(())
            } else {
                Err(format!("{failures:?}"))
            }
        })
        .await;
    }

    async fn finish(&self, mut supervisor: Supervisor<'_>) {
        self.cloud.withdraw_all();
        supervisor.stop().await;
    }
}

/// So much time passes at once; what looks at the clock next sees it.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
}

#[tokio::test]
async fn a_queue_that_a_slow_cloud_holds_up_is_no_reason_to_start_again() {
    let fixture = Fixture::new(&["--concurrent-service-syncs=1"]);
    let supervisor = fixture.supervisor().await;
    fixture.until_green().await;
    fixture
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer));
    for name in ["a", "b", "c", "d"] {
        fixture.serve(name).await;
    }
    until("one to hang and the others to wait", || async {
        let (hanging, waiting) = (
            fixture.cloud.count(Operation::EnsureLoadBalancer),
            fixture.waiting("service"),
        );
        if hanging == 1 && waiting > 2.0 {
            Ok(())
        } else {
            Err(format!("{hanging} hang, {waiting} wait"))
        }
    })
    .await;
    let check = "service-lb-controller-queue";
    assert_eq!(fixture.check(Endpoint::Healthz, check), Some(Ok(())));

    // Each attempt is given up in time, so that the queue moves, though nothing succeeds.
    for attempts in 2..=4 {
        pass(Duration::from_secs(121)).await;
        tokio::time::resume();
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) >= attempts)
            .await;
    }
    for endpoint in [Endpoint::Healthz, Endpoint::Livez] {
        assert_eq!(fixture.red(endpoint), [""; 0], "{endpoint:?}");
    }
    assert_eq!(fixture.red(Endpoint::Readyz), ["service-lb-controller-success"]);

    fixture.cloud.withdraw_all();
    fixture.until_green().await;
    let cloud = fixture.cloud.clone();
    cloud.until(|cloud| cloud.load_balancers().len() == 4).await;
    fixture.finish(supervisor).await;
}

#[tokio::test]
async fn routes_that_a_hanging_cloud_holds_up_are_no_reason_to_start_again() {
    let fixture = Fixture::new(&["--cluster-cidr=10.0.0.0/8", "--route-reconciliation-period=100ms"]);
    fixture.cloud.inject(Fault::hang().operation(Operation::ListRoutes));
    let supervisor = fixture.supervisor().await;
    for attempts in 1..=5 {
        fixture
            .cloud
            .until(|cloud| cloud.count(Operation::ListRoutes) >= attempts)
            .await;
        pass(Duration::from_secs(91)).await;
        tokio::time::resume();
    }
    until("the check to be red", || async {
        let red = fixture.red(Endpoint::Readyz);
        let expected = red == ["node-route-controller-success"];
        expected.then_some(()).ok_or_else(|| format!("{red:?}"))
    })
    .await;
    for endpoint in [Endpoint::Healthz, Endpoint::Livez] {
        assert_eq!(fixture.red(endpoint), [""; 0], "{endpoint:?}");
    }
    fixture.cloud.withdraw_all();
    fixture.until_green().await;
    fixture.finish(supervisor).await;
}

/// A change in the cloud is no change of a Node.
#[tokio::test]
async fn routes_are_put_right_also_where_changes_of_nodes_are_watched() {
    let fixture = Fixture::new(&[
        "--cluster-cidr=10.0.0.0/8",
        "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
        "--route-reconciliation-period=1h",
        "--min-resync-period=100ms",
    ]);
    let supervisor = fixture.supervisor().await;
    fixture
        .cloud
        .until(|cloud| cloud.count(Operation::ListRoutes) > 0)
        .await;
    fixture
        .cloud
        .add_blackhole(&fixture.name, "10.99.0.0/24".parse().unwrap());
    fixture
        .cloud
        .until(|cloud| cloud.routes(&fixture.name).is_empty())
        .await;
    fixture.finish(supervisor).await;
}

#[tokio::test]
async fn unsupported_features_have_no_health_check_and_no_metrics() {
    let cloud = Cloud::new();
    cloud.configure(|settings| (settings.load_balancers, settings.routes) = (Offer::No, Offer::No));
    let fixture = Fixture::on(cloud, &["--cluster-cidr=10.0.0.0/8"]).unwrap();
    let supervisor = fixture.supervisor().await;
    let checked = fixture
        .process
        .checks
        .report(Endpoint::Readyz, &Query::parse("verbose"))
        .body;
    let families = fixture.process.metrics.registry().gather();
    let measured: Vec<&str> = families.iter().map(prometheus::proto::MetricFamily::name).collect();
    for (check, metric) in [
        ("service-lb-controller", "service_controller_"),
        ("node-route-controller", "route_controller_"),
    ] {
        assert!(!checked.contains(check), "{checked}");
        assert!(!measured.iter().any(|name| name.starts_with(metric)), "{measured:?}");
    }
    fixture.finish(supervisor).await;
}

/// All fail at the same time, each for a reason of its own; a restart would help none of them.
#[rstest]
#[case::down(Failure::Unavailable("down for maintenance".into()), "down for maintenance", "10.203.0.0/24")]
#[case::throttling(Failure::Throttled { retry_after: None }, "throttled", "10.206.0.0/24")]
#[tokio::test]
async fn loops_that_do_not_succeed_fail_readiness(
    #[case] failure: Failure,
    #[case] expected: &str,
    #[case] range: &str,
) {
    let fixture = Fixture::new(&[
        "--controllers=*,node-ipam-controller",
        "--allocate-node-cidrs",
        &format!("--cluster-cidr={range}"),
        "--route-reconciliation-period=200ms",
    ]);
    let supervisor = fixture.supervisor().await;
    fixture.until_green().await;
    fixture.cloud.inject(Fault::fail(failure));
    let first = fixture.join("gone", "ready:Unknown").await;
    until("the only range to be given away", || async {
        let node = Fixture::nodes().get(&first).await.map_err(|error| error.to_string())?;
        let has_a_range = !nodes::pod_cidrs(&node).is_empty();
        has_a_range.then_some(()).ok_or_else(|| "the node has none".to_owned())
    })
    .await;
    let second = fixture.join("new", "tainted ready:True").await;
    fixture.serve("web").await;
    fixture.until_all_failed(&second).await;
    assert_eq!(fixture.red(Endpoint::Readyz), [""; 0], "it is too early");

    pass(Duration::from_secs(61)).await;
    tokio::time::resume();
    let expected = [
        ("cloud-node-controller-success", expected),
        ("cloud-node-lifecycle-controller-success", expected),
        ("service-lb-controller-success", expected),
        (
            "node-route-controller-success",
            &format!("cannot list routes: .*{expected}"),
        ),
        ("node-ipam-controller-success", "no range is left in --cluster-cidr"),
    ];
    for (check, reason) in expected {
        let message = until(check, || async {
            match fixture.check(Endpoint::Readyz, check) {
                Some(Err(message)) => Ok(message),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        assert!(mentions(&message, reason), "{check}: {message}");
        assert_eq!(fixture.check(Endpoint::Healthz, check), None);
    }
    assert_eq!(fixture.red(Endpoint::Healthz), [""; 0], "a restart does not help");

    fixture.cloud.withdraw_all();
    let params = DeleteParams::default();
    Fixture::nodes().delete(&first, &params).await.unwrap();
    // No work has to wait for its next retry.
    pass(Duration::from_mins(2)).await;
    tokio::time::resume();
    fixture.until_green().await;
    fixture.finish(supervisor).await;
    // It holds the only range, and others may want it.
    Fixture::nodes().delete(&second, &params).await.unwrap();
}

/// Nothing will be tried again, so nothing can succeed.
#[tokio::test]
async fn a_failure_ends_with_the_object_that_fails() {
    let fixture = Fixture::new(&[]);
    let supervisor = fixture.supervisor().await;
    fixture.until_green().await;
    fixture.cloud.inject(Fault::fail(Failure::Unavailable("down".into())));
    let node = fixture.join("new", "tainted ready:True").await;
    let failed = |call: &&Call| call.effect == Effect::Failed;
    fixture
        .cloud
        .until(|cloud| cloud.calls().iter().filter(failed).count() > 1)
        .await;
    pass(Duration::from_secs(61)).await;
    tokio::time::resume();
    until("the check to be red", || async {
        let red = fixture.red(Endpoint::Readyz);
        let expected = red == ["cloud-node-controller-success"];
        expected.then_some(()).ok_or_else(|| format!("{red:?}"))
    })
    .await;
    Fixture::nodes().delete(&node, &DeleteParams::default()).await.unwrap();
    fixture.until_green().await;
    fixture.finish(supervisor).await;
}

#[tokio::test]
async fn an_informer_that_dies_ends_the_process() {
    let fixture = Fixture::new(&[]);
    let mut supervisor = fixture.supervisor().await;
    supervisor.watching.spawn(async { panic!("on purpose") });
    let stop = CancellationToken::new();
    let ended = tokio::time::timeout(Duration::from_mins(1), supervisor.until(&stop)).await;
    let ended = ended.expect("the process to end");
    let message = ended.expect_err("the cache is not updated any more");
    assert!(mentions(&message, "an informer failed: .*on purpose"), "{message}");
    fixture.finish(supervisor).await;
}

/// Another program has the migration lock; a controller that ends by itself must not keep the next leader waiting.
#[tokio::test]
async fn the_main_lock_is_given_back_when_a_controller_ends_before_the_migration() {
    let fixture = Fixture::new(&[]);
    let leases: Api<Lease> = Api::namespaced(lab::ControlPlane::shared().client(), "kube-system");
    let params = |name: &str| Params {
        namespace: "kube-system".into(),
        name: format!("{}-{name}", fixture.name),
        identity: fixture.name.clone(),
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };
    let (main, migration) = (params("main"), params("migration"));
    let theirs = json!({
        "metadata": { "name": migration.name },
        "spec": { "holderIdentity": "another program", "leaseDurationSeconds": 3600, "renewTime": "2100-01-01T00:00:00.000000Z" },
    });
    let theirs = serde_json::from_value(theirs).unwrap();
    leases.create(&PostParams::default(), &theirs).await.unwrap();
    let elector = |params, fence| election::elector(&fixture.process, params, fence).unwrap();
    let (stop, fences) = (CancellationToken::new(), &fixture.process.fences);
    let (first, second) = (
        elector(main.clone(), &fences.main),
        elector(migration, &fences.migration),
    );
    let held = Main::acquire(first, second, &stop).await.unwrap();
    let holder = || async {
        let lease = leases.get(&main.name).await.unwrap();
        lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
    };
    assert_eq!(holder().await, fixture.name);

    let mut supervisor = Supervisor::new(&fixture.process);
    supervisor.tasks.spawn(async { "some-controller" });
    let ended = election::migrate(held, &mut supervisor, election::Share::All, &stop).await;
    assert_eq!(ended, Err("some-controller ended".to_owned()));
    assert_eq!(holder().await, "");
}

/// Whether the parts between `.*` come in this order.
fn mentions(text: &str, parts: &str) -> bool {
    let mut rest = text;
    parts.split(".*").all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[tokio::test]
async fn a_cloud_without_the_mark_of_the_cluster_is_refused_unless_allowed() {
    let untagged = || {
        let cloud = Cloud::new();
        cloud.configure(|settings| settings.cluster_mark = ClusterMark::Absent);
        cloud
    };
    let refused = Fixture::on(untagged(), &[]).err().expect("a refusal");
    let expected = "no cluster ID was found in the cloud: a cluster ID is required for this cloud to function properly; \
                    tag the instances of the cluster, or set --allow-untagged-cloud";
    assert_eq!(refused, expected);
    assert!(Fixture::on(untagged(), &["--allow-untagged-cloud"]).is_ok());
}

#[test]
fn controllers_start_at_intervals_that_differ() {
    let interval = Duration::from_secs(10);
    let drawn: BTreeSet<_> = (0..100).map(|_| start::jittered(interval)).collect();
    assert!(drawn.len() > 50, "{drawn:?}");
    assert!(
        drawn.iter().all(|one| (interval..2 * interval).contains(one)),
        "{drawn:?}"
    );
}
