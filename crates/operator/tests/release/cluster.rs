//! The manifests in a cluster: a real API server accepts them completely, and its authorizer decides whether the permissions are enough.

use crate::manifests::{self, Manifest, OPERANDS, OPERATOR, documents, operands};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, ValidationDirective, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
    discovery,
};
use lab::ControlPlane;
use operator::{Object, certificates};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

const CREDENTIALS_REQUEST: &str = include_str!("credentials-request.yaml");

/// A cluster with a release.
async fn plane() -> &'static ControlPlane {
    let installed = || async {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await.unwrap().unwrap();
        plane.install_openshift_crds().await.unwrap();
        plane.install_crds(&[CREDENTIALS_REQUEST.to_owned()]).await.unwrap();
        let client = plane.client();
        for namespace in [
            "openshift-config",
            "openshift-config-managed",
            "openshift-cloud-credential-operator",
        ] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            apply(&client, &namespace).await.unwrap();
        }
        release(&client).await;
        plane
    };
    PLANE.get_or_init(installed).await
}

/// Applies the files as a release does.
async fn release(client: &Client) -> Vec<Value> {
    let mut applied = Vec::new();
    for manifest in manifests::all() {
        let Manifest { file, object } = &manifest;
        if manifest.is_tombstone() {
            let gone = api(client, object.value())
                .await
                .delete(&object.key().name, &DeleteParams::default())
                .await;
            assert!(gone.is_ok() || is(&gone, 404), "{file}: {gone:?}");
            continue;
        }
        let answer = apply(client, object.value()).await;
        applied.push(answer.unwrap_or_else(|error| panic!("{file}: {}: {error}", object.key())));
    }
    applied
}

async fn api(client: &Client, object: &Value) -> Api<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    let (resource, _) = discovery::pinned_kind(client, &kind).await.unwrap();
    match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

/// Server-side apply without unknown fields.
async fn apply(client: &Client, object: &Value) -> kube::Result<Value> {
    let params = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("release").force()
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    let answer = api(client, object)
        .await
        .patch(name, &params, &Patch::Apply(object))
        .await?;
    Ok(serde_json::to_value(answer).unwrap())
}

fn is<T>(answer: &kube::Result<T>, code: u16) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == code)
}

/// The operator's account, with exactly the permissions of the manifests.
async fn as_operator(plane: &ControlPlane) -> Client {
    let user = format!("system:serviceaccount:{OPERATOR}:cluster-cloud-controller-manager");
    let group = format!("system:serviceaccounts:{OPERATOR}");
    let file = plane.kubeconfig_for(&user, &["system:serviceaccounts", &group]);
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(file).unwrap(), &options)
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn every_manifest_is_accepted_and_again_without_a_change() {
    let client = plane().await.client();
    let versions = |objects: &[Value]| -> Vec<String> {
        let metadata = objects.iter().map(|object| &object["metadata"]);
        metadata
            .map(|metadata| format!("{} {}", metadata["name"], metadata["resourceVersion"]))
            .collect()
    };
    let first = release(&client).await;
    assert_eq!(versions(&first), versions(&release(&client).await));
    let upstream = documents(include_str!("upstream-deployment.yaml"), "upstream").remove(0);
    let mut beside = upstream.clone();
    beside["metadata"]["name"] = json!("upstream");
    apply(&client, &beside).await.unwrap();
}

/// The Go operator's binding makes it an admin; the release deletes this binding, and the operator keeps its own.
#[tokio::test]
async fn the_binding_of_the_go_operator_is_deleted() {
    let plane = plane().await;
    let client = plane.client();
    let upstream = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "cluster-cloud-controller-manager", "namespace": OPERANDS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "cluster-cloud-controller-manager", "namespace": OPERATOR}],
    });
    apply(&client, &upstream).await.unwrap();
    release(&client).await;
    let left = api(&client, &upstream)
        .await
        .get_opt("cluster-cloud-controller-manager")
        .await
        .unwrap();
    assert!(left.is_none());
    assert!(
        may(
            &as_operator(plane).await,
            "patch apps/deployments openshift-cloud-controller-manager/any"
        )
        .await
    );
}

