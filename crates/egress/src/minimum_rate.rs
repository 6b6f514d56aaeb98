//! The least rate at which the body of a response must arrive: a server that sends a byte now and then responds all the time, and would
//! occupy its client until the time limit of the whole request.

use std::pin::pin;
use std::time::Duration;

use reqwest::Url;
use tokio::time::{Instant, sleep};

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

/// The present window of a body. Only the time in which a part is awaited counts: not that in which the reader does something else.
#[derive(Debug)]
pub(crate) struct RateWindow {
    rate: MinimumRate,
    /// What is left of its time.
    left: Duration,
    /// Bytes that arrived in it.
    arrived: usize,
}

impl RateWindow {
    /// The first window.
    pub fn new(rate: MinimumRate) -> Self {
        Self { rate, left: rate.window, arrived: 0 }
    }

    /// Awaits the next part of a body; `count_bytes` returns `None` at its end.
    ///
    /// # Errors
    /// The body arrives too slowly.
    pub async fn receive<T>(
        &mut self,
        url: &Url,
        part: impl Future<Output = T>,
        count_bytes: impl FnOnce(&T) -> Option<usize>,
    ) -> Result<T, FetchError> {
        let mut part = pin!(part);
        let received = loop {
            let began = Instant::now();
            let received = tokio::select! {
                // What has arrived counts before the end of the window, however late this task is run.
                biased;
                received = &mut part => Some(received),
                () = sleep(self.left) => None,
            };
            self.left = self.left.saturating_sub(began.elapsed());
            if let Some(received) = received {
                break received;
            }
            self.check(url)?;
        };
        if let Some(bytes) = count_bytes(&received) {
            self.arrived += bytes;
            self.check(url)?;
        }
        Ok(received)
    }

    /// Begins the next window if the time of this one is over.
    fn check(&mut self, url: &Url) -> Result<(), FetchError> {
        if !self.left.is_zero() {
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
    use super::*;

    /// One part of a body, which arrives after a time.
    type Part = (Duration, usize);

    const RATE: MinimumRate = MinimumRate { bytes: 100, window: Duration::from_secs(10) };

    /// Reads a body whose parts arrive like this, with a pause of the reader before each; returns its length and how long that took.
    async fn read(
        parts: impl IntoIterator<Item = Part>,
        pause: Duration,
    ) -> (Result<usize, FetchError>, Duration) {
        let url = Url::parse("https://slow.example.com/index.yaml").unwrap();
        let started = Instant::now();
        let mut window = RateWindow::new(RATE);
        let mut bytes = 0;
        for (after, part) in parts {
            tokio::time::sleep(pause).await;
            let arrival = async {
                sleep(after).await;
                part
            };
            match window.receive(&url, arrival, |part| Some(*part)).await {
                Ok(part) => bytes += part,
                Err(error) => return (Err(error), started.elapsed()),
            }
        }
        let end = window.receive(&url, async {}, |()| None).await;
        (end.map(|()| bytes), started.elapsed())
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_arrives_too_slowly_ends_with_the_host_the_bytes_and_the_seconds() {
        let (read, took) = read(std::iter::repeat((seconds(3), 7)), Duration::ZERO).await;
        let error = read.unwrap_err();
        assert_eq!((error.kind, took.as_secs()), (FetchErrorKind::TooSlow, 10));
        assert_eq!(
            error.to_string(),
            "https://slow.example.com/index.yaml: the response is too slow: the server sent 21 bytes within 10 s, and at least 100 are \
             required"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_becomes_slow_after_a_fast_beginning_is_too_slow() {
        let (read, took) = read([(seconds(1), 900), (seconds(60), 1)], Duration::ZERO).await;
        assert_eq!((read.unwrap_err().kind, took.as_secs()), (FetchErrorKind::TooSlow, 20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_at_the_least_rate_and_a_small_one_that_ends_in_the_window_are_read() {
        let (read_at_rate, took) = read(std::iter::repeat_n((seconds(4), 50), 20), Duration::ZERO).await;
        assert_eq!((read_at_rate, took.as_secs()), (Ok(1_000), 80));
        let (read_small, _) = read([(seconds(9), 1)], Duration::ZERO).await;
        assert_eq!(read_small, Ok(1));
        let (read_empty, _) = read([], Duration::ZERO).await;
        assert_eq!(read_empty, Ok(0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_the_reader_waits_for_memory_is_not_that_of_the_server() {
        let (read, took) = read(std::iter::repeat_n((seconds(4), 50), 4), seconds(60)).await;
        assert_eq!((read, took.as_secs()), (Ok(200), 256));
    }
}
