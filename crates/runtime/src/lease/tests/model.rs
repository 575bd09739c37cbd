//! Several replicas, a server, and everything that can go wrong between them, in simulated time: never two leaders.
//!
//! The decisions and records are the real ones; requests and answers take any time or get lost, replicas freeze, clocks
//! are wrong, leaders release.

use crate::lease::{
    Record,
    decision::{Step, View},
};
use proptest::prelude::*;
use std::{cmp::Reverse, collections::BTreeMap, time::Duration};
use tokio::time::Instant;

const LEASE: u64 = 5_000;
/// As validated: shorter than the lease.
const RENEW: u64 = 3_500;
const RETRY: u64 = 1_000;
const END: u64 = 120_000;

/// What happens, to which replica.
#[derive(Debug, Clone)]
enum Event {
    Wake,
    ReadArrives,
    ReadAnswered(Option<(Record, u64)>),
    WriteArrives {
        record: Record,
        over: Option<u64>,
        since: u64,
    },
    WriteAnswered {
        record: Record,
        version: Option<u64>,
        since: u64,
    },
}

struct Replica {
    view: View,
    /// Our own last write and its version, while we lead.
    held: Option<(Record, u64)>,
    /// The fence.
    until: u64,
    /// How wrong its wall clock is.
    skew: u64,
    frozen: Vec<(u64, u64)>,
    /// When it was allowed to write: from, to.
    led: Vec<(u64, u64)>,
}

struct World {
    start: Instant,
    agenda: BTreeMap<Reverse<(u64, u64)>, (usize, Event)>,
    sequence: u64,
    lease: Option<(Record, u64)>,
    replicas: Vec<Replica>,
    chance: Box<dyn Iterator<Item = u16>>,
    renew: u64,
    release: Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Release {
    Never,
    Sometimes,
}

impl World {
    fn new(frozen: Vec<Vec<(u64, u64)>>, chance: Vec<u16>, renew: u64, release: Release) -> Self {
        let start = Instant::now();
        let replica = |(index, frozen): (usize, Vec<(u64, u64)>)| Replica {
            view: View::new(&index.to_string(), Duration::from_millis(LEASE)),
            held: None,
            until: 0,
            skew: index as u64 * 1_000_000,
            frozen: frozen.into_iter().map(|(from, length)| (from, from + length)).collect(),
            led: Vec::new(),
        };
        let replicas: Vec<_> = frozen.into_iter().enumerate().map(replica).collect();
        let count = replicas.len();
        let chance = Box::new(chance.into_iter().cycle());
        let mut world = Self {
            start,
            agenda: BTreeMap::new(),
            sequence: 0,
            lease: None,
            replicas,
            chance,
            renew,
            release,
        };
        for index in 0..count {
            world.plan(0, index, Event::Wake);
        }
        world
    }

    fn plan(&mut self, at: u64, replica: usize, event: Event) {
        self.sequence += 1;
        self.agenda.insert(Reverse((at, self.sequence)), (replica, event));
    }

    fn chance(&mut self) -> u64 {
        u64::from(self.chance.next().unwrap_or_default())
    }

    /// Mostly quick, sometimes slower than a lease.
    fn latency(&mut self) -> u64 {
        match self.chance() % 8 {
            0 => self.chance() % (2 * LEASE),
            1 => self.chance() % RETRY,
            _ => self.chance() % 20,
        }
    }

    fn lost(&mut self) -> bool {
        self.chance().is_multiple_of(16)
    }

    fn run(mut self) -> Self {
        while let Some((Reverse((now, _)), (index, event))) = self.agenda.pop_last() {
            if now > END {
                break;
            }
            let local = !matches!(event, Event::ReadArrives | Event::WriteArrives { .. });
            let thaw = self.replicas[index]
                .frozen
                .iter()
                .find(|(from, to)| local && (*from..*to).contains(&now));
            match thaw {
                Some((_, thaw)) => self.plan(*thaw, index, event),
                None => self.happen(now, index, event),
            }
        }
        self
    }

    fn happen(&mut self, now: u64, index: usize, event: Event) {
        match event {
            Event::Wake => self.wake(now, index),
            Event::ReadArrives => {
                let answer = Event::ReadAnswered(self.lease.clone());
                self.answer(now, index, answer);
            }
            Event::ReadAnswered(found) => self.decide(now, index, found),
            Event::WriteArrives { record, over, since } => {
                let fits = self.lease.as_ref().map(|(_, version)| *version) == over;
                if fits {
                    self.lease = Some((record.clone(), over.unwrap_or_default() + 1));
                }
                let version = fits.then(|| over.unwrap_or_default() + 1);
                self.answer(now, index, Event::WriteAnswered { record, version, since });
            }
            Event::WriteAnswered { record, version, since } => self.written(now, index, record, version, since),
        }
    }

    fn answer(&mut self, now: u64, index: usize, answer: Event) {
        let at = now + self.latency();
        // A candidate that waits without success retries.
        if self.lost() {
            self.plan(at + RETRY, index, Event::Wake);
        } else {
            self.plan(at, index, answer);
        }
    }

