//! The least rate of a body that a client sends or reads: one that sends a byte now and then makes progress all the time, and would retain
//! memory and a connection until the time limit of the request, or without end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use egress::MinimumRate;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// The present window of a transfer. Only the time in which the client is awaited counts: not that in which the server waits for memory,
/// or does something else.
#[derive(Debug)]
pub struct RateWindow {
    rate: MinimumRate,
    /// What is left of its time.
    left: Duration,
    /// Bytes that were transferred in it.
    transferred: usize,
    /// Since when the client is awaited, and the end of the window.
    awaited: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// A client transferred less than the least rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooSlow {
    transferred: usize,
    rate: MinimumRate,
}

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the client transferred {} bytes within {} s, and at least {} are required",
            self.transferred,
            self.rate.window.as_secs(),
            self.rate.bytes
        )
    }
}

impl std::error::Error for TooSlow {}

impl RateWindow {
    /// The first window.
    pub fn new(rate: MinimumRate) -> Self {
        Self { rate, left: rate.window, transferred: 0, awaited: None }
    }

    /// Counts what was transferred.
    ///
    /// # Errors
    /// The time of the window is over, and it was too little.
    pub fn record(&mut self, bytes: usize) -> Result<(), TooSlow> {
        if let Some((since, _)) = self.awaited.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        self.transferred += bytes;
        if self.left.is_zero() { self.begin_next() } else { Ok(()) }
    }

    /// Awaits the client; ready when it is too slow.
    pub fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        loop {
            let left = self.left;
            let (_, end) = self.awaited.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
            ready!(end.as_mut().poll(cx));
            self.awaited = None;
            if let Err(too_slow) = self.begin_next() {
                return Poll::Ready(too_slow);
            }
        }
    }

    fn begin_next(&mut self) -> Result<(), TooSlow> {
        let Self { rate, transferred, .. } = *self;
        if transferred < rate.bytes {
            return Err(TooSlow { transferred, rate });
        }
        *self = Self::new(rate);
        Ok(())
    }
}

/// The body of a request that must arrive at the least rate of files.
struct MinimumRateBody {
    body: Body,
    window: RateWindow,
}

/// Requires the body of a request to arrive at the least rate until its end.
pub fn require_body_rate(request: Request) -> Request {
    request.map(|body| Body::new(MinimumRateBody { body, window: RateWindow::new(MinimumRate::FILES) }))
}

impl HttpBody for MinimumRateBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(end) => return Poll::Ready(end),
            Poll::Pending => {
                let too_slow = ready!(this.window.poll_too_slow(cx));
                return Poll::Ready(Some(Err(axum::Error::new(too_slow))));
            }
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        Poll::Ready(Some(match this.window.record(bytes) {
            Ok(()) => Ok(frame),
            Err(too_slow) => Err(axum::Error::new(too_slow)),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::to_bytes;
    use futures::stream::unfold;

    use super::*;

    /// Reads a body of so many parts, each of which arrives after a time; returns its length, and how many seconds that took.
    async fn read(parts: usize, after: Duration, bytes: usize) -> (Result<usize, String>, u64) {
        let parts = unfold(0, move |part| async move {
            if part == parts {
                return None;
            }
            sleep(after).await;
            Some((Ok::<_, Infallible>(Bytes::from(vec![b'a'; bytes])), part + 1))
        });
        let request = require_body_rate(Request::new(Body::from_stream(parts)));
        let started = Instant::now();
        let read = to_bytes(request.into_body(), usize::MAX).await;
        (read.map(|bytes| bytes.len()).map_err(|error| error.to_string()), started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_of_which_a_byte_arrives_now_and_then_ends_after_a_window() {
        let (read, took) = read(1_000, Duration::from_secs(4), 100).await;
        let error = read.unwrap_err();
        assert!(error.contains("200 bytes within 10 s, and at least 16384 are required"), "{error}");
        assert_eq!(took, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_at_the_least_rate_and_a_small_one_that_ends_in_the_window_arrive() {
        assert_eq!(read(20, Duration::from_secs(4), 8 << 10).await, (Ok(160 << 10), 80));
        assert_eq!(read(1, Duration::from_secs(9), 1).await, (Ok(1), 9));
        assert_eq!(read(0, Duration::ZERO, 0).await, (Ok(0), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_the_server_does_something_else_does_not_count() {
        let mut window = RateWindow::new(MinimumRate::FILES);
        window.record(1).unwrap();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(window.record(1), Ok(()));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(window.poll_too_slow(&mut context).is_pending());
        sleep(Duration::from_secs(10)).await;
        assert_eq!(window.record(1).unwrap_err().transferred, 3);
    }
}
