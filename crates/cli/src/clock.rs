//! The one place that asks what time it is: ages in tables are by this machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;

/// Now, by this machine's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line has no other clock, and only shows ages by it"
)]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
