use super::*;
use crate::certificates;
use prometheus::{Registry, TextEncoder};
use rstest::rstest;
use serde_json::Value;
use std::collections::BTreeSet;

fn rules(objects: &[Object]) -> Vec<&Value> {
    let groups = objects
        .iter()
        .filter_map(|object| object.value()["spec"]["groups"].as_array());
    groups
        .flatten()
        .flat_map(|group| group["rules"].as_array().unwrap())
        .collect()
}

fn both() -> Vec<Object> {
    let mut objects = operand("clouds", "memory-cloud-controller-manager").unwrap();
    objects.extend(operator("operators", "cloud-controller-manager-operator").unwrap());
    objects
}

/// The metrics of an expression. Every metric has labels: without them an alert would select the metrics of other programs.
fn metrics(expr: &str) -> BTreeSet<&str> {
    let ends = expr.match_indices('{').map(|(at, _)| &expr[..at]);
    ends.map(|text| {
        let start = text
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(0, |at| at + 1);
        &text[start..]
    })
    .collect()
}

/// The reference page, which is generated from the code that registers the metrics.
const REFERENCE: &str = include_str!("../../../../docs/reference/metrics.md");

const DASHBOARD: &str = include_str!("../../../../deploy/monitoring/grafana-dashboard.json");

fn is_registered(metric: &str) -> bool {
    let base = ["_bucket", "_count", "_sum"]
        .iter()
        .find_map(|suffix| metric.strip_suffix(suffix));
    REFERENCE.contains(&format!("\n| `{}` | ", base.unwrap_or(metric)))
}

#[test]
fn alerts_use_existing_metrics() {
    let objects = both();
    let rules = rules(&objects);
    let all: BTreeSet<_> = rules
        .iter()
        .flat_map(|rule| metrics(rule["expr"].as_str().unwrap()))
        .collect();
    assert!(all.len() > 12, "{all:?}");
    // Prometheus adds this one itself.
    let unknown: Vec<_> = all
        .iter()
        .filter(|name| **name != "up" && !is_registered(name))
        .collect();
    assert!(unknown.is_empty(), "no program registers {unknown:?}");
    assert!(!is_registered("node_controller_no_such_seconds_bucket"));
}

/// All values of this key in a JSON document.
fn values<'a>(document: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match document {
        Value::Object(fields) => {
            found.extend(fields.get(key).and_then(Value::as_str));
            fields.values().for_each(|value| values(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| values(value, key, found)),
        _ => {}
    }
}

/// The dashboard selects by the variables of it: without them a panel would mix managers.
#[test]
fn the_dashboard_uses_existing_metrics() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut queries = Vec::new();
    values(&dashboard, "expr", &mut queries);
    assert!(queries.len() > 20, "{queries:?}");
    for query in queries {
        let used = metrics(query);
        assert!(!used.is_empty(), "no metric in {query}");
        let unknown: Vec<_> = used.iter().filter(|name| !is_registered(name)).collect();
        assert!(unknown.is_empty(), "no program registers {unknown:?} of {query}");
        let scoped = query.matches(r#"{namespace="$namespace", job=~"$job""#).count();
        assert_eq!(scoped, metrics_with_repeats(query), "{query} selects other managers");
    }
}

#[test]
fn panels_of_the_dashboard_explain_themselves_and_do_not_overlap() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut cells = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(
            panel["type"] == "row" || panel["description"].as_str().is_some_and(|text| text.ends_with('.')),
            "{title}"
        );
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        let fresh = (x..x + w)
            .flat_map(|x| (y..y + h).map(move |y| (x, y)))
            .all(|cell| cells.insert(cell));
        assert!(fresh && x + w <= 24, "{title} overlaps another panel");
    }
}

#[rstest]
#[case("node_controller_cloud_provider_taint_removal_delay_seconds", "< 0.99")]
#[case("node_controller_initial_node_sync_delay_seconds", "< 0.99")]
#[case("service_controller_update_loadbalancer_host_latency_seconds", "< 0.99")]
#[case("service_controller_nodesync_latency_seconds", "< 0.99")]
#[case("service_controller_nodesync_error_total", "[15m])) >= 1")]
fn the_five_indicators_have_their_objectives(#[case] metric: &str, #[case] objective: &str) {
    let objects = operand("clouds", "x").unwrap();
    let about: Vec<_> = rules(&objects)
        .into_iter()
        .filter_map(|rule| rule["expr"].as_str())
        .filter(|expr| expr.contains(metric))
        .collect();
    assert_eq!(about.len(), 1);
    assert!(about[0].trim_end().ends_with(objective), "{}", about[0]);
}

