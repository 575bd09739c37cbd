//! What happens to floating IPs, on the simulation and on the real services.

use super::{act::Address, *};
use crate::load_balancers::network::{
    Floating, FloatingSubnet, Networks,
    rig::{Rig, Simulated, Vip, scenarios, simulated},
};
use openstack_sim::Fault;
use provider_kit::load_balancer::Halt;
use rstest::rstest;
use serde_json::json;

/// A Service and its balancer.
struct World<'a> {
    rig: &'a Rig,
    networks: Networks,
    reserved: Reserved,
    service: ServiceRef,
    vip: Vip,
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    exposure: Exposure,
    ip: Option<&'a str>,
    known: &'a [&'a str],
    kept: Kept,
}

const EXTERNAL: Asked<'_> = Asked {
    exposure: Exposure::External,
    ip: None,
    known: &[],
    kept: Kept::WithBalancer,
};

const INTERNAL: Asked<'_> = Asked {
    exposure: Exposure::Internal,
    ..EXTERNAL
};

impl<'a> World<'a> {
    async fn new(rig: &'a Rig, name: &str) -> Self {
        Self {
            rig,
            networks: Networks::default(),
            reserved: Reserved::default(),
            service: ServiceRef {
                namespace: "ns".to_owned(),
                name: name.to_owned(),
                uid: name.to_owned(),
            },
            vip: rig.vip().await,
        }
    }

    fn want<'b>(&'b self, asked: Asked<'b>) -> Want<'b> {
        Want {
            cluster: "kubernetes",
            service: &self.service,
            exposure: asked.exposure,
            ownership: Ownership::Owner,
            ip: asked.ip,
            known: asked.known,
            kept: asked.kept,
        }
    }

    fn floating(&self, subnet: FloatingSubnet) -> Floating {
        Floating {
            network: Some(self.rig.external.clone()),
            subnet,
        }
    }

