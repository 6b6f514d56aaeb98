//! A connection whose client must read what is sent to it at a least rate.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use egress::{MinimumRate, RateWindow};
use parking_lot::Mutex;
use source::memory_budget::MemoryBudget;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::contended_rate::{ContendedWindow, RETAINED_PARTS};

/// How long a window is in which a part of a large response has to be read while others lack memory for theirs. A system may accept nothing
/// for seconds and then much at once.
const CONTENDED_WINDOW: Duration = Duration::from_secs(10);

/// In the extensions of a response: the memory that is retained until the client has read it.
#[derive(Debug, Clone)]
pub struct RetainedResponse {
    /// Its bytes.
    pub bytes: u64,
    /// The budget in which they are reserved.
    pub budget: &'static MemoryBudget,
    /// Exists until the last byte is sent.
    pub unsent: Weak<()>,
}

/// The responses of a connection for which memory is retained. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct UnsentResponses(Arc<Mutex<Vec<RetainedResponse>>>);

impl UnsentResponses {
    /// Adds one, until its last byte is sent.
    pub fn add(&self, response: RetainedResponse) {
        self.0.lock().push(response);
    }

    /// What the client has to read in every window, in bytes.
    fn needed_bytes(&self) -> u64 {
        let mut responses = self.0.lock();
        responses.retain(|response| response.unsent.strong_count() > 0);
        let contended = responses.iter().filter(|response| response.budget.is_contended());
        contended.map(|response| response.bytes / RETAINED_PARTS).sum()
    }
}

/// A stream that fails with [`io::ErrorKind::TimedOut`] if the other side reads too slowly. Only the time in which it can't be written
/// counts.
pub struct MinimumRateStream<S> {
    stream: Pin<Box<S>>,
    window: RateWindow,
    responses: UnsentResponses,
    contended: ContendedWindow,
}

impl<S> MinimumRateStream<S> {
    /// A stream with this least rate, and a higher one while others lack the memory that is retained for its response.
    pub fn new(stream: S, rate: MinimumRate, responses: UnsentResponses) -> Self {
        let contended = ContendedWindow::new(CONTENDED_WINDOW);
        Self { stream: Box::pin(stream), window: RateWindow::new(rate), responses, contended }
    }

    /// Counts what was written, or the time in which nothing can be written.
    fn count<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
        count_bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        let timed_out = |too_slow: Box<dyn std::error::Error + Send + Sync>| {
            Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, too_slow)))
        };
        let Self { window, responses, contended, .. } = self;
        match written {
            Poll::Ready(Ok(value)) => {
                let bytes = count_bytes(&value);
                if let Err(too_slow) = contended.record(bytes, responses.needed_bytes()) {
                    return timed_out(too_slow.into());
                }
                match window.record(bytes) {
                    Ok(()) => Poll::Ready(Ok(value)),
                    Err(too_slow) => timed_out(too_slow.into()),
                }
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                if let Poll::Ready(too_slow) = contended.poll_too_slow(cx, || responses.needed_bytes()) {
                    return timed_out(too_slow.into());
                }
                let too_slow = ready!(window.poll_too_slow(cx));
                timed_out(too_slow.into())
            }
        }
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
    use std::sync::LazyLock;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    const RATE: MinimumRate = MinimumRate { bytes: 1 << 10, window: Duration::from_secs(30) };

    /// Writes so many bytes to a client that reads a part of 100 bytes after each pause; returns how many seconds that took.
    async fn write(
        bytes: usize,
        pause: Duration,
        response: Option<RetainedResponse>,
    ) -> (io::Result<()>, u64) {
        let responses = UnsentResponses::default();
        if let Some(response) = response {
            responses.add(response);
        }
        let (mut client, server) = duplex(100);
        let reader = tokio::spawn(async move {
            let mut part = [0; 100];
            while client.read(&mut part).await.is_ok_and(|count| count > 0) {
                sleep(pause).await;
            }
        });
        let started = Instant::now();
        let written = MinimumRateStream::new(server, RATE, responses).write_all(&vec![0; bytes]).await;
        let took = started.elapsed().as_secs();
        reader.abort();
        (written, took)
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_client_that_reads_a_few_bytes_now_and_then_is_disconnected_after_a_window() {
        let (written, took) = write(10 << 10, Duration::from_secs(4), None).await;
        let error = written.unwrap_err();
        assert_eq!((error.kind(), took), (io::ErrorKind::TimedOut, 30));
        assert!(error.to_string().contains("within 30 s, and at least 1024 are required"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_at_the_least_rate_receives_everything() {
        let (written, took) = write(10 << 10, Duration::from_secs(2), None).await;
        written.unwrap();
        assert!(took > 3 * 30, "{took} s");
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_client_that_reads_a_large_response_slowly_is_disconnected_as_soon_as_others_lack_its_memory()
     {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        let unsent = Arc::new(());
        let response =
            RetainedResponse { bytes: 800 << 10, budget: &BUDGET, unsent: Arc::downgrade(&unsent) };
        let (written, took) = write(10 << 10, Duration::from_secs(2), Some(response.clone())).await;
        written.unwrap();
        assert!(took > 3 * 30, "{took} s");
        let reserved = BUDGET.reserve(800 << 10).await.unwrap();
        BUDGET.reserve_within(800 << 10, Duration::ZERO).await.unwrap_err();
        let (written, took) = write(10 << 10, Duration::from_secs(2), Some(response.clone())).await;
        let error = written.unwrap_err();
        assert_eq!((error.kind(), took), (io::ErrorKind::TimedOut, 10));
        assert!(error.to_string().contains("others wait for the memory"), "{error}");
        drop(unsent);
        let (written, _) = write(10 << 10, Duration::from_secs(2), Some(response)).await;
        written.unwrap();
        drop(reserved);
    }
}
