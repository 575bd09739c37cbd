//! Waits until the cluster and the cloud are as expected.

use crate::fixture::{Fixture, LABEL, is_initialised, service_address};
use cloud::Host;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use memory_sim::{Balancer, Cloud};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
use testkit::wait::{STALLED_AFTER, until};

impl Fixture {
    /// The Nodes of this fixture.
    pub async fn own_nodes(&self) -> Vec<Node> {
        let ours = ListParams::default().labels(&format!("{LABEL}={}", self.name));
        self.nodes().list(&ours).await.unwrap().items
    }

    /// The Services of this fixture.
    pub async fn own_services(&self) -> Vec<Service> {
        let all = self.services().list(&ListParams::default()).await.unwrap();
        let ours = self.named("");
        let is_ours = |service: &Service| service.name_any().starts_with(&ours);
        all.into_iter().filter(is_ours).collect()
    }

    /// Waits until so many Nodes of this fixture are initialised, and none is not.
    pub async fn all_initialised(&self, count: usize) {
        until("all nodes to be initialised", async || {
            let nodes = self.own_nodes().await;
            let done = nodes.iter().filter(|node| is_initialised(node)).count();
            if done == count && nodes.len() == count {
                Ok(())
            } else {
                Err(format!("{done} of {count} are"))
            }
        })
        .await;
    }

    /// Waits until so many Services of this fixture have an address, and none has not.
    pub async fn all_served(&self, count: usize) {
        until("all Services to have an address", async || {
            let services = self.own_services().await;
            let done = services
                .iter()
                .filter(|service| service_address(service).is_some())
                .count();
            if done == count && services.len() == count {
                Ok(())
            } else {
                Err(format!("{done} of {count} have"))
            }
        })
        .await;
    }

    /// Waits until no Service of this fixture exists.
    pub async fn no_services(&self) {
        until("all Services to be gone", async || {
            match self.own_services().await.len() {
                0 => Ok(()),
                left => Err(format!("{left} are left")),
            }
        })
        .await;
    }

    /// Waits until every load balancer has these hosts, with all their details.
    pub async fn all_have_hosts(&self, mut names: Vec<String>) {
        names.sort();
        let is_complete = |host: &Arc<Host>| host.provider_id.is_some() && !host.addresses.is_empty();
        let has_all = |one: &Balancer| one.host_names() == names && one.hosts.iter().all(is_complete);
        self.cloud_until(|cloud| cloud.load_balancers().iter().all(has_all))
            .await;
    }

    /// Sets the only port of a Service.
    pub async fn set_port(&self, name: &str, port: u16) {
        self.change(name, json!({"ports": [{"port": port, "protocol": "TCP"}]}))
            .await;
    }

    /// Changes the type of a Service, so that it needs no load balancer any more.
    pub async fn retype(&self, name: &str) {
        self.change(name, json!({"type": "ClusterIP", "loadBalancerClass": null}))
            .await;
    }

    async fn change(&self, name: &str, spec: Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(json!({ "spec": spec })));
        self.services().patch(name, &params, &patch).await.unwrap();
    }

    /// Waits until a load balancer has this port and no other.
    pub async fn has_port(&self, port: u16) {
        let has_it = |balancer: &Balancer| balancer.ports.iter().map(|one| one.port).eq([port]);
        self.cloud_until(|cloud| cloud.load_balancers().iter().any(has_it))
            .await;
    }

    /// Waits until the cloud is as expected, but not forever.
    pub async fn cloud_until(&self, holds: impl Fn(&Cloud) -> bool) {
        let waited = tokio::time::timeout(STALLED_AFTER, self.cloud.until(holds)).await;
        let (calls, balancers) = (self.cloud.calls(), self.cloud.load_balancers());
        let last = &calls[calls.len().saturating_sub(10)..];
        assert!(
            waited.is_ok(),
            "gave up waiting for the cloud; its last calls are {last:#?} and it has {balancers:#?}"
        );
    }

    /// Waits until another replica holds the lease, and returns its name.
    pub async fn holder_after(&self, old: &str) -> String {
        until("another leader", async || match self.holder().await {
            new if new.is_empty() || new == old => Err(format!("{new:?} holds the lease")),
            new => Ok(new),
        })
        .await
    }

    /// The reasons of all events about the object with this UID.
    pub async fn events_about(&self, uid: &str) -> BTreeSet<String> {
        let events: Api<Event> = Api::default_namespaced(self.client.clone());
        let about = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        let found = events.list(&about).await.unwrap();
        found.into_iter().filter_map(|event| event.reason).collect()
    }

    /// Waits for an event with this reason about the object with this UID.
    pub async fn event(&self, uid: &str, reason: &str) {
        until(&format!("an event {reason}"), async || {
            let reasons = self.events_about(uid).await;
            if reasons.contains(reason) {
                Ok(())
            } else {
                Err(format!("there are {reasons:?}"))
            }
        })
        .await;
    }

    /// Waits until the audit log has all requests that were answered: they are written a moment later.
    pub async fn audited(&self) {
        let (mark, name) = (self.mark(), lab::unique("audited"));
        self.nodes().get_opt(&name).await.unwrap();
        until("the audit log", async || {
            let last = self.all_requests(mark).into_iter().find(|entry| entry.name == name);
            last.ok_or("it is behind")
        })
        .await;
    }

    /// How many load balancers were ever created.
    pub fn balancers_made(&self) -> usize {
        let calls = self.cloud.calls();
        calls
            .iter()
            .flat_map(|call| &call.changes)
            .filter(|change| *change == "create")
            .count()
    }
}
