//! The least rate of a transfer: whoever sends or reads a byte now and then makes progress all the time, and would occupy the other side
//! until the time limit of the whole request, or without end.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// A least rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinimumRate {
    /// Bytes that must be transferred in every window, except in the last one.
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

/// The present window of a transfer. Only the time in which the other side is awaited counts: not that in which this one waits for memory, or
/// does something else.
#[derive(Debug)]
pub struct RateWindow {
    rate: MinimumRate,
    /// What is left of its time.
    left: Duration,
    /// Bytes that were transferred in it.
    transferred: usize,
    /// Since when the other side is awaited, and the end of the window.
    awaited: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// Less was transferred than the least rate requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooSlow {
    transferred: usize,
    rate: MinimumRate,
}

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes within {} s, and at least {} are required",
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

    /// Awaits the other side; ready when it is too slow.
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

    /// Awaits the next part of what the other side sends, whose bytes [`Self::record`] counts.
    ///
    /// # Errors
    /// The time of the window is over, and too little was transferred in it.
    pub async fn receive<T>(&mut self, part: impl Future<Output = T>) -> Result<T, TooSlow> {
        let mut part = pin!(part);
        // What has arrived counts before the end of the window, however late this task is run.
        poll_fn(|cx| match part.as_mut().poll(cx) {
            Poll::Ready(part) => Poll::Ready(Ok(part)),
            Poll::Pending => self.poll_too_slow(cx).map(Err),
        })
        .await
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
    ) -> (Result<usize, TooSlow>, Duration) {
        let started = Instant::now();
        let mut window = RateWindow::new(RATE);
        let mut bytes = 0;
        for (after, part) in parts {
            sleep(pause).await;
            let arrival = async {
                sleep(after).await;
                part
            };
            let arrived = match window.receive(arrival).await {
                Ok(part) => window.record(part).map(|()| part),
                Err(error) => Err(error),
            };
            match arrived {
                Ok(part) => bytes += part,
                Err(error) => return (Err(error), started.elapsed()),
            }
        }
        (window.receive(async {}).await.map(|()| bytes), started.elapsed())
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_arrives_too_slowly_ends_with_the_bytes_and_the_seconds() {
        let (read, took) = read(std::iter::repeat((seconds(3), 7)), Duration::ZERO).await;
        assert_eq!(took.as_secs(), 10);
        assert_eq!(read.unwrap_err().to_string(), "21 bytes within 10 s, and at least 100 are required");
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_body_that_becomes_slow_after_a_fast_beginning_is_too_slow() {
        let (read, took) = read([(seconds(1), 900), (seconds(60), 1)], Duration::ZERO).await;
        assert!(read.is_err());
        assert_eq!(took.as_secs(), 20);
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
    async fn the_time_in_which_the_other_side_is_not_awaited_does_not_count() {
        let (read, took) = read(std::iter::repeat_n((seconds(4), 50), 4), seconds(60)).await;
        assert_eq!((read, took.as_secs()), (Ok(200), 256));
    }
}
