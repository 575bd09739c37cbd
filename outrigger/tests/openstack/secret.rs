//! Credentials in a Secret that the cloud.conf names: waited for, followed, and kept if the new ones are no good.

use crate::{
    rig::{Launch, Manager},
    stage::{PASSWORD, Stage, metric, red},
};
use k8s_openapi::api::{
    core::v1::Secret,
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use openstack_sim::Cloud;
use serde_json::{Value, json};

/// What we tell users to grant.
const MANIFEST: &str = include_str!("../../../deploy/openstack/secret-rbac.yaml");

const SYSTEM: &str = "kube-system";

const FAILURES: &str = "cloud_config_reloads_total{outcome=\"failure\"}";
const SUCCESSES: &str = "cloud_config_reloads_total{outcome=\"success\"}";

/// Lets the manager of this stage read its Secret, by the manifest.
async fn authorise(stage: &Stage) {
    let text = MANIFEST.replace("openstack-credentials", &stage.name).replace(
        "system:cloud-controller-manager:cloud-config",
        &stage.named("cloud-config"),
    );
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(objects.len(), 2);
    let mut binding = objects.pop().unwrap();
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": stage.name});
    binding["subjects"] = json!([subject]);
    let role: Role = serde_json::from_value(objects.pop().unwrap()).unwrap();
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    let params = PostParams::default();
    Api::namespaced(stage.client.clone(), SYSTEM)
        .create(&params, &role)
        .await
        .unwrap();
    Api::namespaced(stage.client.clone(), SYSTEM)
        .create(&params, &binding)
        .await
        .unwrap();
    let get = json!({"namespace": SYSTEM, "verb": "get", "resource": "secrets", "name": stage.name});
    stage.allowed(&stage.name, &json!({"resourceAttributes": get})).await;
}

/// Makes the Secret be this.
pub async fn write(stage: &Stage, key: &str, value: &str) {
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), SYSTEM);
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": stage.name}, "stringData": {key: value}});
    let params = PatchParams::apply("test").force();
    secrets
        .patch(&stage.name, &params, &Patch::Apply(secret))
        .await
        .unwrap();
}

async fn manager(stage: &Stage) -> Manager {
    launch(stage).await.start()
}

/// A manager whose credentials are in a Secret; the file has everything else.
pub async fn launch(stage: &Stage) -> Launch {
    authorise(stage).await;
    let (name, balancing) = (&stage.name, stage.load_balancer(""));
    let config = format!("[Global]\nsecret-name={name}\nsecret-namespace={SYSTEM}\n{balancing}");
    stage.manager_with(&config)
}

/// Waits until so many configurations were refused, or accepted.
async fn counted(manager: &Manager, series: &str, more_than: u64) {
    let look = async || match metric(manager, series).await {
        Ok(count) if count > more_than => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager
        .until(&format!("{series} to be more than {more_than}"), look)
        .await;
}

// upstream: openstack 13
#[tokio::test]
async fn is_waited_for_and_followed() {
    let stage = Stage::new().await;
    let manager = manager(&stage).await;
    let missing = format!("Secret {SYSTEM}/{} does not exist", stage.name);
    red(&manager, &[&missing]).await;
    manager.answers("/healthz", 200).await;
    assert_eq!(stage.holder().await, "", "missing Secret → not ready, retried");
    assert_eq!(stage.cloud.calls(), [], "whom did it ask?");

    write(&stage, "clouds.conf", &stage.global(PASSWORD)).await;
    manager.ready().await;
    manager.leading().await;
    let name = stage.join("node").await.0;
    stage.initialised(&manager, &name).await;

    stage.cloud.set_password("demo", "rotated");
    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    write(&stage, "clouds.conf", &stage.global("rotated")).await;
    counted(&manager, SUCCESSES, accepted).await;
    stage.serve(&manager, "web").await;
    assert!(
        manager.ended().is_none(),
        "update of the Secret → new token obtained with the new credentials, no restart"
    );

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(&stage, "clouds.conf", "[Global]\npassword=\"rot").await;
    counted(&manager, FAILURES, refused).await;
    let message = stage.event(&stage.name, "CloudConfigRefused").await;
    assert!(message.contains("not usable"), "{message}");
    let late = stage.join("late").await.0;
    stage.initialised(&manager, &late).await;
    manager.ready().await;

    stage.audited().await;
    let reads = stage.requests().into_iter().filter(|entry| entry.resource == "secrets");
    let reads: Vec<_> = reads.filter(|entry| entry.code != 200).collect();
    assert!(reads.is_empty(), "{reads:?}");
}

#[tokio::test]
async fn with_credentials_that_the_cloud_does_not_take_is_not_used() {
    let stage = Stage::new().await;
    let manager = manager(&stage).await;
    write(&stage, "clouds.conf", &stage.global("wrong")).await;
    red(&manager, &["password"]).await;
    write(&stage, "clouds.conf", &stage.global(PASSWORD)).await;
    manager.ready().await;
    manager.leading().await;
    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(&stage, "clouds.conf", &stage.global("wrong")).await;
    counted(&manager, FAILURES, refused).await;
    let name = stage.join("node").await.0;
    stage.initialised(&manager, &name).await;
    manager.ready().await;
}

/// There every Service would get a second load balancer, with another address.
#[tokio::test]
async fn of_another_project_is_refused_and_nothing_is_made_there() {
    let stage = Stage::new().await;
    let manager = manager(&stage).await;
    write(&stage, "clouds.conf", &stage.global(PASSWORD)).await;
    manager.leading().await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let before = stage.cloud.load_balancers();

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(
        &stage,
        "clouds.conf",
        &stage.global(PASSWORD).replace("=demo", "=admin"),
    )
    .await;
    counted(&manager, FAILURES, refused).await;
    let message = stage.event(&stage.name, "CloudConfigRefused").await;
    let project = |name| stage.cloud.project_id(name).unwrap();
    let (new, running) = (project("admin"), project("demo"));
    let why = format!("is for project {new}, and the running one is for project {running}; restart the manager");
    assert!(message.contains(&why), "{message}");

    stage
        .change(&name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
        .await;
    let moved = |cloud: &Cloud| cloud.load_balancers()[0].listeners.iter().any(|one| one.port == 81);
    stage.cloud_until("the new port", &manager, moved).await;
    let after = stage.cloud.load_balancers();
    assert_eq!(after.len(), 1, "one was made elsewhere: {after:?}");
    assert_eq!(after[0].id, before[0].id);
    assert_eq!(stage.cloud.floating_ips().len(), 1);

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    stage.cloud.set_password("demo", "rotated");
    write(&stage, "clouds.conf", &stage.global("rotated")).await;
    counted(&manager, SUCCESSES, accepted).await;
}

#[tokio::test]
async fn can_have_a_clouds_yaml() {
    let stage = Stage::new().await;
    let manager = manager(&stage).await;
    write(&stage, "clouds.yaml", &clouds(&stage, PASSWORD)).await;
    manager.ready().await;
    let name = stage.join("node").await.0;
    stage.initialised(&manager, &name).await;
}

/// A clouds.yaml with the cloud `openstack`.
pub fn clouds(stage: &Stage, password: &str) -> String {
    let auth = json!({
        "auth_url": stage.sim.auth_url(),
        "username": "demo",
        "password": password,
        "project_name": "demo",
        "user_domain_id": "default",
        "project_domain_id": "default",
    });
    json!({"clouds": {"openstack": {"auth": auth, "region_name": "RegionOne"}}}).to_string()
}
