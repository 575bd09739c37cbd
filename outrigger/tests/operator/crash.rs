//! Killed behind every single write: the end is that of an undisturbed run.

use crate::{
    rig::{Door, Manager},
    world::{World, images, infrastructure},
};
use rstest::rstest;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// How long nothing may be written until it counts as the end.
const QUIET: Duration = Duration::from_millis(300);
/// How often it is looked.
const STEP: Duration = Duration::from_millis(60);

/// What changes in a cluster while nobody looks.
#[derive(Debug, Clone, Copy)]
enum Story {
    /// There is nothing yet.
    Install(&'static str),
    /// Another image.
    Upgrade,
    /// vSphere becomes AWS.
    Switch,
    /// The annotation says that nothing of ours should run.
    Remove,
}

impl Story {
    /// The cluster before the change.
    async fn begin(self) -> World {
        let before = match self {
            Self::Install(platform) => return World::new(platform).await,
            Self::Upgrade | Self::Remove => "AWS",
            Self::Switch => "VSphere",
        };
        let world = World::new(before).await;
        let operator = start(&world, None);
        operator.until("the beginning", async || is_done(&world).await).await;
        world.quiet(QUIET).await;
        world
    }

    async fn change(self, world: &World) {
        match self {
            Self::Install(_) => {}
            Self::Upgrade => {
                let mut images = images();
                images["cloudControllerManagerAWS"] = json!("registry.lab/aws:2");
                world.folder.write("images.json", &images.to_string());
            }
            Self::Switch => world.set_platform("AWS").await,
            Self::Remove => {
                let off = json!({"metadata": {"annotations": {"infrastructure.openshift.io/external-cloud-provider": "false"}}});
                world.edit(&infrastructure(), "", "cluster", off).await;
            }
        }
    }
}

fn start(world: &World, door: Option<&Door>) -> Manager {
    let launch = world.common(world.operator()).flag("--leader-elect=false");
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
async fn end(world: &World, operator: &Manager) -> BTreeMap<String, Value> {
    operator.until("the end", async || is_done(world).await).await;
    loop {
        world.quiet(QUIET).await;
        help(world).await;
        let mark = world.mark();
        world.quiet(QUIET).await;
        if world.writes_since(mark).is_empty() {
            return world.portrait().await;
        }
    }
}

/// Waits until everything looks like this.
async fn ends_like(world: &World, operator: &Manager, expected: &BTreeMap<String, Value>, told: &str) {
    let look = async || {
        tokio::time::sleep(STEP).await;
        is_done(world).await?;
        let found = world.portrait().await;
        if found == *expected {
            return Ok(());
        }
        let other = |from: &BTreeMap<String, Value>, with: &BTreeMap<String, Value>| {
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
    assert_eq!(world.portrait().await, *expected, "{told}");
}

/// What the other controllers of a cluster do.
async fn help(world: &World) {
    world.collect_garbage().await;
    world.roll_out(9).await;
}

#[rstest]
#[case::install_aws(Story::Install("AWS"), 9)]
#[case::install_azure(Story::Install("Azure"), 16)]
#[case::upgrade(Story::Upgrade, 2)]
#[case::switch(Story::Switch, 14)]
#[case::remove(Story::Remove, 6)]
#[tokio::test]
async fn killed_behind_every_write(#[case] story: Story, #[case] at_least: usize) {
    let undisturbed = {
        let world = story.begin().await;
        story.change(&world).await;
        let operator = start(&world, None);
        changed(&world, &operator, story).await;
        end(&world, &operator).await
    };
    let mut write = 0;
    loop {
        let world = story.begin().await;
        story.change(&world).await;
        let door = Door::to(&world.client, &world.folder).await;
        let done = async || is_done(&world).await.is_ok();
        let killed = door.kill_behind(write, || start(&world, Some(&door)), done).await;
        let last = door.writes().last().cloned().unwrap_or_default();
        let operator = start(&world, Some(&door));
        let told = format!("the end after the death behind write {}, {last}", write + 1);
        ends_like(&world, &operator, &undisturbed, &told).await;
        if !killed {
            break;
        }
        write += 1;
    }
    assert!(write >= at_least, "only {write} writes");
}

/// Waits until the operator has begun: what it says is of before the change otherwise.
async fn changed(world: &World, operator: &Manager, story: Story) {
    let look = async || {
        help(world).await;
        let operands = world.operands().await;
        let has = |part: &str| operands.iter().any(|operand| operand.contains(part));
        let done = match story {
            Story::Install(_) => has("Deployment"),
            Story::Upgrade => world.portrait().await["Deployment aws-cloud-controller-manager"]
                .to_string()
                .contains("aws:2"),
            Story::Switch => has("Deployment aws") && !has("vsphere"),
            Story::Remove => !has("aws"),
        };
        if done { Ok(()) } else { Err(format!("{operands:?}")) }
    };
    operator.until("the change", look).await;
}
