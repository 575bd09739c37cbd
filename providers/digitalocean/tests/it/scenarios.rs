//! What is DigitalOcean's own: how load balancers are found, certificates, ownership, tags, events and the firewall of the nodes.

use crate::fixture::{Fixture, ensure, ensure_once, open, service};
use cloud::{Error, Exposed, Exposure, IpMode, LiveData, LoadBalancers, NodeRef, Progress, Provider, RangesFrom, Spec};
use digitalocean::DigitalOcean;
use digitalocean_fake::Fake;
use fakecloud::{Fault, Value};
use std::time::Duration;

const PREFIX: &str = "service.beta.kubernetes.io/do-loadbalancer-";
const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
const DISOWN: &str = "service.kubernetes.io/do-loadbalancer-disown";

fn balancers(provider: &DigitalOcean) -> &dyn LoadBalancers {
    provider.load_balancers().expect("load balancers")
}

fn annotate(spec: &mut Spec, name: &str, value: &str) {
    spec.annotations.insert(format!("{PREFIX}{name}"), value.to_owned());
}

fn annotation<'a>(spec: &'a Spec, name: &str) -> Option<&'a str> {
    spec.annotations.get(&format!("{PREFIX}{name}")).map(String::as_str)
}

/// The one load balancer of the cloud.
fn only(fixture: &Fixture) -> Value {
    let mut all = fixture.cloud.read(Fake::all_load_balancers);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn id(balancer: &Value) -> String {
    balancer["id"].as_str().expect("an ID").to_owned()
}

fn writes(fixture: &Fixture) -> Vec<String> {
    let calls = fixture.cloud.calls();
    calls
        .iter()
        .filter(|call| call.is_write())
        .map(|call| call.operation.to_owned())
        .collect()
}

#[tokio::test]
async fn a_service_keeps_what_it_was_given() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 2));
    let status = ensure(balancers(&provider), &mut spec).await.unwrap();
    let balancer = only(&fixture);
    assert_eq!(
        (spec.annotations[ID].as_str(), annotation(&spec, "type")),
        (id(&balancer).as_str(), Some("REGIONAL_NETWORK"))
    );
    assert_eq!(balancer["tags"], fakecloud::json!(["k8s:c1"]));
    assert_eq!(
        (status.ingress.len(), status.ingress[0].ip.as_deref()),
        (2, balancer["ip"].as_str())
    );

    // Another process, with another default, changes nothing, and reads the load balancer once.
    let (mark, another) = (
        fixture.cloud.mark(),
        fixture.provider_with(&[("DEFAULT_LB_TYPE", "REGIONAL")], &open()),
    );
    spec.annotations.remove(&format!("{PREFIX}type"));
    assert_eq!(ensure(balancers(&another), &mut spec).await.unwrap(), status);
    assert_eq!(annotation(&spec, "type"), Some("REGIONAL_NETWORK"));
    let calls: Vec<_> = fixture
        .cloud
        .calls_since(mark)
        .iter()
        .map(|call| call.operation.to_owned())
        .collect();
    assert!(calls.iter().all(|call| call.starts_with("GET")), "{calls:?}");
}

#[tokio::test]
async fn the_region_is_that_of_the_droplet_if_the_configuration_has_none() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider_with(&[("REGION", "")], &open()), service(&fixture, 1));
    provider.live().unwrap().reload(&LiveData::default()).await.unwrap();
    ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(only(&fixture)["region"]["slug"], digitalocean_fake::REGION);
}

#[rstest::rstest]
#[case::by_name("mine", "mine")]
#[case::by_the_default_name("mine", "a8c4d4a2e0b0c4f5e9a5d2d9a6f1b7c3")]
#[tokio::test]
async fn an_existing_load_balancer_is_found(#[case] asked: &str, #[case] named: &str) {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    annotate(&mut spec, "name", named);
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let first = id(&only(&fixture));
    spec.annotations.clear();
    annotate(&mut spec, "name", asked);
    ensure(balancers(&fixture.provider()), &mut spec).await.unwrap();
    assert_eq!(
        (id(&only(&fixture)), only(&fixture)["name"].as_str()),
        (first, Some(asked))
    );
}

