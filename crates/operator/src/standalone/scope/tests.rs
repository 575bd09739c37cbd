use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use operator_api::cluster_operator::ObjectReference;
use rstest::rstest;
use serde_json::{Value, json};

/// A manager that was created `age` seconds after the first; by default with a port and Services of its own.
fn manager(name: &str, age: i64, spec: &Value) -> CloudControllerManager {
    let mut whole = json!({"provider": "memory", "securePort": 10258 + age});
    for (key, value) in spec.as_object().unwrap() {
        whole[key] = value.clone();
    }
    if whole["scope"]["loadBalancerClasses"].is_null() && whole["scope"]["servicesWithoutClass"].is_null() {
        whole["scope"]["loadBalancerClasses"] = json!([name]);
    }
    let mut manager = CloudControllerManager::new(name, serde_json::from_value(whole).unwrap());
    manager.metadata.creation_timestamp = Some(Time(Timestamp::from_second(age).unwrap()));
    manager
}

fn labels(labels: &Value) -> Value {
    json!({"scope": {"nodeSelector": {"matchLabels": labels}}})
}

fn label(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"scope": {"nodeSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}}})
}

fn schemes(schemes: &[&str]) -> Value {
    json!({"scope": {"providerIDSchemes": schemes}})
}

#[rstest]
#[case::all_nodes(json!({}), json!({}), "meet")]
#[case::one_takes_all(json!({}), labels(&json!({"cloud": "b"})), "meet")]
#[case::different_values(labels(&json!({"cloud": "a"})), labels(&json!({"cloud": "b"})), "apart")]
#[case::different_labels(labels(&json!({"cloud": "a"})), labels(&json!({"zone": "b"})), "meet")]
#[case::one_of_two_labels_differs(labels(&json!({"x": "1", "cloud": "a"})), labels(&json!({"x": "1", "cloud": "b"})), "apart")]
#[case::sets_that_share(label("c", "In", &["a", "b"]), label("c", "In", &["b", "d"]), "meet")]
#[case::sets_that_do_not(label("c", "In", &["a", "b"]), label("c", "In", &["d"]), "apart")]
#[case::there_or_not(label("edge", "Exists", &[]), label("edge", "DoesNotExist", &[]), "apart")]
#[case::a_value_or_nothing(labels(&json!({"edge": "yes"})), label("edge", "DoesNotExist", &[]), "apart")]
#[case::all_others(labels(&json!({"edge": "yes"})), label("edge", "NotIn", &["yes"]), "apart")]
#[case::some_others(label("c", "In", &["a", "b"]), label("c", "NotIn", &["a"]), "meet")]
#[case::two_exclusions(label("c", "NotIn", &["a"]), label("c", "NotIn", &["b"]), "meet")]
#[case::exclusion_and_presence(label("c", "NotIn", &["a"]), label("c", "Exists", &[]), "meet")]
#[case::exclusion_and_absence(label("c", "NotIn", &["a"]), label("c", "DoesNotExist", &[]), "meet")]
#[case::both_absent(label("c", "DoesNotExist", &[]), label("c", "DoesNotExist", &[]), "meet")]
#[case::different_schemes(schemes(&["openstack"]), schemes(&["aws", "memory"]), "apart")]
#[case::a_scheme_in_common(schemes(&["openstack", "aws"]), schemes(&["aws"]), "meet")]
#[case::a_scheme_against_all(schemes(&["openstack"]), json!({}), "meet")]
#[case::one_runs_no_node_controllers(json!({}), json!({"controllers": ["service"]}), "apart")]
#[case::same_cloud_other_controllers(
    json!({"controllers": ["cloud-node"]}), json!({"controllers": ["cloud-node-lifecycle"]}), "apart"
)]
#[case::same_cloud_same_controllers(
    json!({"controllers": ["cloud-node"]}), json!({"controllers": ["*"]}), "meet"
)]
#[case::other_cloud_other_controllers(
    json!({"controllers": ["cloud-node"]}), json!({"controllers": ["cloud-node-lifecycle"], "provider": "openstack"}), "meet"
)]
#[case::other_config_other_controllers(
    json!({"controllers": ["cloud-node"]}),
    json!({"controllers": ["cloud-node-lifecycle"], "cloudConfig": {"secret": {"name": "another"}}}),
    "meet"
)]
fn nodes(#[case] a: Value, #[case] b: Value, #[case] expected: &str) {
    for (older, younger) in [(&a, &b), (&b, &a)] {
        let managers = [manager("a", 0, older), manager("b", 1, younger)];
        let found = if overlaps(&managers, &[], None).is_empty() {
            "apart"
        } else {
            "meet"
        };
        assert_eq!(found, expected, "{older} {younger}");
    }
}

