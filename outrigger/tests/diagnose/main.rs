//! The commands for people from end to end: the binary as a process, on a real API server and the memory cloud.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what must not be missing in a test ends it"
)]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod admission;
mod check;
mod cleanup;
mod why;

use fixture::{Exit, Fixture, Launch};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A command about the cluster and the cloud of the fixture.
async fn command(fixture: &Fixture, kubeconfig: &Path, words: &[&str]) -> Exit {
    let launch = words
        .iter()
        .fold(Launch::new(fixture.folder.path()), |launch, word| launch.arg(word));
    let launch = launch
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .flag("--cloud-provider=memory")
        .flag(&format!("--cloud-config={}", fixture.cloud_config().display()))
        .flag(&format!("--cluster-name={}", fixture.name));
    launch.start().exited().await
}

/// The kubeconfig of an administrator.
fn administrator(fixture: &Fixture) -> PathBuf {
    fixture
        .plane()
        .kubeconfig_for(&fixture.named("admin"), &["system:masters"])
}

/// A user with these rules and no others.
async fn user(fixture: &Fixture, rules: Value) -> PathBuf {
    let (user, kubeconfig) = fixture.stranger("limited");
    let metadata = json!({"name": lab::unique(&user)});
    let role = json!({"metadata": metadata, "rules": rules});
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": metadata["name"]},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    let (role, binding): (ClusterRole, ClusterRoleBinding) = (
        serde_json::from_value(role).unwrap(),
        serde_json::from_value(binding).unwrap(),
    );
    let params = PostParams::default();
    Api::all(fixture.client.clone()).create(&params, &role).await.unwrap();
    Api::all(fixture.client.clone())
        .create(&params, &binding)
        .await
        .unwrap();
    kubeconfig
}
