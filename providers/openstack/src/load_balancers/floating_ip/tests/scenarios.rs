//! Changes of floating IPs, on the simulation and on the real services.

use super::super::{apply::Address, *};
use crate::load_balancers::{
    network::{Floating, FloatingSubnet, Networks},
    tests::neutron::{Neutron, Simulated, Vip, scenarios, simulated},
};
use openstack_sim::Fault;
use provider_kit::load_balancer::Halt;
use rstest::rstest;
use serde_json::json;

/// A Service and its load balancer.
struct Fixture<'a> {
    neutron: &'a Neutron,
    networks: Networks,
    reserved: Reservations,
    service: ServiceRef,
    vip: Vip,
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    exposure: Exposure,
    ip: Option<&'a str>,
    known: &'a [&'a str],
    retention: Retention,
}

const EXTERNAL: Asked<'_> = Asked {
    exposure: Exposure::External,
    ip: None,
    known: &[],
    retention: Retention::Delete,
};

const INTERNAL: Asked<'_> = Asked {
    exposure: Exposure::Internal,
    ..EXTERNAL
};

impl<'a> Fixture<'a> {
    async fn new(neutron: &'a Neutron, name: &str) -> Self {
        Self {
            neutron,
            networks: Networks::default(),
            reserved: Reservations::default(),
            service: ServiceRef {
                namespace: "ns".to_owned(),
                name: name.to_owned(),
                uid: name.to_owned(),
            },
            vip: neutron.vip().await,
        }
    }

    fn desired<'b>(&'b self, asked: Asked<'b>) -> DesiredFloatingIp<'b> {
        DesiredFloatingIp {
            cluster: "kubernetes",
            service: &self.service,
            exposure: asked.exposure,
            ownership: Ownership::Owner,
            ip: asked.ip,
            known: asked.known,
            retention: asked.retention,
        }
    }

    fn floating(&self, subnet: FloatingSubnet) -> Floating {
        Floating {
            network: Some(self.neutron.external.clone()),
            subnet,
        }
    }

    async fn ensure_in(&self, asked: Asked<'_>, subnet: FloatingSubnet) -> Result<Address, Halt> {
        let target = Target {
            port: &self.vip.port,
            address: &self.vip.address,
        };
        let floating = self.floating(subnet);
        // A new floating IP changes by itself for a moment; then it does not change.
        for _ in 0..50 {
            let attached = observe(&self.neutron.api, &self.vip.port).await?;
            let done = ensure(
                &self.neutron.api,
                &self.networks,
                &self.reserved,
                &self.desired(asked),
                target,
                Some(&floating),
                attached,
            )
            .await;
            match done {
                Err(Halt::Pending { poll_after, .. }) => tokio::time::sleep(poll_after / 10).await,
                done => return done,
            }
        }
        Err(Error::unavailable("floating IP", "always pending").into())
    }

    async fn ensure(&self, asked: Asked<'_>) -> Result<String, Halt> {
        Ok(self.ensure_in(asked, FloatingSubnet::Any).await?.ip)
    }

    async fn reserve_in(&self, asked: Asked<'_>, subnet: FloatingSubnet) -> Result<(), Halt> {
        let floating = self.floating(subnet);
        let desired = self.desired(asked);
        let made = reserve(
            &self.neutron.api,
            &self.networks,
            &self.reserved,
            &desired,
            Some(&floating),
            None,
        )
        .await;
        made.map(|_| ())
    }

    /// The port of a floating IP; an error if it has none.
    async fn port_of(&self, address: &str) -> std::result::Result<Option<String>, String> {
        let all = self.neutron.floating_ips().await;
        let found = all.into_iter().find(|(there, _)| there == address);
        found.map(|(_, port)| port).ok_or_else(|| format!("{address} is gone"))
    }

    async fn leads_here(&self, address: &str) -> bool {
        self.port_of(address).await == Ok(Some(self.vip.port.clone()))
    }
}

