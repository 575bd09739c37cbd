//! Failures and recoveries. Only on the simulation: the real services cannot be made to fail like this.

use super::fixture::{Fixture, annotate, id, port, report};
use crate::load_balancers::names;
use cloud::{Error, LoadBalancers, Progress, Protocol, Retry, Spec, TrafficPolicy};
use openstack_sim::{Fault, Service};
use rstest::rstest;
use serde_json::json;

// upstream: openstack 54
#[tokio::test]
async fn conflict() {
    let fixture = Fixture::simulated().await;
    fixture.row("409 on a mutation → requeue, no duplicate listeners");
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    spec.ports.push(port(Protocol::Tcp, 443));
    let busy = r#"{"faultcode": "Client", "faultstring": "Load Balancer lb is immutable and cannot be updated.", "debuginfo": null}"#;
    fixture.sim().inject(
        Fault::answer(409, busy)
            .operation("loadbalancer_listener_create")
            .times(1),
    );
    let outcome = fixture.pass(&mut spec).await.unwrap();
    assert!(matches!(outcome, Progress::Pending { .. }), "{outcome:?}");
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/443 TCP/80");
}

/// Octavia also returns 400 if it cannot reach Neutron or Barbican.
#[rstest]
#[case::neutron_is_down("Subnet 42 not found.", Retry::Backoff)]
#[case::barbican_is_down("Could not retrieve certificate: ['x/secrets/1']", Retry::Backoff)]
#[case::no_such_value(
    "Invalid input for field/attribute name. Value: 'x'. Value should have at most 255 characters",
    Retry::Never
)]
#[tokio::test]
async fn refused_once(#[case] words: &str, #[case] retry: Retry) {
    let fixture = Fixture::simulated().await;
    fixture.row("400 once on members_update, then the next try succeeds");
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    spec.hosts = fixture.hosts.as_slice().into();
    let body = format!(r#"{{"faultcode": "Client", "faultstring": "{words}", "debuginfo": null}}"#);
    let refusal = Fault::answer(400, body).operation("loadbalancer_members_update");
    fixture.sim().inject(refusal.times(1));
    let error = fixture.update_hosts(&mut spec).await.expect_err("it is refused");
    assert_eq!(error.retry(), retry, "{}", report(&error));
    assert!(report(&error).contains(words), "{}", report(&error));
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.members(&id(&spec)).await, "a b c");
}

/// Octavia accepts a change and does nothing: this is reported, all other steps are applied, and it is retried after a while.
#[tokio::test]
async fn members_that_octavia_does_not_change() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    spec.traffic = TrafficPolicy::Local {
        health_check_port: Some(32_000),
    };
    fixture.ensure(&mut spec).await.unwrap();
    let deaf = Fault::answer(202, "").operation("loadbalancer_members_update");
    let fault = fixture.sim().inject(deaf);
    spec.traffic = TrafficPolicy::Cluster;
    spec.ports.push(port(Protocol::Tcp, 443));
    // The members of a new port are part of its call.
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("twice, and nothing changed"), "{refused}");
    assert_eq!(fixture.sim().struck(fault), 4, "{refused}");
    spec.ports.pop();
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    let reported = warnings
        .iter()
        .filter(|warning| warning.reason == "LoadBalancerMembersUnchanged");
    assert_eq!(reported.count(), 1, "{warnings:?}");
    assert_eq!(fixture.sim().struck(fault), 4, "not over and over");
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/80");

    fixture.sim().withdraw_all();
    fixture.advance(std::time::Duration::from_mins(5)).await;
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(warnings, []);
    let asked: Vec<_> = fixture.tree(&id(&spec)).await.members.into_values().flatten().collect();
    assert!(asked.iter().all(|member| member.monitor_port.is_none()), "{asked:?}");
}