    fn wake(&mut self, now: u64, index: usize) {
        let release = self.release == Release::Sometimes && self.chance().is_multiple_of(8);
        let latency = self.latency();
        let replica = &mut self.replicas[index];
        match replica.held.take() {
            // Lost: it continues as a candidate.
            Some(_) if now >= replica.until => self.plan(now + RETRY, index, Event::Wake),
            Some((record, version)) if release => {
                close(replica, now);
                let record = record.released(wall(replica, now));
                let event = Event::WriteArrives {
                    record,
                    over: Some(version),
                    since: now,
                };
                self.plan(now + latency, index, event);
            }
            Some((record, version)) => {
                replica.held = Some((record.clone(), version));
                self.write(now, index, &Step::Renew, Some((record, version)));
            }
            None => self.plan(now + latency, index, Event::ReadArrives),
        }
    }

    fn decide(&mut self, now: u64, index: usize, found: Option<(Record, u64)>) {
        let at = self.start + Duration::from_millis(now);
        let step = self.replicas[index]
            .view
            .decide(found.as_ref().map(|(record, _)| record), at);
        match step {
            Step::Wait(_) => {
                let jitter = self.chance() % 1_200;
                self.plan(now + RETRY + jitter, index, Event::Wake);
            }
            step => self.write(now, index, &step, found),
        }
    }

    fn write(&mut self, now: u64, index: usize, step: &Step, found: Option<(Record, u64)>) {
        let (before, over) = found.map_or_else(Default::default, |(record, version)| (record, Some(version)));
        let replica = &self.replicas[index];
        let seconds = i32::try_from(LEASE / 1000).unwrap();
        let record = Record::claim(step, &before, &index.to_string(), seconds, wall(replica, now));
        let at = now + self.latency();
        self.plan(
            at,
            index,
            Event::WriteArrives {
                record,
                over,
                since: now,
            },
        );
    }

    fn written(&mut self, now: u64, index: usize, record: Record, version: Option<u64>, since: u64) {
        let replica = &mut self.replicas[index];
        let until = since + self.renew;
        match version {
            Some(version) if now < until && !record.is_free() => {
                replica.view.observe(&record, self.start + Duration::from_millis(now));
                // A renewal moves the end of what is already allowed; it does not reach back.
                replica.led.push((now, until));
                replica.until = replica.until.max(until);
                replica.held = Some((record, version));
                self.plan(now + RETRY, index, Event::Wake);
            }
            // Another replica wrote, or the response was late: read the lease first. The fence is unchanged.
            _ => {
                replica.held = None;
                self.plan(now + RETRY, index, Event::Wake);
            }
        }
    }

    /// Two times at which two replicas were allowed to write and that overlap.
    fn clash(&self) -> Option<[(u64, u64); 2]> {
        let others = |index: usize| {
            self.replicas[index + 1..]
                .iter()
                .flat_map(|other| other.led.iter().copied())
        };
        self.replicas.iter().enumerate().find_map(|(index, replica)| {
            let overlap = |(from, to): &(u64, u64)| others(index).find(|(start, end)| start < to && from < end);
            replica
                .led
                .iter()
                .find_map(|one| overlap(one).map(|other| [*one, other]))
        })
    }
}

fn close(replica: &mut Replica, now: u64) {
    replica.until = now;
    for (_, to) in &mut replica.led {
        *to = (*to).min(now);
    }
}

fn wall(replica: &Replica, now: u64) -> String {
    (now + replica.skew).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn two_replicas_never_lead_at_once(
        frozen in prop::collection::vec(prop::collection::vec((0..END, 0..4 * LEASE), 0..6), 2..5),
        chance in prop::collection::vec(any::<u16>(), 16..256),
        release in prop::sample::select(vec![Release::Never, Release::Sometimes]),
    ) {
        prop_assert_eq!(World::new(frozen, chance, RENEW, release).run().clash(), None);
    }
}

/// The property would also hold if no replica ever led.
#[test]
fn without_faults_there_is_nearly_always_a_leader() {
    let world = World::new(vec![vec![], vec![], vec![]], vec![1, 2], RENEW, Release::Never).run();
    let led = |replica: &Replica| Some(replica.led.last()?.1 - replica.led.first()?.0);
    let led: u64 = world.replicas.iter().filter_map(led).sum();
    assert!(led > END - 2 * LEASE, "led for {led} ms of {END}");
}

/// And it would hold if the model could not see two leaders.
#[test]
fn a_deadline_behind_the_end_of_the_lease_is_caught() {
    let frozen = vec![vec![(3_000, LEASE + RETRY)], vec![]];
    assert_eq!(
        World::new(frozen.clone(), vec![2], RENEW, Release::Never).run().clash(),
        None
    );
    assert!(
        World::new(frozen, vec![2], LEASE + 3 * RETRY, Release::Never)
            .run()
            .clash()
            .is_some()
    );
}
