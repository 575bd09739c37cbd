//! `/metrics` and `/metrics/slis`, after some work.

use crate::fixture::{Credentials, Fixture, Launch, Manager, Port, free_port};
use std::collections::BTreeSet;

/// By name and type; those with labels exist only once they have a value.
const NAMES: &str = "
    node_controller_cloud_provider_taint_removal_delay_seconds histogram
    node_controller_initial_node_sync_delay_seconds histogram
    service_controller_loadbalancer_sync_total counter
    service_controller_nodesync_error_total counter
    service_controller_nodesync_latency_seconds histogram
    service_controller_update_loadbalancer_host_latency_seconds histogram
    route_controller_route_sync_total counter
    running_managed_controllers gauge
    workqueue_depth gauge
    workqueue_adds_total counter
    workqueue_queue_duration_seconds histogram
    workqueue_work_duration_seconds histogram
    workqueue_unfinished_work_seconds gauge
    workqueue_longest_running_processor_seconds gauge
    workqueue_retries_total counter
    rest_client_requests_total counter
    rest_client_request_duration_seconds histogram
    rest_client_request_size_bytes histogram
    rest_client_response_size_bytes histogram
    rest_client_rate_limiter_duration_seconds histogram
    rest_client_exec_plugin_certificate_rotation_age histogram
    rest_client_exec_plugin_ttl_seconds gauge
    rest_client_transport_cache_entries gauge
    rest_client_transport_cert_rotation_gc_calls_total counter
    rest_client_transport_create_calls_total counter
    leader_election_master_status gauge
    leader_election_slowpath_total counter
    kubernetes_build_info gauge
    registered_metrics_total counter
    disabled_metrics_total counter
    hidden_metrics_total counter
    process_cpu_seconds_total counter
    process_open_fds gauge
    process_resident_memory_bytes gauge
    process_start_time_seconds gauge
    process_virtual_memory_bytes gauge
    apiserver_tls_handshake_errors_total counter
    authenticated_user_requests counter
    authentication_attempts counter
    authentication_duration_seconds histogram
    authorization_attempts_total counter
    authorization_duration_seconds histogram
    apiserver_delegated_authn_request_total counter
    apiserver_delegated_authn_request_duration_seconds histogram
    apiserver_delegated_authz_request_total counter
    apiserver_delegated_authz_request_duration_seconds histogram
    cloud_api_requests_total counter
    cloud_api_request_duration_seconds histogram
    cloud_api_requests_in_flight gauge
";

/// Lines that must exist with a value.
const LINES: [&str; 9] = [
    r#"running_managed_controllers{manager="cloud-controller-manager",name="cloud-node"} 1"#,
    r#"running_managed_controllers{manager="cloud-controller-manager",name="cloud-node-lifecycle"} 1"#,
    r#"running_managed_controllers{manager="cloud-controller-manager",name="service"} 1"#,
    r#"running_managed_controllers{manager="cloud-controller-manager",name="route"} 1"#,
    "node_controller_cloud_provider_taint_removal_delay_seconds_count 2",
    "node_controller_initial_node_sync_delay_seconds_count 2",
    r#"workqueue_adds_total{name="Nodes"} "#,
    r#"workqueue_adds_total{name="service"} "#,
    r#"workqueue_adds_total{name="node"} "#,
];

async fn work(fixture: &Fixture, manager: &Manager) {
    let first = fixture.join("a").await;
    fixture.initialised(manager, &first).await;
    let service = fixture.create(fixture.balanced("web")).await;
    fixture.served(manager, service.metadata.name.as_deref().unwrap()).await;
    let second = fixture.join("b").await;
    fixture.initialised(manager, &second).await;
    let two = |balancer: &memory_sim::Balancer| balancer.hosts.len() == 2;
    fixture
        .cloud
        .until(|cloud| cloud.load_balancers().iter().any(two))
        .await;
}

async fn lines(port: &Port, path: &str) -> Vec<String> {
    let reply = port.get(path).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body.lines().map(str::to_owned).collect()
}

/// The port for a client with the permission, once the manager has loaded the client authorities, which it does concurrently.
async fn reader(fixture: &Fixture, manager: &Manager) -> Port {
    let port = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
    manager
        .until("a port that knows us", async || match port.try_get("/metrics").await {
            Ok(reply) if reply.status == 200 => Ok(()),
            other => Err(format!("{:?}", other.map(|reply| reply.status))),
        })
        .await;
    port
}

#[tokio::test]
async fn every_metric_exists() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().flag("--cluster-cidr=10.244.0.0/16").start();
    work(&fixture, &manager).await;
    let port = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
    // Clients are counted after the response, and unknown ones need a review.
    lines(&port, "/metrics").await;
    let (_, token) = fixture.service_account().await;
    assert_eq!(
        manager.port_as(&Credentials::Token(token)).get("/metrics").await.status,
        403
    );
    let text = lines(&port, "/metrics").await;
    let has = |start: &str| text.iter().any(|line| line.starts_with(start));
    let missing: Vec<_> = NAMES
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !has(&format!("# TYPE {line}")))
        .chain(LINES.into_iter().filter(|line| !has(line)))
        .collect();
    assert!(missing.is_empty(), "{missing:#?} not in\n{}", text.join("\n"));
    let page = reference();
    let types = text
        .iter()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let undescribed: Vec<_> = types
        .filter(|(name, kind)| !page.contains(&format!("\n| `{name}` | {kind} | ")))
        .collect();
    assert_eq!(undescribed, [], "not in the reference: manager::register_metrics");
    let lease = format!("leader_election_master_status{{name=\"{}\"}} 1", fixture.name);
    assert!(has(&lease), "{lease}");
    let host = fixture.plane().url().trim_start_matches("https://");
    let patches = format!("rest_client_requests_total{{code=\"200\",host=\"{host}\",method=\"PATCH\"}} ");
    assert!(has(&patches), "{patches}");
}

