//! Leader election: an invalid combination would otherwise end the process at the first election.

use crate::options::LeaderElection;
use runtime::flags::{GoDuration, Problems};

/// A pause between attempts is up to this factor longer than the retry period, as in client-go.
const JITTER: f64 = 1.2;

pub(super) fn validate(election: &LeaderElection) -> Problems {
    let LeaderElection {
        elect,
        lease_duration,
        renew_deadline,
        retry_period,
        resource_lock,
        resource_name,
        resource_namespace,
    } = election;
    if !elect.is_on() {
        return Problems::default();
    }
    let mut problems = timings(*lease_duration, *renew_deadline, *retry_period);
    if resource_lock != "leases" {
        problems.push("--leader-elect-resource-lock: resourceLock value must be \"leases\"");
    }
    for (flag, text) in [("name", resource_name), ("namespace", resource_namespace)] {
        if text.trim().is_empty() {
            problems.push(format!(
                "--leader-elect-resource-{flag} cannot be empty while --leader-elect is true"
            ));
        }
    }
    problems
}

fn timings(lease: GoDuration, renew: GoDuration, retry: GoDuration) -> Problems {
    let mut problems = Problems::default();
    if lease < GoDuration::from_secs(1) {
        problems.push(format!(
            "--leader-elect-lease-duration must be at least 1s, not {lease}"
        ));
    }
    for (flag, duration) in [("renew-deadline", renew), ("retry-period", retry)] {
        if duration < GoDuration::from_millis(1) {
            problems.push(format!("--leader-elect-{flag} must be at least 1ms, not {duration}"));
        }
    }
    if lease <= renew {
        problems.push(format!(
            "--leader-elect-lease-duration ({lease}) must be greater than --leader-elect-renew-deadline ({renew})"
        ));
    }
    if renew.as_secs_f64() <= retry.as_secs_f64() * JITTER {
        problems.push(format!(
            "--leader-elect-renew-deadline ({renew}) must be greater than {JITTER} times \
                 --leader-elect-retry-period ({retry})"
        ));
    }
    problems
}
