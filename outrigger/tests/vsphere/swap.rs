//! The swap: one image changes. What one program wrote stays as it is when the other takes over, under the same command line.

use crate::cluster::{Cluster, Program};
use kube::{ResourceExt, api::ListParams};
use serde_json::json;

/// The versions of all Nodes: each write changes one.
async fn versions(cluster: &Cluster) -> Vec<(String, Option<String>)> {
    let nodes = cluster.api.nodes().list(&ListParams::default()).await.unwrap();
    nodes
        .items
        .iter()
        .map(|node| (node.name_any(), node.resource_version()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_the_programs_in_both_directions_writes_nothing() {
    let cluster = Cluster::new().await;
    let mut manager = cluster.start(Program::Go).await;
    for number in 1..=3 {
        let (name, uuid) = (format!("n{number}"), format!("42060000-8e4f-1b2c-8000-{number:012}"));
        let nics = json!([{"Network": "VM Network", "IPs": [format!("10.0.0.{number}")]}]);
        let machine = json!({"Name": name, "Hostname": name, "UUID": uuid, "Nics": nics});
        cluster.vcenter.create(&machine).await.unwrap();
        cluster
            .register(&name, &format!("tainted ready:True uuid:{uuid}"))
            .await;
        cluster.api.initialised(&manager, &name).await;
    }
    for program in [Program::Outrigger, Program::Go] {
        cluster.at_rest(&manager).await;
        manager.signal("TERM");
        manager.exited().await;
        let before = versions(&cluster).await;
        cluster.vcenter.reset().await.unwrap();
        manager = cluster.start(program).await;
        let called = async || match cluster.count_calls().await {
            0 => Err("no call yet".to_owned()),
            _ => Ok(()),
        };
        manager.until("the first call", called).await;
        cluster.at_rest(&manager).await;
        assert_eq!(
            versions(&cluster).await,
            before,
            "{program:?} wrote on a Node{}",
            manager.log_tail()
        );
    }
}
