//! A test cluster with a simulated `OpenStack` in place of the memory cloud.

use crate::process_fixture::{self, Launch, Manager};
use k8s_openapi::api::core::v1::{Event, Service};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use openstack_sim::{Call, Cloud, LoadBalancerView, MemberView, Net, ServerSpec, ServerView, Sim};
use serde_json::{Value, json};
use std::{ops::Deref, path::PathBuf};
use testkit::wait::{STALLED_AFTER, until};

/// The password of every user of the simulation.
pub const PASSWORD: &str = "labpass";

/// A manager without leader election, which does not wait for the lease of an earlier one.
pub const ALONE: &str = "--leader-elect=false";

/// A fixture of the process, with a cloud of its own.
pub struct Fixture {
    /// The cloud, with the permissions of its administrator.
    pub cloud: Cloud,
    /// Where it is served.
    pub sim: Sim,
    /// The network that its servers are on.
    pub net: Net,
    base: process_fixture::Fixture,
}

impl Deref for Fixture {
    type Target = process_fixture::Fixture;

    fn deref(&self) -> &process_fixture::Fixture {
        &self.base
    }
}

impl Fixture {
    /// An empty cloud, and an empty part of the control plane that all tests share.
    pub async fn new() -> Self {
        Self::on(process_fixture::Fixture::shared().await).await
    }

    /// An empty cloud, and a control plane without the Services of other tests.
    pub async fn private() -> Self {
        Self::on(process_fixture::Fixture::private().await).await
    }

    async fn on(base: process_fixture::Fixture) -> Self {
        let cloud = Cloud::new();
        let net = cloud.create_network("private", "10.0.0.0/16");
        Self {
            sim: Sim::start(&cloud).await.unwrap(),
            base,
            cloud,
            net,
        }
    }

    /// The fixture without the cloud.
    pub fn base(&self) -> &process_fixture::Fixture {
        &self.base
    }

    /// The section `[Global]` for the user and project `demo` with this password.
    pub fn global(&self, password: &str) -> String {
        format!(
            "[Global]\nauth-url={}\nusername=demo\npassword={password}\ntenant-name=demo\ndomain-id=default\nregion=RegionOne\n",
            self.sim.auth_url()
        )
    }

    /// The section `[LoadBalancer]`, with more lines in it.
    pub fn load_balancer(&self, more: &str) -> String {
        let public = self.cloud.public_network().unwrap();
        let subnet = self.net.subnet;
        format!("[LoadBalancer]\nsubnet-id={subnet}\nfloating-network-id={public}\n{more}\n")
    }

    /// Writes the file of `--cloud-config`.
    pub fn configure(&self, text: &str) -> PathBuf {
        self.base.folder.write("cloud.conf", text)
    }

    /// A manager for this cloud, with this configuration file.
    pub fn manager_with(&self, config: &str) -> Launch {
        let path = self.configure(config);
        self.base
            .manager()
            .flag("--cloud-provider=openstack")
            .flag(&format!("--cloud-config={}", path.display()))
            .flag("--node-monitor-period=500ms")
            .flag("--leader-elect-retry-period=1s")
            .flag("--authorization-always-allow-paths=/healthz,/readyz,/readyz/*,/livez,/metrics")
    }

    /// A manager for this cloud.
    pub fn manager(&self) -> Launch {
        self.manager_with(&format!("{}{}", self.global(PASSWORD), self.load_balancer("")))
    }

    /// Starts a manager with these additional flags, and waits until it works.
    pub async fn start(&self, flags: &[&str]) -> Manager {
        self.start_with(self.manager(), flags).await
    }

    /// Starts this one, and waits until it works.
    pub async fn start_with(&self, launch: Launch, flags: &[&str]) -> Manager {
        let launch = flags.iter().fold(launch.flag(ALONE), |launch, flag| launch.flag(flag));
        let manager = launch.start();
        manager.working().await;
        manager
    }

    /// Starts a server with the full name of a Node of this fixture.
    pub fn boot(&self, name: &str) -> ServerView {
        let mut spec = ServerSpec::new(&self.base.named(name));
        spec.networks.push(self.net.clone());
        self.cloud.boot_as(spec)
    }

    /// A server starts and joins as a tainted, ready Node; returns its full name and itself.
    pub async fn join(&self, name: &str) -> (String, ServerView) {
        let server = self.boot(name);
        (self.base.register(name, "tainted ready:True").await, server)
    }

    /// Some servers join, and their Nodes are initialised.
    pub async fn nodes(&self, manager: &Manager, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for n in 0..count {
            names.push(self.join(&format!("node-{n}")).await.0);
        }
        for name in &names {
            self.base.initialised(manager, name).await;
        }
        names
    }

    /// Creates a Service, waits until it is served, and returns it.
    pub async fn serve(&self, manager: &Manager, name: &str) -> Service {
        let service = self.base.create(self.base.balanced(name)).await;
        self.base.served(manager, &service.name_any()).await
    }

