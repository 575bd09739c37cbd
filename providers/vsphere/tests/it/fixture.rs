//! A vCenter with machines, and a provider on it.

use cloud::{Answer, Detail, Instance, NodeRef, Provider, Result};
use lab::vsphere::VCenter;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use vsphere::{Start, VSphere, config::Variables};

/// The categories of zones and regions, for a configuration.
pub const LABELS: &str = "labels: {zone: k8s-zone, region: k8s-region}\n";

pub struct Lab {
    pub vcenter: VCenter,
    next: AtomicU32,
}

impl Lab {
    pub async fn start() -> Self {
        Self::with_tags(&[]).await
    }

    pub async fn with_tags(tags: &'static [[&'static str; 3]]) -> Self {
        let vcenter = tokio::task::spawn_blocking(move || VCenter::start(tags))
            .await
            .unwrap()
            .unwrap();
        Self {
            vcenter,
            next: AtomicU32::new(1),
        }
    }

    /// A machine with one address, and the node on it.
    pub async fn machine(&self, name: &str) -> NodeRef {
        self.machine_with(name, json!({})).await
    }

    /// A machine that differs from others in this.
    pub async fn machine_with(&self, name: &str, differences: Value) -> NodeRef {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let uuid = format!("42060000-8e4f-1b2c-8000-{number:012}");
        let mut machine = json!({
            "Name": name, "Hostname": name, "UUID": uuid,
            "Nics": [{"Network": "VM Network", "IPs": [format!("10.0.{}.{}", number / 250, number % 250 + 1)]}],
        });
        let Value::Object(differences) = differences else {
            panic!("they are no object: {differences}")
        };
        for (key, value) in differences {
            machine[key] = value;
        }
        self.vcenter.create(&machine).await.unwrap();
        NodeRef::named(name).with_provider_id(format!("vsphere://{}", machine["UUID"].as_str().unwrap()))
    }

    /// A process that was just started.
    pub fn provider(&self) -> VSphere {
        self.provider_with("")
    }

    /// The same with more lines in its configuration.
    pub fn provider_with(&self, more: &str) -> VSphere {
        self.configured(&self.vcenter.cloud_config(more))
    }

    /// A provider of a configuration.
    pub fn configured(&self, config: &str) -> VSphere {
        let file = self.vcenter.dir().join("vsphere.yaml");
        fs::write(&file, config).unwrap();
        VSphere::new(Start {
            file: Some(&file),
            variables: Variables::default(),
            node_labels: BTreeMap::from([("example.com/platform".to_owned(), "vsphere".to_owned())]),
            gate: Arc::new(|| Ok(())),
            registry: &prometheus::Registry::new(),
        })
        .unwrap()
    }

    /// How often SOAP methods were called since the last reset.
    pub async fn calls(&self, method: &str) -> u64 {
        self.vcenter
            .calls()
            .await
            .unwrap()
            .get(method)
            .copied()
            .unwrap_or_default()
    }
}

pub async fn describe(provider: &VSphere, node: &NodeRef, detail: Detail) -> Result<Answer> {
    let mut answers = provider.instances().describe(std::slice::from_ref(node), detail).await;
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

pub async fn found(provider: &VSphere, node: &NodeRef) -> Instance {
    let answer = describe(provider, node, Detail::Full).await.unwrap();
    answer.found().unwrap_or_else(|| panic!("{} is not found", node.name))
}

/// The error for a node, in one line.
pub async fn refused(provider: &VSphere, node: &NodeRef, detail: Detail) -> String {
    match describe(provider, node, detail).await {
        Err(error) => error.report(),
        Ok(answer) => panic!("{} is answered with {answer:?}", node.name),
    }
}