#[rstest]
#[case("security_group_create")]
#[case("security_group_rule_create")]
#[case("port_update")]
#[case("floating_ip_create")]
#[tokio::test]
async fn refused_once_by_neutron(#[case] operation: &str) {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let mut spec = fixture.service("web");
    let refusal = r#"{"NeutronError": {"type": "BadRequest", "message": "Not now", "detail": ""}}"#;
    let refusal = Fault::answer(400, refusal).operation(operation).times(1);
    let fault = fixture.sim().inject(refusal);
    let error = fixture.ensure(&mut spec).await.expect_err("it is refused");
    assert_eq!(error.retry(), Retry::Backoff, "{}", report(&error));
    assert!(report(&error).contains("Not now"), "{}", report(&error));
    assert_eq!(fixture.sim().struck(fault), 1);
    fixture.ensure(&mut spec).await.unwrap();
}

#[tokio::test]
async fn lost_answers() {
    for operation in [
        "loadbalancer_create",
        "loadbalancer_listener_create",
        "loadbalancer_pool_create",
        "loadbalancer_members_update",
    ] {
        let fixture = Fixture::simulated().await;
        let mut spec = fixture.service("web");
        if operation != "loadbalancer_create" {
            fixture.ensure(&mut spec).await.unwrap();
            spec.ports.push(port(Protocol::Tcp, 443));
        }
        fixture.sim().inject(Fault::lose_answer().operation(operation).times(1));
        // The lost response may be an error or not; the next pass completes the change.
        let _ = fixture.ensure(&mut spec).await;
        fixture.settled().await;
        fixture.ensure(&mut spec).await.unwrap();
        assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1, "{operation}");
        let tree = fixture.tree(&id(&spec)).await;
        let ports = spec.ports.len();
        assert_eq!((tree.listeners.len(), tree.pools.len()), (ports, ports), "{operation}");
    }
}

/// Octavia knows the value, but the provider does not support it: 501.
#[rstest]
#[case::provider_has_not(None)]
#[case::by_policy(Some(403))]
#[case::by_state(Some(409))]
#[tokio::test]
async fn a_method_that_the_provider_has_not(#[case] status: Option<u16>) {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| {
        config.load_balancer.lb_provider = "ovn".into();
        config.load_balancer.lb_method = "SOURCE_IP_PORT".into();
    });
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    if let Some(status) = status {
        let body = r#"{"faultcode": "Client", "faultstring": "No.", "debuginfo": null}"#;
        fixture
            .sim()
            .inject(Fault::answer(status, body).operation("loadbalancer_pool_update"));
    }
    annotate(&mut spec, "lb-method", "SOURCE_IP");
    spec.hosts = fixture.hosts.as_slice().into();
    // Each process tries it once, and reports it.
    for _ in 0..2 {
        if status == Some(409) {
            let refused = fixture.refused(&mut spec).await;
            assert!(refused.contains("No."), "a conflict may pass: {refused}");
        }
        for tries in [1, 0] {
            let before = fixture.calls();
            let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
            let reasons: Vec<_> = warnings.iter().map(|warning| warning.reason).collect();
            assert!(reasons.contains(&"LoadBalancerLbMethodUnknown"), "{reasons:?}");
            let tried = fixture.since(&before).matches("pool_update").count();
            assert_eq!(tried, tries, "{}", fixture.since(&before));
        }
        assert_eq!(
            fixture.members(&id(&spec)).await,
            "a b c",
            "the rest is done nevertheless"
        );
        assert_eq!(fixture.tree(&id(&spec)).await.pools[0].lb_algorithm, "SOURCE_IP_PORT");
        fixture.restart();
    }
}

#[tokio::test]
async fn refused_method() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, "lb-method", "NONSENSE");
    annotate(&mut spec, "connection-limit", "5");
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    assert!(
        warnings
            .iter()
            .any(|warning| warning.reason == "LoadBalancerLbMethodUnknown"),
        "{warnings:?}"
    );
    assert_eq!(
        fixture.tree(&id(&spec)).await.listeners[0].connection_limit,
        5,
        "the rest is done nevertheless"
    );
}