fn matching(name: &str, tags: &str) -> FloatingSubnet {
    FloatingSubnet::Matching {
        name: name.to_owned(),
        tags: tags.to_owned(),
    }
}

// upstream: openstack 59
async fn switches_between_internal_and_external(neutron: &Neutron) {
    let fixture = Fixture::new(neutron, "switch").await;
    let first = fixture.ensure(EXTERNAL).await.unwrap();
    assert!(fixture.leads_here(&first).await);
    assert_eq!(fixture.ensure(EXTERNAL).await.unwrap(), first, "nothing changes");
    assert_eq!(fixture.ensure(INTERNAL).await.unwrap(), fixture.vip.address);
    assert_eq!(
        fixture.port_of(&first).await,
        Err(format!("{first} is gone")),
        "FIP deleted (ours)"
    );

    let (_, foreign) = neutron.floating_ip("my own").await;
    let asked = Asked {
        ip: Some(&foreign),
        ..EXTERNAL
    };
    assert_eq!(fixture.ensure(asked).await.unwrap(), foreign);
    assert!(fixture.leads_here(&foreign).await);
    assert_eq!(fixture.ensure(INTERNAL).await.unwrap(), fixture.vip.address);
    assert_eq!(fixture.port_of(&foreign).await, Ok(None), "detached (foreign)");

    let kept = fixture.ensure(EXTERNAL).await.unwrap();
    let keep = Asked {
        retention: Retention::Detach,
        ..INTERNAL
    };
    assert_eq!(fixture.ensure(keep).await.unwrap(), fixture.vip.address);
    assert_eq!(fixture.port_of(&kept).await, Ok(None), "detached (keep)");
}

// upstream: openstack 60
async fn follows_the_requested_address(neutron: &Neutron) {
    let (fixture, other) = (
        Fixture::new(neutron, "asked").await,
        Fixture::new(neutron, "other").await,
    );
    let (_, one) = neutron.floating_ip("my own").await;
    let asking_for = |ip| Asked {
        ip: Some(ip),
        ..EXTERNAL
    };
    fixture.reserve_in(asking_for(&one), FloatingSubnet::Any).await.unwrap();
    assert_eq!(
        fixture.ensure(asking_for(&one)).await.unwrap(),
        one,
        "free FIP attached"
    );

    for used in [
        other.reserve_in(asking_for(&one), FloatingSubnet::Any).await,
        other.ensure(asking_for(&one)).await.map(drop),
    ] {
        let error = used.unwrap_err().report();
        let expected = format!(
            "floating IP {one} cannot be used: it is in use by port {}",
            fixture.vip.port
        );
        assert_eq!(error, expected);
    }
    assert!(fixture.leads_here(&one).await, "used FIP");

    let ours = other.ensure(EXTERNAL).await.unwrap();
    let (_, two) = neutron.floating_ip("my own").await;
    assert_eq!(
        other.ensure(asking_for(&two)).await.unwrap(),
        two,
        "changed later: FIP swapped"
    );
    assert!(other.leads_here(&two).await);
    assert_eq!(other.port_of(&ours).await, Err(format!("{ours} is gone")));

    let denied = other.ensure(asking_for("198.51.101.250")).await.unwrap_err();
    assert!(
        matches!(denied, Halt::Failed(Error::Denied { .. })),
        "users may not choose: {}",
        denied.report()
    );
    assert!(
        other.leads_here(&two).await,
        "what is there is not given up for what cannot be had"
    );
}

