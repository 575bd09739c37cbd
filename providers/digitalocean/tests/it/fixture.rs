//! A provider on a fake cloud.

use cloud::{Gate, Host, Progress, ProviderId, Spec, Status};
use digitalocean::{DigitalOcean, config::Config};
use digitalocean_fake::{Cloud, Fake, REGION, TOKEN};
use fakecloud::Server;
use std::sync::Arc;

pub struct Fixture {
    pub cloud: Cloud,
    server: Server,
}

impl Fixture {
    pub async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::new(Fake::default());
        let server = Server::start(&cloud).await.expect("a free port");
        Self { cloud, server }
    }

    /// A provider with these variables besides those that it needs.
    pub fn provider_with(&self, variables: &[(&str, &str)], gate: &Gate) -> DigitalOcean {
        let url = self.server.url();
        let needed = [
            ("DO_ACCESS_TOKEN", TOKEN),
            ("DO_OVERRIDE_URL", url.as_str()),
            ("REGION", REGION),
            ("DO_CLUSTER_ID", "c1"),
        ];
        let mut config = Config::new(&needed.iter().chain(variables).copied().collect()).expect("a configuration");
        config.metadata.clone_from(&url);
        DigitalOcean::new(config, gate, &prometheus::Registry::new()).expect("a provider")
    }

    pub fn provider(&self) -> DigitalOcean {
        self.provider_with(&[], &open())
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Hosts on Droplets of the fake, which are created on first use.
    pub fn hosts(&self, count: usize) -> Vec<Host> {
        let names = (1..=count).map(|number| format!("host-{number:03}"));
        names.map(|name| self.host(&name)).collect()
    }

    pub fn host(&self, name: &str) -> Host {
        let id = self
            .cloud
            .write(|fake, _| fake.droplet_named(name).unwrap_or_else(|| fake.boot(name, &["k8s:c1"])));
        let addresses = self.cloud.read(|fake| fake.addresses(id));
        let address = |(kind, ip): (&str, String)| {
            cloud::Address::new(
                if kind == "private" {
                    cloud::AddressKind::InternalIP
                } else {
                    cloud::AddressKind::ExternalIP
                },
                ip,
            )
        };
        Host {
            name: name.to_owned(),
            provider_id: ProviderId::parse(format!("digitalocean://{id}")),
            addresses: addresses.into_iter().map(|(kind, ip)| address((&kind, ip))).collect(),
            ..Host::default()
        }
    }
}

pub fn open() -> Gate {
    Arc::new(|| Ok(()))
}

/// A Service with port 80 and so many hosts.
pub fn service(fixture: &Fixture, hosts: usize) -> Spec {
    Spec {
        cluster: "kubernetes".into(),
        service: cloud::ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e".into(),
        },
        ports: vec![cloud::Port {
            name: "http".into(),
            protocol: cloud::Protocol::Tcp,
            port: 80,
            node_port: Some(30080),
            app_protocol: None,
        }],
        source_ranges: vec!["0.0.0.0/0".parse().expect("a range")],
        hosts: fixture.hosts(hosts).into_iter().map(Arc::new).collect(),
        ..Spec::default()
    }
}

/// Ensures once, and writes down what is to be noted, as the controller does.
pub async fn ensure_once(
    balancers: &dyn cloud::LoadBalancers,
    spec: &mut Spec,
) -> cloud::Result<cloud::Noted<Progress<Status>>> {
    let noted = balancers.ensure(spec).await?;
    for (key, value) in noted.notes.annotations.clone() {
        match value {
            Some(value) => drop(spec.annotations.insert(key, value)),
            None => drop(spec.annotations.remove(&key)),
        }
    }
    Ok(noted)
}

/// Ensures until it is done.
pub async fn ensure(balancers: &dyn cloud::LoadBalancers, spec: &mut Spec) -> cloud::Result<Status> {
    loop {
        let noted = ensure_once(balancers, spec).await?;
        match noted.answer {
            Progress::Done(status) => return Ok(status),
            Progress::Pending { poll_after, .. } => tokio::time::sleep(poll_after).await,
        }
    }
}
