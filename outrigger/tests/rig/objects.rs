//! Nodes, Services, leases and accounts.

use super::{LABEL, Manager, Rig};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Service, ServiceAccount},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use testkit::service::Builder;

/// On a Node that the cloud has not initialised.
pub const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";

impl Rig {
    /// All Nodes.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// The Services of the default namespace.
    pub fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.client.clone())
    }

    /// The full name of a Node or Service of this rig.
    pub fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// A machine boots and joins as a tainted, ready Node; returns its full name.
    pub async fn join(&self, name: &str) -> String {
        self.cloud.boot(&self.named(name));
        self.register(name, "tainted ready:True").await
    }

    /// A Node of this rig from the words of [`testkit::node::node`], without a machine; returns its full name.
    pub async fn register(&self, name: &str, words: &str) -> String {
        let words = format!("{words} {LABEL}={}", self.name);
        self.register_elsewhere(name, &words).await
    }

    /// A Node that does not belong to this rig.
    pub async fn register_elsewhere(&self, name: &str, words: &str) -> String {
        let name = self.named(name);
        let mut node = testkit::node::node(&name, words);
        (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
        self.nodes().create(&PostParams::default(), &node).await.unwrap();
        name
    }

    /// The kubelet of a Node says so (`True`, `False`), or is not heard of any more (`Unknown`).
    pub async fn set_ready(&self, node: &str, status: &str) {
        let condition = json!({"type": "Ready", "status": status, "reason": "Test", "message": "test"});
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        let params = PatchParams::default();
        self.nodes().patch_status(node, &params, &patch).await.unwrap();
    }

    /// A Service of type `LoadBalancer` and of the class of this rig, to be changed and then [`Rig::create`]d.
    pub fn balanced(&self, name: &str) -> Builder {
        testkit::service::load_balancer(&self.named(name)).class(&self.name)
    }

    /// Makes a Service.
    pub async fn create(&self, service: Builder) -> Service {
        let mut service = service.build();
        service.metadata.uid = None;
        self.services().create(&PostParams::default(), &service).await.unwrap()
    }

    /// Waits until a Service is gone.
    pub async fn service_gone(&self, manager: &Manager, name: &str) {
        let services = self.services();
        let look = async || match services.get_opt(name).await.unwrap() {
            None => Ok(()),
            Some(service) => Err(format!("it is {}", json!(service))),
        };
        manager.until(&format!("the end of Service {name}"), look).await;
    }

    /// Deletes a Service and waits until it is gone.
    pub async fn end(&self, manager: &Manager, name: &str) {
        self.delete_service(name).await;
        self.service_gone(manager, name).await;
    }

    /// Asks for the end of a Service.
    pub async fn delete_service(&self, name: &str) {
        let params = DeleteParams::default();
        self.services().delete(name, &params).await.unwrap();
    }

    /// Waits until a Node satisfies this; the manager must live meanwhile.
    pub async fn node_until(&self, manager: &Manager, name: &str, what: &str, holds: impl Fn(&Node) -> bool) -> Node {
        let what = format!("Node {name} to be {what}");
        let nodes = self.nodes();
        let look = async || match nodes.get_opt(name).await {
            Ok(Some(node)) if holds(&node) => Ok(node),
            Ok(node) => Err(format!("it is {}", json!(node))),
            Err(error) => Err(error.to_string()),
        };
        manager.until(&what, look).await
    }

    /// Waits until a Node is initialised.
    pub async fn initialised(&self, manager: &Manager, name: &str) -> Node {
        self.node_until(manager, name, "initialised", is_initialised).await
    }

    /// Waits until a Node is gone.
    pub async fn node_gone(&self, manager: &Manager, name: &str) {
        let nodes = self.nodes();
        let look = async || match nodes.get_opt(name).await {
            Ok(None) => Ok(()),
            Ok(Some(node)) => Err(format!("it is {}", json!(node))),
            Err(error) => Err(error.to_string()),
        };
        manager.until(&format!("the end of Node {name}"), look).await;
    }

    /// Waits until a Service has an address.
    pub async fn served(&self, manager: &Manager, name: &str) -> Service {
        let services = self.services();
        let look = async || match services.get(name).await {
            Ok(service) if service_address(&service).is_some() => Ok(service),
            Ok(service) => Err(format!("it is {}", json!(service))),
            Err(error) => Err(error.to_string()),
        };
        manager.until(&format!("Service {name} to have an address"), look).await
    }

    /// The lease of this rig's managers.
    pub async fn lease(&self) -> Option<Lease> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        leases.get_opt(&self.name).await.unwrap()
    }

    /// Who holds it; empty if nobody does.
    pub async fn holder(&self) -> String {
        let spec = self.lease().await.and_then(|lease| lease.spec);
        spec.and_then(|spec| spec.holder_identity).unwrap_or_default()
    }

    /// A new `ServiceAccount` in the default namespace: its user name and a token.
    pub async fn service_account(&self) -> (String, String) {
        let name = lab::unique(&self.name);
        let accounts: Api<ServiceAccount> = Api::default_namespaced(self.client.clone());
        let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let request = serde_json::from_value(json!({"spec": {"audiences": null, "expirationSeconds": 3600}})).unwrap();
        let answer = accounts
            .create_token_request(&name, &PostParams::default(), &request)
            .await;
        let token = answer.unwrap().status.unwrap().token;
        (format!("system:serviceaccount:default:{name}"), token)
    }
}

/// Whether the cloud's taint is gone.
pub fn is_initialised(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    !taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == TAINT))
}

/// Whether the Node's condition `Ready` is `True`.
pub fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

/// The first IP of a Service's load balancer.
pub fn service_address(service: &Service) -> Option<String> {
    let balancer = service.status.as_ref()?.load_balancer.as_ref()?;
    balancer.ingress.as_ref()?.first()?.ip.clone()
}
