//! Killed behind every single write: the end is that of an undisturbed run.

use crate::{
    objects::blurred,
    rig::{Door, Manager},
    world::{RELEASE, World, config, images, infrastructure},
};
use kube::api::PostParams;
use rstest::rstest;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// How long nothing may be written until it counts as the end.
const QUIET: Duration = Duration::from_millis(300);

/// The version after [`RELEASE`].
const NEXT: &str = "5.0.1-lab";

/// How a cluster looks: every operand by kind and name, and what is said.
type Portrait = BTreeMap<String, Value>;

/// What changes in a cluster while nobody looks.
#[derive(Debug, Clone, Copy)]
enum Story {
    /// There is nothing yet.
    Install(&'static str),
    /// There is nothing yet, and the manager is our own: with its certificate.
    InstallOurs,
    /// There is what the Go operator has left.
    TakeOver,
    /// Another image.
    Upgrade,
    /// Another version of the whole cluster, with another image.
    Release,
    /// Of several control-plane machines one is left.
    Shrink,
    /// vSphere becomes AWS.
    Switch,
    /// The annotation says that nothing of ours should run.
    Remove,
}

impl Story {
    /// The cluster before the change. What the Go operator leaves is what ours makes, in another's name.
    async fn begin(self, installed: Option<&Portrait>) -> World {
        let before = match self {
            Self::Install(platform) => return World::new(platform).await,
            Self::InstallOurs => {
                let world = World::new("OpenStack").await;
                world.prefer_our_own();
                return world;
            }
            Self::TakeOver => {
                let world = World::new("AWS").await;
                if let Some(installed) = installed {
                    leave(&world, installed).await;
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

    async fn change(self, world: &World) {
        match self {
            Self::Install(_) | Self::InstallOurs | Self::TakeOver => {}
            Self::Upgrade => use_another_image(world),
            Self::Release => {
                use_another_image(world);
                let gates = [RELEASE, NEXT].map(|version| json!({"version": version, "enabled": [], "disabled": []}));
                let status = json!({"featureGates": gates});
                world
                    .set_status(&config("FeatureGate", "featuregates"), "cluster", status)
                    .await;
            }
            Self::Shrink => world.set_platform("AWS SingleReplica").await,
            Self::Switch => world.set_platform("AWS").await,
            Self::Remove => {
                let off = json!({"metadata": {"annotations": {"infrastructure.openshift.io/external-cloud-provider": "false"}}});
                world.edit(&infrastructure(), "", "cluster", off).await;
            }
        }
    }

    /// The version after the change.
    fn release(self) -> &'static str {
        match self {
            Self::Release => NEXT,
            _ => RELEASE,
        }
    }

    /// Whether the operator has begun: what it says is of before the change otherwise.
    async fn is_begun(self, world: &World) -> Result<(), String> {
        help(world).await;
        let operands = world.operands().await;
        let has = |part: &str| operands.iter().any(|operand| operand.contains(part));
        let done = match self {
            Self::Install(_) | Self::InstallOurs | Self::TakeOver => has("Deployment"),
            Self::Upgrade => world.portrait().await["Deployment aws-cloud-controller-manager"]
                .to_string()
                .contains("aws:2"),
            Self::Release => world.portrait().await["versions"].to_string().contains(NEXT),
            Self::Shrink => !has("PodDisruptionBudget"),
            Self::Switch => has("Deployment aws") && !has("vsphere"),
            Self::Remove => !has("aws"),
        };
        if done { Ok(()) } else { Err(format!("{operands:?}")) }
    }

    /// How a cluster looks, apart from what no two runs have in common.
    async fn portrait(self, world: &World) -> Portrait {
        let portrait = world.portrait().await;
        match self {
            Self::InstallOurs => blurred(portrait),
            _ => portrait,
        }
    }
}

fn use_another_image(world: &World) {
    let mut images = images();
    images["cloudControllerManagerAWS"] = json!("registry.lab/aws:2");
    world.folder.write("images.json", &images.to_string());
}

/// Leaves what the Go operator would have: these objects, with its marks, a variable that is not wanted any more, and its word.
async fn leave(world: &World, installed: &Portrait) {
    let text = json!(installed).to_string().replace("NAMESPACE", &world.namespace);
    let installed: Portrait = serde_json::from_str(&text).unwrap();
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
    let operators = config("ClusterOperator", "clusteroperators");
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

fn start(world: &World, door: Option<&Door>, release: &str) -> Manager {
    let launch = world.common(world.operator()).flag("--leader-elect=false");
    let launch = launch.env("RELEASE_VERSION", release);
    match door {
        Some(door) => launch.flag(&format!("--kubeconfig={}", door.kubeconfig.display())),
        None => launch,
    }
    .start()
}

/// Whether the operator says that everything is done.
async fn is_done(world: &World) -> Result<(), String> {
    help(world).await;
    let conditions = world.conditions().await;
    let done = conditions.contains("Available=True") && conditions.contains("Progressing=False");
    if done { Ok(()) } else { Err(conditions) }
}

/// Waits until everything is done, and says how it looks.
async fn end(world: &World, operator: &Manager, story: Story) -> Portrait {
    operator.until("the end", async || is_done(world).await).await;
    loop {
        world.quiet(QUIET).await;
        help(world).await;
        let mark = world.mark();
        world.quiet(QUIET).await;
        if world.writes_since(mark).is_empty() {
            return story.portrait(world).await;
        }
    }
}

/// Waits until everything looks like this.
async fn ends_like(world: &World, operator: &Manager, story: Story, expected: &Portrait, told: &str) {
    let look = async || {
        tokio::time::sleep(Door::STEP).await;
        is_done(world).await?;
        let found = story.portrait(world).await;
        if found == *expected {
            return Ok(());
        }
        let other = |from: &Portrait, with: &Portrait| {
            let mut from = from.clone();
            from.retain(|name, object| with.get(name) != Some(object));
            from
        };
        Err(format!(
            "{:#?} instead of {:#?}",
            other(&found, expected),
            other(expected, &found)
        ))
    };
    operator.until(told, look).await;
    world.quiet(QUIET).await;
    assert_eq!(story.portrait(world).await, *expected, "{told}");
}

/// What the other controllers of a cluster do.
async fn help(world: &World) {
    world.collect_garbage().await;
    world.roll_out(9).await;
}

#[rstest]
#[case::install_aws(Story::Install("AWS"), 9)]
#[case::install_azure(Story::Install("Azure"), 16)]
#[case::install_ours(Story::InstallOurs, 12)]
#[case::take_over(Story::TakeOver, 14)]
#[case::upgrade(Story::Upgrade, 2)]
#[case::release(Story::Release, 3)]
#[case::shrink(Story::Shrink, 3)]
#[case::switch(Story::Switch, 14)]
#[case::remove(Story::Remove, 6)]
#[tokio::test]
async fn killed_behind_every_write(#[case] story: Story, #[case] at_least: usize) {
    let undisturbed = {
        let world = story.begin(None).await;
        story.change(&world).await;
        let operator = start(&world, None, story.release());
        operator
            .until("the change", async || story.is_begun(&world).await)
            .await;
        end(&world, &operator, story).await
    };
    let mut write = 0;
    loop {
        let world = story.begin(Some(&undisturbed)).await;
        story.change(&world).await;
        let door = Door::to(&world.client, &world.folder).await;
        let begin = || start(&world, Some(&door), story.release());
        let done = async || story.is_begun(&world).await.is_ok() && is_done(&world).await.is_ok();
        let killed = door.kill_behind(write, begin, done).await;
        let last = door.writes().last().cloned().unwrap_or_default();
        let operator = start(&world, Some(&door), story.release());
        let told = format!("the end after the death behind write {}, {last}", write + 1);
        ends_like(&world, &operator, story, &undisturbed, &told).await;
        if !killed {
            break;
        }
        write += 1;
    }
    assert!(write >= at_least, "only {write} writes");
}