#[test]
fn alerts_have_a_description_and_a_severity() {
    let objects = both();
    for rule in rules(&objects) {
        let alert = rule["alert"].as_str().unwrap();
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(["info", "warning", "critical"].contains(&severity), "{alert}");
        assert!(rule["for"].is_string(), "{alert} would cry at a blip");
        for text in ["summary", "description"] {
            let text = rule["annotations"][text].as_str().unwrap();
            assert!(text.ends_with('.') && !text.contains("${"), "{alert}: {text}");
        }
        let expr = rule["expr"].as_str().unwrap();
        let scoped = expr.matches("{namespace=\"").count();
        assert_eq!(
            scoped,
            metrics_with_repeats(expr),
            "{alert} looks at other namespaces: {expr}"
        );
    }
}

/// The page of the book that every alert refers to.
const RUNBOOK: &str = include_str!("../../../../docs/troubleshooting.md");

#[test]
fn every_alert_has_a_section_of_the_runbook() {
    let objects = both();
    let rules = rules(&objects);
    assert_eq!(rules.len(), RUNBOOK.matches("\n### Cloud").count());
    for rule in rules {
        let alert = rule["alert"].as_str().unwrap();
        let url = format!("https://outrigger.dev/troubleshooting.html#{}", alert.to_lowercase());
        assert_eq!(rule["annotations"]["runbook_url"], url);
        assert!(RUNBOOK.contains(&format!("\n### {alert}\n")), "{alert} has no section");
    }
}

fn metrics_with_repeats(expr: &str) -> usize {
    expr.matches('{').count()
}

#[test]
fn prometheus_trusts_what_the_operator_issues() {
    let names = certificates::Names {
        service: "memory-cloud-controller-manager".to_owned(),
        namespace: "clouds".to_owned(),
        prefix: String::new(),
    };
    let monitor = &operand("clouds", &names.service).unwrap()[0];
    let tls = &monitor.value()["spec"]["endpoints"][0]["tlsConfig"];
    assert!(names.all().contains(&tls["serverName"].as_str().unwrap().to_owned()));
    assert_eq!(tls["ca"]["configMap"]["name"], certificates::BUNDLE);
    assert_eq!(tls["ca"]["configMap"]["key"], certificates::BUNDLE_KEY);
    assert_eq!(tls["insecureSkipVerify"], Value::Null);
}

#[test]
fn objects_are_named_after_the_service() {
    let keys: Vec<_> = both().iter().map(|object| object.key().to_string()).collect();
    assert_eq!(
        keys,
        [
            "ServiceMonitor clouds/memory-cloud-controller-manager",
            "PrometheusRule clouds/memory-cloud-controller-manager",
            "ServiceMonitor operators/cloud-controller-manager-operator",
            "PrometheusRule operators/cloud-controller-manager-operator",
        ]
    );
    assert!(both().iter().all(|object| object.key().api_version == API));
}

#[test]
fn metrics_of_the_operator() {
    let registry = Registry::new();
    let metrics = Metrics::register(&registry).unwrap();
    metrics.condition("cloud-controller-manager", "Available", Truth::of("True"));
    metrics.condition("cloud-controller-manager", "Degraded", Truth::of("False"));
    metrics.condition("cloud-controller-manager", "Progressing", Truth::of("True"));
    metrics.condition("cloud-controller-manager", "Progressing", Truth::of("Unknown"));
    let names = certificates::Names {
        service: "a".to_owned(),
        namespace: "b".to_owned(),
        prefix: String::new(),
    };
    let now = "2026-11-16T05:00:00Z".parse().unwrap();
    let issued = certificates::desired(now, certificates::Live::default(), &names).unwrap();
    metrics.certificates("west", Some(&issued));
    metrics.certificates("east", Some(&issued));
    metrics.certificates("east", None);
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            r#"outrigger_operator_certificate_expiration_timestamp_seconds{certificate="CA",name="west"} 1857877200"#,
            r#"outrigger_operator_certificate_expiration_timestamp_seconds{certificate="serving",name="west"} 1802581200"#,
            r#"outrigger_operator_condition{condition="Available",name="cloud-controller-manager"} 1"#,
            r#"outrigger_operator_condition{condition="Degraded",name="cloud-controller-manager"} 0"#,
        ]
    );
    metrics.certificates("west", None);
    assert_eq!(registry.gather().len(), 1);
}