fn served(scope: Value) -> Value {
    let mut scope = scope;
    scope["nodeSelector"] = json!({"matchLabels": {"never": "mind"}});
    json!({"scope": scope, "controllers": ["service"]})
}

#[rstest]
#[case::without_a_class(
    json!({"servicesWithoutClass": "Serve"}),
    json!({"loadBalancerClasses": ["x"], "servicesWithoutClass": "Serve"}),
    Some("both serve Services without a load balancer class")
)]
#[case::a_class_leaves_the_others(json!({"servicesWithoutClass": "Serve"}), json!({"loadBalancerClasses": ["x"]}), None)]
#[case::different_classes(json!({"loadBalancerClasses": ["x", "y"]}), json!({"loadBalancerClasses": ["z"]}), None)]
#[case::one_class_in_common(
    json!({"loadBalancerClasses": ["x", "y"]}),
    json!({"loadBalancerClasses": ["y"]}),
    Some("both serve Services of the load balancer class y")
)]
#[case::none_at_all(json!({"servicesWithoutClass": "Ignore"}), json!({"servicesWithoutClass": "Serve"}), None)]
fn services(#[case] a: Value, #[case] b: Value, #[case] expected: Option<&str>) {
    let managers = [manager("a", 0, &served(a)), manager("b", 1, &served(b))];
    let found = overlaps(&managers, &[], None);
    assert_eq!(found.is_empty(), expected.is_none(), "{found:?}");
    assert!(
        found
            .iter()
            .all(|one| one.sentence.contains(expected.unwrap_or_default())),
        "{found:?}"
    );
}

#[test]
fn the_sentence_names_reason_and_remedy() {
    let classless = json!({"servicesWithoutClass": "Serve"});
    let managers = [
        manager("young", 5, &json!({"securePort": 10258, "scope": classless})),
        manager("old", 0, &json!({"scope": classless})),
    ];
    let expected = Overlap {
        refused: "young".to_owned(),
        by: "old".to_owned(),
        sentence: "in conflict with CloudControllerManager \"old\", which runs already or is older: both manage all nodes; separate them with \
                   spec.scope.nodeSelector or spec.scope.providerIDSchemes of both; both serve Services without a load balancer class; give \
                   one of them other spec.scope.loadBalancerClasses; both use port 10258 of the nodes they run on; give one of them \
                   another spec.securePort"
            .to_owned(),
        lasts: Lasts::UntilChanged,
    };
    assert_eq!(overlaps(&managers, &[], None), [expected]);
}

#[test]
fn a_refused_manager_reserves_no_scope() {
    let managers = [
        manager("first", 0, &labels(&json!({"cloud": "a"}))),
        manager("second", 1, &json!({})),
        manager("third", 2, &labels(&json!({"cloud": "b"}))),
    ];
    let refused: Vec<String> = overlaps(&managers, &[], None)
        .into_iter()
        .map(|one| one.refused)
        .collect();
    assert_eq!(refused, ["second"]);
}

#[test]
fn the_name_decides_between_managers_of_the_same_age() {
    let refused = |first, second| {
        let managers = [manager(first, 0, &json!({})), manager(second, 0, &json!({}))];
        overlaps(&managers, &[], None).remove(0).refused
    };
    assert_eq!(refused("a", "b"), "b");
    assert_eq!(refused("b", "a"), "b");
}

