//! What it means that a controller is well.

use crate::run::process::Process;
use runtime::{
    health::{Pulse, Scope},
    queue::{Key, Queue},
};
use std::time::Duration;

/// A loop that is at one piece of work for longer than this is stuck, and a restart may help.
const STUCK_AFTER: Duration = Duration::from_mins(5);
/// A loop that has not succeeded for longer than this cannot do its work; a restart would not help.
const FAILING_AFTER: Duration = Duration::from_mins(2);

/// Registers the checks of a controller: under its name whether it is stuck, which counts everywhere, and beside it whether
/// it succeeds, which counts in `/readyz`.
pub(super) fn of_loops<const N: usize>(process: &Process, name: &str, pulses: [&Pulse; N]) {
    let (live, ready) = (pulses.map(Clone::clone), pulses.map(Clone::clone));
    process.checks.add(name, Scope::Live, move || {
        live.iter().try_for_each(|pulse| pulse.stuck(STUCK_AFTER))
    });
    let success = format!("{name}-success");
    process.checks.add(&success, Scope::Ready, move || {
        ready.iter().try_for_each(|pulse| pulse.failing(FAILING_AFTER))
    });
}

/// Registers the check that a controller's queue moves, and publishes its metrics when they are asked for.
pub(super) fn of_queue<K: Key>(process: &Process, name: &str, queue: &Queue<K>) {
    let (age, refresh) = (queue.clone(), queue.clone());
    of_age(process, name, move || age.age());
    process.metrics.before_reading(move || refresh.refresh_metrics());
}

/// Registers the check that a controller's oldest piece of work is not too old.
pub(super) fn of_age(process: &Process, name: &str, age: impl Fn() -> Duration + Send + Sync + 'static) {
    process
        .checks
        .add(&format!("{name}-queue"), Scope::Live, move || match age() {
            age if age > STUCK_AFTER => Err(format!("the oldest piece of work is {}s old", age.as_secs())),
            _ => Ok(()),
        });
}
