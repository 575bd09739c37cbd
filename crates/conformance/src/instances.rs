//! Machines: found, missing, off, in batches.

use crate::{
    Case, Scene, Stop,
    case::{case, check, same},
    scene::wrong,
};
use cloud::{Answer, Detail, Instance, NodeRef, Power, ProviderId, ProviderIds};
use futures::future::join_all;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("instances: a machine is found by its provider ID", found_by_id),
        case!("instances: a provider ID counts more than a name", id_before_name),
        case!(
            "instances: a provider ID counts more than the addresses of the Node",
            id_before_addresses
        ),
        case!("instances: a machine is found by its name", found_by_name),
        case!(
            "instances: the provider ID is the same however a machine is found",
            same_id
        ),
        case!("instances: an empty batch has no answers", empty_batch),
        case!("instances: a batch is answered in the order asked", order),
        case!("instances: a node asked for twice is answered twice", duplicates),
        case!("instances: 250 nodes are answered at once", many),
        case!("instances: calls at the same time do not mix", at_the_same_time),
        case!("instances: a name that never was is missing", unknown_name),
        case!(
            "instances: a deleted machine is missing by its provider ID",
            deleted_by_id
        ),
        case!("instances: a deleted machine is missing by its name", deleted_by_name),
        case!("instances: a new machine of an old name is another machine", recreated),
        case!("instances: a machine that is off is found and off", powered_off),
        case!(
            "instances: a provider ID that makes no sense is an error, not a missing machine",
            garbage
        ),
        case!(
            "instances: a provider ID that makes no sense fails alone in its batch",
            garbage_in_batch
        ),
        case!(
            "instances: a node that the cloud does not manage is not missing",
            unmanaged
        ),
        case!("instances: the short answer agrees with the full one", liveness),
        case!(
            "instances: addresses are told, in the same order every time",
            stable_addresses
        ),
    ]
}

async fn found_by_id(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    need_id(scene, &node)?;
    found(scene, &node, Detail::Full).await.map(drop)
}

async fn id_before_name(scene: &Scene) -> Result<(), Stop> {
    let (node, other) = (scene.machine("a").await?, scene.machine("b").await?);
    need_id(scene, &node)?;
    let misnamed = NodeRef {
        name: other.name,
        ..node.clone()
    };
    same!(
        found(scene, &misnamed, Detail::Full).await?.provider_id,
        node.provider_id,
        "the provider ID of the machine found"
    );
    Ok(())
}

async fn id_before_addresses(scene: &Scene) -> Result<(), Stop> {
    let (node, other) = (scene.machine("a").await?, scene.machine("b").await?);
    need_id(scene, &node)?;
    let addresses = found(scene, &other, Detail::Full).await?.addresses;
    check!(!addresses.is_empty(), "the machine has no addresses");
    let misplaced = NodeRef {
        addresses,
        ..node.clone()
    };
    same!(
        found(scene, &misplaced, Detail::Full).await?.provider_id,
        node.provider_id,
        "the provider ID of the machine found"
    );
    Ok(())
}

async fn found_by_name(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    found(scene, &nameless_id(&node), Detail::Full).await.map(drop)
}

async fn same_id(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    need_id(scene, &node)?;
    same!(
        found(scene, &node, Detail::Full).await?.provider_id,
        node.provider_id,
        "found by provider ID"
    );
    let by_name = found(scene, &nameless_id(&node), Detail::Full).await?;
    same!(by_name.provider_id, node.provider_id, "found by name");
    Ok(())
}

async fn empty_batch(scene: &Scene) -> Result<(), Stop> {
    scene.describe(&[], Detail::Full).await?;
    scene.describe(&[], Detail::Liveness).await.map(drop)
}

async fn order(scene: &Scene) -> Result<(), Stop> {
    let machines = machines(scene, 3).await?;
    let missing = NodeRef::named(scene.machine_name("never"));
    let asked = [&machines[2], &missing, &machines[0], &machines[1], &missing].map(Clone::clone);
    let expected = [Some(2), None, Some(0), Some(1), None].map(|index| index.map(|index: usize| &machines[index]));
    told_apart(scene, &asked, &expected).await
}

