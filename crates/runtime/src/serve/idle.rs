//! A time limit for silent connections: a slow, silent or vanished client must not hold resources.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// A stream that fails once no byte has been read or written for a time.
#[derive(Debug)]
pub(super) struct IdleTimeout<S> {
    stream: S,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<S> IdleTimeout<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            timer: Box::pin(sleep(limit)),
        }
    }

    /// Passes on the result of the stream. Progress restarts the timer, waiting runs into it.
    fn limited<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            let deadline = Instant::now() + self.limit;
            self.timer.as_mut().reset(deadline);
            return polled;
        }
        let elapsed = self.timer.as_mut().poll(cx);
        elapsed.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.limited(cx, polled)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.limited(cx, polled)
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
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::advance,
    };

    const LIMIT: Duration = Duration::from_secs(90);

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_dropped() {
        let (_client, server) = duplex(16);
        let mut server = IdleTimeout::new(server, LIMIT);
        let read = server.read_u8().await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn every_byte_restarts_the_timer() {
        let (mut client, server) = duplex(16);
        let mut server = IdleTimeout::new(server, LIMIT);
        for _ in 0..3 {
            advance(LIMIT * 2 / 3).await;
            client.write_u8(1).await.unwrap();
            assert_eq!(server.read_u8().await.unwrap(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_dropped() {
        let (_client, server) = duplex(16);
        let mut server = IdleTimeout::new(server, LIMIT);
        let written = server.write_all(&[0; 32]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
