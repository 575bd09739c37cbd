use super::*;
use cloud::Error;
use prometheus::{Encoder, Registry, TextEncoder};
use std::{fs, path::Path};

fn registered() -> (Registry, Metrics) {
    let registry = Registry::new();
    let http = cloud_http::Metrics::register(&registry).unwrap();
    let metrics = Metrics::register(&registry, http).unwrap();
    (registry, metrics)
}

/// Total and errors.
fn counted(family: &Family, name: &str) -> (u64, u64) {
    let count = |counters: &IntCounterVec| counters.with_label_values(&[name]).get();
    (count(&family.total), count(&family.errors))
}

#[test]
fn a_cancelled_call_is_counted_as_an_error() {
    let (_, metrics) = registered();
    let _ = metrics.request("server_get").end(Ok::<_, ()>(()));
    let _ = metrics.request("server_get").end(Err::<(), _>(()));
    drop(metrics.request("server_get"));
    assert_eq!(counted(&metrics.requests, "server_get"), (3, 2));
}

fn look(metrics: &Metrics, answer: cloud::Result<Progress<()>>) {
    let reconcile = metrics.reconcile(Operation::Ensure, "uid");
    let _ = reconcile.end(answer.map(Noted::from));
}

#[test]
fn all_calls_until_it_is_ready_are_one_reconcile() {
    let (_, metrics) = registered();
    let counted = || counted(&metrics.reconciles, "loadbalancer_ensure");
    let pending = || Progress::Pending {
        poll_after: std::time::Duration::ZERO,
        waiting_for: String::new(),
    };
    look(&metrics, Ok(pending()));
    look(&metrics, Ok(pending()));
    assert_eq!(counted(), (0, 0));
    std::thread::sleep(std::time::Duration::from_millis(20));
    look(&metrics, Ok(Progress::Done(())));
    assert_eq!(counted(), (1, 0));
    let duration = &metrics.reconciles.duration;
    let took = duration.with_label_values(&["loadbalancer_ensure"]).get_sample_sum();
    assert!(took >= 0.02, "it is measured from the first look: {took}");
    look(&metrics, Ok(pending()));
    look(&metrics, Err(Error::unavailable("it", "down")));
    assert_eq!(counted(), (2, 1));
    drop(metrics.reconcile(Operation::Ensure, "uid"));
    assert_eq!(counted(), (3, 2));
}

/// The page's lines with this prefix, without the values.
fn page(registry: &Registry, prefix: &str) -> Vec<String> {
    let mut page = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let lines = page
        .lines()
        .filter(|line| line.contains(prefix) && !line.starts_with("# HELP"));
    let series = |line: &str| match line.strip_prefix("# TYPE ") {
        Some(kind) => kind.to_owned(),
        None => line.rsplit_once(' ').unwrap().0.to_owned(),
    };
    lines.map(series).collect()
}

/// The expected lines for a family with these values of its label.
fn golden(names: [&str; 3], label: &str, values: &[&str], buckets: &str) -> Vec<String> {
    let [duration, errors, total] = names;
    let mut lines = vec![format!("{duration} histogram")];
    for value in values {
        for le in buckets.split(' ') {
            lines.push(format!("{duration}_bucket{{{label}=\"{value}\",le=\"{le}\"}}"));
        }
        lines.push(format!("{duration}_sum{{{label}=\"{value}\"}}"));
        lines.push(format!("{duration}_count{{{label}=\"{value}\"}}"));
    }
    for counter in [errors, total] {
        lines.push(format!("{counter} counter"));
        lines.extend(values.iter().map(|value| format!("{counter}{{{label}=\"{value}\"}}")));
    }
    lines.sort();
    lines
}

#[test]
fn the_page_is_that_of_occm() {
    let (registry, metrics) = registered();
    drop(metrics.request("server_get"));
    for operation in [Operation::Ensure, Operation::Update, Operation::Delete] {
        drop(metrics.reconcile(operation, "uid"));
    }
    let requests = [
        "openstack_api_request_duration_seconds",
        "openstack_api_request_errors_total",
        "openstack_api_requests_total",
    ];
    let buckets = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf";
    let mut there = page(&registry, "openstack_api_");
    there.sort();
    assert_eq!(there, golden(requests, "request", &["server_get"], buckets));

    let reconciles = [
        "cloudprovider_openstack_reconcile_duration_seconds",
        "cloudprovider_openstack_reconcile_errors_total",
        "cloudprovider_openstack_reconcile_total",
    ];
    let buckets = "0.01 0.05 0.1 0.5 1 2.5 5 7.5 10 12.5 15 17.5 20 22.5 25 27.5 30 50 75 100 1000 +Inf";
    let operations = ["loadbalancer_ensure", "loadbalancer_update", "loadbalancer_delete"];
    let mut there = page(&registry, "cloudprovider_openstack_");
    there.sort();
    assert_eq!(there, golden(reconciles, "operation", &operations, buckets));
}

/// Dashboards and alerts select these. Of occm's only `security_group_rule_list` is missing: rules are part of their group.
const REQUESTS: [&str; 40] = [
    "flavor_get",
    "floating_ip_create",
    "floating_ip_delete",
    "floating_ip_list",
    "floating_ip_update",
    "loadbalancer_create",
    "loadbalancer_delete",
    "loadbalancer_get",
    "loadbalancer_healthmonitor_create",
    "loadbalancer_healthmonitor_delete",
    "loadbalancer_healthmonitor_get",
    "loadbalancer_healthmonitor_update",
    "loadbalancer_list",
    "loadbalancer_listener_create",
    "loadbalancer_listener_delete",
    "loadbalancer_listener_list",
    "loadbalancer_listener_update",
    "loadbalancer_member_list",
    "loadbalancer_members_update",
    "loadbalancer_pool_create",
    "loadbalancer_pool_delete",
    "loadbalancer_pool_list",
    "loadbalancer_pool_update",
    "loadbalancer_update",
    "network_extension_list",
    "network_list",
    "port_list",
    "port_tag_delete",
    "port_update",
    "router_get",
    "router_update",
    "security_group_create",
    "security_group_delete",
    "security_group_rule_create",
    "security_group_rule_delete",
    "server_get",
    "server_list",
    "subnet_get",
    "subnet_list",
    "version_list",
];

fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| {
        if path.is_dir() {
            sources(&path)
        } else {
            fs::read_to_string(path).unwrap()
        }
    };
    entries.map(text).collect()
}

#[test]
fn calls_have_the_names_of_occm() {
    let api = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"));
    let missing = REQUESTS.iter().filter(|name| !api.contains(&format!("\"{name}\"")));
    assert_eq!(missing.collect::<Vec<_>>(), [&""; 0]);
}
