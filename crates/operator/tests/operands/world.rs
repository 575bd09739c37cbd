//! A namespace of its own on a real API server, a user whose requests are counted, and an object of every kind.

use kube::{
    Client,
    api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use operator::{
    Key, Object,
    operands::{Engine, Outcome, Report, Uncached, kinds},
};
use serde_json::{Map, Value, json};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub struct World {
    /// The client of the operator, whose requests are counted.
    pub client: Client,
    /// The client of all others.
    pub admin: Client,
    pub namespace: String,
    user: String,
    audit: PathBuf,
}

impl World {
    pub async fn new(prefix: &str) -> Self {
        Self::on(lab::ControlPlane::shared(), prefix).await
    }

    pub async fn on(plane: &lab::ControlPlane, prefix: &str) -> Self {
        let (namespace, user) = (lab::unique(prefix), lab::unique("operator"));
        let client = client(&plane.kubeconfig_for(&user, &["system:masters"])).await;
        let world = Self {
            client,
            admin: plane.client(),
            namespace,
            user,
            audit: plane.audit_log(),
        };
        world.define_monitoring().await;
        world.create(world.namespace(), "lab").await;
        world
    }

    /// A process that has just started.
    pub fn engine(&self) -> Engine {
        Engine::new(self.client.clone()).patience(Duration::from_millis(500))
    }

    /// One run of a process that has just started.
    pub async fn converge(&self, desired: &[Object]) -> Report {
        self.engine().converge(desired.to_vec(), &[], &Uncached).await
    }

    /// The writes of the operator so far: `patch configmaps/name`, in order.
    pub fn writes(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.audit).unwrap();
        let mine = format!("\"username\":\"{}\"", self.user);
        // The server may be writing the last line.
        let (complete, _) = log.rsplit_once('\n').unwrap_or_default();
        let lines = complete
            .lines()
            .filter(|line| line.contains(&mine) && !line.contains("dryRun=All"));
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let writes = events.filter(|event| event["verb"] != "get");
        writes
            .map(|event| {
                let text = |pointer: &str| {
                    event
                        .pointer(pointer)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                format!(
                    "{} {}/{}",
                    text("/verb"),
                    text("/objectRef/resource"),
                    text("/objectRef/name")
                )
            })
            .collect()
    }

    /// A client of a user who may write roles and bindings, and has the permissions that they grant, but is not an administrator.
    pub async fn modest(&self) -> Client {
        let (user, name) = (lab::unique("modest"), &self.namespace);
        // With all verbs, `*`, the user could bind any role, too.
        let verbs = ["get", "create", "patch"];
        let rules = json!([
            { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": verbs },
            { "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"] },
            { "apiGroups": [""], "resources": ["events"], "verbs": ["create"] },
        ]);
        let rbac = "rbac.authorization.k8s.io/v1";
        let role = self.object(rbac, "ClusterRole", json!({ "rules": rules }));
        self.create(role, "lab").await;
        let binding = json!({
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        });
        self.create(self.object(rbac, "ClusterRoleBinding", binding), "lab")
            .await;
        client(&lab::ControlPlane::shared().kubeconfig_for(&user, &[])).await
    }

    /// A client that fails after so many writes.
    pub fn mortal(&self, writes: usize) -> Client {
        let (client, left) = (self.client.clone(), Arc::new(AtomicUsize::new(writes)));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (client, left) = (client.clone(), left.clone());
            async move {
                let writes = request.method() != http::Method::GET && !request.uri().to_string().contains("dryRun");
                let alive = match left.load(Ordering::SeqCst) {
                    0 => false,
                    _ if writes => left.fetch_sub(1, Ordering::SeqCst) > 0,
                    _ => true,
                };
                if !alive {
                    return Err(tower::BoxError::from("killed"));
                }
                client.send(request).await.map_err(tower::BoxError::from)
            }
        });
        Client::new(service, "default")
    }

    pub fn api(&self, key: &Key) -> Api<DynamicObject> {
        let kind = kinds::get(key).unwrap();
        let resource = ApiResource {
            group: kind.group.into(),
            version: kind.version.into(),
            api_version: kind.api_version(),
            kind: kind.kind.into(),
            plural: kind.plural.into(),
        };
        match (&key.namespace, kind.scope) {
            (Some(namespace), kinds::Scope::Namespaced) => {
                Api::namespaced_with(self.admin.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.admin.clone(), &resource),
        }
    }

    pub async fn find(&self, key: &Key) -> Option<Value> {
        let found = self.api(key).get_opt(&key.name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub async fn get(&self, key: &Key) -> Value {
        self.find(key).await.unwrap_or_else(|| panic!("{key} is not there"))
    }

    /// Like a user with `kubectl edit`.
    pub async fn edit(&self, key: &Key, patch: Value) {
        let patch = Patch::<()>::Json(serde_json::from_value(patch).unwrap());
        let params = PatchParams {
            field_manager: Some("kubectl-edit".into()),
            ..PatchParams::default()
        };
        self.api(key).patch(&key.name, &params, &patch).await.unwrap();
    }

    pub async fn delete(&self, key: &Key) {
        self.api(key).delete(&key.name, &DeleteParams::default()).await.unwrap();
    }

    /// Like another program, with plain requests.
    pub async fn create(&self, object: Object, manager: &str) {
        let params = PostParams {
            field_manager: Some(manager.into()),
            ..PostParams::default()
        };
        let key = object.key().clone();
        let value = serde_json::from_value(object.into_value()).unwrap();
        self.api(&key).create(&params, &value).await.unwrap();
    }

    /// What the garbage collector does once the Pods of a workload are deleted.
    pub async fn collect(&self, key: &Key) {
        self.edit(key, json!([{ "op": "remove", "path": "/metadata/finalizers" }]))
            .await;
    }

    pub fn object(&self, api_version: &str, kind: &str, fields: Value) -> Object {
        let mut object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": self.namespace, "namespace": self.namespace, "labels": { "k8s-app": "ccm" } },
        });
        let key = Object::new(object.clone()).unwrap().key().clone();
        if kinds::get(&key).unwrap().scope == kinds::Scope::Cluster {
            object["metadata"].as_object_mut().unwrap().remove("namespace");
        }
        let fields: Map<String, Value> = serde_json::from_value(fields).unwrap();
        object.as_object_mut().unwrap().extend(fields);
        Object::new(object).unwrap()
    }

    /// The object of this kind.
    pub fn of(&self, kind: &str) -> Object {
        self.everything()
            .into_iter()
            .find(|object| object.key().kind == kind)
            .unwrap()
    }

    pub fn namespace(&self) -> Object {
        self.object("v1", "Namespace", json!({}))
    }

    /// One object of every kind that the operator creates, in the reverse order.
    pub fn everything(&self) -> Vec<Object> {
        let name = &self.namespace;
        let rbac = "rbac.authorization.k8s.io/v1";
        let admission = "admissionregistration.k8s.io/v1";
        let monitoring = "monitoring.coreos.com/v1";
        let rules = json!({ "rules": [
            { "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"] },
            { "apiGroups": [""], "resources": ["events"], "verbs": ["create"] },
        ] });
        let binding = |kind: &str| {
            json!({
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": name }],
            })
        };
        vec![
            self.object(
                "apps/v1",
                "Deployment",
                json!({ "spec": {
                "replicas": 2, "strategy": { "type": "Recreate" }, "selector": selector(), "template": template(name),
            } }),
            ),
            self.object(
                "apps/v1",
                "DaemonSet",
                json!({ "spec": {
                "selector": selector(), "template": template(name),
                "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "10%" } },
            } }),
            ),
            self.object(
                "v1",
                "Service",
                json!({ "spec": {
                "type": "ClusterIP", "selector": { "k8s-app": "ccm" },
                "ports": [{ "name": "https", "port": 10258, "protocol": "TCP", "targetPort": "https" }],
            } }),
            ),
            self.object(
                "policy/v1",
                "PodDisruptionBudget",
                json!({ "spec": {
                "minAvailable": 1, "selector": selector(), "unhealthyPodEvictionPolicy": "AlwaysAllow",
            } }),
            ),
            self.object(
                monitoring,
                "ServiceMonitor",
                json!({ "spec": {
                "endpoints": [{ "port": "https", "scheme": "https" }], "selector": selector(),
            } }),
            ),
            self.object(
                monitoring,
                "PrometheusRule",
                json!({ "spec": { "groups": [
                { "name": "ccm", "rules": [{ "alert": "CloudDown", "expr": "up == 0", "for": "5m" }] },
            ] } }),
            ),
            self.object(
                admission,
                "ValidatingAdmissionPolicyBinding",
                json!({ "spec": {
                "policyName": name, "validationActions": ["Warn"],
            } }),
            ),
            self.object(
                admission,
                "ValidatingAdmissionPolicy",
                json!({ "spec": {
                "failurePolicy": "Ignore",
                "matchConstraints": { "resourceRules": [
                    { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"] },
                ] },
                "validations": [{ "expression": "object.spec.type != 'ExternalName'", "message": "no names" }],
            } }),
            ),
            self.object(
                "v1",
                "Secret",
                json!({ "type": "Opaque", "stringData": { "password": "s3cret" } }),
            ),
            self.object(
                "v1",
                "ConfigMap",
                json!({ "data": { "cloud.conf": "[Global]\n", "empty": "" } }),
            ),
            self.object(rbac, "RoleBinding", binding("Role")),
            self.object(rbac, "ClusterRoleBinding", binding("ClusterRole")),
            self.object(rbac, "Role", rules.clone()),
            self.object(rbac, "ClusterRole", rules),
            self.object("v1", "ServiceAccount", json!({ "automountServiceAccountToken": false })),
            self.namespace(),
        ]
    }

    async fn define_monitoring(&self) {
        let names = ["ServiceMonitor", "PrometheusRule"];
        let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        ));
        let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &resource);
        for kind in names {
            let definition = definition(kind);
            let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
            api.patch(&name, &PatchParams::apply("lab").force(), &Patch::Apply(&definition))
                .await
                .unwrap();
            let served = |object: Option<&DynamicObject>| {
                let conditions = object.and_then(|object| object.data.pointer("/status/conditions")?.as_array());
                conditions.is_some_and(|all| {
                    all.iter()
                        .any(|one| one["type"] == "Established" && one["status"] == "True")
                })
            };
            kube::runtime::wait::await_condition(api.clone(), &name, served)
                .await
                .unwrap();
        }
    }
}

