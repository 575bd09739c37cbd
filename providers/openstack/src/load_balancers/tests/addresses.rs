//! Addresses: floating IPs, internal Services, IPv6.

use super::fixture::{Fixture, annotate, id, scenarios};
use crate::load_balancers::annotations as key;
use cloud::{IpFamily, Spec};
use openstack_sim::Fault;
use rstest::rstest;

scenarios! {
    internal_and_external
    requested_by_address
    an_unusable_address_creates_no_load_balancer
    an_address_that_is_already_attached
    an_address_that_occm_ignored
    an_internal_address_that_is_requested_later
    ipv6_first
    only_ipv4_floats
    two_families
    a_second_family_that_is_not_available
}

// upstream: openstack 59
async fn internal_and_external(fixture: &mut Fixture) {
    fixture.row("internal ↔ external switch: FIP created / deleted (ours) / detached (foreign or keep)");
    let mut spec = fixture.service("web");
    annotate(&mut spec, "internal", "true");
    let inside = fixture.address(&mut spec).await;
    assert_eq!(inside, fixture.balancer(&spec).await.vip_address);
    annotate(&mut spec, "internal", "false");
    let outside = fixture.address(&mut spec).await;
    assert_ne!(inside, outside);
    annotate(&mut spec, "internal", "true");
    assert_eq!(fixture.address(&mut spec).await, inside);
    assert_eq!(fixture.project.floating_ips().await, []);

    let port = fixture.balancer(&spec).await.vip_port_id.unwrap();
    let by_hand = fixture.project.lead(&port).await;
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(
        fixture.project.floating_ips().await,
        [(by_hand, None)],
        "what is not ours is only taken off"
    );
}

// upstream: openstack 60
async fn requested_by_address(fixture: &mut Fixture) {
    fixture.row("loadBalancerIP: free FIP attached; changed later → FIP swapped");
    let (one, other) = (
        fixture.project.floating_ip().await.1,
        fixture.project.floating_ip().await.1,
    );
    let mut spec = fixture.service("web");
    spec.ip = Some(one.clone());
    assert_eq!(fixture.address(&mut spec).await, one);
    spec.ip = Some(other.clone());
    assert_eq!(fixture.address(&mut spec).await, other);
    let mut left = fixture.project.floating_ips().await;
    left.retain(|(address, port)| *address == one && port.is_none());
    assert_eq!(left.len(), 1, "the first one is free again");
}

/// Octavia cannot change the address of a load balancer, which is reported.
async fn an_internal_address_that_is_requested_later(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    annotate(&mut spec, "internal", "true");
    let had = fixture.address(&mut spec).await;
    for (asked, reported) in [("10.123.45.67", 1), (had.as_str(), 0)] {
        spec.ip = Some(asked.to_owned());
        let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
        assert_eq!(status.ingress[0].ip.as_ref(), Some(&had));
        let ignored = warnings
            .iter()
            .filter(|warning| warning.reason == "LoadBalancerIPIgnored");
        assert_eq!(ignored.count(), reported, "{asked}: {warnings:?}");
    }
}

/// `loadBalancerIP` was set after occm had created the floating IP: the swap of the image does not change the address, the user does.
async fn an_address_that_occm_ignored(fixture: &mut Fixture) {
    let (one, other) = (
        fixture.project.floating_ip().await.1,
        fixture.project.floating_ip().await.1,
    );
    let mut spec = fixture.service("web");
    let had = fixture.address(&mut spec).await;
    spec.annotations.remove(key::RECORD.key);
    spec.ip = Some(one.clone());
    // New hosts, which may be reconciled first, do not apply the address.
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    for _ in 0..3 {
        fixture.restart();
        let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
        assert_eq!(status.ingress[0].ip.as_ref(), Some(&had));
        let warned = warnings
            .iter()
            .filter(|warning| warning.reason == "LoadBalancerIPIgnored");
        assert_eq!(warned.count(), 1, "{warnings:?}");
        spec.hosts = fixture.hosts[..2].into();
        fixture.update_hosts(&mut spec).await.unwrap();
    }
    spec.ip = Some(other.clone());
    assert_eq!(fixture.address(&mut spec).await, other, "it was changed");
    spec.ip = Some(one.clone());
    assert_eq!(
        fixture.address(&mut spec).await,
        one,
        "what was ignored before is not any more"
    );
}