    /// The one load balancer of a Service; its full name is given.
    pub fn balancer(&self, service: &str) -> LoadBalancerView {
        let mut found = self.balancers(service);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    /// The load balancers of a Service.
    pub fn balancers(&self, service: &str) -> Vec<LoadBalancerView> {
        let cluster = &self.base.name;
        self.cloud
            .load_balancers_named(&format!("kube_service_{cluster}_default_{service}"))
    }

    /// The members of all pools of a Service's load balancer.
    pub fn members(&self, service: &str) -> Vec<MemberView> {
        let balancers = self.balancers(service).into_iter();
        let pools = balancers
            .flat_map(|balancer| balancer.listeners)
            .filter_map(|listener| listener.pool);
        pools.flat_map(|pool| pool.members).collect()
    }

    /// Waits until a Service's load balancer has exactly these Nodes as members.
    pub async fn members_are(&self, manager: &Manager, service: &str, nodes: &[String]) {
        let mut wanted = nodes.to_vec();
        wanted.sort();
        let look = async || {
            let mut names: Vec<_> = self.members(service).into_iter().map(|member| member.name).collect();
            names.sort();
            if names == wanted {
                Ok(())
            } else {
                Err(format!("they are {names:?}"))
            }
        };
        manager.until(&format!("the members {wanted:?}"), look).await;
    }

    /// Changes the spec of a Service.
    pub async fn change(&self, service: &str, spec: Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(json!({ "spec": spec })));
        self.base.services().patch(service, &params, &patch).await.unwrap();
    }

    /// Nothing that Services need is in the cloud.
    pub fn assert_clean(&self) {
        assert_eq!(self.cloud.load_balancers(), [], "a load balancer was left behind");
        assert_eq!(self.cloud.floating_ips(), [], "a floating IP was left behind");
        let groups = self.cloud.security_groups();
        let ours: Vec<_> = groups.iter().filter(|group| group.name.starts_with("lb-sg-")).collect();
        assert!(ours.is_empty(), "a security group was left behind: {ours:?}");
    }

    /// Waits until the cloud is as expected, but not forever.
    pub async fn cloud_until(&self, what: &str, manager: &Manager, holds: impl Fn(&Cloud) -> bool) {
        let waited = tokio::time::timeout(STALLED_AFTER, self.cloud.until(holds)).await;
        let calls = self.cloud.calls();
        let last = summaries(&calls[calls.len().saturating_sub(20)..]);
        assert!(
            waited.is_ok(),
            "gave up waiting for {what}; {last:#?}{}",
            manager.log_tail()
        );
    }

    /// The messages of the events about an object, by reason.
    pub async fn events(&self, about: &str) -> Vec<(String, String)> {
        let events: Api<Event> = Api::all(self.base.client.clone());
        let about = ListParams::default().fields(&format!("involvedObject.name={about}"));
        let found = events.list(&about).await.unwrap().into_iter();
        found
            .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
            .collect()
    }

    /// Waits for an event with this reason about the object of this name, and returns its message.
    pub async fn event(&self, about: &str, reason: &str) -> String {
        until(&format!("an event {reason} about {about}"), async || {
            let events = self.events(about).await;
            let found = events.iter().find(|(other, _)| other == reason);
            found
                .map(|(_, message)| message.clone())
                .ok_or_else(|| format!("there are {events:?}"))
        })
        .await
    }

    /// Waits until the audit log has all answered requests: it is written a moment later.
    pub async fn audited(&self) {
        let (mark, name) = (self.base.mark(), lab::unique("audited"));
        self.base.nodes().get_opt(&name).await.unwrap();
        until("the audit log", async || {
            let last = self
                .base
                .all_requests(mark)
                .into_iter()
                .find(|entry| entry.name == name);
            last.ok_or("it is behind")
        })
        .await;
    }
}

/// The value of a metric with its labels, as it is written on the page.
pub async fn metric(manager: &Manager, series: &str) -> Result<u64, String> {
    let page = manager.port().try_get("/metrics").await?.body;
    let value = page
        .lines()
        .find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.ok_or_else(|| format!("there is no {series} on the page of {} characters", page.len()))
}

/// Waits until `/readyz` fails because of the configuration, with all of these words; returns the body.
pub async fn red(manager: &Manager, words: &[&str]) -> String {
    let look = async || {
        let reply = manager.port().try_get("/readyz/cloud-config").await?;
        if reply.status == 500 && words.iter().all(|word| reply.body.contains(word)) {
            Ok(reply.body)
        } else {
            Err(format!("{} {}", reply.status, reply.body))
        }
    };
    let body = manager
        .until(&format!("/readyz/cloud-config to say {words:?}"), look)
        .await;
    manager.answers("/readyz", 500).await;
    body
}

/// Calls in words: what and how it ended.
pub fn summaries(calls: &[Call]) -> Vec<String> {
    let word = |call: &Call| match call.operation {
        "" => format!("{} {}", call.method, call.path),
        operation => operation.to_owned(),
    };
    calls
        .iter()
        .map(|call| match call.status {
            Some(status) if status < 400 => word(call),
            Some(status) => format!("{} {status}", word(call)),
            None => format!("{} …", word(call)),
        })
        .collect()
}

/// An annotation of a Service.
pub fn annotation(service: &Service, name: &str) -> Option<String> {
    let key = format!("loadbalancer.openstack.org/{name}");
    service.annotations().get(&key).cloned()
}
