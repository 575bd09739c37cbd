use super::{changes::renamed, *};
use crate::{
    api::octavia::Persistence,
    load_balancers::tests::objects::{Asked, asked, guest, own_name, owner},
};
use rstest::rstest;

fn shown(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn planned(wish: &Asked, tree: &Tree, relation: &Relation) -> String {
    plan(tree, &wish.desired(), relation).map_or_else(|error| error.report(), |steps| shown(&steps))
}

#[rstest]
#[case::as_asked("80 -> a b", "80 -> a b", "")]
#[case::hosts_in_another_order("80 -> a b", "80 -> b a", "")]
#[case::node_joined("80 -> a b", "80 -> a", "members 80/TCP: +b")]
#[case::node_replaced("80 -> b", "80 -> a", "members 80/TCP: +b -a")]
#[case::node_has_another_address("80 -> a@10.1.1.1", "80 -> a", "members 80/TCP: +a -a")]
#[case::node_has_another_name("80 -> b@10.0.0.97", "80 -> a", "members 80/TCP: ~b")]
#[case::node_without_address("80 -> a b@", "80 -> a", "")]
#[case::last_node_left("80 ->", "80 -> a", "members 80/TCP: -a")]
#[case::ipv6_is_ipv6(
    "80 -> a@2001:db8::1; v6 from=::/0",
    "80 -> a@2001:0db8:0:0:0:0:0:1; v6 from=::/0",
    ""
)]
#[case::port_added(
    "80 443 -> a",
    "80 -> a",
    "+listener 443/TCP TCP, +pool 443/TCP TCP, members 443/TCP: +a"
)]
#[case::port_removed(
    "80 -> a",
    "80 443 -> a",
    "-pool pool_1_kube_service_kubernetes_default_web, -listener 443/TCP"
)]
#[case::udp_beside_tcp(
    "53 53/UDP -> a",
    "53 -> a",
    "+listener 53/UDP UDP, +pool 53/UDP UDP, members 53/UDP: +a"
)]
#[case::source_ranges(
    "80 -> a; from=10.0.0.0/8,192.0.2.0/24",
    "80 -> a",
    "~listener 80/TCP: allowed_cidrs"
)]
#[case::source_ranges_in_another_order(
    "80 -> a; from=10.0.0.0/8,192.0.2.0/24",
    "80 -> a; from=192.0.2.0/24,10.0.0.0/8",
    ""
)]
#[case::connection_limit("80 -> a; connection-limit=9", "80 -> a", "~listener 80/TCP: connection_limit")]
#[case::timeouts(
    "80 -> a; timeout-client-data=9 timeout-tcp-inspect=1",
    "80 -> a",
    "~listener 80/TCP: timeout_client_data, timeout_tcp_inspect"
)]
#[case::another_certificate(
    "443 -> a; default-tls-container-ref=x/secrets/2",
    "443 -> a; default-tls-container-ref=x/secrets/1",
    "~listener 443/TCP: default_tls_container_ref"
)]
#[case::another_header(
    "80 -> a; x-forwarded-for=true x-forwarded-proto=true",
    "80 -> a; x-forwarded-for=true",
    "~listener 80/TCP: insert_headers"
)]
#[case::algorithm("80 -> a; lb-method=SOURCE_IP", "80 -> a", "~pool 80/TCP: lb_algorithm")]
#[case::tags(
    "80 -> a; load-balancer-tags=x listener-tags=y pool-tags=z",
    "80 -> a",
    "~listener 80/TCP: tags, ~pool 80/TCP: tags, ~load balancer: tags +x"
)]
#[case::tags_stay("80 -> a", "80 -> a; load-balancer-tags=x listener-tags=y pool-tags=z", "")]
#[case::monitors_on("80 -> a; enable-health-monitor=true", "80 -> a", "+monitor 80/TCP TCP")]
#[case::monitors_off("80 -> a", "80 -> a; enable-health-monitor=true", "-monitor 80/TCP")]
#[case::monitor_changed(
    "80 -> a; enable-health-monitor=true health-monitor-delay=9",
    "80 -> a; enable-health-monitor=true",
    "~monitor 80/TCP: delay"
)]
#[case::a_monitor_s_zero_is_octavia_s_default(
    "80 -> a; enable-health-monitor=true health-monitor-delay=0 health-monitor-max-retries-down=0",
    "80 -> a; enable-health-monitor=true",
    ""
)]
#[case::monitor_asks_for_pods(
    "80 -> a; enable-health-monitor=true local=32000",
    "80 -> a; enable-health-monitor=true",
    "members 80/TCP: ~a, -monitor 80/TCP, +monitor 80/TCP HTTP"
)]
#[case::serial_node_joined("80 -> a b; @serial", "80 -> a; @serial", "+member 80/TCP member_b_10.0.0.98_30080")]
#[case::serial_node_left("80 -> b; @serial", "80 -> a b; @serial", "-member 80/TCP member_a_10.0.0.97_30080")]
#[case::serial_asks_for_pods(
    "80 -> a b; @serial enable-health-monitor=true local=32000",
    "80 -> a c; @serial enable-health-monitor=true",
    "+member 80/TCP member_b_10.0.0.98_30080, ~member 80/TCP member_a_10.0.0.97_30080, \
     -member 80/TCP member_c_10.0.0.99_30080, -monitor 80/TCP, +monitor 80/TCP HTTP"
)]
#[case::without_node_ports("80 -> a; no-node-ports", "80 -> a", "members 80/TCP: -a")]
fn plans(#[case] wish: &str, #[case] there: &str, #[case] steps: &str) {
    assert_eq!(planned(&asked(wish), &asked(there).made(), &owner()), steps);
}

