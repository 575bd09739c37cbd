//! The bodies of answers, also of those that break.

use crate::response::Delivery;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use std::{io, time::Duration};

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// How many pieces a slow body has.
const PIECES: usize = 10;

/// A body as it is to arrive.
pub(super) fn body(bytes: &Bytes, delivery: &Delivery) -> Body {
    match delivery {
        Delivery::Whole | Delivery::Lost => Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync(),
        Delivery::Truncated => truncated(bytes),
        Delivery::Slow(each) => slow(bytes, *each),
    }
}

fn truncated(bytes: &Bytes) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    let broken = io::Error::new(io::ErrorKind::ConnectionReset, "truncated on purpose");
    let frames = stream::iter([Ok(Frame::data(half))]).chain(stream::once(async move {
        // The first half must leave before the connection breaks.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(broken)
    }));
    StreamBody::new(frames).boxed_unsync()
}

fn slow(bytes: &Bytes, each: Duration) -> Body {
    let size = bytes.len().div_ceil(PIECES).max(1);
    let pieces: Vec<Bytes> = bytes.chunks(size).map(Bytes::copy_from_slice).collect();
    let frames = stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(each).await;
        Ok(Frame::data(piece))
    });
    StreamBody::new(frames).boxed_unsync()
}
