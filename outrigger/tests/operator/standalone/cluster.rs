//! A cluster with our definition.

use crate::{
    objects::{self, config_map, deployment, kind},
    planes::{Plane, Pool},
    rig::{Folder, Launch, Manager, Mark},
    workloads, writes,
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// The images that the operator is told of.
pub const IMAGES: &str = r#"{"cloudControllerManagerOperator": "registry.lab/outrigger:1"}"#;

static PLANES: Pool = Pool::of(2);

/// A control plane, and what the operator needs to start in it.
pub struct Cluster {
    /// The control plane.
    pub plane: Plane,
    /// An administrator's client.
    pub client: Client,
    /// For the files of the operator.
    pub folder: Folder,
    /// Where the operator and its managers live.
    pub namespace: String,
}

/// The kind of our resource.
pub fn managers() -> ApiResource {
    kind(
        "outrigger.dev",
        "v1alpha1",
        "CloudControllerManager",
        "cloudcontrollermanagers",
    )
}

/// The definition of our resource.
pub fn definition() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes/crd.yaml");
    std::fs::read_to_string(file).unwrap()
}

/// The nodes and Services of one zone.
pub fn scope(zone: &str) -> Value {
    json!({"nodeSelector": {"matchLabels": {"zone": zone}}, "loadBalancerClasses": [format!("lab/{zone}")]})
}

impl Cluster {
    /// A cluster with our definition, and those of the Prometheus operator.
    pub async fn new() -> Self {
        Self::on(PLANES.take().await, definition()).await
    }

    /// A cluster with this definition of our resource.
    pub async fn with(definition: String) -> Self {
        Self::on(Plane::own().await, definition).await
    }

    async fn on(plane: Plane, definition: String) -> Self {
        if !plane.used {
            let mut definitions = lab::openshift_crds().unwrap();
            definitions.retain(|text| text.contains("monitoring.coreos.com"));
            definitions.push(definition);
            plane.install_crds(&definitions).await.unwrap();
        }
        let mut world = Self {
            client: plane.client(),
            plane,
            folder: Folder::new(&lab::unique("standalone")),
            namespace: String::new(),
        };
        world.move_on().await;
        world
    }

    /// Begins anew: nothing of ours is there, and the operator lives in a namespace that nobody has used.
    pub async fn move_on(&mut self) {
        self.namespace = lab::unique("outrigger");
        let api = self.api(&managers(), "");
        let all = (DeleteParams::default(), ListParams::default());
        api.delete_collection(&all.0, &all.1).await.unwrap();
        for (resource, namespace) in self.kinds() {
            if namespace != self.namespace {
                let api = self.api(&resource, &namespace);
                for object in api.list(&ours()).await.unwrap() {
                    api.delete(&object.metadata.name.unwrap(), &all.0).await.unwrap();
                }
            }
        }
        let namespaces = kind("", "v1", "Namespace", "namespaces");
        self.apply(&namespaces, "", &self.namespace, json!({})).await;
        self.folder.write("images.json", IMAGES);
    }