/// A load balancer is created with everything on it: any of the quotas can be exceeded.
#[rstest]
#[case("load_balancer", "the quota for load balancers is exceeded")]
#[case("listener", "the quota for listeners is exceeded")]
#[case("pool", "the quota for pools is exceeded")]
#[case("member", "the quota for members is exceeded")]
#[case("health_monitor", "the quota for health monitors is exceeded")]
#[tokio::test]
async fn quota(#[case] of: &str, #[case] expected: &str) {
    let fixture = Fixture::simulated().await;
    fixture.sim().configure(|settings| {
        settings.quotas.insert(of.into(), 0);
    });
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    let error = fixture.ensure(&mut spec).await.expect_err("no room");
    assert!(matches!(error, Error::Quota { .. }), "{}", report(&error));
    assert_eq!(error.to_string(), expected);
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
}

/// Octavia returns 500 if a subnet has no free address for a load balancer; a retry succeeds once there is one.
#[tokio::test]
async fn the_subnet_is_full() {
    let mut fixture = Fixture::simulated().await;
    fixture.sim().exhaust_subnet(fixture.project.subnet.parse().unwrap());
    let mut spec = fixture.service("web");
    let error = fixture.ensure(&mut spec).await.expect_err("no address");
    assert_eq!(error.retry(), Retry::Backoff, "{}", report(&error));
    assert!(
        report(&error).contains("Error creating neutron port"),
        "{}",
        report(&error)
    );
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
    assert_eq!(
        fixture.project.floating_ips().await,
        [],
        "a floating IP was created needlessly"
    );
    let more = fixture.project.add_subnet(4, "10.78.0.0/24").await;
    fixture.configure(|config| config.load_balancer.networks.subnet_id = more);
    annotate(&mut spec, "internal", "true");
    let address = fixture.address(&mut spec).await;
    assert!(address.starts_with("10.78.0."), "{address}");
}

/// The floating IP is created before another call fails, and is deleted with the load balancer, which never served a client.
#[rstest]
#[case::as_usual("false")]
#[case::to_be_kept("true")]
#[tokio::test]
async fn a_load_balancer_in_error_is_deleted_with_its_floating_ip(#[case] kept: &str) {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let quota = |most: Option<usize>| {
        fixture.sim().configure(|settings| match most {
            Some(most) => drop(settings.quotas.insert("security_group".into(), most)),
            None => drop(settings.quotas.remove("security_group")),
        });
    };
    quota(Some(0));
    let mut spec = fixture.service("web");
    annotate(&mut spec, "keep-floatingip", kept);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("quota for security groups"), "{refused}");
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
    let broken = fixture.balancer(&spec).await.id;
    fixture
        .sim()
        .set_load_balancer_status(broken.parse().unwrap(), openstack_sim::Provisioning::Error);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("gone into ERROR state"), "{refused}");
    fixture.settled().await;
    assert_eq!(fixture.project.floating_ips().await, []);
    quota(None);
    fixture.advance(std::time::Duration::from_secs(5)).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_ne!(id(&spec), broken);
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
}

/// A floating IP that the Service requests by its address is kept: it may be the only one that it can get.
#[tokio::test]
async fn a_load_balancer_in_error_keeps_the_requested_floating_ip() {
    let fixture = Fixture::simulated().await;
    let mut first = fixture.service("first");
    annotate(&mut first, "keep-floatingip", "true");
    let address = fixture.address(&mut first).await;
    fixture.delete(&mut first).await.unwrap();
    let mut spec = fixture.service("web");
    spec.ip = Some(address.clone());
    fixture.ensure(&mut spec).await.unwrap();
    let broken = id(&spec).parse().unwrap();
    // As if no annotation had been written yet.
    spec.annotations.clear();
    spec.status = cloud::Status::default();
    fixture
        .sim()
        .set_load_balancer_status(broken, openstack_sim::Provisioning::Error);
    fixture.refused(&mut spec).await;
    fixture.settled().await;
    assert_eq!(fixture.project.floating_ips().await, [(address, None)]);
}

