//! The number of calls.

use super::fixture::{Fixture, annotate, id, port, scenarios};
use cloud::{Progress, Protocol, Spec};
use std::time::Duration;

scenarios! {
    a_node_comes
    serial_calls
    ovn
    restart
}

async fn a_node_comes(fixture: &mut Fixture) {
    let mut spec = fixture.service("web");
    fixture.ensure(&mut spec).await.unwrap();
    // The record has the pool: one write, and one poll before and after it.
    spec.hosts = fixture.hosts.as_slice().into();
    let before = fixture.calls();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.since(&before), "loadbalancer_get×2 loadbalancer_members_update");
    assert_eq!(fixture.members(&id(&spec)).await, "a b c");
    // The same holds for a new process.
    fixture.restart();
    spec.hosts = fixture.hosts[..1].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert!(
        !fixture.since(&before).contains("member_list"),
        "{}",
        fixture.since(&before)
    );
    assert_eq!(fixture.members(&id(&spec)).await, "a");
    let before = fixture.calls();
    fixture.update_hosts(&mut spec).await.unwrap();
    assert_eq!(fixture.since(&before), "loadbalancer_get");
}

async fn serial_calls(fixture: &mut Fixture) {
    fixture.configure(|config| config.load_balancer.provider_requires_serial_api_calls = true);
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    let before = fixture.calls();
    fixture.ensure(&mut spec).await.unwrap();
    let calls = fixture.since(&before);
    assert!(
        calls.contains("loadbalancer_member_create×2") && !calls.contains("members_update"),
        "{calls}"
    );
    spec.hosts = fixture.hosts[1..].into();
    fixture.update_hosts(&mut spec).await.unwrap();
    let members = fixture.members(&id(&spec)).await;
    assert!(
        members.starts_with("member_b_") && members.contains(" member_c_"),
        "{members}"
    );
}

/// Members with a monitor address are not removed from their pool.
#[tokio::test]
async fn serial_calls_empty_no_pool() {
    let mut fixture = Fixture::simulated().await;
    fixture.configure(|config| config.load_balancer.provider_requires_serial_api_calls = true);
    let mut spec = fixture.service("web");
    annotate(&mut spec, "enable-health-monitor", "true");
    fixture.ensure(&mut spec).await.unwrap();
    for (traffic, expected) in [
        (
            cloud::TrafficPolicy::Local {
                health_check_port: Some(32_000),
            },
            Some(32_000),
        ),
        (cloud::TrafficPolicy::Cluster, None),
    ] {
        spec.traffic = traffic;
        let before = fixture.calls();
        fixture.ensure(&mut spec).await.unwrap();
        let calls = fixture.since(&before);
        assert!(
            calls.contains("loadbalancer_member_update×2") && !calls.contains("member_delete"),
            "{calls}"
        );
        let tree = fixture.tree(&id(&spec)).await;
        let asked: Vec<_> = tree
            .members
            .values()
            .flatten()
            .map(|member| member.monitor_port)
            .collect();
        assert_eq!(asked, [expected; 2]);
    }
}

async fn ovn(fixture: &mut Fixture) {
    fixture.configure(|config| {
        config.load_balancer.lb_provider = "ovn".into();
        config.load_balancer.lb_method = "SOURCE_IP_PORT".into();
    });
    let mut spec = fixture.service("web");
    spec.traffic = cloud::TrafficPolicy::Local {
        health_check_port: Some(32_000),
    };
    annotate(&mut spec, "enable-health-monitor", "true");
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.listeners(&id(&spec)).await, "TCP/80");
    // Values that ovn would not store are not sent again.
    fixture.restart();
    spec.annotations.remove(crate::load_balancers::annotations::RECORD.key);
    let before = fixture.calls();
    fixture.ensure(&mut spec).await.unwrap();
    let calls = fixture.since(&before);
    assert!(
        !calls.contains("update") && !calls.contains("create") && !calls.contains("delete"),
        "{calls}"
    );
}

/// After a restart, unchanged Services cost one page of each list.
async fn restart(fixture: &mut Fixture) {
    let mut specs: Vec<Spec> = Vec::new();
    for number in 0..8 {
        let mut spec = fixture.service(&format!("web-{number}"));
        spec.ports.push(port(Protocol::Tcp, 443));
        fixture.ensure(&mut spec).await.unwrap();
        specs.push(spec);
    }
    fixture.restart();
    let before = fixture.calls();
    for spec in &mut specs {
        fixture.ensure(spec).await.unwrap();
    }
    assert_eq!(
        fixture.since(&before),
        "floating_ip_list loadbalancer_list security_group_list version_list"
    );
}

/// Passes over all Services at the requested times, for this long. The cloud works on each load balancer for an hour.
async fn poll(fixture: &Fixture, specs: &mut [Spec], time: Duration) {
    let (mut now, mut due) = (Duration::ZERO, vec![Duration::ZERO; specs.len()]);
    while now < time {
        for (spec, due) in specs.iter_mut().zip(&mut due).filter(|(_, due)| **due <= now) {
            let Progress::Pending { poll_after, .. } = fixture.pass(spec).await.unwrap() else {
                panic!("it is ready");
            };
            *due = now + poll_after;
        }
        let next = due.iter().min().copied().unwrap();
        fixture.advance(next.saturating_sub(now)).await;
        now = next;
    }
}

/// The interval grows from one second to five, so a load balancer is polled about 15 times in half a minute.
#[tokio::test]
async fn pending_load_balancers_are_polled_in_one_list() {
    let mut polls = Vec::new();
    for services in [1, 2, 20] {
        let fixture = Fixture::simulated().await;
        let hour = Duration::from_hours(1);
        fixture.sim().configure(|settings| settings.balancer_delay = hour);
        let mut specs: Vec<Spec> = (0..services)
            .map(|number| fixture.service(&format!("web-{number}")))
            .collect();
        while fixture.octavia.load_balancers().await.unwrap().len() < services {
            poll(&fixture, &mut specs, Duration::from_millis(1)).await;
        }
        let before = fixture.calls();
        poll(&fixture, &mut specs, Duration::from_secs(30)).await;
        let (after, made) = (fixture.calls(), |calls: &super::fixture::Calls, name: &str| {
            calls.get(name).copied().unwrap_or_default()
        });
        polls.push(["loadbalancer_list", "loadbalancer_get"].map(|name| made(&after, name) - made(&before, name)));
    }
    let [[_, one], [two, two_alone], [twenty, twenty_alone]] = polls[..] else {
        panic!("{polls:?}")
    };
    assert!((10..20).contains(&one), "{polls:?}");
    assert!(two <= one * 3 / 2 && twenty <= one * 3 / 2, "{polls:?}");
    assert_eq!((two_alone, twenty_alone), (0, 0), "{polls:?}");
}