// upstream: openstack 60
async fn an_unusable_address_creates_no_load_balancer(fixture: &mut Fixture) {
    fixture.row("loadBalancerIP: used FIP → error");
    let address = fixture.project.lead(&fixture.project.idle_port().await).await;
    let mut spec = fixture.service("web");
    spec.ip = Some(address);
    let refused = fixture.refused(&mut spec).await;
    assert!(refused.contains("in use"), "{refused}");
    assert_eq!(fixture.octavia.load_balancers().await.unwrap(), []);
}

/// With `port-id` the address may exist before the load balancer, requested or not.
async fn an_address_that_is_already_attached(fixture: &mut Fixture) {
    for (name, asks) in [("asked", true), ("unasked", false)] {
        let port = fixture.project.idle_port().await;
        let address = fixture.project.lead(&port).await;
        let mut spec = fixture.service(name);
        annotate(&mut spec, "port-id", &port);
        spec.ip = asks.then(|| address.clone());
        assert_eq!(fixture.address(&mut spec).await, address, "{name}");
        let leads = fixture.project.floating_ips().await;
        assert!(leads.contains(&(address, Some(port))), "{name}: {leads:?}");
    }
    assert_eq!(fixture.project.floating_ips().await.len(), 2, "none was made");
}

async fn second_subnet(fixture: &Fixture) -> String {
    fixture.project.add_subnet(6, "2001:db8:77::/64").await
}

// upstream: openstack 67
async fn ipv6_first(fixture: &mut Fixture) {
    fixture.row("IPv6 first family → v6 subnet, no FIP, ::/0 default range");
    let subnet = second_subnet(fixture).await;
    fixture.configure(|config| config.load_balancer.networks.subnet_id = subnet);
    let mut spec = fixture.service("web");
    spec.families = vec![IpFamily::V6];
    spec.source_ranges = vec!["::/0".parse().unwrap()];
    let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
    let address = status.ingress[0].ip.clone().unwrap();
    assert!(address.starts_with("2001:db8:77:"), "{address}");
    assert_eq!(fixture.project.floating_ips().await, []);
    assert!(
        warnings
            .iter()
            .any(|warning| warning.reason == "LoadBalancerFloatingIPSkipped"),
        "{warnings:?}"
    );
    assert_eq!(fixture.tree(&id(&spec)).await.listeners[0].allowed_cidrs, ["::/0"]);
}

/// An IPv6 address causes no search for an external network.
async fn only_ipv4_floats(fixture: &mut Fixture) {
    let subnet = second_subnet(fixture).await;
    fixture.configure(|config| {
        config.load_balancer.networks.subnet_id = subnet;
        config.load_balancer.networks.floating_network_id.clear();
    });
    let mut spec = six(fixture);
    fixture.ensure(&mut spec).await.unwrap();
    let calls = fixture.calls();
    assert!(!calls.contains_key("network_list"), "{calls:?}");
}

/// A Neutron without routers has no floating IPs.
#[rstest]
#[case::answer_of_neutron(Fault::status(404))]
#[case::answer_of_its_web_server(Fault::answer(404, "404 Not Found"))]
#[tokio::test]
async fn addresses_of_ipv6_need_no_floating_ips(#[case] no_such_path: Fault) {
    let mut fixture = Fixture::simulated().await;
    let subnet = second_subnet(&fixture).await;
    fixture.configure(|config| config.load_balancer.networks.subnet_id = subnet);
    fixture.sim().inject(no_such_path.operation("floating_ip_list"));
    let mut spec = six(&fixture);
    let address = fixture.address(&mut spec).await;
    assert!(address.starts_with("2001:db8:77:"), "{address}");
    fixture.delete(&mut spec).await.unwrap();
}

