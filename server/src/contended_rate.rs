//! A higher least rate for transfers that retain memory for which others wait. The usual least rate is low, because many clients are slow; two
//! users who send or read at it would retain all of a budget until the time limit of their requests, or for most of an hour.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// In every window, this part of what is retained has to be transferred, as a divisor: so nothing is retained for more windows than that.
pub const RETAINED_PARTS: u64 = 8;

/// The present window of a transfer. Only the time in which the other side is awaited counts.
#[derive(Debug)]
pub struct ContendedWindow {
    window: Duration,
    /// What is left of its time.
    left: Duration,
    /// Bytes that were transferred in it.
    transferred: u64,
    /// Since when the other side is awaited, and the end of the window.
    awaited: Option<(Instant, Pin<Box<Sleep>>)>,
}

/// Others wait for memory, and less was transferred than they may expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "others wait for the memory of this transfer, and {transferred} bytes within {seconds} s are too few; {needed} are required"
)]
pub struct TooSlowForOthers {
    transferred: u64,
    needed: u64,
    seconds: u64,
}

impl ContendedWindow {
    /// The first window.
    pub fn new(window: Duration) -> Self {
        Self { window, left: window, transferred: 0, awaited: None }
    }

    /// Counts what was transferred; `needed` is what a window requires now.
    ///
    /// # Errors
    /// The time of the window is over, and it was too little.
    pub fn record(&mut self, bytes: usize, needed: u64) -> Result<(), TooSlowForOthers> {
        if let Some((since, _)) = self.awaited.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        self.transferred += bytes as u64;
        if self.left.is_zero() { self.begin_next(needed) } else { Ok(()) }
    }

    /// Awaits the other side; ready when it is too slow.
    pub fn poll_too_slow(
        &mut self,
        cx: &mut Context<'_>,
        needed: impl Fn() -> u64,
    ) -> Poll<TooSlowForOthers> {
        loop {
            let left = self.left;
            let (_, end) = self.awaited.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
            ready!(end.as_mut().poll(cx));
            self.awaited = None;
            if let Err(too_slow) = self.begin_next(needed()) {
                return Poll::Ready(too_slow);
            }
        }
    }

    /// Awaits the next part of what the other side sends, whose bytes [`Self::record`] counts.
    ///
    /// # Errors
    /// The time of the window is over, and too little was transferred in it.
    pub async fn receive<T>(
        &mut self,
        part: impl Future<Output = T>,
        needed: impl Fn() -> u64,
    ) -> Result<T, TooSlowForOthers> {
        let mut part = pin!(part);
        poll_fn(|cx| match part.as_mut().poll(cx) {
            Poll::Ready(part) => Poll::Ready(Ok(part)),
            Poll::Pending => self.poll_too_slow(cx, &needed).map(Err),
        })
        .await
    }

    fn begin_next(&mut self, needed: u64) -> Result<(), TooSlowForOthers> {
        let (transferred, seconds) = (self.transferred, self.window.as_secs());
        if transferred < needed {
            return Err(TooSlowForOthers { transferred, needed, seconds });
        }
        *self = Self::new(self.window);
        Ok(())
    }
}
