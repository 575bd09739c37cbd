use super::*;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn config_maps() -> Resource {
    Resource::new("v1", "ConfigMap", "configmaps")
}

fn key(name: &str) -> Key {
    Key {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: Some("default".to_owned()),
        name: name.to_owned(),
    }
}

fn one(name: &str) -> Selection {
    Selection::one(&config_maps(), Some("default"), name)
}

fn found(cache: &Cache, name: &str) -> Value {
    match cache.find(&key(name)) {
        Lookup::Found(value) => value["data"].clone(),
        Lookup::Absent => json!("absent"),
        Lookup::Unknown(_) => json!("unknown"),
    }
}

async fn create(api: &Api<ConfigMap>, name: &str) {
    let map = json!({"metadata": {"name": name}, "data": {"a": "1"}});
    let map = serde_json::from_value(map).expect("a ConfigMap");
    api.create(&PostParams::default(), &map).await.expect("created");
}

#[tokio::test]
async fn caches_what_was_selected_and_nothing_else() {
    let client = lab::ControlPlane::shared().client();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let (mine, other) = (lab::unique("mine"), lab::unique("other"));
    let changed = Arc::new(Notify::new());
    let mut cache = Cache::new(client, changed.clone());
    assert_eq!(found(&cache, &mine), json!("unknown"));

    cache.want(&[one(&mine)].into()).await;
    assert_eq!(found(&cache, &mine), json!("absent"));
    changed.notified().await;

    create(&api, &other).await;
    create(&api, &mine).await;
    changed.notified().await;
    assert_eq!(found(&cache, &mine), json!({"a": "1"}));
    assert_eq!(found(&cache, &other), json!("unknown"));

    let patch = Patch::Merge(json!({"data": {"a": "2"}}));
    api.patch(&mine, &PatchParams::default(), &patch)
        .await
        .expect("patched");
    changed.notified().await;
    assert_eq!(found(&cache, &mine), json!({"a": "2"}));

    api.delete(&mine, &DeleteParams::default()).await.expect("deleted");
    changed.notified().await;
    assert_eq!(found(&cache, &mine), json!("absent"));
}

#[tokio::test]
async fn an_own_write_is_not_overwritten_by_an_older_read() {
    let client = lab::ControlPlane::shared().client();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let name = lab::unique("written");
    create(&api, &name).await;
    let mut cache = Cache::new(client, Arc::default());
    cache.want(&[one(&name)].into()).await;

    let newer = json!({"metadata": {"name": name, "resourceVersion": "99999999"}, "data": {"a": "ours"}});
    cache.saw(&key(&name), &Arc::new(newer));
    let patch = Patch::Merge(json!({"data": {"a": "2"}}));
    api.patch(&name, &PatchParams::default(), &patch)
        .await
        .expect("patched");
    assert_eq!(found(&cache, &name), json!({"a": "ours"}));
}

#[tokio::test]
async fn objects_of_a_kind_that_is_not_served_are_absent() {
    let client = lab::ControlPlane::shared().client();
    let mut cache = Cache::new(client, Arc::default());
    let unknown = Resource::new("nowhere.example/v1", "Thing", "things");
    cache.want(&[Selection::one(&unknown, None, "x")].into()).await;
    let key = Key {
        api_version: "nowhere.example/v1".to_owned(),
        kind: "Thing".to_owned(),
        namespace: None,
        name: "x".to_owned(),
    };
    assert_eq!(cache.find(&key), Lookup::Absent);
}

/// A copy from before a deletion does not bring the object back.
#[test]
fn a_deleted_object_stays_deleted() {
    let object = |version: &str| -> DynamicObject {
        let object = json!({"metadata": {"name": "x", "namespace": "default", "resourceVersion": version}});
        serde_json::from_value(object).expect("an object")
    };
    let copy = |version: &str| Arc::new(serde_json::to_value(object(version)).expect("JSON"));
    let (store, mut listing) = (Store::default(), BTreeMap::new());
    let mut apply = |event| store.apply(&config_maps(), event, &mut listing);
    apply(watcher::Event::InitDone);
    apply(watcher::Event::Apply(object("5")));
    apply(watcher::Event::Delete(object("7")));
    store.saw(&key("x"), &copy("5"));
    assert_eq!(store.find(&key("x")), Lookup::Absent);
    store.saw(&key("x"), &copy("8"));
    assert_ne!(store.find(&key("x")), Lookup::Absent);
}

/// W19: the reason why something is not known is the message of the API server.
#[tokio::test]
async fn w19_a_forbidden_watch_has_its_reason() {
    let plane = lab::ControlPlane::shared();
    let user = lab::unique("no-rights");
    let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig_for(&user, &[])).expect("a kubeconfig");
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.expect("a configuration")).expect("a client");
    let mut cache = Cache::new(client, Arc::default());
    cache.want(&[one("x")].into()).await;
    let Lookup::Unknown(why) = cache.find(&key("x")) else {
        panic!("it is known");
    };
    assert!(why.contains("cannot list resource \"configmaps\""), "{why}");
}
