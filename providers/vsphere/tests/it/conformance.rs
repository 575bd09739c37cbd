//! The conformance suite.

use crate::fixture::Lab;
use async_trait::async_trait;
use cloud::{Gate, NodeRef, Provider};
use conformance::{Failed, Stop, World, cases, run_concurrently};
use serde_json::json;
use std::sync::Arc;

/// How many cases run at the same time: the simulator is one process.
const AT_A_TIME: usize = 4;

struct Inventory(Arc<Lab>);

#[async_trait]
impl World for Inventory {
    fn provider(&self, _: Gate) -> Arc<dyn Provider> {
        Arc::new(self.0.provider())
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        Ok(self.0.machine(name).await)
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        let deleted = self.0.vcenter.delete(&node.name).await;
        deleted.map_err(|error| Stop::failed(format!("{error:#}")))
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        let off = json!({"Power": "poweredOff"});
        let changed = self.0.vcenter.change(&node.name, &off).await;
        changed.map_err(|error| Stop::failed(format!("{error:#}")))
    }

    /// More than are searched one by one.
    fn most_machines(&self) -> usize {
        30
    }

    fn foreign_ids(&self) -> Vec<String> {
        [
            "vsphere://vm-1",
            "vsphere://42060000-8e4f-1b2c-8000-00000000000",
            "vsphere:///42060000-8e4f-1b2c-8000-000000000001",
            "openstack:///42060000-8e4f-1b2c-8000-000000000001",
        ]
        .map(String::from)
        .into()
    }
}

#[tokio::test]
async fn machines() -> Result<(), Failed> {
    let lab = Arc::new(Lab::start().await);
    let world = || {
        let lab = Arc::clone(&lab);
        async move { Ok(Inventory(lab)) }
    };
    let report = run_concurrently(AT_A_TIME, &cases(), world).await;
    println!("{report}");
    report.check()?;
    let unable = report.unable();
    let of_machines: Vec<_> = unable
        .iter()
        .map(|case| case.name)
        .filter(|name| name.starts_with("instances"))
        .collect();
    assert_eq!(
        of_machines,
        ["instances: a node that the cloud does not manage is not missing"]
    );
    Ok(())
}
