//! What Prometheus reads about the operator's work, under the names of the original's library.

use crate::{
    expiry::reader,
    rig::{Credentials, Port, free_port},
    world::World,
};

/// Dashboards and alerts for the original find what they look for.
#[tokio::test]
async fn names_of_the_original() {
    let world = World::new("AWS").await;
    let token = reader(&world).await;
    let address = free_port();
    let launch = world.common(world.operator());
    let operator = launch.flag(&format!("--metrics-bind-address={address}")).start();
    let port = Port::new(address, &Credentials::Token(token));
    let controller = r#"{controller="clusteroperator""#;
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
    // Nobody looks after CloudControllerManagers where there is no such definition.
    assert!(!text.contains("controller=\"cloudcontrollermanager\""), "{text}");
}
