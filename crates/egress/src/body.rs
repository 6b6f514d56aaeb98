//! Bodies of responses, bounded in bytes and by a least rate: a server that sends a byte now and then responds all the time, and would
//! occupy its client until the time limit of the whole request.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use reqwest::Url;
use tokio::time::{Instant, sleep_until};

use crate::error::{FetchError, FetchErrorKind};

/// The least rate at which a body must arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumRate {
    /// Bytes that must arrive in every window, except in the one in which the body ends.
    pub bytes: usize,
    /// How long a window is.
    pub window: Duration,
}

impl MinimumRate {
    /// 16 KiB in every 10 seconds, for files that are sent as they are stored.
    pub const FILES: Self = Self { bytes: 16 << 10, window: Duration::from_secs(10) };
    /// 32 KiB in every 30 seconds, for responses that a server may still compute while it sends them.
    pub const COMPUTED: Self = Self { bytes: 32 << 10, window: Duration::from_secs(30) };
}

/// How a body is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// Most bytes.
    pub max_bytes: usize,
    /// Whether a longer body is cut; otherwise it is an error.
    pub is_cut: bool,
    /// The least rate.
    pub minimum_rate: MinimumRate,
}

impl BodyLimits {
    /// The error of a body with more bytes.
    pub fn too_large(&self, url: &Url) -> FetchError {
        let message = format!("the response has more than {} bytes, the limit", self.max_bytes);
        FetchError::new(FetchErrorKind::TooLarge, url, message)
    }
}

/// Reads a body to its end.
///
/// # Errors
/// It has too many bytes, it arrives too slowly, or it can't be read.
pub(crate) async fn read_within<C: AsRef<[u8]>>(
    url: &Url,
    chunks: impl Stream<Item = Result<C, FetchError>>,
    limits: BodyLimits,
) -> Result<Vec<u8>, FetchError> {
    let mut chunks = pin!(chunks);
    let mut window = RateWindow::new(limits.minimum_rate);
    let mut bytes = Vec::new();
    loop {
        let next = tokio::select! {
            // What has arrived counts before the end of the window, however late this task is run.
            biased;
            chunk = chunks.next() => Some(chunk),
            () = sleep_until(window.end) => None,
        };
        match next {
            Some(None) => return Ok(bytes),
            Some(Some(chunk)) => {
                let chunk = chunk?;
                let chunk = chunk.as_ref();
                let room = limits.max_bytes - bytes.len();
                if chunk.len() > room {
                    if !limits.is_cut {
                        return Err(limits.too_large(url));
                    }
                    bytes.extend_from_slice(&chunk[..room]);
                    return Ok(bytes);
                }
                bytes.extend_from_slice(chunk);
                window.arrived += chunk.len();
            }
            None => {}
        }
        window.check(url)?;
    }
}

/// The present window of a body.
struct RateWindow {
    rate: MinimumRate,
    end: Instant,
    /// Bytes that arrived in it.
    arrived: usize,
}

impl RateWindow {
    fn new(rate: MinimumRate) -> Self {
        Self { rate, end: Instant::now() + rate.window, arrived: 0 }
    }

    /// Ends the window if its time is over.
    fn check(&mut self, url: &Url) -> Result<(), FetchError> {
        if Instant::now() < self.end {
            return Ok(());
        }
        let MinimumRate { bytes, window } = self.rate;
        if self.arrived < bytes {
            let message = format!(
                "the response is too slow: the server sent {} bytes within {} s, and at least {bytes} are required",
                self.arrived,
                window.as_secs()
            );
            return Err(FetchError::new(FetchErrorKind::TooSlow, url, message));
        }
        *self = Self::new(self.rate);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    /// One part of a body, which arrives after a time.
    type Part = (Duration, usize);

    const RATE: MinimumRate = MinimumRate { bytes: 100, window: Duration::from_secs(10) };

    /// Reads a body whose parts arrive like this; returns its length and how long that took.
    async fn read(
        parts: impl IntoIterator<Item = Part>,
        is_cut: bool,
    ) -> (Result<usize, FetchError>, Duration) {
        let url = Url::parse("https://slow.example.com/index.yaml").unwrap();
        let chunks = stream::iter(parts).then(|(after, bytes)| async move {
            tokio::time::sleep(after).await;
            Ok::<_, FetchError>(vec![b'a'; bytes])
        });
        let started = Instant::now();
        let limits = BodyLimits { max_bytes: 1_000, is_cut, minimum_rate: RATE };
        let read = read_within(&url, chunks, limits).await;
        (read.map(|bytes| bytes.len()), started.elapsed())
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_arrives_too_slowly_ends_with_the_host_the_bytes_and_the_seconds() {
        for is_cut in [false, true] {
            let (read, took) = read(std::iter::repeat((seconds(3), 7)), is_cut).await;
            let error = read.unwrap_err();
            assert_eq!((error.kind, took.as_secs()), (FetchErrorKind::TooSlow, 10));
            assert_eq!(
                error.to_string(),
                "https://slow.example.com/index.yaml: the response is too slow: the server sent 21 bytes within 10 s, and at least 100 are \
                 required"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_becomes_slow_after_a_fast_beginning_is_too_slow() {
        let (read, took) = read([(seconds(1), 900), (seconds(60), 1)], false).await;
        assert_eq!((read.unwrap_err().kind, took.as_secs()), (FetchErrorKind::TooSlow, 20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_at_the_least_rate_and_a_small_one_that_ends_in_the_window_are_read() {
        let (read_at_rate, took) = read(std::iter::repeat_n((seconds(4), 50), 20), false).await;
        assert_eq!((read_at_rate, took.as_secs()), (Ok(1_000), 80));
        let (read_small, _) = read([(seconds(9), 1)], false).await;
        assert_eq!(read_small, Ok(1));
        let (read_empty, _) = read([], false).await;
        assert_eq!(read_empty, Ok(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_longer_body_is_an_error_or_cut() {
        let (read_all, _) = read([(seconds(1), 600), (seconds(1), 401)], false).await;
        assert_eq!(read_all.unwrap_err().kind, FetchErrorKind::TooLarge);
        let (cut, _) = read([(seconds(1), 600), (seconds(1), 401)], true).await;
        assert_eq!(cut, Ok(1_000));
    }
}