#[tokio::test]
async fn a_deleted_load_balancer_is_recreated() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let first = id(&only(&fixture));
    fixture.cloud.write(|fake, _| fake.drop_load_balancer(&first));
    ensure(balancers(&fixture.provider()), &mut spec).await.unwrap();
    assert_eq!(spec.annotations[ID], id(&only(&fixture)));
    assert_ne!(spec.annotations[ID], first);
}

#[tokio::test]
async fn an_errored_load_balancer_is_reported_and_can_be_deleted() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let first = id(&only(&fixture));
    fixture
        .cloud
        .write(|fake, _| fake.load_balancer_mut(&first).unwrap()["status"] = "errored".into());
    let error = ensure(balancers(&provider), &mut spec).await.unwrap_err();
    assert!(matches!(error, Error::Unusable { .. }), "{error}");
    balancers(&provider).delete(&spec).await.unwrap();
    assert_eq!(fixture.cloud.read(Fake::all_load_balancers), Vec::<Value>::new());
}

#[tokio::test]
async fn a_disowned_load_balancer_is_left_alone_and_another_service_may_take_it() {
    let fixture = Fixture::start().await;
    let (provider, mut old) = (fixture.provider(), service(&fixture, 1));
    let status = ensure(balancers(&provider), &mut old).await.unwrap();
    let balancer = id(&only(&fixture));

    // While it is in use, another Service cannot use it.
    let mut new = service(&fixture, 1);
    new.service.uid = "00000000-0000-4000-8000-000000000000".into();
    new.ports[0].port = 8080;
    new.annotations.insert(ID.into(), balancer.clone());
    for provider in [&provider, &fixture.provider()] {
        let error = ensure(balancers(provider), &mut new).await.unwrap_err();
        assert!(error.to_string().contains("another Service uses it"), "{error}");
        // Deleting that Service leaves the load balancer to the other.
        balancers(provider).delete(&new).await.unwrap();
        assert_eq!(only(&fixture)["forwarding_rules"][0]["entry_port"], 80);
    }

    let before = writes(&fixture);
    old.annotations.insert(DISOWN.into(), "true".into());
    old.ports[0].port = 81;
    assert_eq!(ensure(balancers(&provider), &mut old).await.unwrap(), status);
    balancers(&provider).delete(&old).await.unwrap();
    assert_eq!((writes(&fixture), id(&only(&fixture))), (before, balancer.clone()));

    assert_eq!(ensure(balancers(&provider), &mut new).await.unwrap(), status);
    assert_eq!(
        (
            id(&only(&fixture)),
            &only(&fixture)["forwarding_rules"][0]["entry_port"]
        ),
        (balancer, &8080.into())
    );
}

#[rstest::rstest]
#[case::same(|_: &mut digitalocean_fake::Fake, old: &str| old.to_owned(), "lets_encrypt", "old")]
#[case::renewed_by_id(|fake: &mut digitalocean_fake::Fake, old: &str| { fake.remove_certificate(old); fake.add_certificate("www", "lets_encrypt") }, "lets_encrypt", "new")]
#[case::renewed_by_name(|fake: &mut digitalocean_fake::Fake, _: &str| fake.add_certificate("www", "lets_encrypt"), "lets_encrypt", "new")]
#[case::user_changed_it(|fake: &mut digitalocean_fake::Fake, _: &str| fake.add_certificate("other", "lets_encrypt"), "lets_encrypt", "old")]
#[case::not_lets_encrypt(|fake: &mut digitalocean_fake::Fake, _: &str| fake.add_certificate("www", "custom"), "custom", "old")]
#[tokio::test]
async fn certificates(
    #[case] change: fn(&mut digitalocean_fake::Fake, &str) -> String,
    #[case] kind: &str,
    #[case] expected: &str,
    #[values("certificate-id", "certificate-name")] by: &str,
) {
    let fixture = Fixture::start().await;
    let old = fixture.cloud.write(|fake, _| fake.add_certificate("www", kind));
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    annotate(&mut spec, "type", "REGIONAL");
    annotate(&mut spec, "tls-ports", "80");
    annotate(&mut spec, by, if by == "certificate-id" { &old } else { "www" });
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let (balancer, new) = fixture.cloud.write(|fake, _| {
        let new = change(fake, &old);
        let balancer = fake.all_load_balancers()[0]["id"].as_str().unwrap().to_owned();
        fake.load_balancer_mut(&balancer).unwrap()["forwarding_rules"][0]["certificate_id"] = new.as_str().into();
        (balancer, new)
    });
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let used = fixture
        .cloud
        .write(|fake, _| fake.load_balancer_mut(&balancer).unwrap()["forwarding_rules"][0]["certificate_id"].clone());
    let expected = if expected == "new" { &new } else { &old };
    assert_eq!(used, expected.as_str());
    if by == "certificate-id" {
        assert_eq!(annotation(&spec, by), Some(expected.as_str()));
    } else {
        assert_eq!(
            (annotation(&spec, by), annotation(&spec, "certificate-id")),
            (Some("www"), None)
        );
    }
}

