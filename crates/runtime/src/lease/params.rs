//! The parameters of an election.

use std::{fmt, time::Duration};

/// How far a candidate's pause may exceed the retry period, as in client-go: a pause is 1 to 2.2 periods long, and the
/// renew deadline must leave room for one.
pub(super) const JITTER: f64 = 1.2;

/// The Lease, the identity of this replica, and the timings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The unique name of this replica: see [`identity`].
    pub identity: String,
    /// How long other replicas wait after the last renewal before they acquire the lease. Written in whole seconds, rounded up.
    pub lease_duration: Duration,
    /// The maximum time of a leader without a renewal. Then it must have stopped.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry_period: Duration,
}

impl Params {
    /// All problems, one sentence each; empty if the parameters are valid.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let Self {
            namespace,
            name,
            identity,
            lease_duration: _,
            renew_deadline,
            retry_period,
        } = self;
        let texts = [
            ("resourceNamespace", namespace),
            ("resourceName", name),
            ("identity", identity),
        ];
        let empty = texts
            .into_iter()
            .filter(|(_, text)| text.is_empty())
            .map(|(what, _)| format!("{what} must be set"));
        let durations = [("renewDeadline", renew_deadline), ("retryPeriod", retry_period)];
        let short = durations
            .into_iter()
            .filter(|(_, duration)| **duration < Duration::from_millis(1))
            .map(|(what, duration)| format!("{what} ({duration:?}) must be at least 1ms"));
        empty.chain(short).chain(self.disproportions()).collect()
    }

    fn disproportions(&self) -> Vec<String> {
        let Self {
            lease_duration,
            renew_deadline,
            retry_period,
            ..
        } = self;
        let mut problems = Vec::new();
        if *lease_duration < Duration::from_secs(1) {
            problems.push(format!(
                "leaseDuration ({lease_duration:?}) must be at least 1s: a Lease counts whole seconds"
            ));
        }
        if i32::try_from(lease_duration.as_secs()).is_err() {
            problems.push(format!(
                "leaseDuration ({lease_duration:?}) is more than a Lease can express"
            ));
        }
        if lease_duration <= renew_deadline {
            problems.push(format!(
                "leaseDuration ({lease_duration:?}) must be greater than renewDeadline ({renew_deadline:?})"
            ));
        }
        if renew_deadline.as_secs_f64() <= retry_period.as_secs_f64() * JITTER {
            problems.push(format!(
                "renewDeadline ({renew_deadline:?}) must be greater than {JITTER} times retryPeriod ({retry_period:?})"
            ));
        }
        problems
    }

    /// The lease duration as it is written. Rounded up, because other replicas could acquire a shorter lease before
    /// `renew_deadline`; client-go rounds down and has this gap.
    pub(super) fn seconds(&self) -> i32 {
        let up = u64::from(self.lease_duration.subsec_nanos() > 0);
        i32::try_from(self.lease_duration.as_secs().saturating_add(up)).unwrap_or(i32::MAX)
    }

    /// The maximum time of one request: two must fit into the renew deadline, so that one hanging request does not lose the
    /// lease.
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// How long a candidate pauses between two attempts.
    pub(super) fn pause(&self) -> Duration {
        self.retry_period.mul_f64(1.0 + JITTER * fastrand::f64())
    }
}

/// `namespace/name`, as it is logged.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A new name for this replica: `<hostname>_<uuid>`.
#[must_use]
pub fn identity() -> String {
    format!("{}_{}", hostname(), uuid::Uuid::new_v4())
}

fn hostname() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let environment = || std::env::var("HOSTNAME").ok();
    let named = |name: String| Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    kernel
        .and_then(named)
        .or_else(|| environment().and_then(named))
        .unwrap_or_else(|| "localhost".into())
}
