//! The manager of a running cluster is removed.

use super::{
    INFRASTRUCTURE, OPERANDS, OPERATOR, SECOND, deployment, labels, made, reports, set_platform, states_until,
};
use crate::{
    cloud::OpenStack,
    fixture::Fixture,
    history::{History, State},
    leftovers::{Deletion, Mark},
};
use serde_json::{Value, json};

const ANNOTATION: &str = "infrastructure.openshift.io/external-cloud-provider";
/// This map is kept up to date on every platform, whether or not a Pod reads it.
const STAYS: &str = "ccm-trusted-ca";

/// By an administrator who returns to the in-tree provider; then it is installed again; then by the platform.
pub async fn story(fixture: &Fixture, cloud: &OpenStack, history: &History) {
    removed(fixture, history, async || annotate(fixture, json!("false")).await).await;
    // This Kubernetes has no in-tree cloud providers any more, which is reported.
    let alone = |state: &State| state.is_well() && state.conditions[0].contains("new nodes stay uninitialized");
    states_until(fixture, history, alone).await;

    annotate(fixture, Value::Null).await;
    fixture.pod(OPERANDS, &labels("openstack"), SECOND.1).await;
    reports(fixture, history, &SECOND).await;

    removed(fixture, history, async || set_platform(fixture, "None").await).await;
    fixture.initialised(&cloud.provider_id()).await;
}

async fn annotate(fixture: &Fixture, value: Value) {
    fixture
        .patch(
            INFRASTRUCTURE,
            json!({"metadata": {"annotations": {ANNOTATION: value}}}),
        )
        .await;
}

/// All objects except one map are deleted, in the safe order, and no failure is reported.
async fn removed(fixture: &Fixture, history: &History, ask: impl AsyncFn()) {
    let before = made(fixture).await;
    assert!(before.contains(&deployment("openstack")), "{before:#?}");
    let mark = fixture.mark();
    ask().await;
    fixture.gone(&deployment("openstack")).await;
    fixture.gone(&format!("/api/v1/namespaces/{OPERANDS}/pods")).await;
    let stays = format!("/configmaps/{STAYS}");
    for path in before.iter().filter(|path| !path.ends_with(&stays)) {
        fixture.gone(path).await;
    }
    reports(fixture, history, &SECOND).await;
    in_order(fixture, &mark);
    assert_eq!(
        fixture.written_by_operator().await,
        [format!("ConfigMap {OPERANDS}/{STAYS}")]
    );
}

/// Objects that Pods need are deleted when the Pods do not exist any more, and not before.
fn in_order(fixture: &Fixture, mark: &Mark) {
    let all = fixture.deletions(mark);
    let is_pod = |each: &&Deletion| each.resource == "pods" && each.namespace == OPERANDS;
    let last = all.iter().rfind(is_pod).unwrap().at.clone();
    let operator = format!("system:serviceaccount:{OPERATOR}:");
    let ours: Vec<&Deletion> = all.iter().filter(|each| each.user.starts_with(&operator)).collect();
    let (first, rest) = ours.split_first().unwrap();
    assert_eq!(first.resource, "deployments", "{ours:#?}");
    assert!(
        !rest.is_empty() && rest.iter().all(|each| each.at > last),
        "{last}: {ours:#?}"
    );
}