/// One that was healthy is not left in ERROR for a day because its failover failed for a temporary reason.
#[rstest]
#[case::busy(409, 2)]
#[case::not_found(404, 2)]
#[case::may_not(403, 1)]
#[case::cannot(501, 1)]
#[tokio::test]
async fn a_failover_that_failed_is_tried_again(#[case] status: u16, #[case] expected: u64) {
    let fixture = Fixture::simulated_in("admin").await;
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    let broken = id(&spec).parse().unwrap();
    fixture
        .sim()
        .set_load_balancer_status(broken, openstack_sim::Provisioning::Error);
    let fault = Fault::status(status).operation("loadbalancer_failover").times(1);
    fixture.sim().inject(fault);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("provisioning status is ERROR"), "{refused}");
    assert_eq!(fixture.ensure(&mut spec).await.is_ok(), expected > 1);
    assert_eq!(fixture.calls()["loadbalancer_failover"], expected);
}

/// A reserved floating IP is released if it cannot be attached to anything.
#[tokio::test]
async fn a_reserved_floating_ip_is_given_back() {
    let fixture = Fixture::simulated_in("admin").await;
    fixture.sim().configure(|settings| {
        settings.quotas.insert("load_balancer".into(), 0);
    });
    let mut spec = fixture.service("web");
    for address in ["203.0.113.77", "203.0.113.78"] {
        spec.ip = Some(address.to_owned());
        fixture.refused(&mut spec).await;
        assert_eq!(fixture.project.floating_ips().await, []);
        assert!(fixture.calls().contains_key("floating_ip_create"));
    }
    fixture.sim().configure(|settings| settings.quotas.clear());
    assert_eq!(fixture.address(&mut spec).await, "203.0.113.78");
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
}

/// The process ends as soon as this call has arrived.
async fn dies_at(fixture: &mut Fixture, call: &str, spec: &Spec) {
    let fault = fixture.sim().inject(Fault::hang().operation(call).times(1));
    let struck = fixture.sim().until(|cloud| cloud.struck(fault) > 0);
    let lives = async {
        loop {
            fixture.balancers.ensure(spec).await.expect("it goes on");
            fixture.settled().await;
        }
    };
    tokio::select! { () = struck => {}, () = lives => {} }
    fixture.restart();
}

/// The reservation of a process that ended is deleted if the Service requests another address meanwhile.
#[rstest]
#[case::another(Some("203.0.113.78"))]
#[case::none(None)]
#[tokio::test]
async fn a_reservation_of_an_earlier_process_is_deleted(
    #[case] then: Option<&str>,
    #[values("loadbalancer_create", "floating_ip_update")] dead_at: &str,
    #[values("false", "true")] kept: &str,
) {
    let mut fixture = Fixture::simulated_in("admin").await;
    let mut spec = fixture.service("web");
    annotate(&mut spec, "keep-floatingip", kept);
    if dead_at == "floating_ip_update" {
        fixture.ensure(&mut spec).await.unwrap();
    }
    spec.ip = Some("203.0.113.77".to_owned());
    dies_at(&mut fixture, dead_at, &spec).await;
    let left = fixture.project.floating_ips().await;
    assert!(left.contains(&("203.0.113.77".to_owned(), None)), "{left:?}");
    spec.ip = then.map(ToOwned::to_owned);
    let address = fixture.address(&mut spec).await;
    assert!(then.is_none_or(|then| then == address), "{address}");
    let left = fixture.project.floating_ips().await;
    assert!(!left.iter().any(|(address, _)| address == "203.0.113.77"), "{left:?}");
    let descriptions = fixture.sim().floating_ips().into_iter().map(|fip| fip.description);
    let reserved: Vec<_> = descriptions.filter(|text| text.contains("reserved")).collect();
    assert_eq!(reserved, Vec::<String>::new());
}

