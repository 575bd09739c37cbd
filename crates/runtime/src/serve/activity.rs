//! What a connection is doing, and until when it may: a client that is slow, silent or gone must not keep anything.

use super::Limits;
use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// What a connection is doing. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Activity {
    protocol: Protocol,
    limits: Limits,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// When a byte last came in.
    read: Instant,
    /// When a byte last went out.
    wrote: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been asked since then.
    Idle(Instant),
    /// The first byte of a request came then.
    Header(Instant),
    /// This many requests are being answered.
    Busy(usize),
}

impl Activity {
    pub(super) fn new(protocol: Protocol, limits: Limits) -> Self {
        let now = Instant::now();
        let phase = match protocol {
            // Who connects is about to ask.
            Protocol::Http1 => Phase::Header(now),
            Protocol::Http2 => Phase::Idle(now),
        };
        Self {
            protocol,
            limits,
            state: Arc::new(Mutex::new(State {
                phase,
                read: now,
                wrote: now,
            })),
        }
    }

    /// Until when this may go on.
    pub(super) fn deadline(&self) -> Instant {
        let state = self.lock();
        match state.phase {
            Phase::Idle(since) => match self.protocol {
                // What is left of the last answer may still be going out.
                Protocol::Http1 => since.max(state.wrote) + self.limits.idle,
                Protocol::Http2 => since + self.limits.idle,
            },
            Phase::Header(since) => since + self.limits.header,
            Phase::Busy(_) => state.read.max(state.wrote) + self.limits.request + self.limits.idle,
        }
    }

    /// Whether nothing is being answered.
    pub(super) fn is_idle(&self) -> bool {
        !matches!(self.lock().phase, Phase::Busy(_))
    }

    /// A request has come; it is over when the answer is dropped.
    pub(super) fn begin(&self) -> InFlight {
        let mut state = self.lock();
        state.phase = match state.phase {
            Phase::Busy(requests) => Phase::Busy(requests + 1),
            Phase::Idle(_) | Phase::Header(_) => Phase::Busy(1),
        };
        InFlight(self.clone())
    }

    fn end(&self) {
        let mut state = self.lock();
        state.phase = match state.phase {
            Phase::Busy(requests) if requests > 1 => Phase::Busy(requests - 1),
            Phase::Busy(_) | Phase::Idle(_) | Phase::Header(_) => Phase::Idle(Instant::now()),
        };
    }

    fn read(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.read = now;
        // In HTTP/2 a byte may be anything, such as a ping.
        if let (Phase::Idle(_), Protocol::Http1) = (state.phase, self.protocol) {
            state.phase = Phase::Header(now);
        }
    }

    fn wrote(&self) {
        self.lock().wrote = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct InFlight(Activity);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A stream whose bytes are noticed.
#[derive(Debug)]
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) activity: Activity,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.activity.read();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        if matches!(polled, Poll::Ready(Ok(written)) if written > 0) {
            self.activity.wrote();
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::advance;

    fn left(activity: &Activity) -> u64 {
        activity.deadline().duration_since(Instant::now()).as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_must_begin_and_be_complete_in_time() {
        let activity = Activity::new(Protocol::Http1, Limits::default());
        assert_eq!(left(&activity), 32, "who connects is about to ask");
        advance(Duration::from_secs(30)).await;
        activity.read();
        assert_eq!(left(&activity), 2, "bytes do not buy time");

        let request = activity.begin();
        assert!(!activity.is_idle());
        drop(request);
        assert!(activity.is_idle());
        assert_eq!(left(&activity), 90, "who has asked may ask again");
        advance(Duration::from_secs(80)).await;
        activity.read();
        assert_eq!(left(&activity), 32, "who has begun must go on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_several_requests_is_idle_after_the_last() {
        let activity = Activity::new(Protocol::Http2, Limits::default());
        activity.read();
        assert_eq!(left(&activity), 90, "a byte of HTTP/2 may be anything");
        let (first, second) = (activity.begin(), activity.begin());
        advance(Duration::from_secs(10)).await;
        drop(first);
        assert!(!activity.is_idle());
        drop(second);
        assert!(activity.is_idle());
        assert_eq!(left(&activity), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_is_dropped() {
        let activity = Activity::new(Protocol::Http1, Limits::default());
        let _request = activity.begin();
        advance(Duration::from_secs(100)).await;
        assert_eq!(left(&activity), 50);
        activity.wrote();
        assert_eq!(left(&activity), 150, "as long as somebody reads it, it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_handed_over_may_still_be_going_out() {
        let activity = Activity::new(Protocol::Http1, Limits::default());
        drop(activity.begin());
        advance(Duration::from_secs(80)).await;
        activity.wrote();
        assert_eq!(left(&activity), 90);
    }
}