async fn duplicates(scene: &Scene) -> Result<(), Stop> {
    let machines = machines(scene, 2).await?;
    let asked = [0, 0, 1, 0].map(|index: usize| machines[index].clone());
    let expected = [0, 0, 1, 0].map(|index: usize| Some(&machines[index]));
    told_apart(scene, &asked, &expected).await
}

async fn many(scene: &Scene) -> Result<(), Stop> {
    let machines = machines(scene, scene.world().most_machines().min(250)).await?;
    let asked: Vec<NodeRef> = machines.iter().cycle().take(250).cloned().collect();
    let expected: Vec<_> = asked.iter().map(Some).collect();
    told_apart(scene, &asked, &expected).await?;
    let by_name: Vec<NodeRef> = asked.iter().map(nameless_id).collect();
    told_apart(scene, &by_name, &expected).await
}

async fn at_the_same_time(scene: &Scene) -> Result<(), Stop> {
    let machines = machines(scene, 4).await?;
    let calls = (0..20).map(|call| {
        let node = &machines[call % machines.len()];
        async move { told_apart(scene, std::slice::from_ref(node), &[Some(node)]).await }
    });
    join_all(calls).await.into_iter().collect()
}

async fn unknown_name(scene: &Scene) -> Result<(), Stop> {
    missing(scene, &NodeRef::named(scene.machine_name("never"))).await
}

async fn deleted_by_id(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    need_id(scene, &node)?;
    scene.world().delete_machine(&node).await?;
    missing(scene, &node).await
}

async fn deleted_by_name(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    scene.world().delete_machine(&node).await?;
    missing(scene, &nameless_id(&node)).await
}

async fn recreated(scene: &Scene) -> Result<(), Stop> {
    let old = scene.machine("a").await?;
    need_id(scene, &old)?;
    scene.world().delete_machine(&old).await?;
    let new = scene.machine("a").await?;
    check!(
        old.provider_id != new.provider_id,
        "both machines have the provider ID {:?}",
        old.provider_id
    );
    missing(scene, &old).await?;
    same!(
        found(scene, &nameless_id(&new), Detail::Full).await?.provider_id,
        new.provider_id,
        "the machine of this name"
    );
    Ok(())
}

async fn powered_off(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    check!(
        found(scene, &node, Detail::Liveness).await?.power != Power::Off,
        "a machine that runs is said to be off"
    );
    scene.world().power_off(&node).await?;
    for detail in [Detail::Liveness, Detail::Full] {
        same!(
            found(scene, &node, detail).await?.power,
            Power::Off,
            "the power of a machine that is off, {detail:?}"
        );
    }
    Ok(())
}

async fn garbage(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    for id in garbage_ids(scene) {
        for detail in [Detail::Liveness, Detail::Full] {
            let answers = scene.describe(&[node.clone().with_provider_id(&id)], detail).await?;
            check!(
                answers.iter().all(Result::is_err),
                "provider ID {id:?} was answered with {:?}",
                answers.first()
            );
        }
    }
    Ok(())
}

async fn garbage_in_batch(scene: &Scene) -> Result<(), Stop> {
    let machines = machines(scene, 2).await?;
    for id in garbage_ids(scene) {
        let asked = [
            machines[0].clone(),
            NodeRef::named("x").with_provider_id(&id),
            machines[1].clone(),
        ];
        let answers = scene.describe(&asked, Detail::Liveness).await?;
        check!(
            answers[1].is_err(),
            "provider ID {id:?} was answered with {:?}",
            answers[1]
        );
        for index in [0, 2] {
            check!(
                matches!(answers[index], Ok(Answer::Found(_))),
                "beside provider ID {id:?} came {:?}",
                answers[index]
            );
        }
    }
    Ok(())
}

async fn unmanaged(scene: &Scene) -> Result<(), Stop> {
    let node = scene.world().unmanaged_node(&scene.machine_name("elsewhere")).await?;
    for detail in [Detail::Liveness, Detail::Full] {
        let answer = scene.describe_one(&node, detail).await?;
        same!(answer, Answer::Unmanaged, "the answer for {}, {detail:?}", node.name);
    }
    Ok(())
}

