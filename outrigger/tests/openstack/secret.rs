//! Credentials in a Secret that the cloud.conf names: the manager waits for them, reloads them, and keeps the previous ones if the new ones are rejected.

use crate::{
    fixture::{Fixture, PASSWORD, metric, red},
    process_fixture::{Launch, Manager},
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

/// The permissions in the documentation.
const MANIFEST: &str = include_str!("../../../deploy/openstack/secret-rbac.yaml");

const SYSTEM: &str = "kube-system";

const FAILURES: &str = "cloud_config_reloads_total{outcome=\"failure\"}";
const SUCCESSES: &str = "cloud_config_reloads_total{outcome=\"success\"}";

/// Lets the manager of this fixture read its Secret, by the manifest.
async fn authorise(fixture: &Fixture) {
    let text = MANIFEST.replace("openstack-credentials", &fixture.name).replace(
        "outrigger:cloud-controller-manager:cloud-config",
        &fixture.named("cloud-config"),
    );
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(objects.len(), 2);
    let mut binding = objects.pop().unwrap();
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": fixture.name});
    binding["subjects"] = json!([subject]);
    let role: Role = serde_json::from_value(objects.pop().unwrap()).unwrap();
    let binding: RoleBinding = serde_json::from_value(binding).unwrap();
    let params = PostParams::default();
    Api::namespaced(fixture.client.clone(), SYSTEM)
        .create(&params, &role)
        .await
        .unwrap();
    Api::namespaced(fixture.client.clone(), SYSTEM)
        .create(&params, &binding)
        .await
        .unwrap();
    let get = json!({"namespace": SYSTEM, "verb": "get", "resource": "secrets", "name": fixture.name});
    fixture
        .allowed(&fixture.name, &json!({"resourceAttributes": get}))
        .await;
}

/// Creates or updates the Secret.
pub async fn write(fixture: &Fixture, key: &str, value: &str) {
    let secrets: Api<Secret> = Api::namespaced(fixture.client.clone(), SYSTEM);
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": fixture.name}, "stringData": {key: value}});
    let params = PatchParams::apply("test").force();
    secrets
        .patch(&fixture.name, &params, &Patch::Apply(secret))
        .await
        .unwrap();
}

async fn manager(fixture: &Fixture) -> Manager {
    launch(fixture).await.start()
}

/// A manager with credentials in a Secret; the file has everything else.
pub async fn launch(fixture: &Fixture) -> Launch {
    authorise(fixture).await;
    let (name, balancing) = (&fixture.name, fixture.load_balancer(""));
    let config = format!("[Global]\nsecret-name={name}\nsecret-namespace={SYSTEM}\n{balancing}");
    fixture.manager_with(&config)
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
    let fixture = Fixture::new().await;
    let manager = manager(&fixture).await;
    let missing = format!("Secret {SYSTEM}/{} does not exist", fixture.name);
    red(&manager, &[&missing]).await;
    manager.answers("/healthz", 200).await;
    assert_eq!(fixture.holder().await, "", "missing Secret → not ready, retried");
    assert_eq!(fixture.cloud.calls(), [], "requests were sent");

    write(&fixture, "clouds.conf", &fixture.global(PASSWORD)).await;
    manager.ready().await;
    manager.leading().await;
    let name = fixture.join("node").await.0;
    fixture.initialised(&manager, &name).await;

    fixture.cloud.set_password("demo", "rotated");
    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    write(&fixture, "clouds.conf", &fixture.global("rotated")).await;
    counted(&manager, SUCCESSES, accepted).await;
    fixture.serve(&manager, "web").await;
    assert!(
        manager.ended().is_none(),
        "update of the Secret → new token obtained with the new credentials, no restart"
    );

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(&fixture, "clouds.conf", "[Global]\npassword=\"rot").await;
    counted(&manager, FAILURES, refused).await;
    let message = fixture.event(&fixture.name, "CloudConfigRefused").await;
    assert!(message.contains("not usable"), "{message}");
    let late = fixture.join("late").await.0;
    fixture.initialised(&manager, &late).await;
    manager.ready().await;

    fixture.audited().await;
    let reads = fixture
        .requests()
        .into_iter()
        .filter(|entry| entry.resource == "secrets");
    let reads: Vec<_> = reads.filter(|entry| entry.code != 200).collect();
    assert!(reads.is_empty(), "{reads:?}");
}

#[tokio::test]
async fn with_refused_credentials_is_not_used() {
    let fixture = Fixture::new().await;
    let manager = manager(&fixture).await;
    write(&fixture, "clouds.conf", &fixture.global("wrong")).await;
    red(&manager, &["password"]).await;
    write(&fixture, "clouds.conf", &fixture.global(PASSWORD)).await;
    manager.ready().await;
    manager.leading().await;
    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(&fixture, "clouds.conf", &fixture.global("wrong")).await;
    counted(&manager, FAILURES, refused).await;
    let name = fixture.join("node").await.0;
    fixture.initialised(&manager, &name).await;
    manager.ready().await;
}

/// Every Service would get a second load balancer there, with another address.
#[tokio::test]
async fn of_another_project_is_refused_and_nothing_is_created_there() {
    let fixture = Fixture::new().await;
    let manager = manager(&fixture).await;
    write(&fixture, "clouds.conf", &fixture.global(PASSWORD)).await;
    manager.leading().await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let before = fixture.cloud.load_balancers();

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    write(
        &fixture,
        "clouds.conf",
        &fixture.global(PASSWORD).replace("=demo", "=admin"),
    )
    .await;
    counted(&manager, FAILURES, refused).await;
    let message = fixture.event(&fixture.name, "CloudConfigRefused").await;
    let project = |name| fixture.cloud.project_id(name).unwrap();
    let (new, running) = (project("admin"), project("demo"));
    let why = format!("is for project {new}, and the running one is for project {running}; restart the manager");
    assert!(message.contains(&why), "{message}");

    fixture
        .change(&name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
        .await;
    let moved = |cloud: &Cloud| cloud.load_balancers()[0].listeners.iter().any(|one| one.port == 81);
    fixture.cloud_until("the new port", &manager, moved).await;
    let after = fixture.cloud.load_balancers();
    assert_eq!(after.len(), 1, "one was made elsewhere: {after:?}");
    assert_eq!(after[0].id, before[0].id);
    assert_eq!(fixture.cloud.floating_ips().len(), 1);

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    fixture.cloud.set_password("demo", "rotated");
    write(&fixture, "clouds.conf", &fixture.global("rotated")).await;
    counted(&manager, SUCCESSES, accepted).await;
}

#[tokio::test]
async fn can_have_a_clouds_yaml() {
    let fixture = Fixture::new().await;
    let manager = manager(&fixture).await;
    write(&fixture, "clouds.yaml", &clouds(&fixture, PASSWORD)).await;
    manager.ready().await;
    let name = fixture.join("node").await.0;
    fixture.initialised(&manager, &name).await;
}

/// A clouds.yaml with the cloud `openstack`.
pub fn clouds(fixture: &Fixture, password: &str) -> String {
    let auth = json!({
        "auth_url": fixture.sim.auth_url(),
        "username": "demo",
        "password": password,
        "project_name": "demo",
        "user_domain_id": "default",
        "project_domain_id": "default",
    });
    json!({"clouds": {"openstack": {"auth": auth, "region_name": "RegionOne"}}}).to_string()
}
