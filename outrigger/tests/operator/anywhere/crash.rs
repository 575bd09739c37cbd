//! Killed behind every single write: the end is that of an undisturbed run.

use super::cluster::Anywhere;
use crate::{
    objects::kind,
    rig::{Door, Manager},
};
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The manager.
const NAME: &str = "lab";

type Portrait = BTreeMap<String, Value>;

/// What changes in a cluster while nobody looks.
#[derive(Debug, Clone, Copy)]
enum Story {
    /// There is nothing yet.
    Install,
    /// Fewer replicas, another argument, and another configuration.
    Change,
    /// Another cloud, with a configuration and credentials of its own, and other nodes.
    Switch,
    /// The manager is not wanted any more.
    Remove,
}

impl Story {
    /// The cluster before the change.
    async fn begin(self, world: &mut Anywhere) {
        world.move_on().await;
        world.config("cloud", "{}").await;
        if let Self::Install = self {
            return;
        }
        world.manager(NAME, spec()).await;
        let operator = start(world, None);
        operator
            .until("the beginning", async || Self::Install.is_done(world).await)
            .await;
    }

    async fn change(self, world: &Anywhere) {
        let mut spec = spec();
        match self {
            Self::Install => {}
            Self::Change => {
                world.config("cloud", r#"{"machines": []}"#).await;
                spec["replicas"] = json!(1);
                spec["extraArgs"] = json!(["--node-monitor-period=10s"]);
            }
            Self::Switch => {
                let secret = kind("", "v1", "Secret", "secrets");
                for name in ["cloud", "keys"] {
                    let data = json!({"stringData": {"cloud.conf": "[Global]\nuse-clouds=true\n", "clouds.yaml": "clouds: {}"}});
                    world.apply(&secret, &world.namespace, name, data).await;
                }
                spec = json!({
                    "provider": "openstack", "cloudConfig": {"secret": {"name": "cloud"}},
                    "credentials": {"secret": {"name": "keys"}}, "scope": {"providerIDSchemes": ["openstack"]},
                });
            }
            Self::Remove => spec["managementState"] = json!("Removed"),
        }
        world.manager(NAME, spec).await;
    }

    /// Whether the operator says that everything is done.
    async fn is_done(self, world: &Anywhere) -> Result<(), String> {
        world.collect_garbage().await;
        world.roll_out().await;
        let (manager, conditions) = (world.get(NAME).await, world.conditions(NAME).await);
        let expected = match self {
            Self::Install | Self::Change | Self::Switch => ["Available=True", "Degraded=False", "Progressing=False"],
            Self::Remove => ["Available=False Removed", "Degraded=False", "Progressing=False"],
        };
        let seen = manager["status"]["observedGeneration"] == manager["metadata"]["generation"];
        let said = conditions.len() == 3
            && conditions
                .iter()
                .zip(expected)
                .all(|(line, start)| line.starts_with(start));
        if seen && said {
            Ok(())
        } else {
            Err(format!("{conditions:#?}"))
        }
    }
}

fn spec() -> Value {
    let map = json!({"name": "cloud", "key": "cloud.conf"});
    json!({"provider": "memory", "cloudConfig": {"configMap": map}})
}

fn start(world: &Anywhere, door: Option<&Door>) -> Manager {
    let launch = match door {
        Some(door) => world.operator_as(&door.kubeconfig),
        None => world.operator(),
    };
    launch.flag("--leader-elect=false").start()
}

/// Runs to the end, and says how it looks.
async fn undisturbed(world: &mut Anywhere, story: Story) -> Portrait {
    story.begin(world).await;
    story.change(world).await;
    let operator = start(world, None);
    operator.until("the end", async || story.is_done(world).await).await;
    world.settled().await;
    story.is_done(world).await.unwrap();
    world.portrait(NAME).await
}

/// Waits until everything looks like this, and stays so.
async fn ends_like(world: &Anywhere, story: Story, operator: &Manager, expected: &Portrait, told: &str) {
    let look = async || {
        tokio::time::sleep(Door::STEP).await;
        story.is_done(world).await?;
        let found = world.portrait(NAME).await;
        if found == *expected {
            return Ok(());
        }
        let other = |from: &Portrait, with: &Portrait| {
            let mut from = from.clone();
            from.retain(|name, object| with.get(name) != Some(object));
            from
        };
        let (more, less) = (other(&found, expected), other(expected, &found));
        Err(format!("{more:#?} instead of {less:#?}"))
    };
    operator.until(told, look).await;
    world.settled().await;
    assert_eq!(world.portrait(NAME).await, *expected, "{told}");
}

#[rstest]
#[case::install(Story::Install, 14)]
#[case::change(Story::Change, 3)]
#[case::switch(Story::Switch, 14)]
#[case::remove(Story::Remove, 14)]
#[tokio::test]
async fn killed_behind_every_write(#[case] story: Story, #[case] at_least: usize) {
    let mut world = Anywhere::new().await;
    let expected = undisturbed(&mut world, story).await;
    let mut write = 0;
    loop {
        story.begin(&mut world).await;
        story.change(&world).await;
        let door = Door::to(&world.client, &world.folder).await;
        let done = async || story.is_done(&world).await.is_ok();
        let killed = door.kill_behind(write, || start(&world, Some(&door)), done).await;
        let last = door.writes().last().cloned().unwrap_or_default();
        let operator = start(&world, Some(&door));
        let told = format!("the end after the death behind write {}, {last}", write + 1);
        ends_like(&world, story, &operator, &expected, &told).await;
        if !killed {
            break;
        }
        write += 1;
    }
    assert!(write >= at_least, "only {write} writes");
}