pub async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

/// Unknown fields are accepted, as by the real definitions.
fn definition(kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let groups = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } }, "x-kubernetes-preserve-unknown-fields": true },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.monitoring.coreos.com") },
        "spec": {
            "group": "monitoring.coreos.com",
            "names": { "kind": kind, "plural": plural },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object",
                "properties": { "spec": {
                    "type": "object",
                    "properties": { "groups": groups },
                    "x-kubernetes-preserve-unknown-fields": true,
                } },
            } } }],
        },
    })
}

fn selector() -> Value {
    json!({ "matchLabels": { "k8s-app": "ccm" } })
}

fn template(account: &str) -> Value {
    json!({
        "metadata": { "labels": { "k8s-app": "ccm" }, "annotations": { "operator.openshift.io/config-hash": "0" } },
        "spec": {
            "serviceAccountName": account,
            "hostNetwork": true,
            "hostPID": false,
            "priorityClassName": "",
            "nodeSelector": { "node-role.kubernetes.io/master": "" },
            "tolerations": [
                { "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule" },
                { "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 120 },
            ],
            "initContainers": [
                { "name": "first", "image": "registry.example/ccm:1", "command": ["true"] },
                { "name": "second", "image": "registry.example/ccm:1", "command": ["true"] },
            ],
            "containers": [{
                "name": "ccm",
                "image": "registry.example/ccm:1",
                "command": ["/bin/bash", "-c", "exec /bin/ccm --v=2"],
                "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "$(A)" }, { "name": "EMPTY", "value": "" }],
                "ports": [{ "name": "https", "containerPort": 10258, "hostPort": 10258 }],
                "resources": { "requests": { "cpu": "1000m", "memory": "0.5Gi" } },
                "livenessProbe": { "httpGet": { "path": "/healthz", "port": 10258, "scheme": "HTTPS" } },
                "volumeMounts": [{ "name": "config", "mountPath": "/etc/config", "readOnly": true }, { "name": "scratch", "mountPath": "/tmp", "readOnly": false }],
            }],
            "volumes": [
                { "name": "config", "configMap": { "name": account, "items": [{ "key": "cloud.conf", "path": "cloud.conf" }] } },
                { "name": "scratch", "emptyDir": {} },
                { "name": "token", "projected": { "sources": [{ "serviceAccountToken": { "audience": "openshift", "path": "token" } }] } },
            ],
            "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "kubernetes.io/hostname", "labelSelector": selector() },
            ] } },
        },
    })
}

