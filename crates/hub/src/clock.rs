//! The clock: a field of the hub, so that tests can move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use domain::Timestamp;

/// A difference that is let be, in milliseconds: smaller ones are made by the way there and back.
const LET_BE: i64 = 1_000;

/// Tells the time. Cheap to clone; all clones tell the same.
#[derive(Clone)]
pub struct Clock {
    tell: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// How far it was set, in milliseconds.
    set: Arc<AtomicI64>,
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

    /// A clock of one's own.
    pub fn from_fn(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), set: Arc::default() }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        (self.tell)().plus_millis(self.set.load(Relaxed))
    }

    /// Sets it by another clock: servers that share a database all go by that one's, so that theirs may differ (P10).
    pub(crate) fn set_by(&self, other: Timestamp) {
        let off = other.millis().saturating_sub(self.now().millis());
        if off.abs() > LET_BE {
            self.set.fetch_add(off, Relaxed);
        }
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
