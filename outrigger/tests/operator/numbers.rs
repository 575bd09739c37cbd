//! The metrics of the operator, on `OpenShift` and standalone.

use crate::{
    fixture::Fixture,
    flavour::Flavour,
    process_fixture::{Credentials, Launch, Manager, Port, free_port},
    standalone::cluster::Cluster,
    world::{World, images},
};
use rstest::rstest;
use serde_json::json;

const EXPIRY: &str = "outrigger_operator_certificate_expiration_timestamp_seconds";

/// Starts the operator with a port for its metrics, and a client that may read them.
async fn measured(world: &Fixture, launch: Launch) -> (Manager, Port) {
    let (token, address) = (world.metrics_token().await, free_port());
    let operator = launch.flag(&format!("--metrics-bind-address={address}")).start();
    (operator, Port::new(address, &Credentials::Token(token)))
}

/// Waits until the metrics with this name and these labels have these values, in this order.
async fn reads(operator: &Manager, port: &Port, (metric, labels): (&str, &str), expected: &[String]) {
    let look = async || {
        let reply = port.try_get("/metrics").await?;
        let is_meant = |line: &&str| line.starts_with(metric) && line.contains(labels);
        let lines: Vec<_> = reply.body.lines().filter(is_meant).collect();
        let alike = |(line, beginning): (&&str, &String)| line.starts_with(beginning.as_str());
        if reply.status == 200 && lines.len() == expected.len() && lines.iter().zip(expected).all(alike) {
            Ok(())
        } else {
            Err(format!("{} {lines:#?}", reply.status))
        }
    };
    operator.until(&format!("{expected:#?}"), look).await;
}

/// When the two certificates of a manager expire.
fn expirations(name: &str) -> [String; 2] {
    ["CA", "serving"].map(|which| format!("{EXPIRY}{{certificate=\"{which}\",name=\"{name}\"}} "))
}

fn conditions(name: &str, [available, degraded, progressing]: [u8; 3]) -> [String; 3] {
    [
        ("Available", available),
        ("Degraded", degraded),
        ("Progressing", progressing),
    ]
    .map(|(type_, value)| format!("outrigger_operator_condition{{condition=\"{type_}\",name=\"{name}\"}} {value}"))
}

/// Dashboards and alerts for the Go operator find its names; a controller that does not run has none.
#[rstest]
#[case::openshift(Flavour::OpenShift("AWS"), "clusteroperator", "cloudcontrollermanager")]
#[case::standalone(Flavour::Standalone, "cloudcontrollermanager", "clusteroperator")]
#[tokio::test]
async fn names_of_the_original(#[case] flavour: Flavour, #[case] controller: &str, #[case] other: &str) {
    let world = flavour.cluster().await;
    let (operator, port) = measured(&world, world.operator()).await;
    let controller = format!(r#"{{controller="{controller}""#);
    let lines = [
        format!("controller_runtime_reconcile_total{controller},result=\"error\"}} "),
        format!("controller_runtime_reconcile_total{controller},result=\"requeue\"}} 0"),
        format!("controller_runtime_reconcile_total{controller},result=\"requeue_after\"}} "),
        format!("controller_runtime_reconcile_total{controller},result=\"success\"}} "),
        format!("controller_runtime_reconcile_errors_total{controller}}} "),
        format!("controller_runtime_terminal_reconcile_errors_total{controller}}} 0"),
        format!("controller_runtime_reconcile_panics_total{controller}}} 0"),
        format!("controller_runtime_reconcile_timeouts_total{controller}}} 0"),
        format!("controller_runtime_reconcile_time_seconds_bucket{controller},le=\"0.005\"}} "),
        format!("controller_runtime_reconcile_time_seconds_count{controller}}} "),
        format!("controller_runtime_max_concurrent_reconciles{controller}}} 1"),
        format!("controller_runtime_active_workers{controller}}} "),
        "leader_election_master_status{name=\"cluster-cloud-controller-manager-leader\"} 1".to_owned(),
        "rest_client_requests_total{".to_owned(),
        "process_cpu_seconds_total ".to_owned(),
    ];
    let look = async || {
        let reply = port.try_get("/metrics").await?;
        let missing = lines
            .iter()
            .find(|start| !reply.body.lines().any(|line| line.starts_with(*start)));
        match missing {
            None if reply.status == 200 => Ok(reply.body),
            other => Err(format!("{} {other:?}", reply.status)),
        }
    };
    let text = operator.until("the metrics of the original", look).await;
    assert!(!text.contains(&format!("controller=\"{other}\"")), "{text}");
}

/// `OpenShift`: a certificate that no manager of ours serves any more raises no alert.
#[tokio::test]
async fn certificates_of_the_platform() {
    let world = World::new("OpenStack").await;
    world.prefer_our_own();
    let (operator, port) = measured(&world, world.common(world.operator())).await;
    let shows = async |expected: &[String]| reads(&operator, &port, (EXPIRY, "{"), expected).await;
    let name = "cloud-controller-manager";
    shows(&expirations(name)).await;
    world.folder.write("images.json", &images().to_string());
    shows(&[]).await;
    world.prefer_our_own();
    shows(&expirations(name)).await;
    world.set_platform("None").await;
    shows(&[]).await;
}

/// Standalone: a manager that runs has conditions and certificates; one that is removed, or deleted, raises no alert.
#[tokio::test]
async fn conditions_and_certificates() {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let (operator, port) = measured(&world, world.operator()).await;
    let shows = async |name: &str, expected: &[String]| {
        let labels = format!("name=\"{name}\"}}");
        reads(&operator, &port, ("outrigger_operator_", &labels), expected).await;
    };
    world.installed(&operator, "lab").await;
    let all = [&expirations("lab")[..], &conditions("lab", [1, 0, 0])].concat();
    shows("lab", &all).await;

    let removed = json!({"provider": "memory", "managementState": "Removed"});
    world.manager("lab", removed).await;
    world.removed(&operator, "lab").await;
    world.reports(&operator, "lab", &["Available=False Removed"]).await;
    shows("lab", &[]).await;

    // A manager that never ran.
    let wrong = json!({"provider": "memory", "controllers": ["nobody"]});
    world.manager("wrong", wrong).await;
    world.reports(&operator, "wrong", &["Degraded=True InvalidSpec"]).await;
    shows("wrong", &conditions("wrong", [0, 1, 0])).await;
    world.unmanage("wrong").await;
    shows("wrong", &[]).await;
}