// upstream: openstack 64
#[rstest]
#[case("session affinity switched on", "80 -> a; sticky", "80 -> a")]
#[case("session affinity switched off", "80 -> a", "80 -> a; sticky")]
fn session_affinity(#[case] row: &str, #[case] wish: &str, #[case] there: &str) {
    assert_eq!(
        planned(&asked(wish), &asked(there).made(), &owner()),
        "~pool 80/TCP: session_persistence",
        "{row}"
    );
}

// upstream: openstack 55
#[rstest]
#[case(
    "port renumbered → old listener+pool deleted after the new one exists",
    "81 -> a",
    "80 -> a",
    "+listener 81/TCP TCP, +pool 81/TCP TCP, members 81/TCP: +a, -pool pool_0_kube_service_kubernetes_default_web, -listener 80/TCP"
)]
#[case(
    "same port, other protocol family → old removed first",
    "80 -> a; x-forwarded-for=true",
    "80 -> a",
    "-pool pool_0_kube_service_kubernetes_default_web, -listener 80/TCP, +listener 80/TCP HTTP, +pool 80/TCP HTTP, members 80/TCP: +a"
)]
#[case(
    "TLS switched off → old removed first",
    "443 -> a",
    "443 -> a; default-tls-container-ref=x/secrets/1",
    "-pool pool_0_kube_service_kubernetes_default_web, -listener 443/TCP, +listener 443/TCP TCP, +pool 443/TCP TCP, members 443/TCP: +a"
)]
#[case(
    "PROXY switched on → only the pool is recreated",
    "80 -> a; proxy-protocol=v2",
    "80 -> a",
    "-pool pool_0_kube_service_kubernetes_default_web, +pool 80/TCP PROXYV2, members 80/TCP: +a"
)]
fn replaces(#[case] row: &str, #[case] wish: &str, #[case] there: &str, #[case] steps: &str) {
    assert_eq!(planned(&asked(wish), &asked(there).made(), &owner()), steps, "{row}");
}

// upstream: openstack 41
#[rstest]
#[case(
    "ovn+Local → second reconcile sends no PUT",
    "80 -> a b; enable-health-monitor=true local=32000 @ovn"
)]
#[case(
    "UDP+Local before 2.16 → second reconcile sends no PUT",
    "53/UDP -> a b; enable-health-monitor=true local=32000 @version=15"
)]
fn a_plan_converges(#[case] row: &str, #[case] wish: &str) {
    let wish = asked(wish);
    assert_eq!(planned(&wish, &wish.made(), &owner()), "", "{row}");
}

// upstream: openstack 33
#[rstest]
#[case("absent id", "80 -> a", "80 -> a", "")]
#[case("single", "80 -> a", "80 81 -> a", "81")]
#[case("first of four", "81 82 83 -> a", "80 81 82 83 -> a", "80")]
#[case("middle of four", "80 82 83 -> a", "80 81 82 83 -> a", "81")]
#[case("last of four", "80 81 82 -> a", "80 81 82 83 -> a", "83")]
fn leftovers(#[case] row: &str, #[case] wish: &str, #[case] there: &str, #[case] expected: &str) {
    let steps = plan(&asked(there).made(), &asked(wish).desired(), &owner()).unwrap();
    let left = steps.iter().filter_map(|step| match step {
        Step::DeleteListener { key, .. } => Some(key.port.to_string()),
        _ => None,
    });
    assert_eq!(left.collect::<Vec<_>>().join(" "), expected, "{row}");
}