/// It is used, if it is still requested, and is not marked as reserved any more.
#[tokio::test]
async fn a_reservation_of_an_earlier_process_is_used() {
    let mut fixture = Fixture::simulated_in("admin").await;
    let mut spec = fixture.service("web");
    spec.ip = Some("203.0.113.77".to_owned());
    dies_at(&mut fixture, "loadbalancer_create", &spec).await;
    assert_eq!(fixture.address(&mut spec).await, "203.0.113.77");
    let [fip] = &fixture.sim().floating_ips()[..] else {
        panic!("there are {:?}", fixture.sim().floating_ips());
    };
    let cluster = &fixture.cluster;
    assert_eq!(
        fip.description,
        format!("Floating IP for Kubernetes external service default/web from cluster {cluster}")
    );
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, []);
}

/// The reservation of a Service is deleted with it, also if it never had an address, and whatever it requested last.
#[tokio::test]
async fn a_reservation_of_an_earlier_process_is_deleted_with_the_service() {
    let mut fixture = Fixture::simulated_in("admin").await;
    let mut spec = fixture.service("web");
    spec.ip = Some("203.0.113.77".to_owned());
    dies_at(&mut fixture, "loadbalancer_create", &spec).await;
    spec.ip = None;
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.project.floating_ips().await, []);
}

/// Nothing is deleted with a Service that was refused.
#[tokio::test]
async fn a_refused_guest_deletes_nothing() {
    let fixture = Fixture::simulated().await;
    let mut owner = fixture.service("owner");
    fixture.ensure(&mut owner).await.unwrap();
    fixture.sim().set_load_balancer_tags(id(&owner).parse().unwrap(), &[]);
    let mut guest = fixture.service("guest");
    annotate(&mut guest, "load-balancer-id", &id(&owner));
    annotate(&mut guest, "internal", "true");
    fixture.refused(&mut guest).await;
    fixture.delete(&mut guest).await.unwrap();
    assert_eq!(fixture.balancer(&owner).await.id, id(&owner));
    assert_eq!(fixture.listeners(&id(&owner)).await, "TCP/80");
    assert_eq!(fixture.project.floating_ips().await.len(), 1);
}

/// What an old Octavia could not do is done once it can, and nothing else.
#[tokio::test]
async fn octavia_is_upgraded() {
    let mut fixture = Fixture::simulated().await;
    let version = |fixture: &Fixture, minor| fixture.sim().configure(|settings| settings.octavia_minor = minor);
    version(&fixture, 11);
    fixture.restart();
    let (mut open, mut narrow) = (fixture.service("open"), fixture.service("narrow"));
    narrow.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    fixture.ensure(&mut open).await.unwrap();
    let (_, warnings) = fixture.ensure(&mut narrow).await.unwrap();
    let reasons: Vec<_> = warnings.iter().map(|warning| warning.reason).collect();
    assert_eq!(reasons, ["LoadBalancerSourceRangesIgnored"]);
    version(&fixture, 30);
    fixture.restart();
    let before = fixture.calls();
    fixture.ensure(&mut open).await.unwrap();
    let calls = fixture.since(&before);
    let is_read = |call: &str| call.contains("_list") || call.contains("_get");
    assert!(calls.split(' ').all(is_read), "{calls}");
    fixture.ensure(&mut narrow).await.unwrap();
    let ranges = fixture.tree(&id(&narrow)).await.listeners.remove(0).allowed_cidrs;
    assert_eq!(ranges, ["192.0.2.0/24"]);
}

/// A truncated name is recognised after the cluster's name changed, and is deleted with its Service.
#[tokio::test]
async fn a_cluster_with_truncated_names_is_renamed() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service(&format!("web{}", "-long".repeat(50)));
    annotate(&mut spec, "enable-health-monitor", "true");
    fixture.ensure(&mut spec).await.unwrap();
    let number = id(&spec);
    spec.cluster = "renamed".into();
    fixture.ensure(&mut spec).await.unwrap();
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let tree = fixture.tree(&number).await;
    assert_eq!((tree.balancer.name.as_str(), name.len()), (name.as_str(), 255));
    assert!(
        tree.listeners[0].name.starts_with("listener_0_kube_service_renamed_"),
        "{}",
        tree.listeners[0].name
    );
    fixture.delete(&mut spec).await.unwrap();
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
    assert_eq!(fixture.project.floating_ips().await, []);
}

