//! The body of an answer: bounded in time, measured, and holding its place among the requests under way.

use super::{failure::Failure, limit::Pass, metrics::Observation};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep};
use tower::BoxError;

/// A body as it comes from the connection.
pub(super) type Incoming = UnsyncBoxBody<Bytes, BoxError>;

/// When an answer must be complete.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) after: Duration,
    pub(super) address: Arc<str>,
}

impl Deadline {
    pub(super) fn missed(&self) -> Failure {
        Failure::Timeout {
            address: self.address.clone(),
            after: self.after,
        }
    }
}

/// The body of an answer.
pub(super) struct Answer {
    body: Incoming,
    size: u64,
    /// `None` for a watch.
    deadline: Option<Deadline>,
    /// Only there once it had to wait.
    alarm: Option<Pin<Box<Sleep>>>,
    observation: Observation,
    _pass: Option<Pass>,
}

impl Answer {
    pub(super) fn new(
        body: Incoming,
        deadline: Option<Deadline>,
        observation: Observation,
        pass: Option<Pass>,
    ) -> Self {
        Self {
            body,
            size: 0,
            deadline,
            alarm: None,
            observation,
            _pass: pass,
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let Some(deadline) = &self.deadline else {
            return Poll::Pending;
        };
        let alarm = self
            .alarm
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.at)));
        alarm.as_mut().poll(cx).map(|()| deadline.missed())
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_pending() {
            return self.poll_deadline(cx).map(|missed| Some(Err(missed.into())));
        }
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.size += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.observation.received(self.size);
    }
}