#[test]
fn a_removed_manager_counts_until_its_pods_are_deleted() {
    let mut going = manager("old", 0, &json!({"managementState": "Removed"}));
    let young = manager("young", 1, &json!({}));
    assert_eq!(overlaps(&[going.clone(), young.clone()], &[], None), []);
    going.status.get_or_insert_default().related_objects = vec![ObjectReference::default()];
    assert_eq!(overlaps(&[going, young], &[], None).len(), 1);
}

#[test]
fn an_unmanaged_manager_keeps_its_scope() {
    let managers = [
        manager("old", 0, &json!({"managementState": "Unmanaged"})),
        manager("young", 1, &json!({})),
    ];
    assert_eq!(overlaps(&managers, &[], None).len(), 1);
}

/// A manager whose scope is changed so that it overlaps with a running one is refused, older or not; and still is after that was reported.
#[test]
fn a_running_manager_keeps_its_scope() {
    let running = |mut manager: CloudControllerManager, generation: i64| {
        manager.metadata.generation = Some(generation);
        manager.status = Some(operator_api::cloud_controller_manager::Status {
            observed_generation: Some(1),
            related_objects: vec![ObjectReference::default()],
            ..Default::default()
        });
        manager
    };
    let (older, younger) = (manager("a", 1, &json!({})), manager("b", 2, &json!({})));
    let refused = |managers: &[CloudControllerManager]| -> Vec<String> {
        overlaps(managers, &[], None)
            .into_iter()
            .map(|overlap| overlap.refused)
            .collect()
    };
    assert_eq!(refused(&[older.clone(), younger.clone()]), ["b"], "neither runs");
    assert_eq!(
        refused(&[running(older.clone(), 2), running(younger.clone(), 1)]),
        ["a"]
    );
    let mut shown = running(older, 1);
    let mut condition = k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition {
        type_: "Degraded".to_owned(),
        status: "True".to_owned(),
        reason: OVERLAP.to_owned(),
        message: String::new(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: Some(1),
    };
    shown.status.as_mut().unwrap().conditions = vec![condition.clone()];
    assert_eq!(refused(&[shown.clone(), running(younger.clone(), 1)]), ["a"]);
    condition.status = "False".to_owned();
    shown.status.as_mut().unwrap().conditions = vec![condition];
    assert_eq!(refused(&[shown, running(younger, 1)]), ["b"]);
}

/// A manager whose Pods run with these claims.
fn holding(mut manager: CloudControllerManager, held: &[&CloudControllerManager]) -> CloudControllerManager {
    let status = manager.status.get_or_insert_default();
    status.related_objects = vec![ObjectReference::default()];
    status.claims = held.iter().map(|one| Claim::of(&one.spec)).collect();
    manager
}

fn zone(zone: &str) -> Value {
    labels(&json!({ "zone": zone }))
}

/// A claim is compared with the claims of the Pods of others, whatever their current specs, and whether those are granted or not.
#[rstest]
#[case::changed_and_refused(json!({}), &["west"], "west", "a c")]
#[case::changed_and_refused_leaves_others_their_place(json!({}), &["west"], "north", "a")]
#[case::changed_but_not_rolled_out(zone("north"), &["west"], "west", "c")]
#[case::being_rolled_out(zone("north"), &["west", "north"], "west", "c")]
#[case::being_rolled_out_to_the_same(zone("north"), &["west", "north"], "north", "c")]
#[case::rolled_out(zone("north"), &["north"], "west", "")]
#[case::changed_back(zone("west"), &["west", "north"], "north", "c")]
#[case::being_removed(json!({"managementState": "Removed"}), &["west"], "west", "c")]
#[case::not_managed(json!({"managementState": "Unmanaged", "scope": zone("north")["scope"]}), &["west"], "west", "c")]
#[case::a_place_that_is_being_left(zone("east"), &["west"], "south", "a")]
fn running_pods_count(#[case] a: Value, #[case] held: &[&str], #[case] c: &str, #[case] expected: &str) {
    let held: Vec<_> = held.iter().map(|at| manager("a", 0, &zone(at))).collect();
    let east = manager("b", 1, &zone("east"));
    let managers = [
        holding(manager("a", 0, &a), &held.iter().collect::<Vec<_>>()),
        holding(east.clone(), &[&east]),
        manager("c", 2, &zone(c)),
    ];
    let refused: Vec<String> = overlaps(&managers, &[], None)
        .into_iter()
        .map(|one| one.refused)
        .collect();
    assert_eq!(refused.join(" "), expected);
}

/// Two managers that exchange their nodes at the same time: each has to wait for the other.
#[test]
fn scopes_are_not_exchanged_at_once() {
    let (west, east) = (zone("west"), zone("east"));
    let was = [manager("a", 0, &west), manager("b", 1, &east)];
    let managers = [
        holding(manager("a", 0, &east), &[&was[0]]),
        holding(manager("b", 1, &west), &[&was[1]]),
    ];
    let found = overlaps(&managers, &[], None);
    assert_eq!(found.len(), 2, "{found:?}");
    let earlier = "in conflict with CloudControllerManager \"b\", whose Pods run with an earlier spec until a change is rolled out: \
                   both may manage the same nodes; separate them with";
    assert!(found[0].sentence.starts_with(earlier), "{}", found[0].sentence);
}

/// The port and the class are reserved as long as the nodes are.
#[test]
fn ports_and_classes_that_run_count() {
    let was = manager(
        "a",
        0,
        &json!({"securePort": 10300, "scope": {"loadBalancerClasses": ["x"], "nodeSelector": {"matchLabels": {"zone": "a"}}}}),
    );
    let young = manager(
        "c",
        2,
        &json!({"securePort": 10300, "scope": {"loadBalancerClasses": ["x"], "nodeSelector": {"matchLabels": {"zone": "c"}}}}),
    );
    let managers = [holding(manager("a", 0, &zone("a")), &[&was]), young];
    let found = overlaps(&managers, &[], None);
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "both serve Services of the load balancer class x",
        "both use port 10300",
    ] {
        assert!(found[0].sentence.contains(part), "{}", found[0].sentence);
    }
}

