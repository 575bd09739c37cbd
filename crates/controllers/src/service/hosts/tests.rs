use super::*;
use crate::service::tests::node;
use rstest::rstest;

fn n(words: &str) -> Node {
    node("node1", words)
}

fn ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

// upstream: Test_respectsPredicates
#[rstest]
#[case("empty node", "", false)]
#[case("ready with providerID", "ready:True id:a", true)]
#[case("ready without", "ready:True", true)]
#[case("NotReady", "ready:False", false)]
#[case("ready with empty labels", "ready:True a=", true)]
#[case("exclude label ''", "ready:True exclude=", false)]
#[case("exclude label 'false'", "ready:True exclude=false", true)]
#[case("exclude label 'true'", "ready:True exclude=true", false)]
#[case("exclude label 'foo'", "ready:True exclude=foo", false)]
#[case("ToBeDeleted taint", "ready:True doomed", false)]
fn respects_predicates(#[case] name: &str, #[case] node: &str, #[case] expected: bool) {
    let node = n(node);
    assert_eq!(usable(&node) && ready(&node), expected, "{name}");
}

#[rstest]
#[case::ready("ready:True", true)]
#[case::not_ready("ready:False", true)]
#[case::without_anything("", true)]
#[case::other_taint("taint:x", true)]
#[case::about_to_go("doomed", false)]
#[case::deleted("going", false)]
#[case::excluded("exclude=", false)]
#[case::not_excluded_0("exclude=0", true)]
#[case::not_excluded_f("exclude=F", true)]
#[case::not_excluded_false("exclude=False", true)]
#[case::no_boolean_of_go("exclude=fALSE", false)]
fn is_usable(#[case] node: &str, #[case] expected: bool) {
    assert_eq!(usable(&n(node)), expected);
}

// upstream: TestListWithPredicate
#[rstest]
#[case("filter Running", "Running", &["node-1", "node-3"])]
#[case("Pending", "Pending", &["node-0", "node-2", "node-4"])]
#[case("Terminated", "Terminated", &[])]
fn lists_with_predicate(#[case] name: &str, #[case] phase: &str, #[case] expected: &[&str]) {
    let phases = ["phase:Pending", "phase:Running"];
    let nodes: Vec<_> = (0..5)
        .rev()
        .map(|i| node(&format!("node-{i}"), phases[i % 2]))
        .collect();
    let in_phase = |node: &Node| node.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase);
    let set = HostSet::of(&nodes, in_phase);
    let names: Vec<_> = set.hosts().iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, expected, "{name}");
}

// upstream: Test_shouldSyncUpdatedNode_individualPredicates
#[rstest]
#[case("nothing changed", "", "", false)]
#[case("excluded F→T", "", "exclude=", true)]
#[case("excluded T→F", "exclude=", "", true)]
#[case("excluded T→T", "exclude=", "exclude=", false)]
#[case("other taint F→T", "", "taint:Other", false)]
#[case("other taint T→F", "taint:Other", "", false)]
#[case("other label added", "", "Other=", false)]
#[case("other label removed", "Other=", "", false)]
#[case("readiness F→F", "ready:False", "ready:False", false)]
#[case("readiness F→unset", "ready:False", "", false)]
#[case("readiness unset→F", "", "ready:False", false)]
#[case("readiness unset→unset", "", "", false)]
#[case(
    "ready F other condition F→T",
    "ready:False other:False",
    "ready:False other:True",
    false
)]
#[case(
    "ready F other condition T→F",
    "ready:False other:True",
    "ready:False other:False",
    false
)]
#[case(
    "ready T other condition F→T",
    "ready:True other:False",
    "ready:True other:True",
    false
)]
#[case(
    "ready T other condition T→F",
    "ready:True other:True",
    "ready:True other:False",
    false
)]
#[case("deletionTimestamp set", "", "going", false)]
#[case("providerID ''→set", "", "id:a", true)]
#[case("providerID ''→set (listed twice)", "id:", "id:a", true)]
#[case("providerID set→''", "id:a", "", true)]
#[case("providerID changed", "id:a", "id:b", true)]
fn syncs_updated_node(#[case] name: &str, #[case] old: &str, #[case] new: &str, #[case] expected: bool) {
    assert_eq!(should_sync_updated_node(&n(old), &n(new)), expected, "{name}");
}

