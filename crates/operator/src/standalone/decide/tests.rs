use super::*;
use crate::standalone::{
    Cluster, ImageSource,
    provider::{Config, Credentials, Needs},
};
use rstest::rstest;
use serde_json::Value;

fn settings() -> Settings {
    let needs = Needs {
        config: Config::Optional,
        credentials: Credentials::None,
        changes: Changes::Unseen,
        cluster_name: ClusterName::Describes,
    };
    let named = Needs {
        cluster_name: ClusterName::Owns,
        ..needs
    };
    let provider = |name, needs| Provider { name, needs };
    Settings {
        namespace: "ns".to_owned(),
        images: ImageSource::File("images.json".into()),
        metrics_service: None,
        monitor_labels: [("team".to_owned(), "net".to_owned())].into(),
        providers: [provider("memory", needs), provider("named", named)].into(),
        flags: ["profiling".to_owned()].into(),
        monitoring: Monitoring::Absent,
        cluster: Cluster::Kubernetes,
        reserved: BTreeSet::new(),
    }
}

fn manager(spec: Value) -> CloudControllerManager {
    CloudControllerManager::new("a", serde_json::from_value(spec).unwrap())
}

fn decided(manager: &CloudControllerManager, refused: Option<&Cause>) -> Decision {
    let images = Ok(json!({"cloudControllerManagerOperator": "example.test/outrigger:1"}).to_string());
    let mut observed = Observed {
        manager,
        refused,
        images,
        objects: BTreeMap::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    loop {
        let decision = decide(&observed, &settings());
        let unread: Vec<_> = decision
            .reads
            .iter()
            .filter(|key| !observed.objects.contains_key(*key))
            .cloned()
            .collect();
        if unread.is_empty() {
            return decision;
        }
        observed
            .objects
            .extend(unread.into_iter().map(|key| (key, Lookup::Absent)));
    }
}

fn show(decision: &Decision) -> String {
    let prune: Vec<_> = decision.prune.iter().map(ToString::to_string).collect();
    let objects = decision.objects.len().min(1);
    format!("{:?} {objects} [{}]", decision.action, prune.join(", "))
}

fn overlap() -> Cause {
    Cause::Terminal(("ScopeOverlap", "in conflict with b".to_owned()))
}

#[rstest]
#[case::managed("Managed", None, "Apply 1 [Service ns/x]")]
#[case::unmanaged("Unmanaged", None, "Unmanaged 0 []")]
#[case::removed("Removed", None, "Remove 0 [Service ns/x]")]
#[case::refused(
    "Managed",
    Some(overlap()),
    "Refuse(Terminal((\"ScopeOverlap\", \"in conflict with b\"))) 0 []"
)]
#[case::refused_but_unmanaged("Unmanaged", Some(overlap()), "Unmanaged 0 []")]
#[case::refused_but_removed("Removed", Some(overlap()), "Remove 0 [Service ns/x]")]
fn actions(#[case] state: &str, #[case] refused: Option<Cause>, #[case] expected: &str) {
    let mut manager = manager(json!({"provider": "memory", "managementState": state}));
    let related = json!([{"group": "", "resource": "services", "namespace": "ns", "name": "x"}]);
    manager.status = Some(serde_json::from_value(json!({ "relatedObjects": related })).unwrap());
    assert_eq!(show(&decided(&manager, refused.as_ref())), expected);
}

#[test]
fn a_secret_that_does_not_exist_is_reported() {
    let manager = manager(json!({"provider": "memory", "credentials": {"secret": {"name": "keys"}}}));
    let decision = decided(&manager, None);
    assert_eq!(decision.action, Action::Apply);
    assert_eq!(decision.remarks, ["Pods wait for Secret ns/keys: create it"]);
    assert_eq!(decision.events.len(), 1);
}

#[rstest]
#[case::valid(json!({"extraArgs": ["--profiling=false"]}), None, "")]
#[case::unknown_flag(
    json!({"extraArgs": ["--profilin"]}), None,
    "InvalidSpec: spec.extraArgs: the manager has no flag --profilin: correct or remove it"
)]
#[case::unknown_flag_of_another_image(json!({"extraArgs": ["--profilin"], "image": "example.test/other:1"}), None, "")]
#[case::overlap_beside_other_problems(
    json!({"replicas": 0}), Some(overlap()),
    "ScopeOverlap: in conflict with b; spec.replicas must be at least 1, not 0"
)]
fn refusals(#[case] mut spec: Value, #[case] refused: Option<Cause>, #[case] expected: &str) {
    spec["provider"] = json!("memory");
    let message = match decided(&manager(spec), refused.as_ref()).action {
        Action::Refuse(problem) => format!("{}: {}", problem.message().0, problem.message().1),
        _ => String::new(),
    };
    assert_eq!(message, expected);
}

/// An object that cannot be read rolls no Pods and replaces no certificate.
#[test]
fn unreadable_objects_change_nothing() {
    let manager = manager(json!({"provider": "memory"}));
    let key = names::certificates("a", "ns").ca_secret();
    let observed = Observed {
        manager: &manager,
        refused: None,
        images: Ok(json!({"cloudControllerManagerOperator": "example.test/outrigger:1"}).to_string()),
        objects: [(key.clone(), Lookup::Unknown("403".to_owned()))].into(),
        now: Timestamp::UNIX_EPOCH,
    };
    let expected = Action::Refuse(Cause::unread(format!("cannot read {key}: 403")));
    assert_eq!(decide(&observed, &settings()).action, expected);
}

#[rstest]
#[case::left_out(json!({"provider": "named"}), true)]
#[case::the_same(json!({"provider": "named", "clusterName": "kubernetes"}), true)]
#[case::another(json!({"provider": "named", "clusterName": "prod"}), false)]
#[case::of_no_use(json!({"provider": "memory"}), false)]
fn warns_of_the_default_cluster_name(#[case] spec: Value, #[case] expected: bool) {
    let warning = Event::DefaultClusterName {
        manager: "a".to_owned(),
    };
    assert_eq!(decided(&manager(spec), None).events.contains(&warning), expected);
}

#[test]
fn objects_for_prometheus_have_the_labels_of_the_user() {
    let mut settings = settings();
    settings.monitoring = Monitoring::Served;
    let manager = manager(json!({"provider": "memory", "monitoring": {"labels": {"release": "prometheus"}}}));
    let names = names::certificates("a", "ns");
    let objects = monitored(&manager, &names, &settings.monitor_labels).unwrap();
    assert_eq!(objects.len(), 2);
    for object in objects {
        let labels = &object.value()["metadata"]["labels"];
        assert_eq!(
            (&labels["release"], &labels["team"]),
            (&json!("prometheus"), &json!("net")),
            "{}",
            object.key()
        );
        assert_eq!(labels["app.kubernetes.io/instance"], "a");
    }
}