async fn an_administrator_may_choose(neutron: &Neutron) {
    let fixture = Fixture::new(neutron, "chosen").await;
    let floating = fixture.floating(FloatingSubnet::Any);
    let before = fixture.ensure(EXTERNAL).await.unwrap();
    let asked = fixture.desired(Asked {
        ip: Some("198.51.101.77"),
        ..EXTERNAL
    });
    let attached = observe(&neutron.admin, &fixture.vip.port).await.unwrap();
    let target = Target {
        port: &fixture.vip.port,
        address: &fixture.vip.address,
    };
    let (networks, reserved) = (&fixture.networks, &fixture.reserved);
    let done = ensure(
        &neutron.admin,
        networks,
        reserved,
        &asked,
        target,
        Some(&floating),
        attached,
    )
    .await;
    // Neutron assigns the reserved address to the administrator's project.
    assert_eq!(done.unwrap().ip, "198.51.101.77");
    let there: Vec<String> = observe(&neutron.admin, &fixture.vip.port)
        .await
        .unwrap()
        .into_iter()
        .map(|fip| fip.floating_ip_address)
        .collect();
    assert_eq!(there, ["198.51.101.77"]);
    assert!(fixture.port_of(&before).await.is_err());
}

// upstream: openstack 61
async fn tries_the_next_subnet(neutron: &Neutron) {
    let (fixture, other) = (
        Fixture::new(neutron, "patterns").await,
        Fixture::new(neutron, "more").await,
    );
    let small = fixture.ensure_in(EXTERNAL, matching("sm?ll", "")).await.unwrap().ip;
    assert_eq!(small, "198.51.100.2");

    let full = other
        .ensure_in(EXTERNAL, matching("small", ""))
        .await
        .unwrap_err()
        .report();
    assert!(full.contains("No more IP addresses available"), "{full}");
    let next = other.ensure_in(EXTERNAL, matching("{small,big}", "")).await.unwrap().ip;
    let why = "first subnet full (409/400): next one tried";
    assert!(next.starts_with("198.51.101."), "{why}: {next}");

    let none = other
        .reserve_in(EXTERNAL, matching("nothing*", ""))
        .await
        .unwrap_err()
        .report();
    assert!(none.contains("has name \"nothing*\""), "{none}");
    let wrong = FloatingSubnet::Id(neutron.subnet.clone());
    let wrong = other.reserve_in(EXTERNAL, wrong).await.unwrap_err();
    assert!(
        matches!(wrong, Halt::Failed(Error::Invalid { .. })),
        "{}",
        wrong.report()
    );
}

// upstream: openstack 48
async fn chooses_by_tags(neutron: &Neutron) {
    let networks = Networks::default();
    for (tags, expected) in [
        ("a", "big small"),
        ("a,b", "big small"),
        ("&a,b", "big"),
        ("!b", "small"),
        ("!a,b", ""),
        ("!&a,b", "small"),
    ] {
        let tags = crate::load_balancers::network::Tags::parse(tags);
        let found = networks
            .matching(&neutron.api, &neutron.external, None, tags.as_ref())
            .await
            .unwrap();
        let mut names: Vec<&str> = found
            .iter()
            .map(|id| if *id == neutron.small { "small" } else { "big" })
            .collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), expected, "{tags:?}");
    }
}

async fn is_found_again_when_it_came_off(neutron: &Neutron) {
    let fixture = Fixture::new(neutron, "lost").await;
    let address = fixture.ensure(EXTERNAL).await.unwrap();
    let fip = observe(&neutron.api, &fixture.vip.port).await.unwrap().remove(0);
    neutron
        .put(&["floatingips", &fip.id], json!({"floatingip": {"port_id": null}}))
        .await;
    let known = [address.as_str()];
    let again = Asked {
        known: &known,
        ..EXTERNAL
    };
    assert_eq!(fixture.ensure(again).await.unwrap(), address);
    assert!(fixture.leads_here(&address).await);

    let thief = neutron.vip().await;
    neutron
        .put(
            &["floatingips", &fip.id],
            json!({"floatingip": {"port_id": thief.port}}),
        )
        .await;
    let new = fixture.ensure(again).await.unwrap();
    assert_ne!(new, address, "a stolen one is left where it is");
    assert_eq!(fixture.port_of(&address).await, Ok(Some(thief.port)));
}

