use super::*;
use futures::future::join_all;
use proptest::prelude::*;
use std::{collections::BTreeMap, time::Duration};

/// The parts of a shared object, in the order in which they were written.
#[derive(Debug, Clone, Default)]
struct Object {
    version: u64,
    parts: Vec<u32>,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

/// A cloud with one object, which takes this many milliseconds for each call in turn.
#[derive(Default)]
struct Cloud {
    object: Mutex<Object>,
    calls: Mutex<BTreeMap<&'static str, u32>>,
    delays: Mutex<Vec<u64>>,
    /// Refuses objects with this part.
    refused: Option<u32>,
    down: Option<&'static str>,
}

impl Cloud {
    async fn call(&self, name: &'static str) -> Result<()> {
        *lock(&self.calls).entry(name).or_default() += 1;
        let delay = lock(&self.delays).pop().unwrap_or(10);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        match self.down {
            Some(down) if down == name => Err(Error::unavailable(name, "down")),
            _ => Ok(()),
        }
    }

    fn calls(&self) -> String {
        let calls = lock(&self.calls);
        let texts: Vec<String> = calls.iter().map(|(name, count)| format!("{count} {name}")).collect();
        texts.join(", ")
    }

    fn parts(&self) -> Vec<u32> {
        lock(&self.object).parts.clone()
    }

    /// Another process adds a part.
    fn add_foreign(&self, part: u32) {
        let mut object = lock(&self.object);
        object.version += 1;
        object.parts.push(part);
    }
}

#[async_trait]
impl Store for Cloud {
    type Key = &'static str;
    type Object = Object;

    async fn read(&self, _: &&'static str) -> Result<Object> {
        self.call("read").await?;
        Ok(lock(&self.object).clone())
    }