/// `80 TCP mine`: one listener, its tags, and the Service.
// upstream: openstack 36
#[rstest]
#[case("our tag", "80 -> a", "kube_service_kubernetes_default_web", "x", guest(), None)]
#[case(
    "foreign tags",
    "80 -> a",
    "kube_service_kubernetes_default_other",
    "x",
    guest(),
    Some("belongs to another owner")
)]
#[case(
    "foreign tags, owner",
    "80 -> a",
    "kube_service_kubernetes_default_other",
    "x",
    owner(),
    Some("belongs to another owner")
)]
#[case("untagged+owner", "80 -> a", "", "x", owner(), None)]
#[case("other port", "81 -> a", "kube_service_kubernetes_default_other", "x", guest(), None)]
#[case(
    "other protocol",
    "80/UDP -> a",
    "kube_service_kubernetes_default_other",
    "x",
    guest(),
    None
)]
#[case(
    "untagged and not owner",
    "80 -> a",
    "",
    "x",
    guest(),
    Some("belongs to another owner")
)]
#[case(
    "HTTP listener of another Service with XFF on ours",
    "80 -> a; x-forwarded-for=true",
    "kube_service_kubernetes_default_other",
    "x",
    guest(),
    Some("belongs to another owner")
)]
#[case("tags changed outside, owner", "80 -> a", "another-owner", "x", owner(), None)]
#[case(
    "named by us, tagged by another",
    "80 -> a",
    "kube_service_theirs_default_web",
    "listener_0_kube_service_kubernetes_default_web",
    owner(),
    Some("belongs to another owner")
)]
#[case(
    "tags lost, named by us",
    "80 -> a",
    "",
    "listener_0_kube_service_kubernetes_default_web",
    guest(),
    None
)]
fn port_conflicts(
    #[case] row: &str,
    #[case] wish: &str,
    #[case] tag: &str,
    #[case] name: &str,
    #[case] relation: Relation,
    #[case] refused: Option<&str>,
) {
    let there = if wish.contains("x-forwarded") { wish } else { "80 -> a" };
    let mut tree = asked(there).made();
    tree.listeners[0].tags = Some(tag.to_owned()).filter(|tag| !tag.is_empty()).into_iter().collect();
    tree.listeners[0].name = name.to_owned();
    let planned = planned(&asked(wish), &tree, &relation);
    assert_eq!(planned.contains("another owner"), refused.is_some(), "{row}: {planned}");
}

#[test]
fn tags_of_others_are_kept() {
    let mut tree = asked("80 -> a").made();
    tree.listeners[0].tags = vec!["theirs".into()];
    tree.balancer.tags = vec!["kube_service_kubernetes_default_other".into(), "theirs".into()];
    let steps = plan(&tree, &asked("80 -> a").desired(), &owner()).unwrap();
    let [
        Step::UpdateListener { change: listener, .. },
        Step::UpdateLoadBalancer { change: balancer, .. },
    ] = steps.as_slice()
    else {
        panic!("{}", shown(&steps));
    };
    assert_eq!(listener.tags.as_deref(), Some(&["theirs".to_owned(), own_name()][..]));
    assert_eq!(
        balancer.tags.as_deref(),
        Some(
            &[
                "kube_service_kubernetes_default_other".to_owned(),
                "theirs".to_owned(),
                own_name()
            ][..]
        )
    );
}

/// A header that the Service does not mention was set by a user, and is ignored as by the Go program.
#[rstest]
#[case::no_annotation("x-forwarded-for=true", "X-SSL-Client-CN X-Forwarded-For X-Forwarded-Port", None)]
#[case::switched_off(
    "x-forwarded-for=true x-forwarded-port=false",
    "X-SSL-Client-CN X-Forwarded-For X-Forwarded-Port",
    Some("X-Forwarded-For X-SSL-Client-CN")
)]
#[case::one_is_missing(
    "x-forwarded-for=true",
    "X-Forwarded-Port X-Forwarded-Proto",
    Some("X-Forwarded-For X-Forwarded-Port X-Forwarded-Proto")
)]
#[case::for_is_removed_without_an_annotation(
    "default-tls-container-ref=x/secrets/1",
    "X-Forwarded-For X-Forwarded-Proto",
    Some("X-Forwarded-Proto")
)]
fn headers_of_others_are_kept(#[case] annotations: &str, #[case] there: &str, #[case] expected: Option<&str>) {
    let wish = asked(&format!("80 -> a; {annotations}"));
    let mut tree = wish.made();
    let header = |name: &str| (name.to_owned(), "true".to_owned());
    tree.listeners[0].insert_headers = there.split(' ').map(header).collect();
    let steps = plan(&tree, &wish.desired(), &owner()).unwrap();
    let headers = match steps.as_slice() {
        [] => None,
        [Step::UpdateListener { change, .. }] => change.insert_headers.clone(),
        _ => panic!("{}", shown(&steps)),
    };
    let headers = headers.map(|headers| headers.into_keys().collect::<Vec<_>>().join(" "));
    assert_eq!(headers.as_deref(), expected);
}

