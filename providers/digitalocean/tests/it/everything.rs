//! One use of every endpoint, for the vendor's types.

use crate::fixture::{Fixture, ensure, open, service};
use cloud::{Detail, Exposed, Exposure, LiveData, NodeRef, Progress, Provider, Spec};
use digitalocean::DigitalOcean;
use fakecloud::{Fault, json};
use std::sync::Arc;

const PREFIX: &str = "service.beta.kubernetes.io/do-loadbalancer-";
const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
const ANNOTATIONS: [(&str, &str); 16] = [
    ("certificate-name", "www"),
    ("tls-ports", "443"),
    ("http3-port", "443"),
    ("size-unit", "2"),
    ("sticky-sessions-type", "cookies"),
    ("sticky-sessions-cookie-name", "c"),
    ("sticky-sessions-cookie-ttl", "60"),
    ("enable-proxy-protocol", "true"),
    ("redirect-http-to-https", "true"),
    ("enable-backend-keepalive", "true"),
    ("http-idle-timeout-seconds", "90"),
    ("allow-rules", "ip:1.2.3.4"),
    ("deny-rules", "cidr:10.0.0.0/8"),
    ("subnet-uuid", "s"),
    ("ip", "192.0.2.7"),
    ("disable-lets-encrypt-dns-records", "true"),
];
/// What [`ANNOTATIONS`] exclude.
const OTHERS: [(&str, &str); 16] = [
    ("type", "REGIONAL"),
    ("name", "mine"),
    ("http-ports", "80"),
    ("http2-ports", "443"),
    ("tls-passthrough", "true"),
    ("size-slug", "lb-small"),
    ("network", "INTERNAL"),
    ("network-stack", "IPV4"),
    ("algorithm", "least_connections"),
    ("override-health-check", ""),
    ("healthcheck-path", "/ready"),
    ("healthcheck-port", "80"),
    ("healthcheck-protocol", "http"),
    ("healthcheck-check-interval-seconds", "7"),
    ("healthcheck-healthy-threshold", "4"),
    ("hostname", "www.example.com"),
];
const VARIABLES: [(&str, &str); 3] = [
    ("DO_CLUSTER_VPC_ID", "v"),
    ("PUBLIC_ACCESS_FIREWALL_NAME", "nodes"),
    ("PUBLIC_ACCESS_FIREWALL_TAGS", "k8s:c1"),
];

pub async fn everything(fixture: &Fixture) {
    let provider = fixture.provider_with(&VARIABLES, &open());
    let live = provider.live().expect("live");
    live.reload(&LiveData::default()).await.expect("a good token");
    nodes(fixture, &provider).await;
    for kind in ["REGIONAL", "REGIONAL_NETWORK"] {
        load_balancer(fixture, &provider, kind).await;
    }
    other_settings(fixture, &provider).await;
    let another = fixture.provider_with(&VARIABLES, &open());
    let firewall = another.node_firewall().expect("a firewall");
    firewall.open(&[]).await.expect("closed");
}

async fn nodes(fixture: &Fixture, provider: &DigitalOcean) {
    let node = |host: cloud::Host| NodeRef {
        name: host.name,
        provider_id: host.provider_id,
        ..NodeRef::default()
    };
    let nodes: Vec<_> = fixture.hosts(3).into_iter().map(node).collect();
    let (named, missing) = ([NodeRef::named("host-001")], [NodeRef::named("absent")]);
    for nodes in [&nodes[..], &nodes[..1], &named, &missing] {
        for answer in provider.instances().describe(nodes, Detail::Full).await {
            answer.expect("an answer");
        }
    }
}

async fn load_balancer(fixture: &Fixture, provider: &DigitalOcean, kind: &'static str) {
    let balancers = provider.load_balancers().expect("load balancers");
    let mut spec = annotated(fixture, ANNOTATIONS.into_iter().chain([("type", kind)]));
    spec.service.uid = format!("{kind:0<32}");
    ensure(balancers, &mut spec).await.expect("a load balancer");
    adopt(fixture, &mut spec, kind).await;
    renew_certificate(fixture, &spec);
    spec.hosts = fixture.hosts(3).into_iter().map(Arc::new).collect();
    ensure(balancers, &mut spec).await.expect("the same load balancer");
    spec.hosts = fixture.hosts(2).into_iter().map(Arc::new).collect();
    update_hosts(provider, &spec).await;
    let firewall = provider.node_firewall().expect("a firewall");
    firewall.open(&[]).await.expect("closed");
    fixture.cloud.inject(Fault::status(500).method("PUT"));
    let node_ports = [exposed(Exposure::NodePort, &spec)];
    firewall.open(&node_ports).await.expect_err("the cloud is down");
    fixture.cloud.withdraw_all();
    for exposure in [Exposure::LoadBalancer, Exposure::NodePort] {
        firewall.open(&[exposed(exposure, &spec)]).await.expect("open");
    }
    delete(provider, &spec).await;
}

/// A load balancer with the fields that exclude others.
async fn other_settings(fixture: &Fixture, provider: &DigitalOcean) {
    let mut spec = annotated(fixture, OTHERS.into_iter());
    let balancers = provider.load_balancers().expect("load balancers");
    ensure(balancers, &mut spec).await.expect("a load balancer");
    delete(provider, &spec).await;
}

/// A Service with the ports 80 and 443 and these annotations.
fn annotated(fixture: &Fixture, annotations: impl Iterator<Item = (&'static str, &'static str)>) -> Spec {
    let mut spec = service(fixture, 2);
    let keys = annotations.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()));
    spec.annotations.extend(keys);
    spec.ports.push(cloud::Port {
        port: 443,
        node_port: Some(30443),
        name: "https".into(),
        ..spec.ports[0].clone()
    });
    spec
}

async fn delete(provider: &DigitalOcean, spec: &Spec) {
    let balancers = provider.load_balancers().expect("load balancers");
    while let Progress::Pending { poll_after, .. } = balancers.delete(spec).await.expect("deleted").answer {
        tokio::time::sleep(poll_after).await;
    }
}

fn exposed(exposure: Exposure, spec: &Spec) -> Exposed {
    let spec = spec.clone();
    Exposed { exposure, spec }
}

/// A cluster whose tag does not exist yet takes a load balancer over.
async fn adopt(fixture: &Fixture, spec: &mut Spec, kind: &str) {
    let other = fixture.provider_with(&[("DO_CLUSTER_ID", kind)], &open());
    let balancers = other.load_balancers().expect("load balancers");
    ensure(balancers, spec).await.expect("the same load balancer");
}

async fn update_hosts(provider: &DigitalOcean, spec: &Spec) {
    let balancers = provider.load_balancers().expect("load balancers");
    while let Progress::Pending { poll_after, .. } = balancers.update_hosts(spec).await.expect("other hosts").answer {
        tokio::time::sleep(poll_after).await;
    }
}

/// The cloud renews the certificate of a load balancer, and its tag is removed.
fn renew_certificate(fixture: &Fixture, spec: &Spec) {
    fixture.cloud.write(|fake, _| {
        let renewed = fake.add_certificate("www", "lets_encrypt");
        let balancer = fake.load_balancer_mut(&spec.annotations[ID]).expect("it exists");
        balancer["tags"] = json!([]);
        for rule in balancer["forwarding_rules"].as_array_mut().into_iter().flatten() {
            if rule["certificate_id"] != "" {
                rule["certificate_id"] = renewed.as_str().into();
            }
        }
    });
}
