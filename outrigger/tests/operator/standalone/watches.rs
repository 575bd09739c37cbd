//! No object is watched longer than necessary.

use super::cluster::Cluster;
use crate::process_fixture::Manager;
use serde_json::{Value, json};
use std::fs;

/// Waits until a watch of an object has ended, according to the audit log.
async fn unwatched(world: &Cluster, operator: &Manager, resource: &str, name: &str) {
    let look = async || {
        let log = fs::read_to_string(world.plane().audit_log()).unwrap();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let about = |line: &Value| {
            let uri = line["requestURI"].as_str().unwrap_or_default();
            line["verb"] == "watch"
                && uri.contains(&format!("/{resource}?"))
                && uri.contains(&format!("metadata.name%3D{name}&"))
        };
        let stages: Vec<_> = lines.filter(about).map(|line| line["stage"].clone()).collect();
        if stages.iter().any(|stage| stage == "ResponseComplete") {
            Ok(())
        } else {
            Err(format!("{stages:?}"))
        }
    };
    let what = format!("the end of the watch of {resource} {name}");
    operator.until(&what, look).await;
}

#[tokio::test]
async fn watches_end() {
    let world = Cluster::new().await;
    for name in ["first", "second"] {
        world.config(name, "{}").await;
    }
    let spec = |config: &str| {
        let map = json!({"name": config, "key": "cloud.conf"});
        json!({"provider": "memory", "cloudConfig": {"configMap": map}})
    };
    world.manager("lab", spec("first")).await;
    let operator = world.start();
    world.installed(&operator, "lab").await;

    world.manager("lab", spec("second")).await;
    unwatched(&world, &operator, "configmaps", "first").await;
    world.installed(&operator, "lab").await;
    // An object that is still read is still watched: a change rolls the Pods.
    world.config("second", "{\"nodes\": []}").await;
    world.reports(&operator, "lab", &["Progressing=True RollingOut"]).await;

    world.unmanage("lab").await;
    unwatched(&world, &operator, "configmaps", "second").await;
    unwatched(&world, &operator, "deployments", "lab-cloud-controller-manager").await;
    unwatched(&world, &operator, "secrets", "lab-cloud-controller-manager-serving-ca").await;
}
