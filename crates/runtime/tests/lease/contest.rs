//! Several candidates at once: never two leaders.

use crate::replica::{Replica, ms};
use lab::{ControlPlane, unique};
use runtime::fence::Fence;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// What only one may do at a time.
#[derive(Clone, Default)]
struct Work(Arc<Inner>);

#[derive(Default)]
struct Inner {
    inside: AtomicUsize,
    clashes: AtomicUsize,
    done: AtomicUsize,
}

impl Work {
    async fn while_allowed(&self, fence: &Fence, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time && fence.check().is_ok() {
            if self.0.inside.fetch_add(1, Ordering::SeqCst) > 0 {
                self.0.clashes.fetch_add(1, Ordering::SeqCst);
            }
            tokio::time::sleep(ms(1)).await;
            self.0.inside.fetch_sub(1, Ordering::SeqCst);
            self.0.done.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Leads again and again, and ends its turns in every way there is.
async fn contend(
    plane: &'static ControlPlane,
    name: String,
    index: usize,
    work: Work,
    stop: CancellationToken,
) -> usize {
    let mut turns = 0;
    while !stop.is_cancelled() {
        let replica = Replica::new(plane, &name, &format!("replica-{index}-{turns}"));
        let Some(leadership) = replica.elector.acquire(&stop).await else {
            break;
        };
        turns += 1;
        work.while_allowed(&replica.fence, ms(fastrand::u64(10..400))).await;
        match fastrand::u8(0..5) {
            // Goes away while its work goes on: only the fence can stop that.
            0 => {
                let (fence, work) = (replica.fence.clone(), work.clone());
                let crash = tokio::spawn(async move { work.while_allowed(&fence, ms(60_000)).await });
                tokio::time::sleep(ms(50)).await;
                drop(leadership);
                crash.await.unwrap();
            }
            // Goes away, while a request may be under way.
            1 => drop(leadership),
            _ => leadership.release().await.unwrap(),
        }
    }
    turns
}

#[tokio::test(flavor = "multi_thread")]
async fn never_two_leaders_whatever_ends_their_turns() {
    let (plane, name, work, stop) = (
        ControlPlane::shared(),
        unique("contest"),
        Work::default(),
        CancellationToken::new(),
    );
    let contenders: Vec<_> = (0..4)
        .map(|index| tokio::spawn(contend(plane, name.clone(), index, work.clone(), stop.clone())))
        .collect();
    tokio::time::sleep(Duration::from_secs(12)).await;
    stop.cancel();
    let mut turns = 0;
    for contender in contenders {
        turns += contender.await.unwrap();
    }
    let Inner {
        inside: _,
        clashes,
        done,
    } = &*work.0;
    assert_eq!(clashes.load(Ordering::SeqCst), 0, "in {turns} turns");
    assert!(turns >= 4, "only {turns} turns");
    assert!(done.load(Ordering::SeqCst) > 100);
}