#[tokio::test]
async fn a_certificate_that_does_not_exist_is_refused() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    annotate(&mut spec, "type", "REGIONAL");
    annotate(&mut spec, "certificate-name", "absent");
    let error = ensure(balancers(&provider), &mut spec).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("invalid annotation {PREFIX}certificate-name: there is no certificate \"absent\"")
    );
}

#[tokio::test]
async fn behind_the_proxy_protocol_nodes_do_not_short_cut() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    annotate(&mut spec, "type", "REGIONAL");
    annotate(&mut spec, "enable-proxy-protocol", "true");
    let status = ensure(balancers(&provider), &mut spec).await.unwrap();
    assert!(
        status
            .ingress
            .iter()
            .all(|ingress| ingress.ip_mode == Some(IpMode::Proxy)),
        "{status:?}"
    );
    annotate(&mut spec, "hostname", "WWW.example.com");
    let status = ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(
        (status.ingress.len(), status.ingress[0].hostname.as_deref()),
        (1, Some("www.example.com"))
    );
}

#[tokio::test]
async fn immutable_settings_are_kept_and_reported() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    annotate(&mut spec, "network-stack", "IPV4");
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let mark = fixture.cloud.mark();
    annotate(&mut spec, "network", "INTERNAL");
    let noted = ensure_once(balancers(&provider), &mut spec).await.unwrap();
    assert!(matches!(noted.answer, Progress::Done(_)), "{noted:?}");
    assert_eq!(noted.notes.events[0].reason, "LoadBalancerConfigError");
    let expected = format!("{PREFIX}network cannot change: the load balancer keeps \"EXTERNAL\"");
    assert_eq!(noted.notes.events[0].message, expected);
    let written = fixture.cloud.calls_since(mark).iter().any(|call| call.is_write());
    assert!(!written, "a write that has no effect");
}

#[tokio::test]
async fn source_ranges_count_from_when_they_are_in_the_spec() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    spec.ranges_from = RangesFrom::Annotation;
    ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(only(&fixture)["firewall"]["allow"], fakecloud::json!([]));
    spec.ranges_from = RangesFrom::Spec;
    ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(
        only(&fixture)["firewall"]["allow"],
        fakecloud::json!(["cidr:192.0.2.0/24"])
    );
}

#[tokio::test]
async fn nodes_that_cannot_serve_are_an_event() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    let mut host = cloud::Host::clone(&spec.hosts[0]);
    host.addresses
        .retain(|address| address.kind == cloud::AddressKind::InternalIP);
    spec.hosts = [std::sync::Arc::new(host)].into();
    let noted = ensure_once(balancers(&provider), &mut spec).await.unwrap();
    assert!(matches!(noted.answer, Progress::Pending { .. }), "{noted:?}");
    assert_eq!(noted.notes.events[0].reason, "LoadBalancerConfigError");
    assert!(noted.notes.events[0].message.contains("host-001 has none"), "{noted:?}");
    assert_eq!(fixture.cloud.read(Fake::all_load_balancers), Vec::<Value>::new());

    annotate(&mut spec, "network", "INTERNAL");
    annotate(&mut spec, "network-stack", "DUALSTACK");
    let noted = ensure_once(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(noted.notes.events[0].reason, "LoadBalancerConfigError");
    spec.hosts = [].into();
    spec.annotations.clear();
    let error = ensure_once(balancers(&provider), &mut spec).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid nodes: no ready nodes available");
}

