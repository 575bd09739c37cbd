//! A cluster with our definition.

use crate::{
    control_planes::{Plane, Pool},
    fixture::{Fixture, Place},
    objects::{self, config_map, deployment, kind},
    process_fixture::{Launch, Manager},
};
use kube::api::{ApiResource, DeleteParams, ListParams};
use serde_json::{Value, json};
use std::{collections::BTreeMap, ops::Deref, path::Path};

/// The images in the operator's file.
pub const IMAGES: &str = r#"{"cloudControllerManagerOperator": "registry.lab/outrigger:1"}"#;

static PLANES: Pool = Pool::of(2);

/// A cluster, and everything that the operator needs to start in it.
pub struct Cluster {
    fixture: Fixture,
}

impl Deref for Cluster {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

/// The kind of our resource.
pub fn managers() -> ApiResource {
    kind("CloudControllerManager")
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

    /// A cluster with a manager `lab` that runs, and its operator.
    pub async fn running() -> (Self, Manager) {
        let cluster = Self::new().await;
        cluster.manager("lab", json!({"provider": "memory"})).await;
        let operator = cluster.start();
        cluster.installed(&operator, "lab").await;
        (cluster, operator)
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
            fixture: Fixture::on(plane, ""),
        };
        world.move_on().await;
        world
    }

    /// Begins again: none of our objects exist, and the operator has an unused namespace.
    pub async fn move_on(&mut self) {
        self.fixture.namespace = lab::unique("outrigger");
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
        let namespaces = kind("Namespace");
        self.apply(&namespaces, "", &self.namespace, json!({})).await;
        self.folder.write("images.json", IMAGES);
    }

    /// Creates or updates a manager.
    pub async fn manager(&self, name: &str, spec: Value) {
        self.apply(&managers(), "", name, json!({ "spec": spec })).await;
    }

    /// Deletes a manager.
    pub async fn unmanage(&self, name: &str) {
        self.delete(&managers(), "", name).await;
    }

    /// Writes a configuration of a cloud.
    pub async fn config(&self, name: &str, text: &str) {
        let data = json!({"data": {"cloud.conf": text}});
        self.apply(&config_map(), &self.namespace, name, data).await;
    }

    /// The operator's command line, as an administrator.
    pub fn operator(&self) -> Launch {
        self.operator_as(&self.plane().kubeconfig())
    }

    /// The operator's command line, with this user.
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

    /// Starts the operator.
    pub fn start(&self) -> Manager {
        self.operator().start()
    }

    /// A manager's object.
    pub async fn resource(&self, name: &str) -> Value {
        self.get(&managers(), "", name).await.unwrap()
    }

    /// The conditions of a manager: `Available=True AsExpected …`, one per line, sorted.
    pub async fn conditions(&self, name: &str) -> Vec<String> {
        objects::conditions(&self.resource(name).await)
    }

    /// Waits until the manager has these conditions, and returns all of them.
    pub async fn reports(&self, operator: &Manager, name: &str, beginnings: &[&str]) -> String {
        let look = async || {
            let lines = self.conditions(name).await;
            let is_reported = |beginning: &&str| lines.iter().any(|line| line.starts_with(*beginning));
            if beginnings.iter().all(is_reported) {
                Ok(lines.join("\n"))
            } else {
                Err(format!("{lines:#?}"))
            }
        };
        operator.until(&format!("{beginnings:?} of {name}"), look).await
    }

    /// Waits until the manager's objects exist, lets its Pods run, and waits until that is reported.
    pub async fn installed(&self, operator: &Manager, name: &str) {
        self.reports(operator, name, &["Progressing=True RollingOut"]).await;
        self.roll_out(9).await;
        let done = ["Available=True", "Progressing=False", "Degraded=False"];
        self.reports(operator, name, &done).await;
    }

    /// Whether the operator has observed the last change of a manager, and reports that it runs; simulates the cluster's other
    /// controllers.
    pub async fn is_rolled_out(&self, name: &str) -> Result<(), String> {
        self.has_conditions(name, ["Available=True", "Degraded=False", "Progressing=False"])
            .await
    }

    /// Whether the operator has observed the last change of a manager, and its conditions begin like this.
    pub async fn has_conditions(&self, name: &str, expected: [&str; 3]) -> Result<(), String> {
        self.collect_garbage().await;
        self.roll_out(9).await;
        let manager = self.resource(name).await;
        let conditions = objects::conditions(&manager);
        let seen = manager["status"]["observedGeneration"] == manager["metadata"]["generation"];
        let alike = |(line, start): (&String, &str)| line.starts_with(start);
        if seen && conditions.len() == expected.len() && conditions.iter().zip(expected).all(alike) {
            Ok(())
        } else {
            Err(format!("{conditions:#?}"))
        }
    }

    /// The places of the related objects of a manager.
    pub async fn places(&self, name: &str) -> Vec<Place> {
        let manager = self.resource(name).await;
        let related = manager["status"]["relatedObjects"].as_array().cloned();
        let place = |reference: Value| {
            let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
            let same =
                |(kind, _): &(ApiResource, String)| kind.plural == text("resource") && kind.group == text("group");
            let found = self.kinds().into_iter().find(same);
            Place {
                resource: found.unwrap_or_else(|| panic!("{reference} is of an unknown kind")).0,
                namespace: text("namespace"),
                name: text("name"),
            }
        };
        related.unwrap_or_default().into_iter().map(place).collect()
    }

    /// The Deployment of a manager.
    pub async fn deployment(&self, name: &str) -> Option<Value> {
        let name = format!("{name}-cloud-controller-manager");
        self.get(&deployment(), &self.namespace, &name).await
    }

    /// The related objects of a manager: `deployments x`.
    pub async fn related(&self, name: &str) -> Vec<String> {
        let places = self.places(name).await;
        let title = |place: &Place| format!("{} {}", place.resource.plural, place.name);
        places.iter().map(title).collect()
    }

    /// Waits until no object of a manager exists.
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

    /// Every kind that the operator creates, with its namespace.
    pub fn kinds(&self) -> Vec<(ApiResource, String)> {
        objects::kinds(&[
            (
                self.namespace.as_str(),
                "ConfigMap Secret Service ServiceAccount Deployment PodDisruptionBudget Role RoleBinding ServiceMonitor PrometheusRule",
            ),
            ("kube-system", "RoleBinding"),
            ("", "ClusterRoleBinding"),
        ])
    }

    /// All state without versions, times and keys: the operator's objects, and the conditions of a manager.
    pub async fn snapshot(&self, name: &str) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for (resource, namespace) in self.kinds() {
            for object in self.api(&resource, &namespace).list(&ours()).await.unwrap() {
                let name = object.metadata.name.clone().unwrap_or_default();
                let object = look_of(serde_json::to_value(object).unwrap());
                all.insert(format!("{} {name}", resource.kind), object);
            }
        }
        let status = self.resource(name).await["status"].clone();
        all.insert("conditions".to_owned(), json!(self.conditions(name).await));
        for part in ["relatedObjects", "claims", "version", "replicas", "readyReplicas"] {
            all.insert(part.to_owned(), status[part].clone());
        }
        let text = json!(all).to_string().replace(&self.namespace, "NAMESPACE");
        serde_json::from_str(&text).unwrap()
    }
}

fn ours() -> ListParams {
    ListParams::default().labels("app.kubernetes.io/managed-by=outrigger-operator")
}

/// An object without the fields that differ between installations.
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
