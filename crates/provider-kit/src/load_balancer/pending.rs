//! Waiting for a load balancer.

use super::{Cloud, Halt};
use std::time::Duration;

/// Another change is under way; it does not take long.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// A load balancer is not ready: poll it again after a while.
pub fn poll<C: Cloud>(cloud: &C, id: &str, what: &str) -> Halt {
    Halt::Pending {
        poll_after: cloud.state().poll(id),
        waiting_for: describe(cloud, id, what),
    }
}

/// Another worker, or another program, is changing the load balancer.
#[must_use]
pub fn busy(id: &str) -> Halt {
    Halt::Pending {
        poll_after: SOON,
        waiting_for: format!("another change of load balancer {id}"),
    }
}

/// A load balancer whose creation was not answered may still appear.
pub(super) fn unanswered(name: &str, left: Duration) -> Halt {
    const POLL: Duration = Duration::from_secs(5);
    Halt::Pending {
        poll_after: left.min(POLL),
        waiting_for: format!("load balancer {name}, which may still be created: the cloud did not answer"),
    }
}

/// What is being waited for, and whether that takes too long.
fn describe<C: Cloud>(cloud: &C, id: &str, what: &str) -> String {
    if cloud.state().is_stuck(id) {
        format!("load balancer {id} {what}; it takes more than 15 minutes, contact the operator of the cloud")
    } else {
        format!("load balancer {id} {what}")
    }
}
