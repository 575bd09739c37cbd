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

/// So many turns are taken.
const TURNS: usize = 8;

/// What only one may do at a time.
#[derive(Clone, Default)]
struct Work(Arc<Inner>);

#[derive(Default)]
struct Inner {
    inside: AtomicUsize,
    clashes: AtomicUsize,
    done: AtomicUsize,
    turns: AtomicUsize,
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
async fn contend(plane: &'static ControlPlane, name: String, index: usize, work: Work, stop: CancellationToken) {
    for turn in 0.. {
        let replica = Replica::new(plane, &name, &format!("replica-{index}-{turn}"));
        let Some(leadership) = replica.elector.acquire(&stop).await else {
            return;
        };
        work.0.turns.fetch_add(1, Ordering::SeqCst);
        work.while_allowed(&replica.fence, ms(fastrand::u64(10..400))).await;
        match fastrand::u8(0..5) {
            // Ends while its work continues: only the fence can stop that.
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
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_one_replica_leads() {
    let (plane, name, work, stop) = (
        ControlPlane::shared(),
        unique("contest"),
        Work::default(),
        CancellationToken::new(),
    );
    let contenders: Vec<_> = (0..4)
        .map(|index| tokio::spawn(contend(plane, name.clone(), index, work.clone(), stop.clone())))
        .collect();
    let Inner {
        inside: _,
        clashes,
        done,
        turns,
    } = &*work.0;
    testkit::wait::until("turns", async || match turns.load(Ordering::SeqCst) {
        TURNS.. => Ok(()),
        few => Err(format!("{few} of {TURNS}")),
    })
    .await;
    stop.cancel();
    for contender in contenders {
        contender.await.unwrap();
    }
    let turns = turns.load(Ordering::SeqCst);
    assert_eq!(clashes.load(Ordering::SeqCst), 0, "in {turns} turns");
    assert!(done.load(Ordering::SeqCst) > 100);
}
