//! The clock: a field of the hub, so that tests can move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use domain::Timestamp;

/// Differences up to this are ignored, in milliseconds: the round trip to the database causes them.
const TOLERANCE_MILLIS: i64 = 1_000;

/// A source of the current time. Cheap to clone; all clones share one offset.
#[derive(Clone)]
pub struct Clock {
    source: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Offset added to the source, in milliseconds.
    offset_millis: Arc<AtomicI64>,
    counts_leaps: bool,
}

impl Clock {
    /// The system's clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system clock")]
    pub fn system() -> Self {
        Self::from_fn(|| {
            let since =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        })
    }

    /// A clock with this source.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { source: Arc::new(tell), offset_millis: Arc::default(), counts_leaps: false }
    }

    /// The same for a test that advances the time at once: it counts as observed. A leap of another clock is a pause of the
    /// hub, in which no cluster could report.
    #[must_use]
    pub fn with_counted_leaps(self) -> Self {
        Self { counts_leaps: true, ..self }
    }

    pub(crate) const fn counts_leaps(&self) -> bool {
        self.counts_leaps
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.source)().plus_millis(self.offset_millis.load(Relaxed))
    }

    /// Adjusts the offset to another clock. Servers that share a database all follow the database's clock, so their own may differ (P10).
    pub(crate) fn adjust_to(&self, other: Timestamp) {
        let off = other.millis().saturating_sub(self.now().millis());
        if off.abs() > TOLERANCE_MILLIS {
            self.offset_millis.fetch_add(off, Relaxed);
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
