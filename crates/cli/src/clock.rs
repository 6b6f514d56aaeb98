//! The only reader of the system clock. Ages in tables are relative to the clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;

/// The current time of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line has no other clock, and uses it only to show ages"
)]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
