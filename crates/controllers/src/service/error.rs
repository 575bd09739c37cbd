//! Why a Service could not be reconciled.

use super::{spec::Invalid, write};
use crate::requeue;
use cloud::Retry;
use runtime::queue::Next;

/// Why a Service could not be reconciled.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}")]
pub struct Error {
    doing: &'static str,
    #[source]
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    Cloud(cloud::Error),
    #[error(transparent)]
    Api(write::Error),
}

impl Error {
    /// The cloud failed during this.
    pub fn cloud(doing: &'static str) -> impl FnOnce(cloud::Error) -> Self {
        move |error| Self {
            doing,
            cause: Cause::Cloud(error),
        }
    }

    /// The Service is invalid.
    pub fn invalid(invalid: Invalid) -> Self {
        Self::cloud("ensure load balancer")(invalid.into())
    }

    /// The API server failed during this.
    pub fn api(doing: &'static str) -> impl FnOnce(write::Error) -> Self {
        move |error| Self {
            doing,
            cause: Cause::Api(error),
        }
    }

    /// The error of the cloud, if it is one.
    #[must_use]
    pub fn as_cloud(&self) -> Option<&cloud::Error> {
        match &self.cause {
            Cause::Cloud(error) => Some(error),
            Cause::Api(_) => None,
        }
    }

    /// Whether the same Service would be rejected again: there is no retry until it changes.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.as_cloud().is_some_and(|error| error.retry() == Retry::Never)
    }

    /// Whether the only reason is that this process is not the leader any more.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        matches!(
            &self.cause,
            Cause::Cloud(cloud::Error::NotLeader) | Cause::Api(write::Error::Fenced(_))
        )
    }

    /// The next attempt.
    #[must_use]
    pub fn next(&self) -> Next {
        let retry = match &self.cause {
            // In case this process becomes the leader again.
            Cause::Cloud(cloud::Error::NotLeader) => Retry::Backoff,
            Cause::Cloud(error) => error.retry(),
            Cause::Api(write::Error::Refused {
                retry_after: Some(wait),
                ..
            }) => Retry::After(*wait),
            Cause::Api(_) => Retry::Backoff,
        };
        requeue::after(retry, Next::Done)
    }

    /// As [`Error::next`], but a deletion is always retried: a Service that cannot be deleted is worse than a failing call
    /// every few minutes.
    #[must_use]
    pub fn next_of_deletion(&self) -> Next {
        if self.is_final() { Next::Retry } else { self.next() }
    }

    /// As [`cloud::report`] of it.
    #[must_use]
    pub fn report(&self) -> String {
        cloud::report(self)
    }

    /// As [`Error::report`], without the operation that failed.
    #[must_use]
    pub fn cause(&self) -> String {
        cloud::report(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::time::Duration;

    fn throttled(wait: Option<Duration>) -> cloud::Error {
        cloud::Error::Throttled {
            call: "x".into(),
            retry_after: wait,
        }
    }

    #[rstest]
    #[case::invalid(Error::cloud("x")(cloud::Error::invalid("port", "0")), Next::Done, Next::Retry)]
    #[case::not_leader(Error::cloud("x")(cloud::Error::NotLeader), Next::Retry, Next::Retry)]
    #[case::fenced(Error::api("x")(write::Error::Fenced(runtime::fence::Fenced)), Next::Retry, Next::Retry)]
    #[case::at_least_a_second(Error::cloud("x")(throttled(Some(Duration::ZERO))), Next::After(Duration::from_secs(1)), Next::After(Duration::from_secs(1)))]
    #[case::back_off(Error::cloud("x")(throttled(None)), Next::Retry, Next::Retry)]
    #[case::retry_after(Error::cloud("x")(throttled(Some(Duration::from_secs(42)))), Next::After(Duration::from_secs(42)), Next::After(Duration::from_secs(42)))]
    #[case::api_busy(
        Error::api("x")(write::Error::Refused { message: "busy".into(), retry_after: Some(Duration::from_secs(7)) }),
        Next::After(Duration::from_secs(7)), Next::After(Duration::from_secs(7))
    )]
    #[case::api_no(Error::api("x")(write::Error::Refused { message: "no".into(), retry_after: None }), Next::Retry, Next::Retry)]
    fn next_attempt(#[case] error: Error, #[case] next: Next, #[case] of_deletion: Next) {
        assert_eq!((error.next(), error.next_of_deletion()), (next, of_deletion));
    }

    #[test]
    fn reports_the_whole_chain_once() {
        let error = Error::cloud("ensure load balancer")(cloud::Error::unavailable("create balancer", "reset"));
        assert_eq!(
            error.report(),
            "failed to ensure load balancer: create balancer is unavailable: reset"
        );
        assert_eq!(error.cause(), "create balancer is unavailable: reset");
    }
}