/// All objects of the operator on any platform, created, read, watched and deleted by its account. Roles are refused to accounts that
/// do not have the permissions that they grant, so this also shows that it has them.
#[tokio::test]
async fn the_operator_may_manage_every_operand() {
    let operator = as_operator(plane().await).await;
    for (platform, mut objects) in operands() {
        // A binding is refused as long as its role does not exist.
        objects.sort_by_key(|object| object.key().kind.ends_with("Binding"));
        for object in &objects {
            manage(&operator, object)
                .await
                .unwrap_or_else(|error| panic!("{}: {}: {error}", platform.type_, object.key()));
        }
        for object in objects.iter().rev() {
            let deleted = api(&operator, object.value())
                .await
                .delete(&object.key().name, &DeleteParams::default())
                .await;
            deleted.unwrap_or_else(|error| panic!("{}: delete {}: {error}", platform.type_, object.key()));
        }
    }
}

async fn manage(client: &Client, object: &Object) -> kube::Result<()> {
    apply(client, object.value()).await?;
    let (api, name) = (api(client, object.value()).await, &object.key().name);
    api.get(name).await?;
    let only = format!("metadata.name={name}");
    let list = api.list(&ListParams::default().fields(&only)).await?;
    assert_eq!(list.items.len(), 1);
    let version = list.metadata.resource_version.unwrap();
    let _watch = api
        .watch(&WatchParams::default().fields(&only).timeout(1), &version)
        .await?;
    Ok(())
}

/// The certificates, and the two objects of the cloud configuration.
#[tokio::test]
async fn the_operator_may_write_what_operands_read() {
    let operator = as_operator(plane().await).await;
    let names = certificates::Names {
        service: "openstack-cloud-controller-manager".to_owned(),
        namespace: OPERANDS.to_owned(),
        prefix: String::new(),
    };
    let now = "2026-11-16T05:00:00Z".parse().unwrap();
    let mut objects = certificates::desired(now, certificates::Live::default(), &names)
        .unwrap()
        .objects();
    for (namespace, name) in [
        (OPERANDS, "cloud-conf"),
        (OPERANDS, "ccm-trusted-ca"),
        ("openshift-config-managed", "kube-cloud-config"),
    ] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}});
        objects.push(Object::new(map).unwrap());
    }
    assert_eq!(objects.len(), 6);
    for object in &objects {
        manage(&operator, object)
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", object.key()));
    }
}

/// Before a binding is recreated, a copy is tried under another name.
#[tokio::test]
async fn the_operator_may_try_before_it_replaces() {
    let operator = as_operator(plane().await).await;
    for (_, objects) in operands() {
        for binding in objects
            .iter()
            .filter(|object| object.key().kind.ends_with("RoleBinding"))
        {
            let mut copy = binding.value().clone();
            copy["roleRef"]["name"] = json!("cloud-controller-manager");
            copy["roleRef"]["kind"] = json!(if binding.key().kind == "RoleBinding" {
                "Role"
            } else {
                "ClusterRole"
            });
            copy["metadata"]["name"] = json!(format!("{}-dry-run", binding.key().name));
            let mut params = PatchParams::apply("release").force();
            params.dry_run = true;
            let name = copy["metadata"]["name"].as_str().unwrap();
            let tried = api(&operator, &copy)
                .await
                .patch(name, &params, &Patch::Apply(&copy))
                .await;
            // In kube-system the role of this name grants permissions that the operator does not have.
            let foreign = binding.key().namespace.as_deref() == Some("kube-system");
            assert!(tried.is_ok() != foreign, "{}: {tried:?}", binding.key());
        }
    }
}

/// The permission for a name does not lead to permissions that it does not have.
#[tokio::test]
async fn the_operator_cannot_make_itself_an_admin() {
    let operator = as_operator(plane().await).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "gcp-cloud-controller-manager:cloud-provider"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "cluster-cloud-controller-manager", "namespace": OPERATOR}],
    });
    assert!(is(&apply(&operator, &binding).await, 403));
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "gcp-cloud-controller-manager"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    });
    assert!(is(&apply(&operator, &role).await, 403));
}