    async fn ensure_in(&self, asked: Asked<'_>, subnet: FloatingSubnet) -> Result<Address, Halt> {
        let target = Target {
            port: &self.vip.port,
            address: &self.vip.address,
        };
        let floating = self.floating(subnet);
        // A new floating IP changes by itself for a moment, and is left alone then.
        for _ in 0..50 {
            let attached = observe(&self.rig.api, &self.vip.port).await?;
            let done = ensure(
                &self.rig.api,
                &self.networks,
                &self.reserved,
                &self.want(asked),
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
        let want = self.want(asked);
        let made = reserve(
            &self.rig.api,
            &self.networks,
            &self.reserved,
            &want,
            Some(&floating),
            None,
        )
        .await;
        made.map(|_| ())
    }

    /// The port that a floating IP leads to; an error if there is none.
    async fn port_of(&self, address: &str) -> std::result::Result<Option<String>, String> {
        let all = self.rig.floating_ips().await;
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
async fn switches_between_internal_and_external(rig: &Rig) {
    let world = World::new(rig, "switch").await;
    let first = world.ensure(EXTERNAL).await.unwrap();
    assert!(world.leads_here(&first).await);
    assert_eq!(world.ensure(EXTERNAL).await.unwrap(), first, "nothing changes");
    assert_eq!(world.ensure(INTERNAL).await.unwrap(), world.vip.address);
    assert_eq!(
        world.port_of(&first).await,
        Err(format!("{first} is gone")),
        "FIP deleted (ours)"
    );

    let (_, foreign) = rig.floating_ip("my own").await;
    let asked = Asked {
        ip: Some(&foreign),
        ..EXTERNAL
    };
    assert_eq!(world.ensure(asked).await.unwrap(), foreign);
    assert!(world.leads_here(&foreign).await);
    assert_eq!(world.ensure(INTERNAL).await.unwrap(), world.vip.address);
    assert_eq!(world.port_of(&foreign).await, Ok(None), "detached (foreign)");

    let kept = world.ensure(EXTERNAL).await.unwrap();
    let keep = Asked {
        kept: Kept::Detached,
        ..INTERNAL
    };
    assert_eq!(world.ensure(keep).await.unwrap(), world.vip.address);
    assert_eq!(world.port_of(&kept).await, Ok(None), "detached (keep)");
}

// upstream: openstack 60
async fn follows_the_address_that_is_asked_for(rig: &Rig) {
    let (world, other) = (World::new(rig, "asked").await, World::new(rig, "other").await);
    let (_, one) = rig.floating_ip("my own").await;
    let asks = |ip| Asked {
        ip: Some(ip),
        ..EXTERNAL
    };
    world.reserve_in(asks(&one), FloatingSubnet::Any).await.unwrap();
    assert_eq!(world.ensure(asks(&one)).await.unwrap(), one, "free FIP attached");

    for used in [
        other.reserve_in(asks(&one), FloatingSubnet::Any).await,
        other.ensure(asks(&one)).await.map(drop),
    ] {
        let error = used.unwrap_err().report();
        let expected = format!(
            "floating IP {one} cannot be used: it is in use by port {}",
            world.vip.port
        );
        assert_eq!(error, expected);
    }
    assert!(world.leads_here(&one).await, "used FIP");

    let ours = other.ensure(EXTERNAL).await.unwrap();
    let (_, two) = rig.floating_ip("my own").await;
    assert_eq!(
        other.ensure(asks(&two)).await.unwrap(),
        two,
        "changed later: FIP swapped"
    );
    assert!(other.leads_here(&two).await);
    assert_eq!(other.port_of(&ours).await, Err(format!("{ours} is gone")));

    let denied = other.ensure(asks("198.51.101.250")).await.unwrap_err();
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

async fn an_administrator_may_choose(rig: &Rig) {
    let world = World::new(rig, "chosen").await;
    let floating = world.floating(FloatingSubnet::Any);
    let before = world.ensure(EXTERNAL).await.unwrap();
    let asked = world.want(Asked {
        ip: Some("198.51.101.77"),
        ..EXTERNAL
    });
    let attached = observe(&rig.admin, &world.vip.port).await.unwrap();
    let target = Target {
        port: &world.vip.port,
        address: &world.vip.address,
    };
    let (networks, reserved) = (&world.networks, &world.reserved);
    let done = ensure(
        &rig.admin,
        networks,
        reserved,
        &asked,
        target,
        Some(&floating),
        attached,
    )
    .await;
    // Neutron gives what was reserved to the administrator's project.
    assert_eq!(done.unwrap().ip, "198.51.101.77");
    let there: Vec<String> = observe(&rig.admin, &world.vip.port)
        .await
        .unwrap()
        .into_iter()
        .map(|fip| fip.floating_ip_address)
        .collect();
    assert_eq!(there, ["198.51.101.77"]);
    assert!(world.port_of(&before).await.is_err());
}

// upstream: openstack 61
async fn tries_the_next_subnet(rig: &Rig) {
    let (world, other) = (World::new(rig, "patterns").await, World::new(rig, "more").await);
    let small = world.ensure_in(EXTERNAL, matching("sm?ll", "")).await.unwrap().ip;
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
    let wrong = FloatingSubnet::Id(rig.subnet.clone());
    let wrong = other.reserve_in(EXTERNAL, wrong).await.unwrap_err();
    assert!(
        matches!(wrong, Halt::Failed(Error::Invalid { .. })),
        "{}",
        wrong.report()
    );
}

// upstream: openstack 48
async fn chooses_by_tags(rig: &Rig) {
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
            .matching(&rig.api, &rig.external, None, tags.as_ref())
            .await
            .unwrap();
        let mut names: Vec<&str> = found
            .iter()
            .map(|id| if *id == rig.small { "small" } else { "big" })
            .collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), expected, "{tags:?}");
    }
}

async fn is_found_again_when_it_came_off(rig: &Rig) {
    let world = World::new(rig, "lost").await;
    let address = world.ensure(EXTERNAL).await.unwrap();
    let fip = observe(&rig.api, &world.vip.port).await.unwrap().remove(0);
    rig.put(&["floatingips", &fip.id], json!({"floatingip": {"port_id": null}}))
        .await;
    let known = [address.as_str()];
    let again = Asked {
        known: &known,
        ..EXTERNAL
    };
    assert_eq!(world.ensure(again).await.unwrap(), address);
    assert!(world.leads_here(&address).await);

    let thief = rig.vip().await;
    rig.put(
        &["floatingips", &fip.id],
        json!({"floatingip": {"port_id": thief.port}}),
    )
    .await;
    let new = world.ensure(again).await.unwrap();
    assert_ne!(new, address, "a stolen one is left where it is");
    assert_eq!(world.port_of(&address).await, Ok(Some(thief.port)));
}

// upstream: openstack 62
async fn is_cleaned_up_when_the_balancer_is_gone(rig: &Rig) {
    let world = World::new(rig, "gone").await;
    let address = world.ensure(EXTERNAL).await.unwrap();
    rig.delete(&["ports", &world.vip.port]).await;
    assert_eq!(world.port_of(&address).await, Ok(None), "Neutron takes it off");
    let known = [address.as_str()];
    let api = &rig.api;

    forget(api, &world.service, &[], Kept::WithBalancer).await.unwrap();
    forget(api, &world.service, &known, Kept::Detached).await.unwrap();
    let other = World::new(rig, "other").await;
    forget(api, &other.service, &known, Kept::WithBalancer).await.unwrap();
    assert_eq!(
        world.port_of(&address).await,
        Ok(None),
        "it is not theirs, not known, or to be kept"
    );

    forget(api, &world.service, &known, Kept::WithBalancer).await.unwrap();
    assert!(
        world.port_of(&address).await.is_err(),
        "LB already gone: FIP still cleaned"
    );
    forget(api, &world.service, &known, Kept::WithBalancer).await.unwrap();
}

async fn goes_with_the_balancer(rig: &Rig) {
    let world = World::new(rig, "released").await;
    let address = world.ensure(EXTERNAL).await.unwrap();
    release(&rig.api, &world.vip.port, Kept::Detached).await.unwrap();
    assert!(world.leads_here(&address).await);
    for _ in 0..50 {
        match release(&rig.api, &world.vip.port, Kept::WithBalancer).await {
            Err(Halt::Pending { poll_after, .. }) => tokio::time::sleep(poll_after / 10).await,
            done => {
                done.unwrap();
                break;
            }
        }
    }
    assert!(world.port_of(&address).await.is_err());

    let (id, foreign) = rig.floating_ip("my own").await;
    rig.put(
        &["floatingips", &id],
        json!({"floatingip": {"port_id": world.vip.port}}),
    )
    .await;
    release(&rig.api, &world.vip.port, Kept::WithBalancer).await.unwrap();
    assert!(
        world.leads_here(&foreign).await,
        "somebody else's comes off with the port"
    );
}

async fn says_what_neutron_says(rig: &Rig) {
    let mut world = World::new(rig, "far").await;
    let far = rig.put_away().await;
    world.vip = far;
    let error = world.ensure(EXTERNAL).await.unwrap_err();
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
        network: Some(rig.network.clone()),
        subnet: FloatingSubnet::Any,
    };
    let target = Target {
        port: &world.vip.port,
        address: &world.vip.address,
    };
    let want = world.want(EXTERNAL);
    let error = ensure(
        &rig.api,
        &world.networks,
        &world.reserved,
        &want,
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
    follows_the_address_that_is_asked_for
    an_administrator_may_choose
    tries_the_next_subnet
    chooses_by_tags
    is_found_again_when_it_came_off
    is_cleaned_up_when_the_balancer_is_gone
    goes_with_the_balancer
    says_what_neutron_says
}

#[tokio::test]
async fn says_which_quota_is_exceeded() {
    let Simulated { rig, cloud, .. } = &simulated().await;
    let world = World::new(rig, "quota").await;
    cloud.configure(|settings| {
        settings.quotas.insert("floatingip".to_owned(), 0);
    });
    let error = world.ensure(EXTERNAL).await.unwrap_err();
    assert!(matches!(error, Halt::Failed(Error::Quota { .. })), "{}", error.report());
    assert_eq!(error.to_string(), "the quota for floating ips is exceeded");
}

#[tokio::test]
async fn without_a_network_the_service_is_internal_and_says_so() {
    let Simulated { rig, .. } = &simulated().await;
    let world = World::new(rig, "homeless").await;
    let target = Target {
        port: &world.vip.port,
        address: &world.vip.address,
    };
    let address = ensure(
        &rig.api,
        &world.networks,
        &world.reserved,
        &world.want(EXTERNAL),
        target,
        None,
        Vec::new(),
    )
    .await
    .unwrap();
    let reasons: Vec<&str> = address.events.iter().map(|warning| warning.reason).collect();
    assert_eq!(address.ip, world.vip.address);
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
    let Simulated { rig, cloud, .. } = &simulated().await;
    let world = World::new(rig, "six").await;
    let target = Target {
        port: &world.vip.port,
        address: "2001:db8::5",
    };
    let mark = cloud.mark();
    let address = ensure(
        &rig.api,
        &world.networks,
        &world.reserved,
        &world.want(asked),
        target,
        None,
        Vec::new(),
    )
    .await
    .unwrap();
    let reasons: Vec<&str> = address.events.iter().map(|warning| warning.reason).collect();
    assert_eq!(address.ip, "2001:db8::5");
    assert_eq!(reasons, ["LoadBalancerFloatingIPSkipped"]);
    assert_eq!(cloud.calls_since(mark).len(), 0, "nobody is asked");
}

#[tokio::test]
async fn one_that_came_in_between_is_seen_next_time() {
    let Simulated { rig, .. } = &simulated().await;
    let world = World::new(rig, "raced").await;
    let address = world.ensure(EXTERNAL).await.unwrap();
    let target = Target {
        port: &world.vip.port,
        address: &world.vip.address,
    };
    let floating = world.floating(FloatingSubnet::Any);
    let want = world.want(EXTERNAL);
    let stale = ensure(
        &rig.api,
        &world.networks,
        &world.reserved,
        &want,
        target,
        Some(&floating),
        Vec::new(),
    )
    .await;
    assert!(matches!(stale, Err(Halt::Pending { .. })), "{stale:?}");
    assert_eq!(rig.floating_ips().await, [(address, Some(world.vip.port.clone()))]);
}

#[rstest]
#[tokio::test]
async fn any_call_may_fail_once(
    #[values("floating_ip_list", "floating_ip_create", "floating_ip_update", "floating_ip_delete")] operation: &str,
    #[values("500", "lost", "reset", "truncated")] how: &str,
) {
    let Simulated { rig, cloud, .. } = &simulated().await;
    let world = World::new(rig, "faulty").await;
    let (_, other) = rig.floating_ip("my own").await;
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
        // Whether it succeeds is not the point: the next one must.
        let _ = world.ensure(asked).await;
        cloud.withdraw_all();
        world.ensure(asked).await.unwrap();
        let there = rig.floating_ips().await;
        let here = there
            .iter()
            .filter(|(_, port)| port.as_ref() == Some(&world.vip.port))
            .count();
        assert_eq!(here, usize::from(asked.exposure == Exposure::External), "{there:?}");
    }
    assert_eq!(
        rig.floating_ips().await,
        [(other, None)],
        "nothing is leaked, and nothing is taken"
    );
}
