use super::*;
use cloud::{Ingress, IpFamily, Port, Protocol, ServiceRef};
use rstest::rstest;

const SECOND: Duration = Duration::from_secs(1);

fn spec(uid: &str) -> Spec {
    let port = Port {
        name: String::new(),
        protocol: Protocol::Tcp,
        port: 80,
        node_port: None,
        app_protocol: None,
    };
    Spec {
        cluster: "c".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: uid.into(),
            uid: uid.into(),
        },
        ports: vec![port],
        hosts: [Host {
            name: "a".into(),
            ..Host::default()
        }
        .into()]
        .into(),
        ..Spec::default()
    }
}

fn ensure(balancers: &mut Balancers, spec: &Spec, now: Instant, settings: &Settings) -> String {
    balancers.settle(now);
    match balancers.ensure(spec, usize::MAX, now, settings) {
        Ok((Progress::Done(status), _)) => {
            let ips: Vec<_> = status.ingress.into_iter().filter_map(|ingress| ingress.ip).collect();
            format!("ready {}", ips.join(" "))
        }
        Ok((
            Progress::Pending {
                poll_after,
                waiting_for,
            },
            _,
        )) => format!("{poll_after:?}: {waiting_for}"),
        Err(error) => error.report(),
    }
}

#[rstest]
#[case::v4(&[IpFamily::V4], "ready 198.18.0.1")]
#[case::not_requested(&[], "ready 198.18.0.1")]
#[case::v6(&[IpFamily::V6], "ready 2001:db8::1")]
#[case::dual(&[IpFamily::V6, IpFamily::V4], "ready 2001:db8::1 198.18.0.1")]
fn gives_an_address_of_each_family(#[case] families: &[IpFamily], #[case] expected: &str) {
    let spec = Spec {
        families: families.to_vec(),
        ..spec("u")
    };
    assert_eq!(
        ensure(&mut Balancers::default(), &spec, Instant::now(), &Settings::default()),
        expected
    );
}

#[rstest]
#[case::any_address("192.0.2.1", "ready 192.0.2.1")]
#[case::nonsense("web", "invalid spec.loadBalancerIP: web is not an IP address")]
#[case::other_family(
    "2001:db8::1",
    "invalid spec.loadBalancerIP: 2001:db8::1 is not of a family of the Service"
)]
#[case::taken(
    "198.18.0.1",
    "the quota for addresses is exceeded: spec.loadBalancerIP: 198.18.0.1 is used by another load balancer"
)]
fn assigns_the_requested_address(#[case] ip: &str, #[case] expected: &str) {
    let (mut balancers, now, settings) = (Balancers::default(), Instant::now(), Settings::default());
    ensure(&mut balancers, &spec("other"), now, &settings);
    let spec = Spec {
        ip: Some(ip.into()),
        ..spec("u")
    };
    assert_eq!(ensure(&mut balancers, &spec, now, &settings), expected);
    assert_eq!(
        balancers.all().count(),
        if expected.starts_with("ready") { 2 } else { 1 }
    );
}

#[test]
fn assigns_the_previous_address() {
    let ingress = vec![Ingress {
        ip: Some("198.18.7.7".into()),
        ..Ingress::default()
    }];
    let spec = Spec {
        status: Status { ingress },
        ..spec("u")
    };
    let given = ensure(&mut Balancers::default(), &spec, Instant::now(), &Settings::default());
    assert_eq!(given, "ready 198.18.7.7");
}

#[test]
fn is_pending_until_its_time_has_come() {
    let settings = Settings {
        provisioning: 3 * SECOND,
        ..Settings::default()
    };
    let (mut balancers, spec, now) = (Balancers::default(), spec("u"), Instant::now());
    assert_eq!(
        ensure(&mut balancers, &spec, now, &settings),
        "3s: load balancer au is being created"
    );
    assert_eq!(
        ensure(&mut balancers, &spec, now + 2 * SECOND, &settings),
        "1s: load balancer au is being created"
    );
    assert_eq!(
        ensure(&mut balancers, &spec, now + 3 * SECOND, &settings),
        "ready 198.18.0.1"
    );
}

#[test]
fn may_be_pending_for_ever() {
    let settings = Settings {
        provisioning: Duration::MAX,
        ..Settings::default()
    };
    let outcome = ensure(&mut Balancers::default(), &spec("u"), Instant::now(), &settings);
    assert!(outcome.ends_with("is being created"), "{outcome}");
}

#[test]
fn is_deleted_after_a_delay() {
    let settings = Settings {
        deletion: 3 * SECOND,
        ..Settings::default()
    };
    let (mut balancers, spec, now) = (Balancers::default(), spec("u"), Instant::now());
    ensure(&mut balancers, &spec, now, &settings);
    let waiting_for = "load balancer au is still being deleted".to_owned();
    let pending = |poll_after| Progress::Pending {
        poll_after,
        waiting_for: waiting_for.clone(),
    };

    assert_eq!(
        balancers.delete(&spec, now, &settings),
        (pending(3 * SECOND), vec!["delete"])
    );
    assert_eq!(
        balancers.delete(&spec, now + SECOND, &settings),
        (pending(2 * SECOND), vec![])
    );
    assert_eq!(
        ensure(&mut balancers, &spec, now + SECOND, &settings),
        format!("2s: {waiting_for}")
    );
    assert!(balancers.update_hosts(&spec, usize::MAX, now, &settings).is_err());
    assert_eq!(balancers.owned("c").len(), 1);

    balancers.settle(now + 3 * SECOND);
    assert_eq!(
        balancers.delete(&spec, now + 3 * SECOND, &settings),
        (Progress::Done(()), vec![])
    );
    assert_eq!(
        ensure(&mut balancers, &spec, now + 3 * SECOND, &settings),
        "ready 198.18.0.2"
    );
}

#[test]
fn keeps_each_host_once() {
    let (mut balancers, now, settings) = (Balancers::default(), Instant::now(), Settings::default());
    ensure(&mut balancers, &spec("one"), now, &settings);
    ensure(&mut balancers, &spec("two"), now, &settings);
    let hosts: Vec<_> = balancers.all().map(|balancer| &balancer.hosts[0]).collect();
    assert!(Arc::ptr_eq(hosts[0], hosts[1]));
    for uid in ["one", "two"] {
        let no_hosts = Spec {
            hosts: [].into(),
            ..spec(uid)
        };
        ensure(&mut balancers, &no_hosts, now, &settings);
    }
    assert!(balancers.hosts.is_empty());
}

#[test]
fn stops_after_the_steps_allowed() {
    let (mut balancers, spec, now, settings) = (Balancers::default(), spec("u"), Instant::now(), Settings::default());
    let (_, steps) = balancers.ensure(&spec, 2, now, &settings).expect("no error");
    assert_eq!(
        steps.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["create", "+port 80/TCP"]
    );
    assert_eq!(balancers.all().next().expect("it was made").hosts, []);
    let (outcome, steps) = balancers.ensure(&spec, usize::MAX, now, &settings).expect("no error");
    assert_eq!(steps.iter().map(ToString::to_string).collect::<Vec<_>>(), ["+host a"]);
    assert!(matches!(outcome, Progress::Done(_)));
}
