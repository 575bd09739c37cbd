//! Told to stop while the API server does not answer.

use super::cluster::Cluster;
use crate::rig::Door;
use rstest::rstest;
use serde_json::json;
use std::time::{Duration, Instant};

/// What a Pod has from the signal to its end, unless somebody says otherwise.
const GRACE: Duration = Duration::from_secs(30);

#[rstest]
#[case::with_its_lock("true")]
#[case::without("false")]
#[tokio::test]
async fn stops_in_time(#[case] elect: &str) {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let door = Door::to(&world.client, &world.folder).await;
    // In the midst of the objects; nothing is answered from then on.
    door.close_after(6);
    let operator = world
        .operator_as(&door.kubeconfig)
        .flag(&format!("--leader-elect={elect}"))
        .start();
    let closed = async || {
        if door.is_closed() {
            Ok(())
        } else {
            Err("it is open".to_owned())
        }
    };
    operator.until("an API server that hangs", closed).await;
    operator.signal("TERM");
    let asked = Instant::now();
    let exit = operator.exited().await;
    assert!(asked.elapsed() < GRACE, "{:?}{}", asked.elapsed(), operator.told());
    assert_eq!(exit.code, 0, "{}", operator.told());
}