#[tokio::test]
async fn a_change_waits_for_the_last_one() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 1));
    ensure(balancers(&provider), &mut spec).await.unwrap();
    let refusal =
        r#"{"id":"forbidden","message":"Load Balancer can't be updated while it processes previous actions"}"#;
    fixture.cloud.inject(Fault::answer(403, refusal).method("PUT").times(1));
    spec.ports[0].port = 81;
    let noted = ensure_once(balancers(&provider), &mut spec).await.unwrap();
    assert!(matches!(noted.answer, Progress::Pending { .. }), "{noted:?}");
    ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(only(&fixture)["forwarding_rules"][0]["entry_port"], 81);
}

#[tokio::test]
async fn a_limit_of_the_account_is_a_quota() {
    let fixture = Fixture::start().await;
    fixture.cloud.write(|fake, _| fake.load_balancer_limit = 0);
    let error = ensure(balancers(&fixture.provider()), &mut service(&fixture, 1))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Quota { .. }), "{error}");
}

#[tokio::test]
async fn a_refused_request_is_an_invalid_service() {
    let fixture = Fixture::start().await;
    let mut spec = service(&fixture, 1);
    fixture.cloud.write(|fake, _| {
        let id = fake.droplet_named("host-001").unwrap();
        fake.destroy(id);
    });
    let error = ensure(balancers(&fixture.provider()), &mut spec).await.unwrap_err();
    assert!(
        matches!(&error, Error::Invalid { reason, .. } if reason.contains("does not exist")),
        "{error}"
    );
}

