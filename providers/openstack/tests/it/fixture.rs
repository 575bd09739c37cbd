//! The environment of the provider in tests.

#![allow(dead_code, reason = "each test uses what it needs")]

use cloud::Gate;
use openstack::{
    api::SessionContext,
    config::{Config, Domain, Global, Method, Scope, User},
    metrics::Metrics,
    provider::Provider,
};
use openstack_sim::{Cloud, Mark, Sim};
use prometheus::Registry;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The password of every user, in the lab and in the simulation.
pub const PASSWORD: &str = "labpass";

/// A gate that allows every write.
pub fn open() -> Gate {
    Arc::new(|| Ok(()))
}

/// The context of a provider in tests.
pub fn context(gate: Gate) -> SessionContext {
    context_in(&Registry::new(), gate)
}

/// The same, counted in this registry.
pub fn context_in(registry: &Registry, gate: Gate) -> SessionContext {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = cloud_http::Metrics::register(registry).expect("the registry is new");
    SessionContext {
        gate,
        metrics: Metrics::register(registry, http).expect("the registry is new"),
        user_agent: openstack::api::session::user_agent(&["test".to_owned()]),
    }
}

/// A configuration that logs in with the name as user and project.
pub fn config(auth_url: &str, name: &str, region: &str) -> Config {
    let domain = Some(Domain::Id("default".to_owned()));
    let user = User::Name {
        name: name.to_owned(),
        domain: domain.clone(),
    };
    let global = Global {
        auth_url: auth_url.to_owned(),
        method: Method::Password {
            user,
            password: PASSWORD.into(),
        },
        scope: Scope::ProjectName {
            name: name.to_owned(),
            domain,
        },
        region: region.to_owned(),
        ..Global::default()
    };
    Config {
        global,
        request_timeout: Duration::from_secs(30),
        ..Config::default()
    }
}

/// A simulated cloud and a provider on it.
pub struct Fixture {
    pub cloud: Cloud,
    pub sim: Sim,
    pub config: Config,
    pub provider: Provider,
}

impl Fixture {
    /// A cloud that works, and a provider with the project `demo`.
    pub async fn new() -> Self {
        Self::on(Cloud::new(), |_| {}).await
    }

    /// A provider on this cloud, with this change of its configuration.
    pub async fn on(cloud: Cloud, change: impl FnOnce(&mut Config)) -> Self {
        let sim = Sim::start(&cloud).await.expect("a port");
        let mut config = config(&sim.auth_url(), "demo", "");
        change(&mut config);
        let provider = Provider::new(config.clone(), context(open())).expect("the configuration is good");
        Self {
            cloud,
            sim,
            config,
            provider,
        }
    }

    /// The calls since then, by name: `2 port_list, 1 server_list`.
    pub fn calls(&self, mark: Mark) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for call in self.cloud.calls_since(mark) {
            *counts.entry(call.operation).or_default() += 1;
        }
        let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        parts.join(", ")
    }
}
