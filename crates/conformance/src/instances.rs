//! Machines: found, missing, off, in batches.

use crate::{
    Case, Fixture, Stop,
    case::{case, check, same},
    fixture::unexpected,
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
            "instances: addresses are reported in the same order every time",
            stable_addresses
        ),
    ]
}

async fn found_by_id(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    need_id(fixture, &node)?;
    found(fixture, &node, Detail::Full).await.map(drop)
}

async fn id_before_name(fixture: &Fixture) -> Result<(), Stop> {
    let (node, other) = (fixture.machine("a").await?, fixture.machine("b").await?);
    need_id(fixture, &node)?;
    let misnamed = NodeRef {
        name: other.name,
        ..node.clone()
    };
    same!(
        found(fixture, &misnamed, Detail::Full).await?.provider_id,
        node.provider_id,
        "the provider ID of the machine found"
    );
    Ok(())
}

async fn id_before_addresses(fixture: &Fixture) -> Result<(), Stop> {
    let (node, other) = (fixture.machine("a").await?, fixture.machine("b").await?);
    need_id(fixture, &node)?;
    let addresses = found(fixture, &other, Detail::Full).await?.addresses;
    check!(!addresses.is_empty(), "the machine has no addresses");
    let misplaced = NodeRef {
        addresses,
        ..node.clone()
    };
    same!(
        found(fixture, &misplaced, Detail::Full).await?.provider_id,
        node.provider_id,
        "the provider ID of the machine found"
    );
    Ok(())
}

async fn found_by_name(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    found(fixture, &nameless_id(&node), Detail::Full).await.map(drop)
}

async fn same_id(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    need_id(fixture, &node)?;
    same!(
        found(fixture, &node, Detail::Full).await?.provider_id,
        node.provider_id,
        "found by provider ID"
    );
    let by_name = found(fixture, &nameless_id(&node), Detail::Full).await?;
    same!(by_name.provider_id, node.provider_id, "found by name");
    Ok(())
}

async fn empty_batch(fixture: &Fixture) -> Result<(), Stop> {
    fixture.describe(&[], Detail::Full).await?;
    fixture.describe(&[], Detail::Liveness).await.map(drop)
}

async fn order(fixture: &Fixture) -> Result<(), Stop> {
    let machines = machines(fixture, 3).await?;
    let missing = NodeRef::named(fixture.machine_name("never"));
    let nodes = [&machines[2], &missing, &machines[0], &machines[1], &missing].map(Clone::clone);
    let expected = [Some(2), None, Some(0), Some(1), None].map(|index| index.map(|index: usize| &machines[index]));
    are_identified(fixture, &nodes, &expected).await
}

async fn duplicates(fixture: &Fixture) -> Result<(), Stop> {
    let machines = machines(fixture, 2).await?;
    let nodes = [0, 0, 1, 0].map(|index: usize| machines[index].clone());
    let expected = [0, 0, 1, 0].map(|index: usize| Some(&machines[index]));
    are_identified(fixture, &nodes, &expected).await
}

async fn many(fixture: &Fixture) -> Result<(), Stop> {
    let machines = machines(fixture, fixture.world().most_machines().min(250)).await?;
    let nodes: Vec<NodeRef> = machines.iter().cycle().take(250).cloned().collect();
    let expected: Vec<_> = nodes.iter().map(Some).collect();
    are_identified(fixture, &nodes, &expected).await?;
    let by_name: Vec<NodeRef> = nodes.iter().map(nameless_id).collect();
    are_identified(fixture, &by_name, &expected).await
}

async fn at_the_same_time(fixture: &Fixture) -> Result<(), Stop> {
    let machines = machines(fixture, 4).await?;
    let calls = (0..20).map(|call| {
        let node = &machines[call % machines.len()];
        async move { are_identified(fixture, std::slice::from_ref(node), &[Some(node)]).await }
    });
    join_all(calls).await.into_iter().collect()
}

async fn unknown_name(fixture: &Fixture) -> Result<(), Stop> {
    missing(fixture, &NodeRef::named(fixture.machine_name("never"))).await
}

async fn deleted_by_id(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    need_id(fixture, &node)?;
    fixture.world().delete_machine(&node).await?;
    missing(fixture, &node).await
}

async fn deleted_by_name(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    fixture.world().delete_machine(&node).await?;
    missing(fixture, &nameless_id(&node)).await
}

async fn recreated(fixture: &Fixture) -> Result<(), Stop> {
    let old = fixture.machine("a").await?;
    need_id(fixture, &old)?;
    fixture.world().delete_machine(&old).await?;
    let new = fixture.machine("a").await?;
    check!(
        old.provider_id != new.provider_id,
        "both machines have the provider ID {:?}",
        old.provider_id
    );
    missing(fixture, &old).await?;
    same!(
        found(fixture, &nameless_id(&new), Detail::Full).await?.provider_id,
        new.provider_id,
        "the machine of this name"
    );
    Ok(())
}

async fn powered_off(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    check!(
        found(fixture, &node, Detail::Liveness).await?.power != Power::Off,
        "a machine that runs is reported as off"
    );
    fixture.world().power_off(&node).await?;
    for detail in [Detail::Liveness, Detail::Full] {
        same!(
            found(fixture, &node, detail).await?.power,
            Power::Off,
            "the power of a machine that is off, {detail:?}"
        );
    }
    Ok(())
}

