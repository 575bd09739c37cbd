use super::*;

/// Nodes, a Service and the leases, with the holders and renewals that are given.
fn snapshot(leases: &[(&str, &str, u32)], taint: &str) -> Snapshot {
    let leases = leases.iter().map(|(name, holder, second)| {
        format!(
            "---\nkind: Lease\nmetadata: {{name: {name}}}\nspec: {{holderIdentity: '{holder}', leaseDurationSeconds: 15, \
             renewTime: '2024-05-01T10:00:{second:02}.000000Z'}}\n"
        )
    });
    let text = format!(
        "kind: Observed\nversion: v1.25.15\n---\nkind: Node\nmetadata: {{name: w1}}\nspec: {{taints: [{taint}]}}\n---\nkind: Service\n\
         metadata: {{namespace: web, name: shop}}\nspec: {{type: LoadBalancer}}\n\
         status: {{loadBalancer: {{ingress: [{{ip: 203.0.113.10}}]}}}}\n{}",
        leases.collect::<Vec<_>>().concat()
    );
    Snapshot::parse(&text).unwrap()
}

const TAINT: &str = "{key: node.cloudprovider.kubernetes.io/uninitialized, effect: NoSchedule}";

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn names_the_program_that_holds_the_shared_lock() {
    let before = snapshot(
        &[
            ("kube-controller-manager", "m1_a", 1),
            ("cloud-controller-manager", "m1_b", 1),
            (MIGRATION, "m1_a", 1),
        ],
        "",
    );
    let after = snapshot(
        &[
            ("kube-controller-manager", "m1_a", 2),
            ("cloud-controller-manager", "m1_b", 2),
            (MIGRATION, "m1_b", 2),
        ],
        "",
    );
    let mut watcher = Watcher::default();
    let first = watcher.look(&before, To::External, at(0));
    let second = watcher.look(&after, To::External, at(2));
    assert_eq!(first.leases[MIGRATION], "held by m1_a, a kube-controller-manager");
    assert_eq!(
        second.changes(Some(&first)),
        ["lease cloud-provider-extraction-migration: held by m1_b, a cloud-controller-manager"]
    );
}

#[test]
fn prints_everything_at_first_and_then_what_changes() {
    let mut watcher = Watcher::default();
    let first = watcher.look(&snapshot(&[], TAINT), To::External, at(0));
    let lines = first.changes(None);
    assert_eq!(
        lines[..2],
        ["nodes: 1 node, not initialized: w1", "service web/shop: 203.0.113.10"]
    );
    assert!(
        lines[2].starts_with("step: not known: the flags of kube-apiserver"),
        "{lines:?}"
    );
    let second = watcher.look(&snapshot(&[], ""), To::External, at(2));
    assert_eq!(second.changes(Some(&first)), ["nodes: 1 node, all initialized"]);
    assert_eq!(second.changes(Some(&second)), [""; 0]);
}

/// The time in the lease is that of another clock, and does not count.
#[test]
fn a_lease_is_stuck_once_it_has_not_been_renewed_for_its_duration() {
    let with = |second| snapshot(&[(MIGRATION, "m1_a", second)], "");
    let mut watcher = Watcher::default();
    let mut problems = |second, elapsed| watcher.look(&with(second), To::External, at(elapsed)).problems;
    assert_eq!(problems(1, 0), [""; 0]);
    assert_eq!(problems(2, 14), [""; 0]);
    assert_eq!(problems(2, 29), [""; 0]);
    assert!(problems(2, 30)[0].contains("has not been renewed for longer than 15 s"));
    assert_eq!(problems(3, 31), [""; 0]);
}

#[test]
fn a_lease_that_is_released_is_not_stuck() {
    let mut watcher = Watcher::default();
    let released = snapshot(&[(MIGRATION, "", 1)], "");
    watcher.look(&released, To::External, at(0));
    let view = watcher.look(&released, To::External, at(60));
    assert_eq!(
        (view.leases[MIGRATION].as_str(), view.problems.len()),
        ("held by no program", 0)
    );
}
