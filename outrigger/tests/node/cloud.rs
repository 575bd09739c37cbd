//! A simulated `OpenStack` on loopback, of which our node is a server.

use openstack_sim::{Cloud, ServerSpec, ServerView, Sim};
use serde_json::{Value, json};
use std::net::IpAddr;

const PASSWORD: &str = "labpass";

/// The cloud, and its server.
pub struct OpenStack {
    sim: Sim,
    /// The cloud.
    pub cloud: Cloud,
    /// Our node.
    pub server: ServerView,
}

impl OpenStack {
    /// Serves a cloud with a server of this name and this address.
    pub async fn start(name: &str, ip: IpAddr) -> Self {
        let cloud = Cloud::new();
        let net = cloud.create_network("private", &format!("{ip}/22"));
        let mut spec = ServerSpec::new(name);
        spec.networks.push(net);
        // Addresses are assigned in turn.
        let server = loop {
            let server = cloud.boot_as(spec.clone());
            if server.addresses.contains(&ip) {
                break server;
            }
            assert!(!server.addresses.is_empty(), "the simulated network has no {ip}");
            cloud.delete_server(server.id);
        };
        Self {
            sim: Sim::start(&cloud).await.unwrap(),
            cloud,
            server,
        }
    }

    /// The provider ID of the node.
    pub fn provider_id(&self) -> String {
        format!("openstack:///{}", self.server.id)
    }

    /// The configuration as `OpenShift`'s installer writes it: the credentials are in a Secret.
    pub fn config() -> String {
        "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\nregion = RegionOne\n".to_owned()
    }

    /// The Secret of the installer, and the one that the cluster's credential operator creates from it.
    pub fn credentials(&self, namespace: &str, name: &str) -> Value {
        let url = self.sim.auth_url();
        let clouds = json!({"clouds": {"openstack": {
            "auth": {"auth_url": url, "username": "demo", "password": PASSWORD, "project_name": "demo",
                     "user_domain_id": "default", "project_domain_id": "default"},
            "region_name": "RegionOne",
        }}});
        let global = format!(
            "[Global]\nauth-url = {url}\nusername = demo\npassword = {PASSWORD}\ntenant-name = demo\ndomain-id = default\nregion = RegionOne\n"
        );
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "stringData": {"clouds.yaml": clouds.to_string(), "clouds.conf": global},
        })
    }
}