    async fn write(&self, _: &&'static str, old: &Object, new: &Object) -> Result<Written> {
        self.call("write").await?;
        let mut object = lock(&self.object);
        if object.version != old.version {
            return Ok(Written::Conflict);
        }
        if self.refused.is_some_and(|part| new.parts.contains(&part)) {
            return Err(Error::invalid("part", "refused"));
        }
        *object = Object {
            version: old.version + 1,
            parts: new.parts.clone(),
        };
        Ok(Written::Done)
    }
}

type TestLanes = Lanes<&'static str, Object>;

/// Adds a part, and returns at which place; a part above 99 is wrong.
async fn add(lanes: &TestLanes, cloud: &Cloud, part: u32) -> Result<usize> {
    let edit = move |object: &mut Object| {
        object.parts.push(part);
        match part {
            100.. => Err(Error::invalid("part", "too big")),
            _ => Ok(object.parts.len() - 1),
        }
    };
    lanes.edit(cloud, &"object", edit).await
}

#[tokio::test(start_paused = true)]
async fn concurrent_edits_are_one_write() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    let places = join_all((0..50).map(|part| add(&lanes, &cloud, part))).await;
    let places: Vec<usize> = places.into_iter().map(Result::unwrap).collect();
    assert_eq!(places, (0..50).collect::<Vec<_>>());
    assert_eq!(cloud.calls(), "1 read, 1 write");
    assert!(lock(&lanes.0).is_empty(), "a lane that is not used is removed");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_changes_nothing_is_not_written() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    lanes.edit(&cloud, &"object", |_| Ok(())).await.unwrap();
    assert_eq!(cloud.calls(), "1 read");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_edit_fails_alone() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    let places = join_all([1, 100, 2].map(|part| add(&lanes, &cloud, part))).await;
    assert!(
        matches!(places[..], [Ok(0), Err(Error::Invalid { .. }), Ok(1)]),
        "{places:?}"
    );
    assert_eq!(cloud.parts(), [1, 2]);
    assert_eq!(cloud.calls(), "1 read, 1 write");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_the_cloud_refuses_fails_alone() {
    let (lanes, mut cloud) = (TestLanes::default(), Cloud::default());
    cloud.refused = Some(7);
    let places = join_all([1, 7, 2].map(|part| add(&lanes, &cloud, part))).await;
    assert!(
        matches!(places[..], [Ok(0), Err(Error::Invalid { .. }), Ok(1)]),
        "{places:?}"
    );
    assert_eq!(cloud.parts(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_another_process_survives() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    let other = async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        cloud.add_foreign(99);
    };
    let (places, ()) = tokio::join!(join_all([1, 2].map(|part| add(&lanes, &cloud, part))), other);
    assert!(matches!(places[..], [Ok(1), Ok(2)]), "{places:?}");
    assert_eq!(cloud.parts(), [99, 1, 2]);
    assert_eq!(cloud.calls(), "2 read, 2 write");
}

#[rstest::rstest]
#[case("read", "1 read")]
#[case("write", "1 read, 1 write")]
#[tokio::test(start_paused = true)]
async fn a_failure_is_returned_to_every_caller(#[case] down: &'static str, #[case] calls: &str) {
    let (lanes, mut cloud) = (TestLanes::default(), Cloud::default());
    cloud.down = Some(down);
    for answer in join_all((0..9).map(|part| add(&lanes, &cloud, part))).await {
        assert_eq!(answer.unwrap_err().report(), format!("{down} is unavailable: down"));
    }
    assert_eq!(cloud.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_all_the_time_is_an_error() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    let others = async {
        loop {
            cloud.add_foreign(99);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answer = tokio::select! {
        answer = add(&lanes, &cloud, 1) => answer,
        () = others => unreachable!("it never ends"),
    };
    let report = answer.unwrap_err().report();
    assert_eq!(report, "object cannot be used: other clients change it all the time");
}

/// The edits of other callers are not lost if one caller is cancelled.
#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_passes_its_turn_on() {
    let (lanes, cloud) = (TestLanes::default(), Cloud::default());
    let impatient = tokio::time::timeout(Duration::from_millis(15), add(&lanes, &cloud, 1));
    let (impatient, place) = tokio::join!(impatient, add(&lanes, &cloud, 2));
    assert!(impatient.is_err());
    assert_eq!((place.unwrap(), cloud.parts()), (0, vec![2]));
}

proptest! {
    /// However calls are interleaved, the object is the same as if the edits had been applied one after the other, each edit that failed
    /// changed nothing, each of the others saw the place that it has, and no change of another process is lost.
    #[test]
    fn any_interleaving_equals_a_serial_order(
        starts in prop::collection::vec(0..60_u64, 1..12),
        wrong in prop::collection::btree_set(0..12_usize, 0..4),
        foreign in prop::collection::vec(0..80_u64, 0..3),
        delays in prop::collection::vec(0..25_u64, 0..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (lanes, cloud) = (TestLanes::default(), Cloud::default());
            *lock(&cloud.delays) = delays;
            let edits = starts.iter().enumerate().map(|(index, start)| {
                let (lanes, cloud, base) = (&lanes, &cloud, if wrong.contains(&index) { 100 } else { 0 });
                async move {
                    tokio::time::sleep(Duration::from_millis(*start)).await;
                    add(lanes, cloud, base + u32::try_from(index).unwrap()).await
                }
            });
            let others = foreign.iter().map(|start| async {
                tokio::time::sleep(Duration::from_millis(*start)).await;
                cloud.add_foreign(99);
            });
            let (places, _) = tokio::join!(join_all(edits), join_all(others));
            let parts = cloud.parts();
            for (index, place) in places.iter().enumerate() {
                let index_of = |part: &u32| usize::try_from(*part).unwrap() == index;
                match place {
                    Ok(place) => prop_assert!(index_of(&parts[*place]) && parts.iter().filter(|part| index_of(part)).count() == 1),
                    Err(_) => prop_assert!(wrong.contains(&index)),
                }
            }
            let succeeded = places.iter().filter(|place| place.is_ok()).count();
            prop_assert_eq!(parts.len(), succeeded + foreign.len());
            Ok(())
        })?;
    }
}
