//! The operator on a Kubernetes that is not `OpenShift`: our own resource, on a real API server.

use crate::{
    rig::{Folder, Launch, Manager, Mark},
    world::{deployment, kind},
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
};
use lab::ControlPlane;
use serde_json::{Value, json};
use std::time::Duration;

const NAMESPACE: &str = "outrigger-system";
const IMAGES: &str = r#"{"cloudControllerManagerOperator": "registry.lab/outrigger:1"}"#;

struct Anywhere {
    plane: ControlPlane,
    client: Client,
    folder: Folder,
}

fn managers() -> ApiResource {
    kind(
        "outrigger.dev",
        "v1alpha1",
        "CloudControllerManager",
        "cloudcontrollermanagers",
    )
}

impl Anywhere {
    /// A cluster with our definition, and those of the Prometheus operator.
    async fn new() -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await.unwrap().unwrap();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes/crd.yaml");
        let mut definitions = vec![std::fs::read_to_string(root).unwrap()];
        let monitoring = lab::openshift_crds().unwrap();
        definitions.extend(
            monitoring
                .into_iter()
                .filter(|text| text.contains("monitoring.coreos.com")),
        );
        plane.install_crds(&definitions).await.unwrap();
        let world = Self {
            client: plane.client(),
            plane,
            folder: Folder::new(&lab::unique("anywhere")),
        };
        world.folder.write("images.json", IMAGES);
        let namespaces = kind("", "v1", "Namespace", "namespaces");
        world.apply(&namespaces, "", NAMESPACE, json!({})).await;
        world
    }

    fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, resource)
        }
    }

    async fn apply(&self, resource: &ApiResource, namespace: &str, name: &str, mut object: Value) {
        object["apiVersion"] = json!(resource.api_version);
        object["kind"] = json!(resource.kind);
        object["metadata"]["name"] = json!(name);
        let params = PatchParams::apply("tester").force();
        let applied = self
            .api(resource, namespace)
            .patch(name, &params, &Patch::Apply(&object))
            .await;
        applied.unwrap_or_else(|error| panic!("cannot apply {name}: {error}"));
    }

    async fn manager(&self, name: &str, spec: Value) {
        self.apply(&managers(), "", name, json!({ "spec": spec })).await;
    }

    fn start(&self) -> Manager {
        let images = self.folder.path().join("images.json");
        Launch::new(self.folder.path())
            .arg("operator")
            .env("KUBECONFIG", &self.plane.kubeconfig().display().to_string())
            .flag(&format!("--namespace={NAMESPACE}"))
            .flag(&format!("--images-json={}", images.display()))
            .flag(&format!("--leader-elect-resource-namespace={NAMESPACE}"))
            .flag("--metrics-bind-address=0")
            .flag("--health-addr=0")
            .start()
    }

    /// Waits until the manager says all of this: `Available=True AsExpected …`.
    async fn says(&self, operator: &Manager, name: &str, beginnings: &[&str]) {
        let look = async || {
            let manager = self.api(&managers(), "").get(name).await.unwrap();
            let conditions = manager.data["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let lines: Vec<String> = conditions.iter().map(line).collect();
            let said = |beginning: &&str| lines.iter().any(|line| line.starts_with(*beginning));
            if beginnings.iter().all(said) {
                Ok(())
            } else {
                Err(format!("{lines:#?}"))
            }
        };
        operator.until(&format!("{beginnings:?} of {name}"), look).await;
    }

    /// Says of a manager's Deployment what its controller would: its Pods are available.
    async fn roll_out(&self, name: &str) {
        let api = self.api(&deployment(), NAMESPACE);
        let name = format!("{name}-cloud-controller-manager");
        let live = api.get(&name).await.unwrap();
        let replicas = live.data["spec"]["replicas"].as_i64().unwrap();
        let status = json!({"status": {
            "observedGeneration": live.metadata.generation, "replicas": replicas, "updatedReplicas": replicas,
            "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""}],
        }});
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    }

    /// What belongs to a manager, by its own word: `deployments x`.
    async fn related(&self, name: &str) -> Vec<String> {
        let manager = self.api(&managers(), "").get(name).await.unwrap();
        let related = manager.data["status"]["relatedObjects"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        related
            .iter()
            .map(|each| format!("{} {}", text(&each["resource"]), text(&each["name"])))
            .collect()
    }

    fn mark(&self) -> Mark {
        Mark::end_of(&self.plane.audit_log())
    }

    fn writes_since(&self, mark: Mark) -> Vec<String> {
        let all = mark.read(&self.plane.audit_log()).into_iter();
        all.filter(|entry| entry.agent.starts_with("outrigger/") && entry.is_write())
            .filter(|entry| !matches!(entry.resource.as_str(), "leases" | "events"))
            .map(|entry| format!("{} {} {}", entry.verb, entry.resource, entry.name))
            .collect()
    }

    async fn settled(&self) {
        let mut mark = self.mark();
        loop {
            tokio::time::sleep(Duration::from_millis(700)).await;
            if self.writes_since(mark).is_empty() {
                return;
            }
            mark = self.mark();
        }
    }
}

/// The nodes and Services of one zone.
fn scope(zone: &str) -> Value {
    json!({"nodeSelector": {"matchLabels": {"zone": zone}}, "loadBalancerClasses": [format!("lab/{zone}")]})
}

fn line(condition: &Value) -> String {
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    format!(
        "{}={} {} {}",
        text("type"),
        text("status"),
        text("reason"),
        text("message")
    )
}

#[tokio::test]
async fn runs_a_manager_and_removes_it() {
    let world = Anywhere::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let operator = world.start();
    let progressing = ["Progressing=True RollingOut", "Available=False", "Degraded=False"];
    world.says(&operator, "lab", &progressing).await;
    world.roll_out("lab").await;
    world
        .says(
            &operator,
            "lab",
            &["Available=True", "Progressing=False", "Degraded=False"],
        )
        .await;
    let related = world.related("lab").await;
    for operand in [
        "deployments lab-cloud-controller-manager",
        "poddisruptionbudgets lab-cloud-controller-manager",
        "secrets lab-cloud-controller-manager-serving-cert",
        "servicemonitors lab-cloud-controller-manager",
        "prometheusrules lab-cloud-controller-manager",
    ] {
        assert!(
            related.iter().any(|each| each == operand),
            "{operand} is not in {related:#?}"
        );
    }

    // A restart writes nothing.
    world.settled().await;
    operator.signal("TERM");
    assert_eq!(operator.exited().await.code, 0);
    let mark = world.mark();
    let operator = world.start();
    operator.logged("acquired lease").await;
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);

    // What a user breaks is put right.
    let api = world.api(&deployment(), NAMESPACE);
    let edit = json!({"spec": {"replicas": 7}});
    let name = "lab-cloud-controller-manager";
    api.patch(name, &PatchParams::default(), &Patch::Merge(&edit))
        .await
        .unwrap();
    let reverted = async || {
        let live = api.get(name).await.unwrap();
        let replicas = live.data["spec"]["replicas"].as_i64();
        if replicas == Some(2) {
            Ok(())
        } else {
            Err(format!("{replicas:?} replicas"))
        }
    };
    operator.until("two replicas again", reverted).await;

    world
        .manager("lab", json!({"provider": "memory", "managementState": "Removed"}))
        .await;
    let gone = async || {
        // As the garbage collector does with what is deleted together with its Pods.
        let none = json!({"metadata": {"finalizers": null}});
        let _ = api.patch(name, &PatchParams::default(), &Patch::Merge(&none)).await;
        let left = world.related("lab").await;
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    };
    operator.until("nothing left", gone).await;
    world
        .says(&operator, "lab", &["Available=False Removed", "Progressing=False"])
        .await;
    assert!(api.get_opt(name).await.unwrap().is_none());
}