/// The reference page.
fn reference() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md");
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_cloud_that_cannot_be_reached_is_counted() {
    let fixture = Fixture::shared().await;
    let unreachable = format!("endpoint: http://{}\n", free_port());
    let config = fixture.folder.write("nobody.yaml", &unreachable);
    let manager = fixture
        .manager()
        .flag(&format!("--cloud-config={}", config.display()))
        .start();
    fixture.join("a").await;
    let port = reader(&fixture, &manager).await;
    let counted = |line: &String| {
        line.starts_with("cloud_api_connection_failures_total{operation=") && line.contains("reason=\"connect\"")
    };
    manager
        .until("a failure that is counted", async || {
            let text = lines(&port, "/metrics").await;
            text.iter().any(counted).then_some(()).ok_or_else(|| text.join("\n"))
        })
        .await;
}

/// Metrics that only the Go program has: those of its language and its libraries.
const ONLY_GO: [&str; 7] = [
    "go_",
    "aggregator_discovery_",
    "apiserver_audit_",
    "apiserver_envelope_encryption_",
    "apiserver_storage_",
    "apiserver_validation_",
    "apiserver_webhooks_x509_",
];
const ONLY_GO_NAMES: [&str; 4] = [
    "cardinality_enforcement_unexpected_categorizations_total",
    "process_network_receive_bytes_total",
    "process_network_transmit_bytes_total",
    "process_virtual_memory_max_bytes",
];

/// The type, the help and the buckets of each metric.
async fn descriptions(port: &Port) -> BTreeSet<String> {
    let lines = lines(port, "/metrics").await.into_iter();
    lines.filter_map(|line| described(&line)).collect()
}

fn described(line: &str) -> Option<String> {
    if let Some(what) = line.strip_prefix("# ") {
        return Some(what.to_owned());
    }
    let (name, labels) = line.split_once("_bucket{")?;
    let bound = labels.split(['{', ',']).find(|label| label.starts_with("le="))?;
    Some(format!("BOUND {name} {}", bound.split('}').next()?))
}

#[tokio::test]
async fn every_metric_of_the_go_program_exists() {
    // The Go program manages all Nodes of the control plane.
    let fixture = Fixture::private().await;
    let program = tokio::task::spawn_blocking(lab::peer::program).await.unwrap().unwrap();
    let kubeconfig = fixture.plane().kubeconfig();
    let kubeconfig = kubeconfig.display();
    let go = Launch::new(fixture.folder.path())
        .program(&program)
        .flag("--cloud-provider=memory")
        .flag(&format!("--cloud-config={}", fixture.cloud_config().display()))
        .flag(&format!("--kubeconfig={kubeconfig}"))
        .flag(&format!("--authentication-kubeconfig={kubeconfig}"))
        .flag(&format!("--authorization-kubeconfig={kubeconfig}"))
        .flag("--cluster-cidr=10.244.0.0/16")
        .listen(free_port())
        .start();
    let node = fixture.join("by-go").await;
    fixture.initialised(&go, &node).await;
    let credentials = Credentials::of(&fixture.plane().kubeconfig());
    let theirs = descriptions(&go.port_as(&credentials)).await;
    go.signal("KILL");

    let manager = fixture.manager().flag("--cluster-cidr=10.244.0.0/16").start();
    work(&fixture, &manager).await;
    let ours = descriptions(&manager.port_as(&credentials)).await;
    let only_go = |line: &&String| {
        let name = line.split(' ').nth(1).unwrap_or_default();
        ONLY_GO.iter().any(|prefix| name.starts_with(prefix)) || ONLY_GO_NAMES.contains(&name)
    };
    let missing: Vec<_> = theirs.difference(&ours).filter(|line| !only_go(line)).collect();
    assert_eq!(missing, [""; 0]);
    let page = reference();
    let (_, our_own) = page.split_once(": ours\n").unwrap();
    let (our_own, _) = our_own.split_once("\n## ").unwrap();
    let names = theirs
        .iter()
        .filter_map(|line| line.strip_prefix("TYPE ")?.split(' ').next());
    let shared: Vec<_> = names.filter(|name| our_own.contains(&format!("`{name}`"))).collect();
    assert_eq!(shared, [""; 0], "the reference says that only ours has them");
}

#[tokio::test]
async fn health_checks_are_counted() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.working().await;
    let port = reader(&fixture, &manager).await;
    for _ in 0..3 {
        assert_eq!(port.get("/healthz").await.status, 200);
    }
    let text = lines(&port, "/metrics/slis").await.join("\n");
    for line in [
        r#"kubernetes_healthcheck{name="leaderElection",type="healthz"} 1"#,
        r#"kubernetes_healthchecks_total{name="cloud-node-controller",status="success",type="healthz"} 3"#,
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
}
