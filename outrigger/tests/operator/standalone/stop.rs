//! SIGTERM while the API server does not answer.

use super::cluster::Cluster;
use crate::process_fixture::ApiProxy;
use rstest::rstest;
use serde_json::json;
use std::time::{Duration, Instant};

/// The default grace period of a Pod.
const GRACE: Duration = Duration::from_secs(30);

#[rstest]
#[case::with_its_lock("true")]
#[case::without("false")]
#[tokio::test]
async fn stops_in_time(#[case] elect: &str) {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let proxy = ApiProxy::to(&world.client, &world.folder).await;
    // During the objects; no request is answered from then on.
    proxy.close_after(6);
    let operator = world
        .operator_as(&proxy.kubeconfig)
        .flag(&format!("--leader-elect={elect}"))
        .start();
    let closed = async || {
        if proxy.is_closed() {
            Ok(())
        } else {
            Err("it is open".to_owned())
        }
    };
    operator.until("an API server that hangs", closed).await;
    operator.signal("TERM");
    let asked = Instant::now();
    let exit = operator.exited().await;
    assert!(asked.elapsed() < GRACE, "{:?}{}", asked.elapsed(), operator.log_tail());
    assert_eq!(exit.code, 0, "{}", operator.log_tail());
}