async fn garbage(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    for id in garbage_ids(fixture) {
        for detail in [Detail::Liveness, Detail::Full] {
            let answers = fixture.describe(&[node.clone().with_provider_id(&id)], detail).await?;
            check!(
                answers.iter().all(Result::is_err),
                "provider ID {id:?} was answered with {:?}",
                answers.first()
            );
        }
    }
    Ok(())
}

async fn garbage_in_batch(fixture: &Fixture) -> Result<(), Stop> {
    let machines = machines(fixture, 2).await?;
    for id in garbage_ids(fixture) {
        let nodes = [
            machines[0].clone(),
            NodeRef::named("x").with_provider_id(&id),
            machines[1].clone(),
        ];
        let answers = fixture.describe(&nodes, Detail::Liveness).await?;
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

async fn unmanaged(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture
        .world()
        .unmanaged_node(&fixture.machine_name("elsewhere"))
        .await?;
    for detail in [Detail::Liveness, Detail::Full] {
        let answer = fixture.describe_one(&node, detail).await?;
        same!(answer, Answer::Unmanaged, "the answer for {}, {detail:?}", node.name);
    }
    Ok(())
}

async fn liveness(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    let (full, short) = (
        found(fixture, &node, Detail::Full).await?,
        found(fixture, &node, Detail::Liveness).await?,
    );
    same!(
        short.provider_id,
        full.provider_id,
        "the provider ID of the short answer"
    );
    same!(short.power, full.power, "the power of the short answer");
    Ok(())
}

async fn stable_addresses(fixture: &Fixture) -> Result<(), Stop> {
    let node = fixture.machine("a").await?;
    let first = found(fixture, &node, Detail::Full).await?.addresses;
    check!(!first.is_empty(), "the machine has no addresses");
    for _ in 0..5 {
        same!(
            found(fixture, &node, Detail::Full).await?.addresses,
            first,
            "the addresses of a machine that has not changed"
        );
    }
    Ok(())
}

async fn machines(fixture: &Fixture, count: usize) -> Result<Vec<NodeRef>, Stop> {
    let mut machines = Vec::with_capacity(count);
    for number in 0..count {
        machines.push(fixture.machine(&format!("{number}")).await?);
    }
    Ok(machines)
}

async fn found(fixture: &Fixture, node: &NodeRef, detail: Detail) -> Result<Instance, Stop> {
    match fixture.describe_one(node, detail).await? {
        Answer::Found(instance) => Ok(*instance),
        other => Err(Stop::Failed(format!(
            "{} should be found, the answer is {other:?}",
            node.name
        ))),
    }
}

async fn missing(fixture: &Fixture, node: &NodeRef) -> Result<(), Stop> {
    for detail in [Detail::Liveness, Detail::Full] {
        same!(
            fixture.describe_one(node, detail).await?,
            Answer::Missing,
            "the answer for {}, {detail:?}",
            node.name
        );
    }
    Ok(())
}

/// Asks, and checks that each answer is about the machine expected; `None` is a missing one.
async fn are_identified(fixture: &Fixture, nodes: &[NodeRef], expected: &[Option<&NodeRef>]) -> Result<(), Stop> {
    let marks: Vec<_> = own_marks(fixture, expected).await?;
    let answers = fixture.describe(nodes, Detail::Full).await?;
    for (index, (answer, mark)) in answers.into_iter().zip(marks).enumerate() {
        let answer = answer.map_err(|error| unexpected("describe", &error))?;
        same!(
            answer.found().as_ref().map(self::mark),
            mark,
            "answer {index} of {}",
            nodes.len()
        );
    }
    Ok(())
}

/// What identifies a machine: its provider ID, or its addresses in a cloud without.
type Mark = (Option<ProviderId>, Vec<cloud::Address>);

fn mark(instance: &Instance) -> Mark {
    match &instance.provider_id {
        Some(id) => (Some(id.clone()), Vec::new()),
        None => (None, instance.addresses.clone()),
    }
}

async fn own_marks(fixture: &Fixture, nodes: &[Option<&NodeRef>]) -> Result<Vec<Option<Mark>>, Stop> {
    let mut marks = Vec::with_capacity(nodes.len());
    for node in nodes {
        marks.push(match node {
            None => None,
            Some(node) if node.provider_id.is_some() => Some((node.provider_id.clone(), Vec::new())),
            Some(node) => Some(mark(&found(fixture, node, Detail::Full).await?)),
        });
    }
    Ok(marks)
}

fn need_id(fixture: &Fixture, node: &NodeRef) -> Result<(), Stop> {
    match (fixture.provider().instances().provider_ids(), &node.provider_id) {
        (ProviderIds::None, _) => Err(Stop::unable("give machines provider IDs")),
        (ProviderIds::Given, None) => Err(Stop::failed("the world created a machine without a provider ID")),
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

fn garbage_ids(fixture: &Fixture) -> Vec<String> {
    let mut ids: Vec<String> = ["garbage", "://", "no-such-cloud://1", "no-such-cloud:///zone/1", " "]
        .map(String::from)
        .into();
    ids.push(format!("{}://", fixture.provider().name()));
    ids.extend(fixture.world().foreign_ids());
    ids
}