#[test]
fn an_inspect_timeout_that_is_not_shown_is_0() {
    let mut tree = asked("80 -> a").made();
    tree.listeners[0].timeout_tcp_inspect = None;
    assert_eq!(planned(&asked("80 -> a"), &tree, &owner()), "");
    assert_eq!(
        planned(&asked("80 -> a; timeout-tcp-inspect=1"), &tree, &owner()),
        "~listener 80/TCP: timeout_tcp_inspect"
    );
}

#[test]
fn a_guest_adds_its_tag_first_and_changes_nothing_else() {
    let mut tree = asked("443 -> a; @cluster=other").made();
    tree.balancer.tags = vec!["kube_service_other_default_web".into()];
    assert_eq!(
        planned(&asked("80 -> a"), &tree, &guest()),
        "~load balancer: tags +kube_service_kubernetes_default_web, +listener 80/TCP TCP, +pool 80/TCP TCP, members 80/TCP: +a"
    );
}

#[test]
fn pools_without_a_listener_are_deleted() {
    let mut tree = asked("80 81 -> a").made();
    tree.listeners.remove(0);
    tree.pools[0].listeners.clear();
    let foreign = Pool {
        id: "x".into(),
        name: "redirect target".into(),
        ..Pool::default()
    };
    tree.pools.push(foreign);
    assert_eq!(
        planned(&asked("81 -> a"), &tree, &owner()),
        "-pool pool_0_kube_service_kubernetes_default_web"
    );
}

#[test]
fn persistence_of_another_kind_is_kept() {
    let mut tree = asked("80 -> a").made();
    tree.pools[0].session_persistence = Some(Persistence {
        kind: "HTTP_COOKIE".into(),
    });
    assert_eq!(planned(&asked("80 -> a"), &tree, &owner()), "");
    assert_eq!(
        planned(&asked("80 -> a; sticky"), &tree, &owner()),
        "~pool 80/TCP: session_persistence"
    );
}

#[test]
fn a_listener_without_ranges_allows_all_clients() {
    let mut tree = asked("80 -> a").made();
    tree.listeners[0].allowed_cidrs.clear();
    assert_eq!(planned(&asked("80 -> a"), &tree, &owner()), "");
    assert_eq!(
        planned(&asked("80 -> a; from=10.0.0.0/8"), &tree, &owner()),
        "~listener 80/TCP: allowed_cidrs"
    );
}

// upstream: openstack 47
#[test]
fn renames_after_a_change_of_the_cluster_name() {
    for (row, old) in [
        ("cluster rename: plain replace", "old"),
        ("cluster rename: cluster name that is a prefix of the marker", "kube"),
    ] {
        let before = asked(&format!("80 -> a; enable-health-monitor=true @cluster={old}"));
        let mut tree = before.made();
        tree.balancer.tags.push("kube_service_old_default_guest".into());
        let relation = Relation {
            previous_name: Some(before.desired().name),
            ..owner()
        };
        let wish = asked("80 -> a; enable-health-monitor=true");
        let steps = plan(&tree, &wish.desired(), &relation).unwrap();
        assert_eq!(
            shown(&steps),
            "~listener 80/TCP: name, tags, ~pool 80/TCP: name, ~monitor 80/TCP: name, ~load balancer: name kube_service_kubernetes_default_web",
            "{row}"
        );
        let Some(Step::UpdateListener { change, .. }) = steps.first() else {
            panic!("{row}")
        };
        assert_eq!(
            change.name.as_deref(),
            Some("listener_0_kube_service_kubernetes_default_web"),
            "{row}"
        );
        assert_eq!(change.tags, Some(vec![own_name()]), "{row}");
        let Some(Step::UpdateLoadBalancer { change, .. }) = steps.last() else {
            panic!("{row}")
        };
        let tags = vec!["kube_service_old_default_guest".to_owned(), own_name()];
        assert_eq!(change.tags, Some(tags), "{row}: a guest renames its own");
    }
}