// upstream: Test_shouldSyncUpdatedNode_compoundedPredicates
#[rstest]
#[case(
    "tainted: excluded F→T",
    "ready:True id:a doomed",
    "ready:True id:a doomed exclude=",
    true
)]
#[case(
    "tainted: excluded T→F",
    "ready:True id:a doomed exclude=",
    "ready:True id:a doomed",
    true
)]
#[case("tainted: providerID set", "doomed", "doomed id:a", true)]
#[case("tainted: providerID unset", "doomed id:a", "doomed", true)]
#[case("tainted: providerID changed", "doomed id:a", "doomed id:b", true)]
#[case("tainted: ready F→T", "doomed ready:False", "doomed ready:True", false)]
#[case("tainted: ready T→F", "doomed ready:True", "doomed ready:False", false)]
#[case(
    "excluded: tainted F→T",
    "ready:True id:a exclude=",
    "ready:True id:a exclude= doomed",
    false
)]
#[case(
    "excluded: tainted T→F",
    "ready:True id:a exclude= doomed",
    "ready:True id:a exclude=",
    false
)]
#[case("excluded: ready F→T", "exclude= ready:False", "exclude= ready:True", false)]
#[case("excluded: ready T→F", "exclude= ready:True", "exclude= ready:False", false)]
#[case("excluded: providerID set", "exclude=", "exclude= id:a", true)]
#[case("excluded: providerID unset", "exclude= id:a", "exclude=", true)]
#[case("excluded: providerID changed", "exclude= id:a", "exclude= id:b", true)]
#[case("NotReady: tainted F→T", "ready:False", "ready:False doomed", false)]
#[case("NotReady: tainted T→F", "ready:False doomed", "ready:False", false)]
#[case("NotReady: excluded F→T", "ready:False", "ready:False exclude=", true)]
#[case("NotReady: excluded T→F", "ready:False exclude=", "ready:False", true)]
#[case("NotReady: providerID set", "ready:False", "ready:False id:a", true)]
#[case("NotReady: providerID unset", "ready:False id:a", "ready:False", true)]
#[case("NotReady: providerID changed", "ready:False id:a", "ready:False id:b", true)]
#[case("providerID empty: excluded F→T", "", "exclude=", true)]
#[case("providerID empty: excluded T→F", "exclude=", "", true)]
#[case("providerID empty: ready F→T", "ready:False", "ready:True", false)]
#[case("providerID empty: ready T→F", "ready:True", "ready:False", false)]
#[case("providerID empty: tainted T→F", "doomed", "", false)]
#[case("providerID empty: tainted F→T", "", "doomed", false)]
fn syncs_updated_node_compounded(#[case] name: &str, #[case] old: &str, #[case] new: &str, #[case] expected: bool) {
    assert_eq!(should_sync_updated_node(&n(old), &n(new)), expected, "{name}");
}

fn without_others() -> Scope {
    Scope {
        selector: crate::nodes::scope::parse_selector("!theirs").unwrap(),
        ..Scope::default()
    }
}

fn updated(old: &str, new: &str) -> Change<Node> {
    Change::Updated {
        old: n(old).into(),
        new: n(new).into(),
    }
}

#[rstest]
#[case::added(Change::Added(n("").into()), Relevance::Now)]
#[case::deleted(Change::Deleted(n("").into()), Relevance::Now)]
#[case::heartbeat(updated("ready:True", "ready:False"), Relevance::None)]
#[case::provider_id(updated("", "id:a"), Relevance::Now)]
#[case::address_appears(updated("", "InternalIP=10.0.0.1"), Relevance::Now)]
#[case::address_moves(updated("InternalIP=10.0.0.1", "InternalIP=10.0.0.2"), Relevance::Now)]
#[case::leaves_our_scope(updated("", "theirs="), Relevance::Now)]
#[case::about_to_go(updated("", "doomed"), Relevance::Later)]
#[case::going(updated("", "going"), Relevance::Later)]
#[case::label(updated("", "zone=a"), Relevance::Later)]
fn relevant(#[case] change: Change<Node>, #[case] expected: Relevance) {
    assert_eq!(relevance(&change, &without_others()), expected);
}

/// Of nodes like `name words`.
fn set(nodes: &[&'static str]) -> HostSet {
    let split = |text: &'static str| text.split_once(' ').unwrap_or((text, ""));
    let nodes: Vec<_> = nodes
        .iter()
        .map(|text| split(text))
        .map(|(name, words)| node(name, words))
        .collect();
    HostSet::of(&nodes, usable)
}

#[rstest]
#[case::order(&["a", "b"], &["b", "a"], true)]
#[case::label(&["a"], &["a zone=b"], true)]
#[case::readiness(&["a ready:True"], &["a ready:False"], true)]
#[case::joined(&["a"], &["a", "b"], false)]
#[case::replaced(&["a"], &["b"], false)]
#[case::provider_id(&["a"], &["a id:x"], false)]
#[case::address(&["a"], &["a InternalIP=10.0.0.1"], false)]
#[case::boundaries(&["ab", "c"], &["a", "bc"], false)]
fn fingerprints(#[case] old: &[&'static str], #[case] new: &[&'static str], #[case] same: bool) {
    assert_eq!(set(old).fingerprint() == set(new).fingerprint(), same);
}

#[test]
fn hosts_are_computed_once_per_change() {
    let nodes = Store::of([node("a", "")]);
    let hosts = Hosts::new(nodes.clone(), Scope::default());
    let first = hosts.current();
    assert!(Arc::ptr_eq(&first, &hosts.current()));

    assert_eq!(hosts.handle(&nodes.insert(node("a", "ready:True"))), Relevance::None);
    assert!(Arc::ptr_eq(&first, &hosts.current()));

    assert_eq!(hosts.handle(&nodes.insert(node("b", ""))), Relevance::Now);
    assert_eq!(hosts.current().hosts().len(), 2);
}

#[test]
fn hosts_out_of_scope_are_left_out() {
    let nodes = Store::of([node("a", ""), node("b", "theirs=")]);
    let hosts = Hosts::new(nodes, without_others());
    assert_eq!(hosts.current().hosts().len(), 1);
}
