//! The points at which the manager is killed.

use serde_json::Value;
use std::{
    fmt,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::Notify;

/// An operation during which the manager is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    InitialiseNode,
    CreateService,
    ChangePort,
    AddNode,
    DeleteService,
}

impl Operation {
    pub const ALL: [Self; 5] = [
        Self::InitialiseNode,
        Self::CreateService,
        Self::ChangePort,
        Self::AddNode,
        Self::DeleteService,
    ];

    /// Whether the operation starts with a Service.
    pub fn needs_service(self) -> bool {
        match self {
            Self::InitialiseNode | Self::CreateService => false,
            Self::ChangePort | Self::AddNode | Self::DeleteService => true,
        }
    }

    /// The minimum number of crashes; with fewer, this test is wrong.
    pub fn least_deaths(self) -> usize {
        match self {
            Self::InitialiseNode => 4,
            Self::CreateService | Self::ChangePort => 12,
            Self::AddNode => 8,
            Self::DeleteService => 6,
        }
    }
}

/// A point at which the manager is killed.
#[derive(Debug, Clone, Copy)]
pub enum Point {
    /// The call of the cloud with this number.
    Call(usize),
    /// The write to the API server with this number.
    Write(usize),
}

/// The record of an undisturbed run.
pub struct Measure {
    pub calls: Vec<String>,
    pub writes: Vec<String>,
    pub end: Value,
}

impl Measure {
    fn points(&self) -> impl Iterator<Item = Point> {
        let calls = (0..self.calls.len()).map(Point::Call);
        calls.chain((0..self.writes.len()).map(Point::Write))
    }
}

/// One crash.
pub struct Task {
    pub operation: Operation,
    pub point: Point,
    pub measure: Arc<Measure>,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            point,
            measure,
        } = self;
        let when = match *point {
            Point::Call(number) => &measure.calls[number],
            Point::Write(number) => &measure.writes[number],
        };
        write!(f, "{operation:?}, killed after {point:?}, {when}")
    }
}

/// The crashes of all fixtures together.
#[derive(Default)]
pub struct Plan {
    work: Mutex<[Work; Operation::ALL.len()]>,
    news: Notify,
}

#[derive(Default)]
struct Work {
    /// Missing until the undisturbed run is recorded.
    measure: Option<Arc<Measure>>,
    taken: usize,
    deaths: usize,
}

impl Work {
    fn left(&self) -> usize {
        let points = self.measure.as_ref().map_or(0, |measure| measure.points().count());
        points - self.taken
    }
}

impl Plan {
    /// The undisturbed run.
    pub fn measured(&self, operation: Operation, measure: Measure) {
        self.work()[operation as usize].measure = Some(Arc::new(measure));
        self.news.notify_waiters();
    }

    /// The next crash for a fixture with or without a Service; `None` if none is left.
    pub async fn take(&self, has_service: bool) -> Option<Task> {
        loop {
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            if let Some(task) = self.choose(has_service) {
                return Some(task);
            }
            if self.work().iter().all(|work| work.measure.is_some()) {
                return None;
            }
            news.await;
        }
    }

    /// Of the operations that can start now, the one with the most crashes left.
    fn choose(&self, has_service: bool) -> Option<Task> {
        let mut work = self.work();
        let open = Operation::ALL.into_iter().filter(|one| work[*one as usize].left() > 0);
        let operation = open.max_by_key(|one| (one.needs_service() == has_service, work[*one as usize].left()))?;
        let work = &mut work[operation as usize];
        let measure = work.measure.clone()?;
        let point = measure.points().nth(work.taken)?;
        work.taken += 1;
        Some(Task {
            operation,
            point,
            measure,
        })
    }

    /// Records that the manager was killed.
    pub fn died(&self, operation: Operation) {
        self.work()[operation as usize].deaths += 1;
    }

    /// How often the manager was killed.
    pub fn deaths(&self, operation: Operation) -> usize {
        self.work()[operation as usize].deaths
    }

    fn work(&self) -> MutexGuard<'_, [Work; Operation::ALL.len()]> {
        self.work.lock().unwrap()
    }
}
