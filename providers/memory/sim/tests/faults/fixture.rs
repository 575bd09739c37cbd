//! A cloud, and a provider on it.

use cloud::{Host, Port, Protocol, Provider, ServiceRef, Spec};
use cloud_http::{Config, Metrics, Proxy, Retries};
use memory::Remote;
use memory_sim::{Cloud, Memory, Server};
use std::{sync::Arc, time::Duration};

/// A cloud with a provider on it, and the server between them if there is one.
pub struct Fixture {
    pub cloud: Cloud,
    pub provider: Arc<dyn Provider>,
    pub server: Option<Server>,
}

/// Where the provider is.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    InTheProcess,
    OverHttp,
}

impl Fixture {
    pub async fn at(place: Place) -> Self {
        let cloud = Cloud::new();
        match place {
            Place::InTheProcess => {
                let provider = Arc::new(Memory::new(&cloud));
                Self {
                    cloud,
                    provider,
                    server: None,
                }
            }
            Place::OverHttp => Self::over_http(cloud).await,
        }
    }

    /// Over HTTP, without retries.
    async fn over_http(cloud: Cloud) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = Server::start(&cloud).await.expect("a free port");
        let metrics = Metrics::register(&prometheus::Registry::new()).expect("a new registry");
        let retries = Retries {
            attempts: 1,
            ..Retries::default()
        };
        let config = Config {
            proxy: Proxy::Direct,
            retries,
            deadline: Duration::from_secs(5),
            ..Config::default()
        };
        let provider = Remote::with_config(&server.url(), &config, Arc::new(|| Ok(())), &metrics).expect("a URL");
        Self {
            cloud,
            provider: Arc::new(provider),
            server: Some(server),
        }
    }
}

/// `default/web`, port 80, with these hosts.
pub fn spec(hosts: &[&str]) -> Spec {
    let host = |name: &&str| Host {
        name: (*name).to_owned(),
        ..Host::default()
    };
    let port = Port {
        name: String::new(),
        protocol: Protocol::Tcp,
        port: 80,
        node_port: Some(30080),
        app_protocol: None,
    };
    Spec {
        cluster: "c".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: "u-1".into(),
        },
        ports: vec![port],
        hosts: hosts.iter().map(host).map(std::sync::Arc::new).collect(),
        ..Spec::default()
    }
}
