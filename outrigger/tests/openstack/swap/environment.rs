//! The clouds of the swap: the simulation, and the real services.

use crate::{
    fixture::{Fixture, PASSWORD, summaries},
    process_fixture,
    real::{balancers, floating_ips, pools},
};
use lab::openstack::{OpenStack, Project, Region, Service};

/// A cloud and a cluster in which one program replaces the other.
pub trait Environment {
    /// A place in the log of requests.
    type Mark: Copy;

    /// The cluster.
    fn base(&self) -> &process_fixture::Fixture;
    /// The content of `--cloud-config`, with these lines about load balancers.
    fn config(&self, balancers: &str) -> String;
    /// The part of the `User-Agent` that identifies the requests of the programs.
    fn agent(&self) -> &str;
    /// Starts a server with the full name of a Node.
    async fn boot(&self, name: &str);
    /// The end of the log of requests.
    async fn mark(&self) -> Self::Mark;
    /// The number of calls since then.
    async fn asked_since(&self, mark: Self::Mark) -> usize;
    /// The changes in the cloud since then.
    async fn changes_since(&self, mark: Self::Mark) -> Vec<String>;
    /// How many routes the router has.
    async fn routes(&self) -> usize;
    /// The names of the members of each pool.
    async fn pools(&self) -> Vec<Vec<String>>;
    /// How many load balancers and floating IPs there are.
    async fn balancers_and_floating_ips(&self) -> (usize, usize);
}

impl Environment for Fixture {
    type Mark = openstack_sim::Mark;

    fn base(&self) -> &process_fixture::Fixture {
        Fixture::base(self)
    }

    fn config(&self, balancers: &str) -> String {
        let (global, balancers) = (self.global(PASSWORD), self.load_balancer(balancers));
        format!("{global}{balancers}[Route]\nrouter-id={}\n", self.net.router)
    }

    fn agent(&self) -> &str {
        &self.name
    }

    async fn boot(&self, name: &str) {
        Fixture::boot(self, name);
    }

    async fn mark(&self) -> openstack_sim::Mark {
        self.cloud.mark()
    }

    async fn asked_since(&self, mark: openstack_sim::Mark) -> usize {
        self.cloud.calls_since(mark).len()
    }

    async fn changes_since(&self, mark: openstack_sim::Mark) -> Vec<String> {
        summaries(&self.cloud.writes_since(mark))
    }

    async fn routes(&self) -> usize {
        self.cloud.routes(self.net.router).len()
    }

    async fn pools(&self) -> Vec<Vec<String>> {
        let balancers = self.cloud.load_balancers().into_iter();
        let pools = balancers
            .flat_map(|balancer| balancer.listeners)
            .filter_map(|listener| listener.pool);
        pools
            .map(|pool| pool.members.into_iter().map(|member| member.name).collect())
            .collect()
    }

    async fn balancers_and_floating_ips(&self) -> (usize, usize) {
        (self.cloud.load_balancers().len(), self.cloud.floating_ips().len())
    }
}

/// A project of the real services, and a control plane of its own.
pub struct Real {
    cloud: &'static OpenStack,
    project: Project<'static>,
    base: process_fixture::Fixture,
}

impl Real {
    pub async fn new() -> Self {
        let cloud = tokio::task::spawn_blocking(OpenStack::shared).await.unwrap();
        Self {
            cloud,
            project: cloud.project(&lab::unique("swap")).await.unwrap(),
            base: process_fixture::Fixture::private().await,
        }
    }

    async fn requests_since(&self, mark: lab::openstack::Mark) -> Vec<lab::openstack::Request> {
        let mut requests = self.cloud.requests_since(mark).await.unwrap();
        requests.retain(|request| request.agent.contains(self.agent()));
        requests
    }
}

impl Environment for Real {
    type Mark = lab::openstack::Mark;

    fn base(&self) -> &process_fixture::Fixture {
        &self.base
    }

    fn config(&self, balancers: &str) -> String {
        let (global, tenant) = (self.project.cloud_conf(Region::Plain), self.project.tenant());
        let (subnet, public, router) = (&tenant.subnet, self.cloud.external_network(), &tenant.router);
        format!(
            "{global}[LoadBalancer]\nlb-provider=lab\nsubnet-id={subnet}\nfloating-network-id={public}\n{balancers}\n\
             [Route]\nrouter-id={router}\n"
        )
    }

    fn agent(&self) -> &str {
        &self.project.tenant().name
    }

    async fn boot(&self, name: &str) {
        self.project.boot(&self.base.named(name)).await.unwrap();
    }

    async fn mark(&self) -> lab::openstack::Mark {
        self.cloud.mark().await.unwrap()
    }

    async fn asked_since(&self, mark: lab::openstack::Mark) -> usize {
        self.requests_since(mark).await.len()
    }

    async fn changes_since(&self, mark: lab::openstack::Mark) -> Vec<String> {
        let mut requests = self.requests_since(mark).await;
        requests.retain(|request| request.method != "GET" && request.service != Service::Keystone);
        let words = requests.iter();
        words
            .map(|request| format!("{} {} {}", request.method, request.path, request.status))
            .collect()
    }

    async fn routes(&self) -> usize {
        let path = format!("/v2.0/routers/{}", self.project.tenant().router);
        let answer = self
            .project
            .call(Service::Neutron, http::Method::GET, &path, None)
            .await;
        answer.unwrap()["router"]["routes"].as_array().unwrap().len()
    }

    async fn pools(&self) -> Vec<Vec<String>> {
        pools(&self.project).await
    }

    async fn balancers_and_floating_ips(&self) -> (usize, usize) {
        (
            balancers(&self.project).await.len(),
            floating_ips(&self.project).await.len(),
        )
    }
}
