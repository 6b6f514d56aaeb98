//! A connection whose client must read what is sent to it at a least rate.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use egress::{MinimumRate, RateWindow};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that fails with [`io::ErrorKind::TimedOut`] if the other side reads too slowly. Only the time in which it can't be written
/// counts.
pub struct MinimumRateStream<S> {
    stream: Pin<Box<S>>,
    window: RateWindow,
}

impl<S> MinimumRateStream<S> {
    /// A stream with this least rate.
    pub fn new(stream: S, rate: MinimumRate) -> Self {
        Self { stream: Box::pin(stream), window: RateWindow::new(rate) }
    }

    /// Counts what was written, or the time in which nothing can be written.
    fn count<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
        count_bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        let too_slow = match written {
            Poll::Ready(Ok(value)) => match self.window.record(count_bytes(&value)) {
                Ok(()) => return Poll::Ready(Ok(value)),
                Err(too_slow) => too_slow,
            },
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => ready!(self.window.poll_too_slow(cx)),
        };
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, too_slow)))
    }
}

impl<S: AsyncRead> AsyncRead for MinimumRateStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite> AsyncWrite for MinimumRateStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write(cx, bytes);
        self.count(cx, written, |count| *count)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.stream.as_mut().poll_flush(cx);
        self.count(cx, flushed, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = self.stream.as_mut().poll_shutdown(cx);
        self.count(cx, ended, |()| 0)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write_vectored(cx, buffers);
        self.count(cx, written, |count| *count)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    const RATE: MinimumRate = MinimumRate { bytes: 1 << 10, window: Duration::from_secs(30) };

    /// Writes so many bytes to a client that reads a part of 100 bytes after each pause; returns how many seconds that took.
    async fn write(bytes: usize, pause: Duration) -> (io::Result<()>, u64) {
        let (mut client, server) = duplex(100);
        let reader = tokio::spawn(async move {
            let mut part = [0; 100];
            while client.read(&mut part).await.is_ok_and(|count| count > 0) {
                sleep(pause).await;
            }
        });
        let started = Instant::now();
        let written = MinimumRateStream::new(server, RATE).write_all(&vec![0; bytes]).await;
        let took = started.elapsed().as_secs();
        reader.abort();
        (written, took)
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_client_that_reads_a_few_bytes_now_and_then_is_disconnected_after_a_window() {
        let (written, took) = write(10 << 10, Duration::from_secs(4)).await;
        let error = written.unwrap_err();
        assert_eq!((error.kind(), took), (io::ErrorKind::TimedOut, 30));
        assert!(error.to_string().contains("within 30 s, and at least 1024 are required"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_at_the_least_rate_receives_everything() {
        let (written, took) = write(10 << 10, Duration::from_secs(2)).await;
        written.unwrap();
        assert!(took > 3 * 30, "{took} s");
    }
}
