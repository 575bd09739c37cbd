//! A cluster of `OpenShift` as far as the operator sees it.
//!
//! What the operator reads has one name in a cluster, so each world has a control plane for itself while it lasts; planes
//! are used again, and what an earlier world left behind is removed first.

mod furniture;
mod operands;
mod programs;
mod said;

pub use crate::objects::{config_map, deployment, kind};
pub use furniture::{certificate, images};

use crate::{
    objects,
    planes::{Plane, Pool},
    rig::{Entry, Folder, Mark},
    writes,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use lab::ControlPlane;
use serde_json::{Value, json};
use std::time::Duration;

/// The version that is rolled out.
pub const RELEASE: &str = "5.0.0-lab";
/// Where the operator lives.
pub const OPERATOR_NAMESPACE: &str = "openshift-cloud-controller-manager-operator";

static PLANES: Pool = Pool::of(3);

/// A cluster, and what the operator needs to start in it.
pub struct World {
    plane: Plane,
    /// An administrator's client.
    pub client: Client,
    /// The operands' namespace.
    pub namespace: String,
    /// For the files of the operator.
    pub folder: Folder,
}

/// A kind of `OpenShift`'s configuration.
pub fn config(name: &str, plural: &str) -> ApiResource {
    kind("config.openshift.io", "v1", name, plural)
}

/// The kind of the Infrastructure.
pub fn infrastructure() -> ApiResource {
    config("Infrastructure", "infrastructures")
}

/// The kind of the `APIServer`.
pub fn api_server() -> ApiResource {
    config("APIServer", "apiservers")
}

/// The kind of the Proxy.
pub fn proxy() -> ApiResource {
    config("Proxy", "proxies")
}

impl World {
    /// A cluster on this platform with everything the operator reads, and nothing of the operator.
    pub async fn new(platform: &str) -> Self {
        let world = Self::without_infrastructure().await;
        world.set_platform(platform).await;
        world
    }

    /// A cluster before the installer has said where it is.
    pub async fn without_infrastructure() -> Self {
        Self::in_namespace(&lab::unique("ccm")).await
    }

    /// The same, with the operands in this namespace.
    pub async fn in_namespace(namespace: &str) -> Self {
        Self::on(PLANES.take().await, namespace).await
    }

    /// The same, for a test that waits more than it works, and so does not keep others from working, or that changes definitions.
    pub async fn apart(namespace: &str) -> Self {
        Self::on(Plane::own().await, namespace).await
    }

    /// A cluster that is not one of `OpenShift` yet: with namespaces, and these definitions.
    pub async fn before(definitions: &[String]) -> Self {
        let plane = Plane::own().await;
        plane.install_crds(definitions).await.unwrap();
        let world = Self::unfurnished(plane, &lab::unique("ccm"));
        world.make_room().await;
        world
    }

    /// Makes it one, apart from definitions with this in their text.
    pub async fn become_openshift(&self, without: &str) {
        let mut definitions = lab::openshift_crds().unwrap();
        definitions.retain(|text| without.is_empty() || !text.contains(without));
        self.plane().install_crds(&definitions).await.unwrap();
    }

    async fn on(plane: Plane, namespace: &str) -> Self {
        if !plane.used {
            plane.install_openshift_crds().await.unwrap();
        }
        let world = Self::unfurnished(plane, namespace);
        if world.plane.used {
            world.clean().await;
        }
        world.make_room().await;
        world.furnish().await;
        world
    }

    fn unfurnished(plane: Plane, namespace: &str) -> Self {
        Self {
            client: plane.client(),
            namespace: namespace.to_owned(),
            folder: Folder::new(&lab::unique("operator")),
            plane,
        }
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// The objects of a kind.
    pub fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        objects::api(&self.client, resource, namespace)
    }

    /// Creates an object, or changes it to be like this.
    pub async fn apply(&self, resource: &ApiResource, namespace: &str, name: &str, content: Value) -> DynamicObject {
        objects::apply(&self.api(resource, namespace), resource, name, content).await
    }

    /// Replaces the status of an object of the cluster.
    pub async fn set_status(&self, resource: &ApiResource, name: &str, status: Value) {
        let patch = json!({"status": status});
        let api = self.api(resource, "");
        let patched = api
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        patched.unwrap_or_else(|error| panic!("cannot set the status of {} {name}: {error}", resource.kind));
    }

    /// Changes an object as somebody would with `kubectl edit`.
    pub async fn edit(&self, resource: &ApiResource, namespace: &str, name: &str, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let edited = self
            .api(resource, namespace)
            .patch(name, &params, &Patch::Merge(&patch))
            .await;
        edited.unwrap_or_else(|error| panic!("cannot edit {} {name}: {error}", resource.kind));
    }

    /// An object as JSON.
    pub async fn get(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Value> {
        let found = self.api(resource, namespace).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    /// The end of the audit log as of now.
    pub fn mark(&self) -> Mark {
        Mark::end_of(&self.plane().audit_log())
    }

    /// What the operator asked since then, apart from Leases and Events.
    pub fn requests_since(&self, mark: Mark) -> Vec<Entry> {
        writes::requests_since(self.plane(), mark)
    }

    /// What the operator wrote since then, apart from Leases and Events: `verb resource name`.
    pub fn writes_since(&self, mark: Mark) -> Vec<String> {
        writes::writes_since(self.plane(), mark)
    }

    /// How often the operator has reported since then.
    pub fn reports_since(&self, mark: Mark) -> usize {
        let all = self.writes_since(mark);
        all.iter().filter(|write| write.contains("clusteroperators")).count()
    }

    /// Waits until the operator has not written anything for a while, and has had the time to.
    pub async fn settled(&self) {
        self.quiet(writes::A_WHILE).await;
    }

    /// Waits until the operator has not written anything for this time.
    pub async fn quiet(&self, time: Duration) {
        writes::quiet(self.plane(), time).await;
    }
}

/// Whether the operator has written it.
fn is_ours(object: &DynamicObject) -> bool {
    let fields = object.metadata.managed_fields.iter().flatten();
    fields
        .filter_map(|each| each.manager.as_deref())
        .any(|manager| manager == "outrigger-operator")
}