// upstream: openstack 47
#[rstest]
#[case("cluster rename: no marker", "foobar_0_kube_service_old_default_web", None)]
#[case("cluster rename: not found", "listener_0_kube_service_other_default_web", None)]
#[case(
    "cluster rename: found",
    "listener_7_kube_service_old_default_web",
    Some("listener_7_kube_service_kubernetes_default_web")
)]
fn renames(#[case] row: &str, #[case] name: &str, #[case] expected: Option<&str>) {
    let relation = Relation {
        previous_name: Some("kube_service_old_default_web".into()),
        ..owner()
    };
    assert_eq!(renamed("listener", name, &relation).as_deref(), expected, "{row}");
}

// upstream: openstack 47
#[test]
fn new_names_are_cut() {
    let row = "cluster rename: result cut to 255";
    let relation = Relation {
        previous_name: Some("kube_service_old_default_web".into()),
        name: format!("kube_service_{}", "n".repeat(300)),
        ..owner()
    };
    let name = renamed("listener", "listener_0_kube_service_old_default_web", &relation).unwrap();
    assert_eq!(name.len(), 255, "{row}");
}

#[rstest]
#[case::node_left("80 443 -> a b", "80 443 -> a", "members 80/TCP: -b, members 443/TCP: -b")]
#[case::the_same("80 -> a b", "80 -> b a", "")]
#[case::another_port_is_not_added("80 -> a b", "81 -> a", "members 80/TCP: -b")]
#[case::settings_do_not_count(
    "80 -> a",
    "80 -> a b; lb-method=SOURCE_IP sticky proxy-protocol=v1",
    "members 80/TCP: +b"
)]
#[case::none_left("80 -> a b", "80 ->", "members 80/TCP: -a -b")]
#[case::serial_any_address_stays("80 -> a@fd00::1; @serial v6 from=::/0", "80 -> a@fd00::1+10.0.0.1; @serial", "")]
#[case::a_listener_of_another_protocol(
    "80 -> a",
    "80 -> a b; default-tls-container-ref=nonsense",
    "members 80/TCP: +b"
)]
fn plans_hosts(#[case] there: &str, #[case] wish: &str, #[case] steps: &str) {
    let wish = asked(wish);
    let planned = wish.with(|of| plan_hosts(&asked(there).made(), of, &wish.member_network(), &owner()));
    assert_eq!(shown(&planned), steps);
}

#[test]
fn hosts_change_on_the_other_ports_if_one_is_occupied() {
    let wish = asked("80 81 -> b");
    let mut tree = asked("80 81 -> a").made();
    tree.listeners[0].tags = vec!["kube_service_kubernetes_default_other".into()];
    let planned = wish.with(|of| plan_hosts(&tree, of, &wish.member_network(), &owner()));
    assert_eq!(shown(&planned), "members 81/TCP: +b -a");
}

#[test]
fn a_new_member_is_in_the_subnet_of_the_others() {
    let wish = asked("80 -> a b");
    let nowhere = MemberNetwork {
        member_subnet: None,
        second_subnet: None,
        ..wish.member_network()
    };
    let planned = wish.with(|of| plan_hosts(&asked("80 -> a").made(), of, &nowhere, &owner()));
    let [Step::SetMembers { members, .. }] = planned.as_slice() else {
        panic!("{}", shown(&planned));
    };
    assert!(
        members
            .iter()
            .all(|member| member.subnet_id.as_deref() == Some("subnet")),
        "{members:?}"
    );
}

#[rstest]
#[case::after_the_load_balancer("monitor_0_mine", "")]
#[case::after_the_service("monitor_0_kube_service_kubernetes_default_web", "")]
#[case::after_an_unknown_program("x", "~monitor 80/TCP: name")]
fn the_monitor_of_a_guest_keeps_either_name_of_occm(#[case] name: &str, #[case] steps: &str) {
    let wish = asked("80 -> a; enable-health-monitor=true");
    let mut tree = wish.made();
    tree.balancer.name = "mine".into();
    for monitor in tree.monitors.values_mut() {
        monitor.name = name.to_owned();
    }
    assert_eq!(planned(&wish, &tree, &guest()), steps);
}
