//! The least rate of the bodies of requests: a client that sends a byte now and then would retain memory and a connection until the time
//! limit of the request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use egress::{MinimumRate, RateWindow};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

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
    use std::time::Duration;

    use axum::body::to_bytes;
    use futures::stream::unfold;
    use tokio::time::{Instant, sleep};

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
}