// upstream: openstack 62
async fn is_deleted_if_the_load_balancer_does_not_exist(neutron: &Neutron) {
    let fixture = Fixture::new(neutron, "gone").await;
    let address = fixture.ensure(EXTERNAL).await.unwrap();
    neutron.delete(&["ports", &fixture.vip.port]).await;
    assert_eq!(fixture.port_of(&address).await, Ok(None), "Neutron takes it off");
    let known = [address.as_str()];
    let api = &neutron.api;

    forget(api, &fixture.service, &[], Retention::Delete).await.unwrap();
    forget(api, &fixture.service, &known, Retention::Detach).await.unwrap();
    let other = Fixture::new(neutron, "other").await;
    forget(api, &other.service, &known, Retention::Delete).await.unwrap();
    assert_eq!(
        fixture.port_of(&address).await,
        Ok(None),
        "it is not theirs, not known, or to be kept"
    );

    forget(api, &fixture.service, &known, Retention::Delete).await.unwrap();
    assert!(
        fixture.port_of(&address).await.is_err(),
        "LB already gone: FIP still cleaned"
    );
    forget(api, &fixture.service, &known, Retention::Delete).await.unwrap();
}

async fn deleted_with_the_load_balancer(neutron: &Neutron) {
    let fixture = Fixture::new(neutron, "released").await;
    let address = fixture.ensure(EXTERNAL).await.unwrap();
    release(&neutron.api, &fixture.vip.port, Retention::Detach)
        .await
        .unwrap();
    assert!(fixture.leads_here(&address).await);
    for _ in 0..50 {
        match release(&neutron.api, &fixture.vip.port, Retention::Delete).await {
            Err(Halt::Pending { poll_after, .. }) => tokio::time::sleep(poll_after / 10).await,
            done => {
                done.unwrap();
                break;
            }
        }
    }
    assert!(fixture.port_of(&address).await.is_err());

    let (id, foreign) = neutron.floating_ip("my own").await;
    neutron
        .put(
            &["floatingips", &id],
            json!({"floatingip": {"port_id": fixture.vip.port}}),
        )
        .await;
    release(&neutron.api, &fixture.vip.port, Retention::Delete)
        .await
        .unwrap();
    assert!(
        fixture.leads_here(&foreign).await,
        "another one is detached with the port"
    );
}

async fn reports_what_neutron_answers(neutron: &Neutron) {
    let mut fixture = Fixture::new(neutron, "far").await;
    let far = neutron.unreachable_vip().await;
    fixture.vip = far;
    let error = fixture.ensure(EXTERNAL).await.unwrap_err();
    assert!(
        matches!(error, Halt::Failed(Error::Unavailable { .. })),
        "it passes once there is a router"
    );
    assert!(
        error.report().contains("is not reachable from subnet"),
        "{}",
        error.report()
    );

    let floating = Floating {
        network: Some(neutron.network.clone()),
        subnet: FloatingSubnet::Any,
    };
    let target = Target {
        port: &fixture.vip.port,
        address: &fixture.vip.address,
    };
    let desired = fixture.desired(EXTERNAL);
    let error = ensure(
        &neutron.api,
        &fixture.networks,
        &fixture.reserved,
        &desired,
        target,
        Some(&floating),
        Vec::new(),
    )
    .await
    .unwrap_err();
    assert!(
        error.report().contains("is not a valid external network"),
        "{}",
        error.report()
    );
}

scenarios! {
    switches_between_internal_and_external
    follows_the_requested_address
    an_administrator_may_choose
    tries_the_next_subnet
    chooses_by_tags
    is_found_again_when_it_came_off
    is_deleted_if_the_load_balancer_does_not_exist
    deleted_with_the_load_balancer
    reports_what_neutron_answers
}

#[tokio::test]
async fn the_exceeded_quota_is_named() {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron, "quota").await;
    cloud.configure(|settings| {
        settings.quotas.insert("floatingip".to_owned(), 0);
    });
    let error = fixture.ensure(EXTERNAL).await.unwrap_err();
    assert!(matches!(error, Halt::Failed(Error::Quota { .. })), "{}", error.report());
    assert_eq!(error.to_string(), "the quota for floating ips is exceeded");
}