    /// The objects of a kind.
    pub fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        objects::api(&self.client, resource, namespace)
    }

    /// Creates an object, or changes it to be like this.
    pub async fn apply(&self, resource: &ApiResource, namespace: &str, name: &str, object: Value) {
        objects::apply(&self.api(resource, namespace), resource, name, object).await;
    }

    /// Asks for a manager.
    pub async fn manager(&self, name: &str, spec: Value) {
        self.apply(&managers(), "", name, json!({ "spec": spec })).await;
    }

    /// Asks for no manager any more.
    pub async fn delete(&self, name: &str) {
        let api = self.api(&managers(), "");
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Writes a configuration of a cloud.
    pub async fn config(&self, name: &str, text: &str) {
        let data = json!({"data": {"cloud.conf": text}});
        self.apply(&config_map(), &self.namespace, name, data).await;
    }

    /// The operator's command line, as an administrator.
    pub fn operator(&self) -> Launch {
        self.operator_as(&self.plane.kubeconfig())
    }

    /// The operator's command line, as somebody.
    pub fn operator_as(&self, kubeconfig: &Path) -> Launch {
        let (images, namespace) = (self.folder.path().join("images.json"), &self.namespace);
        Launch::new(self.folder.path())
            .arg("operator")
            .flag(&format!("--kubeconfig={}", kubeconfig.display()))
            .flag(&format!("--namespace={namespace}"))
            .flag(&format!("--images-json={}", images.display()))
            .flag(&format!("--leader-elect-resource-namespace={namespace}"))
            .flag("--metrics-bind-address=0")
            .flag("--health-addr=0")
    }

    /// The operator, on its way.
    pub fn start(&self) -> Manager {
        self.operator().start()
    }

    /// A manager's object.
    pub async fn get(&self, name: &str) -> Value {
        let manager = self.api(&managers(), "").get(name).await.unwrap();
        serde_json::to_value(manager).unwrap()
    }

    /// What a manager says: `Available=True AsExpected …`, one condition a line, sorted.
    pub async fn conditions(&self, name: &str) -> Vec<String> {
        objects::conditions(&self.get(name).await)
    }

    /// Waits until the manager says all of this, and returns all it says.
    pub async fn says(&self, operator: &Manager, name: &str, beginnings: &[&str]) -> String {
        let look = async || {
            let lines = self.conditions(name).await;
            let said = |beginning: &&str| lines.iter().any(|line| line.starts_with(*beginning));
            if beginnings.iter().all(said) {
                Ok(lines.join("\n"))
            } else {
                Err(format!("{lines:#?}"))
            }
        };
        operator.until(&format!("{beginnings:?} of {name}"), look).await
    }

    /// Waits until the manager's objects are there, lets its Pods run, and waits until it says so.
    pub async fn installed(&self, operator: &Manager, name: &str) {
        self.says(operator, name, &["Progressing=True RollingOut"]).await;
        self.roll_out().await;
        let done = ["Available=True", "Progressing=False", "Degraded=False"];
        self.says(operator, name, &done).await;
    }

    /// The Deployment of a manager.
    pub async fn deployment(&self, name: &str) -> Option<Value> {
        let api = self.api(&deployment(), &self.namespace);
        let found = api.get_opt(&format!("{name}-cloud-controller-manager")).await.unwrap();
        found.map(|live| serde_json::to_value(live).unwrap())
    }

    /// Says of every Deployment what its controller would: its Pods are available.
    pub async fn roll_out(&self) {
        workloads::roll_out(&self.client, &self.namespace, 9).await;
    }

    /// What the garbage collector does with what is deleted together with its Pods.
    pub async fn collect_garbage(&self) {
        workloads::collect_garbage(&self.client, &self.namespace).await;
    }

    /// What belongs to a manager, by its own word: `deployments x`.
    pub async fn related(&self, name: &str) -> Vec<String> {
        let manager = self.get(name).await;
        let related = manager["status"]["relatedObjects"].as_array().cloned();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        related
            .unwrap_or_default()
            .iter()
            .map(|each| format!("{} {}", text(&each["resource"]), text(&each["name"])))
            .collect()
    }

    /// Waits until nothing of a manager is left.
    pub async fn removed(&self, operator: &Manager, name: &str) {
        let gone = async || {
            self.collect_garbage().await;
            let left = self.related(name).await;
            if left.is_empty() {
                Ok(())
            } else {
                Err(format!("{left:#?}"))
            }
        };
        operator.until("nothing left", gone).await;
    }

    /// Every kind that the operator makes, and where.
    pub fn kinds(&self) -> Vec<(ApiResource, String)> {
        let here = self.namespace.clone();
        let rbac = |name, plural| kind("rbac.authorization.k8s.io", "v1", name, plural);
        let monitoring = |name, plural| kind("monitoring.coreos.com", "v1", name, plural);
        vec![
            (config_map(), here.clone()),
            (kind("", "v1", "Secret", "secrets"), here.clone()),
            (kind("", "v1", "Service", "services"), here.clone()),
            (kind("", "v1", "ServiceAccount", "serviceaccounts"), here.clone()),
            (deployment(), here.clone()),
            (
                kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
                here.clone(),
            ),
            (rbac("Role", "roles"), here.clone()),
            (rbac("RoleBinding", "rolebindings"), here.clone()),
            (monitoring("ServiceMonitor", "servicemonitors"), here.clone()),
            (monitoring("PrometheusRule", "prometheusrules"), here),
            (rbac("RoleBinding", "rolebindings"), "kube-system".to_owned()),
            (rbac("ClusterRoleBinding", "clusterrolebindings"), String::new()),
        ]
    }

    /// Everything as somebody sees it who does not look at versions, times and keys: all that the operator made, and what a manager says.
    pub async fn snapshot(&self, name: &str) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for (resource, namespace) in self.kinds() {
            for object in self.api(&resource, &namespace).list(&ours()).await.unwrap() {
                let name = object.metadata.name.clone().unwrap_or_default();
                let object = look_of(serde_json::to_value(object).unwrap());
                all.insert(format!("{} {name}", resource.kind), object);
            }
        }
        let status = self.get(name).await["status"].clone();
        all.insert("conditions".to_owned(), json!(self.conditions(name).await));
        for part in ["relatedObjects", "claims", "version", "replicas", "readyReplicas"] {
            all.insert(part.to_owned(), status[part].clone());
        }
        let text = json!(all).to_string().replace(&self.namespace, "NAMESPACE");
        serde_json::from_str(&text).unwrap()
    }

    /// The end of the audit log as of now.
    pub fn mark(&self) -> Mark {
        Mark::end_of(&self.plane.audit_log())
    }

    /// What the operator wrote since then, apart from Leases and Events: `verb resource name`.
    pub fn writes_since(&self, mark: Mark) -> Vec<String> {
        writes::writes_since(&self.plane, mark)
    }

    /// Waits until the operator has not written anything for a while.
    pub async fn settled(&self) {
        writes::quiet(&self.plane, writes::A_WHILE).await;
    }
}

fn ours() -> ListParams {
    ListParams::default().labels("app.kubernetes.io/managed-by=outrigger-operator")
}

/// An object without what differs from one installation to the next.
fn look_of(object: Value) -> Value {
    let mut object = objects::look_of(object);
    for (_, value) in object
        .get_mut("data")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
    {
        *value = json!("***");
    }
    object
}