#[tokio::test]
async fn the_rate_limit_has_a_retry_time() {
    let fixture = Fixture::start().await;
    fixture.cloud.write(|fake, _| fake.rate_limit = Some(0));
    let (provider, fault) = (fixture.provider(), Fault::status(429));
    drop(fault);
    let answers = provider
        .instances()
        .describe(&[NodeRef::named("host-001")], cloud::Detail::Full)
        .await;
    match answers.into_iter().next().unwrap() {
        Err(Error::Throttled {
            retry_after: Some(wait),
            ..
        }) => assert!(wait <= Duration::from_secs(3), "{wait:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_start_checks_token_and_region() {
    let fixture = Fixture::start().await;
    let reload = async |variables: &[(&str, &str)]| {
        fixture
            .provider_with(variables, &open())
            .live()
            .unwrap()
            .reload(&cloud::LiveData::default())
            .await
    };
    assert_eq!(reload(&[]).await.unwrap(), Vec::<String>::new());
    assert!(matches!(
        reload(&[("DO_ACCESS_TOKEN", "wrong")]).await,
        Err(Error::Denied { .. })
    ));
    let error = reload(&[("REGION", "mars1")]).await.unwrap_err();
    assert_eq!(error.to_string(), "invalid REGION: \"mars1\" is not one of fra1");
}

#[tokio::test]
async fn nodes_without_a_provider_id_are_found_by_name_or_address() {
    let fixture = Fixture::start().await;
    let (provider, mut spec) = (fixture.provider(), service(&fixture, 2));
    let address = spec.hosts[1].addresses[0].address.clone();
    let hosts = spec.hosts.iter().enumerate().map(|(index, host)| cloud::Host {
        provider_id: None,
        name: if index == 1 { address.clone() } else { host.name.clone() },
        ..cloud::Host::clone(host)
    });
    spec.hosts = hosts.map(std::sync::Arc::new).collect();
    ensure(balancers(&provider), &mut spec).await.unwrap();
    assert_eq!(only(&fixture)["droplet_ids"].as_array().map(Vec::len), Some(2));
}

fn exposed(exposure: Exposure, spec: &Spec) -> Exposed {
    Exposed {
        exposure,
        spec: spec.clone(),
    }
}

/// `tcp 80 from 0.0.0.0/0 ::/0`, one a line.
fn inbound(fixture: &Fixture) -> Vec<String> {
    let firewalls = fixture.cloud.read(Fake::all_firewalls);
    assert_eq!(firewalls.len(), 1, "{firewalls:?}");
    let rules = firewalls[0]["inbound_rules"].as_array().expect("rules");
    let text = |rule: &Value| {
        let sources = &rule["sources"];
        let from = [&sources["addresses"], &sources["load_balancer_uids"]]
            .into_iter()
            .filter_map(Value::as_array)
            .flatten();
        let from: Vec<_> = from.filter_map(Value::as_str).collect();
        format!(
            "{} {} from {}",
            rule["protocol"].as_str().expect("a protocol"),
            rule["ports"].as_str().expect("ports"),
            from.join(" ")
        )
    };
    rules.iter().map(text).collect()
}

#[tokio::test]
async fn the_firewall_opens_the_ports_of_services() {
    let fixture = Fixture::start().await;
    fixture.cloud.write(|fake, _| fake.add_tag("nodes"));
    let variables = [
        ("PUBLIC_ACCESS_FIREWALL_NAME", "public"),
        ("PUBLIC_ACCESS_FIREWALL_TAGS", "nodes"),
    ];
    let provider = fixture.provider_with(&variables, &open());
    let firewall = provider.node_firewall().unwrap();
    let spec = service(&fixture, 0);

    firewall.open(&[exposed(Exposure::NodePort, &spec)]).await.unwrap();
    assert_eq!(inbound(&fixture), ["tcp 30080 from 0.0.0.0/0 ::/0"]);
    let created = fixture.cloud.read(|fake| fake.all_firewalls()[0].clone());
    assert_eq!(
        (&created["tags"], created["outbound_rules"].as_array().map(Vec::len)),
        (&fakecloud::json!(["nodes"]), Some(3))
    );

    // The same again costs no call at all.
    let mark = fixture.cloud.mark();
    firewall.open(&[exposed(Exposure::NodePort, &spec)]).await.unwrap();
    assert_eq!(fixture.cloud.calls_since(mark).len(), 0);

    // A network load balancer: its probes, and clients as far as they may connect.
    let mut balanced = spec.clone();
    balanced.annotations.insert(ID.into(), "lb-1".into());
    balanced.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    balanced.ranges_from = cloud::RangesFrom::Spec;
    firewall
        .open(&[
            exposed(Exposure::NodePort, &spec),
            exposed(Exposure::LoadBalancer, &balanced),
        ])
        .await
        .unwrap();
    assert_eq!(
        inbound(&fixture),
        [
            "tcp 10256 from lb-1",
            "tcp 30080 from 0.0.0.0/0 ::/0",
            "tcp 80 from 192.0.2.0/24"
        ]
    );

    // Neither an unmanaged Service nor a regional or internal load balancer needs a rule.
    let mut unmanaged = spec.clone();
    unmanaged
        .annotations
        .insert("kubernetes.digitalocean.com/firewall-managed".into(), "false".into());
    let (mut regional, mut internal) = (spec.clone(), spec.clone());
    annotate(&mut regional, "type", "REGIONAL");
    annotate(&mut internal, "network", "INTERNAL");
    let services = [
        exposed(Exposure::NodePort, &unmanaged),
        exposed(Exposure::LoadBalancer, &regional),
        exposed(Exposure::LoadBalancer, &internal),
    ];
    firewall.open(&services).await.unwrap();
    assert_eq!(inbound(&fixture), Vec::<String>::new());

    // Another process finds it by its name, and repairs it.
    let id = created["id"].as_str().unwrap();
    fixture
        .cloud
        .write(|fake, _| fake.firewall_mut(id).unwrap()["tags"] = fakecloud::json!([]));
    let another = fixture.provider_with(&variables, &open());
    another.node_firewall().unwrap().open(&services).await.unwrap();
    assert_eq!(
        fixture.cloud.read(|fake| fake.all_firewalls()[0]["tags"].clone()),
        fakecloud::json!(["nodes"])
    );

    // One that was deleted is created again.
    fixture.cloud.write(|fake, _| fake.drop_firewall(id));
    firewall.open(&[exposed(Exposure::NodePort, &spec)]).await.unwrap();
    assert_eq!(inbound(&fixture), ["tcp 30080 from 0.0.0.0/0 ::/0"]);
}
