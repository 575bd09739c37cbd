//! A cluster of `OpenShift`, with the objects that the operator reads.
//!
//! The objects that the operator reads have fixed names, so each world has a control plane of its own while it lasts; planes
//! are reused, and the objects of an earlier world are deleted first.

mod conditions;
mod installer;
mod operands;
mod programs;

pub use crate::objects::{config_map, deployment, kind};
pub use installer::{certificate, images};
pub use programs::name_on;

use crate::{
    control_planes::{Plane, Pool},
    fixture::Fixture,
    process_fixture::Mark,
};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use std::ops::Deref;

/// The version of the release.
pub const RELEASE: &str = "5.0.0-lab";
/// The namespace of the operator.
pub const OPERATOR_NAMESPACE: &str = "openshift-cloud-controller-manager-operator";

static PLANES: Pool = Pool::of(3);

/// A cluster, and everything that the operator needs to start in it.
pub struct World {
    fixture: Fixture,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

/// The kind of the Infrastructure.
pub fn infrastructure() -> ApiResource {
    kind("Infrastructure")
}

/// The kind of the `APIServer`.
pub fn api_server() -> ApiResource {
    kind("APIServer")
}

/// The kind of the Proxy.
pub fn proxy() -> ApiResource {
    kind("Proxy")
}

impl World {
    /// A cluster on this platform with all objects that the operator reads, and none of the operator.
    pub async fn new(platform: &str) -> Self {
        let world = Self::without_infrastructure().await;
        world.set_platform(platform).await;
        world
    }

    /// A cluster before the installer has written its Infrastructure.
    pub async fn without_infrastructure() -> Self {
        Self::in_namespace(&lab::unique("ccm")).await
    }

    /// The same, with the operands in this namespace.
    pub async fn in_namespace(namespace: &str) -> Self {
        Self::on(PLANES.take().await, namespace).await
    }

    /// The same, for a test that waits most of the time, and so does not delay others, or that changes definitions.
    pub async fn apart(namespace: &str) -> Self {
        Self::on(Plane::own().await, namespace).await
    }

    /// A cluster without `OpenShift`: with namespaces, and these definitions.
    pub async fn before(definitions: &[String]) -> Self {
        let plane = Plane::own().await;
        plane.install_crds(definitions).await.unwrap();
        let world = Self::unfurnished(plane, &lab::unique("ccm"));
        world.make_room().await;
        world
    }

    /// Adds `OpenShift`, except for definitions with this text.
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
        if world.is_used() {
            world.clean().await;
        }
        world.make_room().await;
        world.write_config().await;
        world
    }

    fn unfurnished(plane: Plane, namespace: &str) -> Self {
        Self {
            fixture: Fixture::on(plane, namespace),
        }
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

    /// How often the operator has reported since then.
    pub fn reports_since(&self, mark: Mark) -> usize {
        let all = self.writes_since(mark);
        all.iter().filter(|write| write.contains("clusteroperators")).count()
    }
}

/// Whether the operator has written it.
fn is_ours(object: &DynamicObject) -> bool {
    let fields = object.metadata.managed_fields.iter().flatten();
    fields
        .filter_map(|each| each.manager.as_deref())
        .any(|manager| manager == "outrigger-operator")
}