#[tokio::test]
async fn two_managers_do_not_get_into_each_others_way() {
    let world = Anywhere::new().await;
    world.manager("older", json!({"provider": "memory"})).await;
    // Of two that were made within one second the first by name counts as the older one.
    world
        .manager("younger", json!({"provider": "memory", "securePort": 10300}))
        .await;
    let operator = world.start();
    world
        .says(&operator, "older", &["Progressing=True", "Degraded=False"])
        .await;
    world
        .says(
            &operator,
            "younger",
            &["Degraded=True ScopeOverlap", "Available=False ScopeOverlap"],
        )
        .await;
    assert_eq!(world.related("younger").await, [""; 0]);

    world
        .manager("older", json!({"provider": "memory", "scope": scope("a")}))
        .await;
    world
        .manager(
            "younger",
            json!({"provider": "memory", "securePort": 10300, "scope": scope("b")}),
        )
        .await;
    world
        .says(&operator, "younger", &["Progressing=True RollingOut", "Degraded=False"])
        .await;
    world.roll_out("younger").await;
    world
        .says(&operator, "younger", &["Available=True", "Degraded=False"])
        .await;
}

/// What is wrong is said in the resource, and heals when it is put right.
#[tokio::test]
async fn says_what_is_wrong() {
    let world = Anywhere::new().await;
    world.folder.write("images.json", "{}");
    world
        .manager("lab", json!({"provider": "memory", "scope": scope("a")}))
        .await;
    world
        .manager(
            "cloud",
            json!({"provider": "openstack", "securePort": 10300, "scope": scope("b")}),
        )
        .await;
    let operator = world.start();
    world.says(&operator, "lab", &["Degraded=True NoImage"]).await;
    world.folder.write("images.json", IMAGES);
    world
        .says(&operator, "lab", &["Degraded=False", "Progressing=True"])
        .await;
    world.says(&operator, "cloud", &["Degraded=True"]).await;
    world
        .api(&managers(), "")
        .delete("cloud", &DeleteParams::default())
        .await
        .unwrap();
    world.settled().await;
    assert!(operator.ended().is_none(), "{}", operator.told());
}