/// An object without the fields that differ each time it is created.
pub fn content(live: &Value) -> Value {
    let mut content = live.clone();
    content.as_object_mut().unwrap().remove("status");
    let metadata = content["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| ["name", "namespace", "labels", "annotations", "finalizers"].contains(&name.as_str()));
    if let Some(spec) = content.get_mut("spec").and_then(Value::as_object_mut)
        && live["kind"] == "Service"
    {
        spec.retain(|name, _| !name.starts_with("clusterIP"));
    }
    content
}

/// The outcomes as text: `created ConfigMap`, sorted.
pub fn outcomes(report: &Report) -> Vec<String> {
    let mut outcomes: Vec<_> = report
        .outcomes()
        .map(|(key, outcome)| format!("{outcome} {}", key.kind))
        .collect();
    outcomes.sort();
    outcomes
}

pub fn assert_all(report: &Report, expected: &Outcome) {
    for (key, outcome) in report.outcomes() {
        assert_eq!(outcome, expected, "{key}");
    }
}

/// An object with another value of this field.
pub fn with(object: &Object, pointer: &str, value: Value) -> Object {
    let mut changed = object.value().clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    match changed.pointer_mut(parent).unwrap() {
        Value::Object(fields) if value.is_null() => drop(fields.remove(&name)),
        Value::Object(fields) => drop(fields.insert(name, value)),
        Value::Array(items) => items.push(value),
        other => panic!("{other}"),
    }
    Object::new(changed).unwrap()
}

pub fn keys(objects: &[Object]) -> Vec<Key> {
    objects.iter().map(|object| object.key().clone()).collect()
}