/// A Pod with the claim of a manager with this name and spec.
fn left(name: &str, spec: &Value) -> Leftover {
    Leftover {
        manager: name.to_owned(),
        what: format!("Pod ns/{name}-1"),
        claim: Some(Claim::of(&manager(name, 0, spec).spec)),
    }
}

fn unmarked(name: &str) -> Leftover {
    Leftover {
        claim: None,
        ..left(name, &json!({}))
    }
}

/// Pods outlive their manager, and its spec.
#[rstest]
#[case::nothing(zone("west"), &[], "")]
#[case::of_a_deleted_manager(zone("west"), &[left("gone", &zone("west"))], "Pod ns/gone-1")]
#[case::elsewhere(zone("west"), &[left("gone", &zone("north"))], "")]
#[case::of_a_deleted_manager_without_a_claim(zone("west"), &[unmarked("gone")], "Pod ns/gone-1")]
#[case::of_one_that_has_moved_on(zone("west"), &[left("a", &zone("west"))], "Pod ns/a-1")]
#[case::of_one_that_says_for_them(zone("west"), &[unmarked("a")], "")]
#[case::its_own(zone("west"), &[left("c", &zone("west")), unmarked("c")], "")]
#[case::the_second(zone("west"), &[left("x", &zone("north")), left("y", &zone("west"))], "Pod ns/y-1")]
fn leftovers_count(#[case] c: Value, #[case] remains: &[Leftover], #[case] expected: &str) {
    let there = manager("a", 0, &zone("east"));
    let managers = [holding(there.clone(), &[&there]), manager("c", 2, &c)];
    let found = overlaps(&managers, remains, None);
    let waits: Vec<_> = found.iter().map(|one| (one.refused.as_str(), one.lasts)).collect();
    if expected.is_empty() {
        assert_eq!(waits, []);
    } else {
        assert_eq!(waits, [("c", Lasts::UntilGone)]);
        let how = format!("of which {expected} still exists: ");
        assert!(found[0].sentence.contains(&how), "{}", found[0].sentence);
    }
    // A running manager is not stopped.
    let runs = manager("c", 2, &c);
    assert_eq!(overlaps(&[holding(runs.clone(), &[&runs])], remains, None), []);
}
