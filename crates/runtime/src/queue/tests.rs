use super::*;

fn queue() -> Queue<&'static str> {
    Queue::new(
        "test",
        Limiter::exponential(Duration::from_secs(1), Duration::from_secs(8)),
        None,
    )
}

async fn now(queue: &Queue<&'static str>) -> Option<&'static str> {
    tokio::time::timeout(Duration::ZERO, queue.next())
        .await
        .ok()
        .flatten()
        .map(|claim| *claim)
}

#[tokio::test(start_paused = true)]
async fn a_key_added_twice_is_handed_out_once() {
    let queue = queue();
    queue.add("a");
    queue.add("b");
    queue.add("a");
    assert_eq!(
        [now(&queue).await, now(&queue).await, now(&queue).await],
        [Some("a"), Some("b"), None]
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_is_worked_on_runs_again_afterwards() {
    let queue = queue();
    queue.add("a");
    let claim = queue.next().await.unwrap();
    queue.add("a");
    assert_eq!(now(&queue).await, None, "one worker at a time");
    drop(claim);
    assert_eq!(now(&queue).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_delays_counts() {
    let queue = queue();
    let start = Instant::now();
    queue.add_after("a", Duration::from_mins(1));
    queue.add_after("a", Duration::from_secs(5));
    queue.add_after("a", Duration::from_secs(30));
    assert_eq!(queue.next().await.map(|claim| *claim), Some("a"));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_batch_takes_what_is_ready() {
    let queue = queue();
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    let batch = queue.next_batch(2).await.unwrap();
    assert_eq!(batch.iter().map(|claim| **claim).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(queue.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn outcomes() {
    let queue = queue();
    let seconds = Duration::from_secs;
    for (next, failures, waited) in [
        (Next::Retry, 1, Some(1)),
        (Next::Retry, 2, Some(2)),
        (Next::After(seconds(42)), 2, Some(42)),
        (Next::Poll(seconds(3)), 0, Some(3)),
        (Next::Done, 0, None),
    ] {
        queue.add("a");
        let claim = queue.next().await.unwrap();
        let before = Instant::now();
        claim.settle(next);
        assert_eq!(queue.failures(&"a"), failures, "{next:?}");
        match waited {
            Some(waited) => {
                drop(queue.next().await.unwrap());
                assert_eq!(before.elapsed(), seconds(waited), "{next:?}");
            }
            None => assert_eq!(now(&queue).await, None, "{next:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stop_hands_out_what_is_ready_and_then_nothing() {
    let queue = queue();
    queue.add("a");
    queue.add_after("b", Duration::from_secs(1));
    queue.stop();
    queue.add("c");
    assert_eq!(queue.next().await.map(|claim| *claim), Some("a"));
    assert!(queue.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stuck_is_seen() {
    let queue = queue();
    assert_eq!(queue.stillness(), Duration::ZERO);
    queue.add("a");
    let _claim = queue.next().await.unwrap();
    tokio::time::advance(Duration::from_secs(90)).await;
    assert_eq!(queue.stillness(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn a_queue_without_workers_is_seen_and_one_that_moves_slowly_is_none() {
    let queue = queue();
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    tokio::time::advance(Duration::from_secs(50)).await;
    assert_eq!(queue.stillness(), Duration::from_secs(50));
    let claim = queue.next().await.unwrap();
    tokio::time::advance(Duration::from_secs(40)).await;
    drop(claim);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(
        queue.stillness(),
        Duration::from_secs(10),
        "since the last was finished"
    );
}

#[tokio::test(start_paused = true)]
async fn workers_survive_a_panic_and_keep_the_limit() {
    let queue = queue();
    for key in ["a", "boom", "b", "c"] {
        queue.add(key);
    }
    let running = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let done = Arc::new(Mutex::new(Vec::new()));
    let worker = tokio::spawn(work(queue.clone(), std::num::NonZeroUsize::new(2).unwrap(), {
        let (running, done) = (running.clone(), done.clone());
        move |key| {
            let (running, done) = (running.clone(), done.clone());
            async move {
                use std::sync::atomic::Ordering::SeqCst;
                assert!(running.fetch_add(1, SeqCst) < 2);
                tokio::time::sleep(Duration::from_millis(10)).await;
                running.fetch_sub(1, SeqCst);
                assert_ne!(key, "boom");
                done.lock().push(key);
                Next::Done
            }
        }
    }));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(queue.failures(&"boom"), 1);
    queue.stop();
    worker.await.unwrap();
    assert_eq!(*done.lock(), ["a", "b", "c"]);
}