/// The address of the load balancer counts, not the family of the Service: an IPv4 subnet has only IPv4 addresses, and
/// if Octavia supports no source ranges, it assigns one to any Service. It gets a floating IP, as with the Go program.
#[tokio::test]
async fn ipv4_addresses_get_floating_ips() {
    let fixture = Fixture::simulated().await;
    fixture.sim().configure(|settings| settings.octavia_minor = 11);
    let mut spec = six(&fixture);
    let (status, warnings) = fixture.ensure(&mut spec).await.unwrap();
    let forced = |warning: &cloud::Event| warning.reason == "LoadBalancerForcedInternal";
    assert!(!warnings.iter().any(forced), "{warnings:?}");
    let floating: Vec<String> = fixture
        .project
        .floating_ips()
        .await
        .into_iter()
        .map(|(ip, _)| ip)
        .collect();
    assert_eq!(floating, Vec::from_iter(status.ingress[0].ip.clone()));
}

/// A Service of IPv6.
fn six(fixture: &Fixture) -> Spec {
    Spec {
        families: vec![IpFamily::V6],
        source_ranges: vec!["::/0".parse().unwrap()],
        ..fixture.service("six")
    }
}

// upstream: openstack 67
async fn two_families(fixture: &mut Fixture) {
    fixture.row("dual family → two ingress addresses");
    second_subnet(fixture).await;
    let mut spec = fixture.service("web");
    spec.families = vec![IpFamily::V4, IpFamily::V6];
    spec.source_ranges = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    let (status, _) = fixture.ensure(&mut spec).await.unwrap();
    let addresses: Vec<_> = status
        .ingress
        .iter()
        .filter_map(|ingress| ingress.ip.as_deref())
        .collect();
    assert_eq!(addresses.len(), 2, "{addresses:?}");
    assert!(addresses[1].starts_with("2001:db8:77:"), "{addresses:?}");
    let mut ranges = fixture.tree(&id(&spec)).await.listeners[0].allowed_cidrs.clone();
    ranges.sort();
    assert_eq!(ranges, ["0.0.0.0/0", "::/0"]);
}

/// Octavia gives the second address to new load balancers only: a warning reports it, however old the load balancer is.
async fn a_second_family_that_is_not_available(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    let skipped = |warnings: Vec<cloud::Event>| {
        let about = warnings
            .into_iter()
            .filter(|one| one.reason == "LoadBalancerSecondFamilySkipped");
        about.map(|one| one.message).collect::<Vec<_>>()
    };
    let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(skipped(warnings), [""; 0], "one family was asked for");
    second_subnet(fixture).await;
    spec.families = vec![IpFamily::V4, IpFamily::V6];
    spec.source_ranges = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    for _ in 0..2 {
        let (_, warnings) = fixture.ensure(&mut spec).await.unwrap();
        let reported = skipped(warnings);
        assert!(
            reported.len() == 1 && reported[0].contains("no IPv6 address"),
            "{reported:?}"
        );
        fixture.restart();
    }
}

/// A provider may not support what Octavia supports. Other problems are reported nevertheless.
#[rstest]
#[case::refused(400, 1, Ok(1))]
#[case::not_implemented(501, 1, Ok(1))]
#[case::refused_anyway(400, 2, Err("Not this"))]
#[case::another_failure(500, 1, Err("Not this"))]
#[tokio::test]
async fn a_second_family_that_is_refused(
    #[case] status: u16,
    #[case] times: u64,
    #[case] expected: Result<usize, &str>,
) {
    let fixture = Fixture::simulated().await;
    second_subnet(&fixture).await;
    let mut spec = fixture.service("web");
    spec.families = vec![IpFamily::V4, IpFamily::V6];
    spec.source_ranges = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    let body = r#"{"faultcode": "Client", "faultstring": "Not this", "debuginfo": null}"#;
    let fault = Fault::answer(status, body)
        .operation("loadbalancer_create")
        .times(times);
    let fault = fixture.sim().inject(fault);
    match (fixture.ensure(&mut spec).await, expected) {
        (Ok((status, warnings)), Ok(addresses)) => {
            assert_eq!(status.ingress.len(), addresses);
            let reported = warnings
                .iter()
                .filter(|one| one.reason == "LoadBalancerSecondFamilySkipped");
            assert_eq!(reported.count(), 1, "{warnings:?}");
        }
        (Err(error), Err(words)) => assert!(error.report().contains(words), "{}", error.report()),
        (done, _) => panic!("{done:?}"),
    }
    assert_eq!(fixture.sim().struck(fault), times);
}