/// Members of the second family are in its subnet, and their security groups allow it.
#[tokio::test]
async fn two_families_have_two_subnets() {
    let mut fixture = Fixture::simulated().await;
    let second = fixture.project.add_subnet(6, "2001:db8:77::/64").await;
    fixture.configure(|config| config.load_balancer.manage_security_groups = true);
    let node = fixture.project.node_in("d", &[&fixture.project.subnet, &second]).await;
    let mut spec = fixture.service("dns");
    spec.hosts = [node].into();
    spec.families = vec![cloud::IpFamily::V4, cloud::IpFamily::V6];
    spec.source_ranges.push("::/0".parse().unwrap());
    spec.ports = vec![port(Protocol::Udp, 53)];
    fixture.ensure(&mut spec).await.unwrap();
    let tree = fixture.tree(&id(&spec)).await;
    let mut places: Vec<_> = tree.members.values().flatten().collect();
    places.sort_by_key(|member| member.address.len());
    let places: Vec<_> = places.iter().map(|member| member.subnet_id.clone()).collect();
    assert_eq!(places, [Some(fixture.project.subnet.clone()), Some(second)]);
    assert_eq!(
        fixture.project.openings().await,
        ["udp/30053 10.77.0.0/24", "udp/30053 2001:db8:77::/64"]
    );
}

/// A load balancer that never becomes ready blocks no other Service, is polled less often, and is reported.
#[tokio::test]
async fn never_ready() {
    let fixture = Fixture::simulated().await;
    let delay = |delay| fixture.sim().configure(|settings| settings.balancer_delay = delay);
    delay(std::time::Duration::from_hours(2));
    let (mut stuck, mut other) = (fixture.service("stuck"), fixture.service("other"));
    let reported = async |spec: &mut Spec| match fixture.pass(spec).await.unwrap() {
        Progress::Pending {
            poll_after,
            waiting_for,
        } => Some((poll_after.as_secs(), waiting_for)),
        Progress::Done(_) => None,
    };
    let (poll, what) = reported(&mut stuck).await.unwrap();
    assert!(poll == 1 && what.ends_with("to be created"), "{what} in {poll} s");
    delay(std::time::Duration::from_millis(1));
    for minutes in [1, 16, 60] {
        fixture.advance(std::time::Duration::from_mins(minutes)).await;
        let (poll, what) = reported(&mut stuck).await.unwrap();
        let expected = if minutes > 15 { (30, true) } else { (5, false) };
        assert_eq!((poll, what.contains("more than 15 minutes")), expected, "{what}");
        while reported(&mut other).await.is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        other.ports = vec![port(Protocol::Tcp, 80 + u16::try_from(minutes).unwrap())];
    }
    let deletion = fixture.balancers.delete(&stuck).await.unwrap().answer;
    assert!(matches!(deletion, cloud::Progress::Pending { .. }), "{deletion:?}");
    fixture.advance(std::time::Duration::from_hours(2)).await;
    fixture.ensure(&mut stuck).await.unwrap();
}

#[tokio::test]
async fn the_version_is_not_known() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    fixture
        .sim()
        .inject(Fault::status(500).operation("version_list").service(Service::Octavia));
    let error = fixture.ensure(&mut spec).await.expect_err("no version");
    assert!(matches!(error, Error::Unavailable { .. }), "{}", report(&error));
    assert_eq!(
        fixture.octavia.load_balancers().await.unwrap(),
        [],
        "nothing is made without tags and timeouts"
    );
    fixture.sim().withdraw_all();
    fixture.ensure(&mut spec).await.unwrap();
}

