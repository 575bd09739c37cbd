//! Another client reverts the changes of the operator.

use crate::{
    health::event_message,
    world::{World, kind},
};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

const AWS: &str = "aws-cloud-controller-manager";

/// A controller that reverts a label of ours as soon as it is repaired: at first each repair is at once, and then neither of
/// the two writes at the speed of the API server; the client is named; and when it stops, the conditions recover.
#[tokio::test]
async fn another_client_reverts_our_changes() {
    let (world, operator) = World::running("AWS").await;
    world.settled().await;
    let mark = world.mark();
    let services = world.api(&kind("Service"), &world.namespace);
    let (insists, times) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let other = tokio::spawn({
        let (services, insists, times) = (services.clone(), insists.clone(), times.clone());
        async move {
            let patch = json!({"metadata": {"labels": {"k8s-app": "theirs"}}});
            let params = PatchParams {
                field_manager: Some("another-controller".to_owned()),
                ..PatchParams::default()
            };
            while insists.load(Ordering::SeqCst) {
                let live = services.get(AWS).await.unwrap();
                if live.metadata.labels.unwrap_or_default()["k8s-app"] != "theirs" {
                    services.patch(AWS, &params, &Patch::Merge(&patch)).await.unwrap();
                    times.fetch_add(1, Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    let message = event_message(&world, &operator, &world.namespace, "ResourceUpdateFailed").await;
    for part in [AWS, "another-controller", "changes it back again and again"] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    // Long enough for hundreds of writes, and shorter than the first pause.
    tokio::time::sleep(Duration::from_secs(5)).await;
    insists.store(false, Ordering::SeqCst);
    other.await.unwrap();
    let writes = world.writes_since(mark);
    let repairs = writes.iter().filter(|write| write.contains(" services ")).count();
    let times = times.load(Ordering::SeqCst);
    // A repair may be two writes; and on a slow machine the pause may have ended once or twice.
    assert!(
        (10..=24).contains(&repairs) && times <= 13,
        "{repairs} and {times}: {writes:#?}"
    );

    let look = async || match services.get(AWS).await.unwrap().metadata.labels.unwrap_or_default() {
        labels if labels["k8s-app"] == AWS => Ok(()),
        labels => Err(format!("{labels:?}")),
    };
    operator.until("the last repair", look).await;
    world
        .reports(&operator, &["Available=True", "Degraded=False", "Progressing=False"])
        .await;
}
