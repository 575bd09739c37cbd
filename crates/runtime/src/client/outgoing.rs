//! The body of a request, which checks the fence at the last moment.

use crate::fence::Fence;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use kube::client::Body;
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tower::BoxError;

/// The body of a request.
///
/// A connection polls it directly before it sends. That may be long after the request was created, and a write without its body has no
/// effect.
pub(super) struct Outgoing {
    body: Body,
    fence: Option<Fence>,
}

impl Outgoing {
    /// The body of a read request.
    pub(super) fn reading(body: Body) -> Self {
        Self { body, fence: None }
    }

    /// The body of a request that is only sent while this is open.
    pub(super) fn writing(body: Body, fence: Fence) -> Self {
        Self {
            body,
            fence: Some(fence),
        }
    }
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(Err(fenced)) = self.fence.as_ref().map(Fence::check) {
            return Poll::Ready(Some(Err(fenced.into())));
        }
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