/// A gateway hides everything of Octavia except its API: this is detected after a while, and reported once.
#[rstest]
#[case::not_found(|| Fault::status(404))]
#[case::forbidden(|| Fault::status(403))]
#[case::page_of_a_gateway(|| Fault::answer(404, "<html>404 page not found</html>"))]
#[tokio::test]
async fn the_versions_are_hidden(#[case] fault: fn() -> Fault) {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    let hidden = || fault().operation("version_list").service(Service::Octavia);
    fixture.sim().inject(hidden());
    fixture.ensure(&mut spec).await.expect_err("no version yet");
    fixture.advance(std::time::Duration::from_secs(30)).await;
    fixture.ensure(&mut spec).await.expect_err("no version yet");
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);

    // The gateway was restarted.
    fixture.sim().withdraw_all();
    let failing = Fault::status(503).operation("version_list").service(Service::Octavia);
    fixture.sim().inject(failing);
    fixture.advance(std::time::Duration::from_secs(31)).await;
    fixture.ensure(&mut spec).await.expect_err("no answer");
    fixture.sim().withdraw_all();
    fixture.sim().inject(hidden());
    fixture
        .ensure(&mut spec)
        .await
        .expect_err("no version for less than a minute");

    fixture.advance(std::time::Duration::from_secs(61)).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.balancer(&spec).await.tags, Vec::<String>::new());
    spec.ports = vec![port(Protocol::Tcp, 81)];
    fixture.ensure(&mut spec).await.unwrap();
    spec.hosts = fixture.hosts[..1].into();
    fixture.update_hosts(&mut spec).await.unwrap();

    fixture.sim().withdraw_all();
    spec.ports = vec![port(Protocol::Tcp, 82)];
    fixture.ensure(&mut spec).await.unwrap();
    assert_ne!(
        fixture.balancer(&spec).await.tags,
        Vec::<String>::new(),
        "it reports them now"
    );
}

/// An administrator sees the load balancers of all projects.
#[tokio::test]
async fn load_balancers_of_other_projects_are_ignored() {
    let fixture = Fixture::simulated_in("admin").await;
    let mut spec = fixture.service("web");
    let name = fixture.balancers.name(&spec.cluster, &spec.service);
    let net = fixture.sim().create_network("theirs", "10.88.0.0/24");
    let tags = json!({"tags": [name, names::uid_tag(&spec.service.uid)]});
    let theirs = fixture.sim().create_load_balancer(&name, &net, &tags).unwrap();
    assert_eq!(fixture.sim().load_balancers_named(&name).len(), 1);
    assert_eq!(fixture.balancers.owned(&spec.cluster).await.unwrap(), []);
    assert_eq!(fixture.balancers.find(&spec).await.unwrap(), None);

    fixture.ensure(&mut spec).await.unwrap();
    assert_ne!(id(&spec), theirs.to_string());
    let owned = fixture.balancers.owned(&spec.cluster).await.unwrap();
    let ids: Vec<_> = owned.into_iter().map(|one| one.id).collect();
    assert_eq!(ids, [id(&spec)]);
    fixture.delete(&mut spec).await.unwrap();
    let left = fixture.sim().load_balancers_named(&name);
    assert_eq!(left.iter().map(|one| one.id).collect::<Vec<_>>(), [theirs]);
}

#[tokio::test]
async fn every_read_fails_once() {
    let reads = [
        "loadbalancer_list",
        "loadbalancer_get",
        "loadbalancer_listener_list",
        "loadbalancer_pool_list",
        "loadbalancer_member_list",
        "floating_ip_list",
    ];
    for operation in reads {
        let mut fixture = Fixture::simulated().await;
        let mut spec = fixture.service("web");
        fixture.ensure(&mut spec).await.unwrap();
        spec.ports = vec![port(Protocol::Tcp, 81)];
        fixture.restart();
        let fault = fixture.sim().inject(Fault::status(404).operation(operation).times(1));
        let _ = fixture.ensure(&mut spec).await;
        assert_eq!(fixture.sim().struck(fault), 1, "{operation}");
        fixture.sim().withdraw_all();
        fixture.settled().await;
        fixture.ensure(&mut spec).await.unwrap();
        assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/81", "{operation}");
        assert_eq!(fixture.project.floating_ips().await.len(), 1, "{operation}");
        assert_eq!(fixture.octavia.load_balancers().await.unwrap().len(), 1, "{operation}");
    }
}

