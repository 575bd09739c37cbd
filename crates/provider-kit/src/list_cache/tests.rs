use super::*;
use cloud::Error;
use futures::future::join_all;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cache, and how often its list was read; the list is the number of the reading.
struct Fixture {
    cache: ListCache<usize>,
    reads: Arc<AtomicUsize>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            cache: ListCache::default(),
            reads: Arc::default(),
        }
    }

    fn read(&self) -> impl FnOnce() -> BoxFuture<'static, Result<usize>> + use<> {
        let reads = Arc::clone(&self.reads);
        move || {
            async move {
                let number = reads.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(number)
            }
            .boxed()
        }
    }

    async fn get(&self, changed: Option<Instant>) -> usize {
        *self.cache.get(changed, self.read()).await.unwrap()
    }

    async fn get_if_busy(&self, key: &str, changed: Option<Instant>) -> Option<usize> {
        let list = self.cache.get_if_busy(key, changed, self.read()).await.unwrap();
        list.map(|list| *list)
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

fn down() -> BoxFuture<'static, Result<usize>> {
    async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err(Error::unavailable("list", "down"))
    }
    .boxed()
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_call() {
    let fixture = Fixture::new();
    assert_eq!(join_all((0..50).map(|_| fixture.get(None))).await, [0; 50]);
    assert_eq!(fixture.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_dropped_when_its_lifetime_ends() {
    let fixture = Fixture::new();
    fixture.get(None).await;
    tokio::time::sleep(LIFETIME.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(fixture.get(None).await, 0);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(fixture.cache.state().list.is_none());
    assert_eq!(fixture.get(None).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_began_before_a_change_is_not_used() {
    let fixture = Fixture::new();
    fixture.get(None).await;
    let changed = Some(Instant::now());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((fixture.get(None).await, fixture.get(changed).await), (0, 1));
    assert_eq!(fixture.get(None).await, 1);
}

/// Also not if it is being read at that time: callers that changed something share the next one.
#[tokio::test(start_paused = true)]
async fn a_reading_that_began_before_a_change_is_not_used() {
    let fixture = Fixture::new();
    let early = fixture.get(None);
    let late = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let changed = Some(Instant::now());
        tokio::time::sleep(Duration::from_millis(1)).await;
        join_all((0..9).map(|_| fixture.get(changed))).await
    };
    let (early, late) = tokio::join!(early, late);
    assert_eq!((early, late), (0, vec![1; 9]));
    assert_eq!(fixture.get(None).await, 1, "the newer list is kept");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_and_not_remembered() {
    let fixture = Fixture::new();
    let reads = AtomicUsize::new(0);
    let read = || {
        reads.fetch_add(1, Ordering::SeqCst);
        down()
    };
    let answers = join_all((0..50).map(|_| fixture.cache.get(None, read))).await;
    for answer in answers {
        assert_eq!(answer.unwrap_err().report(), "list is unavailable: down");
    }
    assert_eq!(reads.load(Ordering::SeqCst), 1);
    assert!(fixture.cache.fresh().is_none());
    assert_eq!(fixture.get(None).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_404_for_a_list_is_not_a_missing_object() {
    let cache = ListCache::<usize>::default();
    let read = || async {
        Err(Error::NotFound {
            what: "list".to_owned(),
        })
    };
    let error = cache.get(None, read).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
}

/// A caller that is cancelled does not end the reading for the others, and the last one ends it.
#[tokio::test(start_paused = true)]
async fn a_reading_lasts_as_long_as_its_callers() {
    let fixture = Fixture::new();
    let impatient = tokio::time::timeout(Duration::from_millis(10), fixture.get(None));
    let (impatient, patient) = tokio::join!(impatient, fixture.get(None));
    assert_eq!((impatient.is_err(), patient, fixture.reads()), (true, 0, 1));
    tokio::time::advance(LIFETIME).await;
    let impatient = tokio::time::timeout(Duration::from_millis(10), fixture.get(None)).await;
    assert!(impatient.is_err());
    assert_eq!(fixture.get(None).await, 2, "it begins anew");
}

#[tokio::test(start_paused = true)]
async fn few_objects_are_read_one_by_one() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.get_if_busy("a", None).await,
        Some(0),
        "the first one after a start lists"
    );
    tokio::time::advance(LIFETIME).await;
    for _ in 0..10 {
        for key in ["a", "b", "c"] {
            assert_eq!(fixture.get_if_busy(key, None).await, None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_changed_is_no_sign_of_a_start() {
    let fixture = Fixture::new();
    let changed = Some(Instant::now());
    assert_eq!(fixture.get_if_busy("a", changed).await, None);
    assert_eq!(fixture.get_if_busy("b", None).await, Some(0));
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_one_list() {
    let fixture = Fixture::new();
    for (round, expected) in [(0, [Some(0); 4]), (1, [None, None, None, Some(1)])] {
        for (key, expected) in expected.into_iter().enumerate() {
            assert_eq!(fixture.get_if_busy(&format!("{round}-{key}"), None).await, expected);
        }
        for key in 4..50 {
            assert_eq!(fixture.get_if_busy(&key.to_string(), None).await, Some(round));
        }
        tokio::time::advance(LIFETIME).await;
    }
    assert_eq!(fixture.reads(), 2);
}
