//! The changes on `OpenShift`.

use super::{Scenario, Snapshot};
use crate::{
    objects::blurred,
    process_fixture::{ApiProxy, Folder, Manager},
    world::{RELEASE, World, images, infrastructure, kind},
};
use kube::{Client, api::PostParams};
use serde_json::json;
use std::time::Duration;

/// The time without writes that counts as the end.
const QUIET: Duration = Duration::from_millis(300);

/// The version after [`RELEASE`].
const NEXT: &str = "5.0.1-lab";

/// What changes in a cluster while no operator runs.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// Nothing exists yet.
    Install(&'static str),
    /// Nothing exists yet, and the manager is our own: with its certificate.
    InstallOurs,
    /// The Go operator has created the objects.
    TakeOver,
    /// Another image.
    Upgrade,
    /// Another version of the whole cluster, with another image.
    Release,
    /// The control plane shrinks from several machines to one.
    Shrink,
    /// vSphere becomes AWS.
    Switch,
    /// The annotation removes the operands.
    Remove,
}

impl Change {
    /// The version after the change.
    fn release(self) -> &'static str {
        match self {
            Self::Release => NEXT,
            _ => RELEASE,
        }
    }

    /// The cluster before the change. The objects of the Go operator are those that ours creates, with its field managers.
    async fn before(self, end: Option<&Snapshot>) -> World {
        let before = match self {
            Self::Install(platform) => return World::new(platform).await,
            Self::InstallOurs => {
                let world = World::new("OpenStack").await;
                world.prefer_our_own();
                return world;
            }
            Self::TakeOver => {
                let world = World::new("AWS").await;
                if let Some(end) = end {
                    leave(&world, end).await;
                }
                return world;
            }
            Self::Upgrade | Self::Release | Self::Shrink | Self::Remove => "AWS",
            Self::Switch => "VSphere",
        };
        let world = World::new(before).await;
        let operator = start(&world, None, RELEASE);
        operator.until("the beginning", async || is_done(&world).await).await;
        world.quiet(QUIET).await;
        world
    }

    async fn make(self, world: &World) {
        match self {
            Self::Install(_) | Self::InstallOurs | Self::TakeOver => {}
            Self::Upgrade => use_another_image(world),
            Self::Release => {
                use_another_image(world);
                let gates = [RELEASE, NEXT].map(|version| json!({"version": version, "enabled": [], "disabled": []}));
                let status = json!({"featureGates": gates});
                world.set_status(&kind("FeatureGate"), "cluster", status).await;
            }
            Self::Shrink => world.set_platform("AWS SingleReplica").await,
            Self::Switch => world.set_platform("AWS").await,
            Self::Remove => {
                let off = json!({"metadata": {"annotations": {"infrastructure.openshift.io/external-cloud-provider": "false"}}});
                world.edit(&infrastructure(), "", "cluster", off).await;
            }
        }
    }

    /// Whether the operator has begun: otherwise its report is older than the change.
    async fn is_begun(self, world: &World) -> Result<(), String> {
        let operands = world.operands().await;
        let has = |part: &str| operands.iter().any(|operand| operand.contains(part));
        let done = match self {
            Self::Install(_) | Self::InstallOurs | Self::TakeOver => has("Deployment"),
            Self::Upgrade => world.snapshot().await["Deployment aws-cloud-controller-manager"]
                .to_string()
                .contains("aws:2"),
            Self::Release => world.snapshot().await["versions"].to_string().contains(NEXT),
            Self::Shrink => !has("PodDisruptionBudget"),
            Self::Switch => has("Deployment aws") && !has("vsphere"),
            Self::Remove => !has("aws"),
        };
        if done { Ok(()) } else { Err(format!("{operands:?}")) }
    }
}

/// A cluster of `OpenShift` with a change.
pub struct OpenShift {
    change: Change,
    /// None until it begins.
    world: Option<World>,
}

impl OpenShift {
    pub fn new(change: Change) -> Self {
        Self { change, world: None }
    }

    fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }
}

impl Scenario for OpenShift {
    async fn begin(&mut self, end: Option<&Snapshot>) {
        // Its control plane is reused.
        drop(self.world.take());
        let world = self.change.before(end).await;
        self.change.make(&world).await;
        self.world = Some(world);
    }

    fn tools(&self) -> (&Client, &Folder) {
        (&self.world().client, &self.world().folder)
    }

    fn start(&self, proxy: Option<&ApiProxy>) -> Manager {
        start(self.world(), proxy, self.change.release())
    }

    async fn is_done(&self) -> Result<(), String> {
        is_done(self.world()).await?;
        self.change.is_begun(self.world()).await
    }

    async fn settled(&self) {
        self.world().quiet(QUIET).await;
    }

    async fn snapshot(&self) -> Snapshot {
        let snapshot = self.world().snapshot().await;
        match self.change {
            // Without the parts that differ from run to run.
            Change::InstallOurs => blurred(snapshot),
            _ => snapshot,
        }
    }
}

fn use_another_image(world: &World) {
    let mut images = images();
    images["cloudControllerManagerAWS"] = json!("registry.lab/aws:2");
    world.folder.write("images.json", &images.to_string());
}

/// Creates the objects of the Go operator: the same objects with its annotations, a variable that is not desired any more, and its status.
async fn leave(world: &World, installed: &Snapshot) {
    let text = json!(installed).to_string().replace("NAMESPACE", &world.namespace);
    let installed: Snapshot = serde_json::from_str(&text).unwrap();
    for (operand, mut object) in installed {
        let Some((name_of_kind, _)) = operand.split_once(' ') else {
            continue;
        };
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let kinds = world.kinds();
        let (resource, _) = kinds
            .iter()
            .find(|(resource, place)| resource.kind == name_of_kind && *place == namespace)
            .unwrap_or_else(|| panic!("{operand} in {namespace:?}"));
        let mut manager = "cluster-controller-manager-operator";
        match name_of_kind {
            "ConfigMap" => manager = "config-sync-controllers",
            "Deployment" => {
                let marks = json!({"operator.openshift.io/spec-hash": "0", "operator.openshift.io/generation": "1"});
                object["metadata"]["annotations"] = marks;
                let env = &mut object["spec"]["template"]["spec"]["containers"][0]["env"];
                env.as_array_mut().unwrap().push(json!({"name": "OLD", "value": "1"}));
            }
            _ => {}
        }
        object["apiVersion"] = json!(resource.api_version);
        object["kind"] = json!(resource.kind);
        let params = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(object).unwrap();
        world.api(resource, &namespace).create(&params, &object).await.unwrap();
    }
    let operators = kind("ClusterOperator");
    world
        .apply(&operators, "", "cloud-controller-manager", json!({"spec": {}}))
        .await;
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "AsExpected", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions = [
        ("Available", "True"),
        ("Progressing", "False"),
        ("Degraded", "False"),
        ("Upgradeable", "True"),
    ];
    let status = json!({
        "conditions": conditions.map(|(type_, status)| condition(type_, status)),
        "versions": [{"name": "operator", "version": RELEASE}],
    });
    world.set_status(&operators, "cloud-controller-manager", status).await;
}

fn start(world: &World, proxy: Option<&ApiProxy>, release: &str) -> Manager {
    let launch = world.common(world.operator()).flag("--leader-elect=false");
    let launch = launch.env("RELEASE_VERSION", release);
    match proxy {
        Some(proxy) => launch.flag(&format!("--kubeconfig={}", proxy.kubeconfig.display())),
        None => launch,
    }
    .start()
}

/// Whether the operator reports that everything is complete; simulates the cluster's other controllers.
async fn is_done(world: &World) -> Result<(), String> {
    world.collect_garbage().await;
    world.roll_out(9).await;
    let conditions = world.conditions().await;
    let done = conditions.contains("Available=True") && conditions.contains("Progressing=False");
    if done { Ok(()) } else { Err(conditions) }
}