/// A node is added to many Services at once: one list reports all of them as ready.
#[tokio::test]
async fn many_are_read_in_one_list() {
    let fixture = Fixture::simulated().await;
    let mut specs: Vec<Spec> = (0..20)
        .map(|number| fixture.service(&format!("web-{number}")))
        .collect();
    let made = futures::future::join_all(specs.iter_mut().map(|spec| fixture.ensure(spec))).await;
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    for spec in &mut specs {
        spec.hosts = fixture.hosts.as_slice().into();
    }
    let before = fixture.calls();
    let updated = futures::future::join_all(specs.iter_mut().map(|spec| fixture.update_hosts(spec))).await;
    assert!(updated.iter().all(Result::is_ok), "{updated:?}");
    let after = fixture.calls();
    let made =
        |name: &str| after.get(name).copied().unwrap_or_default() - before.get(name).copied().unwrap_or_default();
    assert_eq!(made("loadbalancer_members_update"), 20);
    assert!(
        made("loadbalancer_get") < 20,
        "{} looks at single load balancers",
        made("loadbalancer_get")
    );
}

#[tokio::test]
async fn a_closed_gate_changes_nothing() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    let closed = fixture.closed();
    spec.hosts = fixture.hosts[..1].into();
    assert!(matches!(closed.ensure(&spec).await, Err(Error::NotLeader)));
    assert!(matches!(closed.update_hosts(&spec).await, Err(Error::NotLeader)));
    assert!(matches!(closed.delete(&spec).await, Err(Error::NotLeader)));
    assert!(closed.find(&spec).await.unwrap().is_some());
}

#[tokio::test]
async fn certificates() {
    let fixture = Fixture::simulated().await;
    let mut spec = fixture.service("web");
    annotate(
        &mut spec,
        "default-tls-container-ref",
        "https://barbican/v1/secrets/8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e",
    );
    let refused = fixture.refused(&mut spec).await;
    assert!(
        refused.contains("certificate https://barbican/v1/secrets/8c4d4a2e") && refused.contains("not found"),
        "{refused}"
    );
    assert_eq!(
        fixture.octavia.load_balancers().await.unwrap(),
        [],
        "a load balancer was created needlessly"
    );
    let secret = fixture.sim().add_secret("certificate");
    annotate(
        &mut spec,
        "default-tls-container-ref",
        &format!("https://barbican/v1/secrets/{secret}"),
    );
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "TERMINATED_HTTPS/80");
    assert_eq!(fixture.tree(&id(&spec)).await.pools[0].protocol, "HTTP");
}

/// Internal Services have no floating IP, which is not checked for each of them.
#[tokio::test]
async fn internal_services_after_a_restart() {
    let mut fixture = Fixture::simulated().await;
    let mut specs: Vec<Spec> = (0..8).map(|number| fixture.service(&format!("web-{number}"))).collect();
    for spec in &mut specs {
        annotate(spec, "internal", "true");
        fixture.ensure(spec).await.unwrap();
    }
    fixture.restart();
    let before = fixture.calls();
    for spec in &mut specs {
        fixture.ensure(spec).await.unwrap();
    }
    let calls = fixture.since(&before);
    assert_eq!(
        calls,
        "floating_ip_list loadbalancer_list security_group_list version_list"
    );
}

#[tokio::test]
async fn warnings_of_what_is_ignored() {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| {
        config.load_balancer.lb_provider = "ovn".into();
        config.load_balancer.lb_method = "SOURCE_IP_PORT".into();
    });
    let mut spec = fixture.service("web");
    let reasons = |warnings: Vec<cloud::Event>| warnings.into_iter().map(|warning| warning.reason).collect::<Vec<_>>();
    assert_eq!(
        reasons(fixture.ensure(&mut spec).await.unwrap().1),
        Vec::<&str>::new(),
        "nothing was asked for"
    );
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    annotate(&mut spec, "availability-zone", "az");
    assert_eq!(
        reasons(fixture.ensure(&mut spec).await.unwrap().1),
        [
            "LoadBalancerSourceRangesIgnored",
            "LoadBalancerAvailabilityZonesIgnored"
        ]
    );
}
