//! The health checks of controllers.

use crate::run::process::Process;
use runtime::{
    health::{Checks, Pulse, Scope},
    queue::{Key, Queue},
};
use std::time::Duration;

/// A loop that needs longer than this for one piece of work is stuck, and a restart may help.
const STUCK_AFTER: Duration = Duration::from_mins(5);
/// A loop that has been failing for longer than this cannot work; a restart would not help.
const FAILING_AFTER: Duration = Duration::from_mins(1);

/// Registers the checks of a controller: under its name whether it is stuck, for all endpoints, and additionally whether it
/// succeeds, for `/readyz`.
pub(super) fn of_loops<const N: usize>(checks: &Checks, name: &str, pulses: [&Pulse; N]) {
    let (live, ready) = (pulses.map(Clone::clone), pulses.map(Clone::clone));
    checks.add(name, Scope::Live, move || {
        live.iter().try_for_each(|pulse| pulse.stuck(STUCK_AFTER))
    });
    let success = format!("{name}-success");
    checks.add(&success, Scope::Ready, move || {
        ready.iter().try_for_each(|pulse| pulse.failing(FAILING_AFTER))
    });
}

/// Registers the check that a controller's queue makes progress, and updates its metrics when they are read.
pub(super) fn of_queue<K: Key>(process: &Process, name: &str, queue: &Queue<K>) {
    let (stillness, refresh) = (queue.clone(), queue.clone());
    of_stillness(&process.checks, name, move || stillness.stillness());
    process.metrics.before_reading(move || refresh.refresh_metrics());
}

/// Registers the check that a controller's queue is not without progress for too long. The waiting time of a key does not count:
/// if the cloud is slow, a restart would only repeat the work.
pub(super) fn of_stillness(checks: &Checks, name: &str, stillness: impl Fn() -> Duration + Send + Sync + 'static) {
    let queue = format!("{name}-queue");
    checks.add(&queue, Scope::Live, move || match stillness() {
        time if time > STUCK_AFTER => Err(format!("nothing was finished for {}s", time.as_secs())),
        _ => Ok(()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use runtime::{
        health::{Endpoint, Query},
        metrics::Slis,
        queue::Limiter,
    };
    use tokio::time::advance;

    /// A loop that works on one key of its queue.
    #[rstest]
    #[case::soon(0, &[])]
    #[case::long(300, &[])]
    #[case::too_long(301, &["loop", "loop-queue"])]
    #[tokio::test(start_paused = true)]
    async fn a_loop_that_hangs_fails_the_health_check(#[case] seconds: u64, #[case] expected: &[&str]) {
        let checks = Checks::new(Slis::new().unwrap());
        let limiter = Limiter::exponential(Duration::ZERO, Duration::ZERO);
        let (pulse, queue) = (Pulse::default(), Queue::new("loop", limiter, None));
        of_loops(&checks, "loop", [&Pulse::default(), &pulse]);
        let stillness = queue.clone();
        of_stillness(&checks, "loop", move || stillness.stillness());

        queue.add("work".to_owned());
        let _held = queue.next().await;
        pulse.begin();
        advance(Duration::from_secs(seconds)).await;
        for endpoint in [Endpoint::Healthz, Endpoint::Livez, Endpoint::Readyz] {
            let body = checks.report(endpoint, &Query::parse("verbose")).body;
            let red = body
                .lines()
                .filter_map(|line| line.strip_prefix("[-]")?.split(' ').next());
            assert_eq!(red.collect::<Vec<_>>(), expected, "{endpoint:?}");
        }
    }
}