#[tokio::test]
async fn without_a_network_the_service_is_internal_and_warns() {
    let Simulated { neutron, .. } = &simulated().await;
    let fixture = Fixture::new(neutron, "no_network").await;
    let target = Target {
        port: &fixture.vip.port,
        address: &fixture.vip.address,
    };
    let address = ensure(
        &neutron.api,
        &fixture.networks,
        &fixture.reserved,
        &fixture.desired(EXTERNAL),
        target,
        None,
        Vec::new(),
    )
    .await
    .unwrap();
    let reasons: Vec<&str> = address.events.iter().map(|warning| warning.reason).collect();
    assert_eq!(address.ip, fixture.vip.address);
    assert_eq!(
        reasons,
        ["LoadBalancerExternalNetworkSearchFailed", "LoadBalancerForcedInternal"]
    );
}

#[rstest]
#[case::external(EXTERNAL)]
#[case::internal(INTERNAL)]
#[tokio::test]
async fn ipv6_does_not_float(#[case] asked: Asked<'static>) {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron, "six").await;
    let target = Target {
        port: &fixture.vip.port,
        address: "2001:db8::5",
    };
    let mark = cloud.mark();
    let address = ensure(
        &neutron.api,
        &fixture.networks,
        &fixture.reserved,
        &fixture.desired(asked),
        target,
        None,
        Vec::new(),
    )
    .await
    .unwrap();
    let reasons: Vec<&str> = address.events.iter().map(|warning| warning.reason).collect();
    assert_eq!(address.ip, "2001:db8::5");
    assert_eq!(reasons, ["LoadBalancerFloatingIPSkipped"]);
    assert_eq!(cloud.calls_since(mark).len(), 0, "no request is sent");
}

#[tokio::test]
async fn one_that_came_in_between_is_seen_next_time() {
    let Simulated { neutron, .. } = &simulated().await;
    let fixture = Fixture::new(neutron, "raced").await;
    let address = fixture.ensure(EXTERNAL).await.unwrap();
    let target = Target {
        port: &fixture.vip.port,
        address: &fixture.vip.address,
    };
    let floating = fixture.floating(FloatingSubnet::Any);
    let desired = fixture.desired(EXTERNAL);
    let stale = ensure(
        &neutron.api,
        &fixture.networks,
        &fixture.reserved,
        &desired,
        target,
        Some(&floating),
        Vec::new(),
    )
    .await;
    assert!(matches!(stale, Err(Halt::Pending { .. })), "{stale:?}");
    assert_eq!(
        neutron.floating_ips().await,
        [(address, Some(fixture.vip.port.clone()))]
    );
}

#[rstest]
#[tokio::test]
async fn any_call_may_fail_once(
    #[values("floating_ip_list", "floating_ip_create", "floating_ip_update", "floating_ip_delete")] operation: &str,
    #[values("500", "lost", "reset", "truncated")] how: &str,
) {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron, "faulty").await;
    let (_, other) = neutron.floating_ip("my own").await;
    let asked = Asked {
        ip: Some(&other),
        ..EXTERNAL
    };
    for asked in [EXTERNAL, asked, INTERNAL] {
        let fault = match how {
            "500" => Fault::status(500),
            "lost" => Fault::lose_answer(),
            "reset" => Fault::reset(),
            _ => Fault::truncate(),
        };
        cloud.inject(fault.operation(operation).times(1));
        // Its result does not matter: the next one must succeed.
        let _ = fixture.ensure(asked).await;
        cloud.withdraw_all();
        fixture.ensure(asked).await.unwrap();
        let there = neutron.floating_ips().await;
        let here = there
            .iter()
            .filter(|(_, port)| port.as_ref() == Some(&fixture.vip.port))
            .count();
        assert_eq!(here, usize::from(asked.exposure == Exposure::External), "{there:?}");
    }
    assert_eq!(
        neutron.floating_ips().await,
        [(other, None)],
        "nothing is leaked, and nothing is taken"
    );
}