/// Asks the authorizer: `VERB GROUP/RESOURCE[:SUBRESOURCE] [NAMESPACE/]NAME`, the core's group being empty.
async fn may(client: &Client, what: &str) -> bool {
    let words: Vec<_> = what.split(' ').collect();
    let [verb, resource, object] = words.as_slice() else {
        panic!("{what}");
    };
    let (group, resource) = resource.split_once('/').unwrap();
    let (resource, subresource) = resource.split_once(':').unwrap_or((resource, ""));
    let (namespace, name) = object.split_once('/').unwrap_or(("", object));
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        verb: some(verb),
        group: some(group),
        resource: some(resource),
        subresource: some(subresource),
        namespace: some(namespace),
        name: some(name),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let answer = Api::all(client.clone())
        .create(&PostParams::default(), &review)
        .await
        .unwrap();
    answer.status.unwrap().allowed
}

const MAY: &str = "
    get config.openshift.io/infrastructures cluster
    watch config.openshift.io/proxies cluster
    list config.openshift.io/clusterversions version
    watch config.openshift.io/clusteroperators cloud-controller-manager
    create config.openshift.io/clusteroperators any
    update config.openshift.io/clusteroperators:status cloud-controller-manager
    create coordination.k8s.io/leases openshift-cloud-controller-manager-operator/any
    update coordination.k8s.io/leases openshift-cloud-controller-manager-operator/cluster-cloud-controller-manager-leader
    update coordination.k8s.io/leases openshift-cloud-controller-manager-operator/cluster-cloud-config-sync-leader
    create /events default/any
    patch /events openshift-cloud-controller-manager/any
    create authentication.k8s.io/tokenreviews any
    create authorization.k8s.io/subjectaccessreviews any
    watch /configmaps openshift-config/whatever-the-user-chose
    watch /configmaps openshift-config-managed/kube-cloud-config
    delete /configmaps openshift-config-managed/kube-cloud-config
    patch /configmaps openshift-config-managed/kube-cloud-config-dry-run
    watch /secrets openshift-cloud-controller-manager/openstack-cloud-credentials
    list /pods openshift-cloud-controller-manager/any
";

const MAY_NOT: &str = "
    patch config.openshift.io/infrastructures cluster
    get config.openshift.io/proxies cluster
    get config.openshift.io/clusteroperators cloud-controller-manager
    get /configmaps openshift-config/whatever-the-user-chose
    list outrigger.dev/cloudcontrollermanagers any
    patch config.openshift.io/clusteroperators cloud-controller-manager
    update config.openshift.io/clusteroperators:status dns
    delete config.openshift.io/clusteroperators cloud-controller-manager
    patch /secrets openshift-cloud-controller-manager/openstack-cloud-credentials
    create /secrets openshift-cloud-controller-manager/any
    delete /configmaps openshift-config-managed/any
    patch /configmaps openshift-config-managed/any
    patch /configmaps openshift-config/any
    get /secrets openshift-config/pull-secret
    list /secrets kube-system/any
    get /secrets openshift-cloud-controller-manager-operator/any
    patch apps/deployments openshift-cloud-controller-manager-operator/cluster-cloud-controller-manager-operator
    patch apps/deployments kube-system/any
    create /pods openshift-cloud-controller-manager/any
    delete /pods openshift-cloud-controller-manager/any
    list /pods kube-system/any
    create /pods:exec openshift-cloud-controller-manager/any
    create /serviceaccounts:token kube-system/any
    update coordination.k8s.io/leases kube-system/kube-controller-manager
    patch rbac.authorization.k8s.io/clusterroles cluster-admin
    patch rbac.authorization.k8s.io/roles kube-system/any
    escalate rbac.authorization.k8s.io/clusterroles gcp-cloud-controller-manager
    bind rbac.authorization.k8s.io/clusterroles gcp-cloud-controller-manager
    delete /nodes any
    delete /services default/any
    get /endpoints default/any
    delete admissionregistration.k8s.io/validatingadmissionpolicies any
    delete /namespaces openshift-cloud-controller-manager
";

#[tokio::test]
async fn the_operator_may_do_its_work_and_nothing_else() {
    let operator = as_operator(plane().await).await;
    let lines = |text: &'static str| text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines(MAY) {
        assert!(may(&operator, line).await, "may not {line}");
    }
    for line in lines(MAY_NOT) {
        assert!(!may(&operator, line).await, "may {line}");
    }
}