async fn liveness(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    let (full, short) = (
        found(scene, &node, Detail::Full).await?,
        found(scene, &node, Detail::Liveness).await?,
    );
    same!(
        short.provider_id,
        full.provider_id,
        "the provider ID of the short answer"
    );
    same!(short.power, full.power, "the power of the short answer");
    Ok(())
}

async fn stable_addresses(scene: &Scene) -> Result<(), Stop> {
    let node = scene.machine("a").await?;
    let first = found(scene, &node, Detail::Full).await?.addresses;
    check!(!first.is_empty(), "the machine has no addresses");
    for _ in 0..5 {
        same!(
            found(scene, &node, Detail::Full).await?.addresses,
            first,
            "the addresses of a machine that nobody touched"
        );
    }
    Ok(())
}

async fn machines(scene: &Scene, count: usize) -> Result<Vec<NodeRef>, Stop> {
    let mut machines = Vec::with_capacity(count);
    for number in 0..count {
        machines.push(scene.machine(&format!("{number}")).await?);
    }
    Ok(machines)
}

async fn found(scene: &Scene, node: &NodeRef, detail: Detail) -> Result<Instance, Stop> {
    match scene.describe_one(node, detail).await? {
        Answer::Found(instance) => Ok(*instance),
        other => Err(Stop::Failed(format!(
            "{} should be found, the answer is {other:?}",
            node.name
        ))),
    }
}

async fn missing(scene: &Scene, node: &NodeRef) -> Result<(), Stop> {
    for detail in [Detail::Liveness, Detail::Full] {
        same!(
            scene.describe_one(node, detail).await?,
            Answer::Missing,
            "the answer for {}, {detail:?}",
            node.name
        );
    }
    Ok(())
}

/// Asks, and checks that each answer is about the machine expected; `None` is a missing one.
async fn told_apart(scene: &Scene, asked: &[NodeRef], expected: &[Option<&NodeRef>]) -> Result<(), Stop> {
    let marks: Vec<_> = own_marks(scene, expected).await?;
    let answers = scene.describe(asked, Detail::Full).await?;
    for (index, (answer, mark)) in answers.into_iter().zip(marks).enumerate() {
        let answer = answer.map_err(|error| wrong("describe", &error))?;
        same!(
            answer.found().as_ref().map(self::mark),
            mark,
            "answer {index} of {}",
            asked.len()
        );
    }
    Ok(())
}

/// What tells a machine apart: its provider ID, or its addresses in a cloud without.
type Mark = (Option<ProviderId>, Vec<cloud::Address>);

fn mark(instance: &Instance) -> Mark {
    match &instance.provider_id {
        Some(id) => (Some(id.clone()), Vec::new()),
        None => (None, instance.addresses.clone()),
    }
}

async fn own_marks(scene: &Scene, nodes: &[Option<&NodeRef>]) -> Result<Vec<Option<Mark>>, Stop> {
    let mut marks = Vec::with_capacity(nodes.len());
    for node in nodes {
        marks.push(match node {
            None => None,
            Some(node) if node.provider_id.is_some() => Some((node.provider_id.clone(), Vec::new())),
            Some(node) => Some(mark(&found(scene, node, Detail::Full).await?)),
        });
    }
    Ok(marks)
}

fn need_id(scene: &Scene, node: &NodeRef) -> Result<(), Stop> {
    match (scene.provider().instances().provider_ids(), &node.provider_id) {
        (ProviderIds::None, _) => Err(Stop::unable("give machines provider IDs")),
        (ProviderIds::Given, None) => Err(Stop::failed("the world made a machine without a provider ID")),
        (ProviderIds::Given, Some(_)) => Ok(()),
    }
}

/// The same node before its provider ID is known.
fn nameless_id(node: &NodeRef) -> NodeRef {
    NodeRef {
        provider_id: None,
        ..node.clone()
    }
}

fn garbage_ids(scene: &Scene) -> Vec<String> {
    let mut ids: Vec<String> = ["garbage", "://", "no-such-cloud://1", "no-such-cloud:///zone/1", " "]
        .map(String::from)
        .into();
    ids.push(format!("{}://", scene.provider().name()));
    ids.extend(scene.world().foreign_ids());
    ids
}
