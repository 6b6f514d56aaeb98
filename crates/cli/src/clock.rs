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

/// The age of a point in time in whole units, as `kubectl` prints it: `<1s`, `5s`, `3m`, `4h`, `9d`.
pub fn format_age(at: Timestamp, now: Timestamp) -> String {
    match now.millis_since(at) / 1_000 {
        ..1 => "<1s".to_owned(),
        seconds @ 1..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_units_and_never_negative() {
        let age = |millis| format_age(Timestamp::from_millis(0), Timestamp::from_millis(millis));
        assert_eq!([age(-5_000), age(264), age(1_999)], ["<1s", "<1s", "1s"]);
        assert_eq!([age(59_999), age(60_000), age(7_200_000), age(172_800_000)], ["59s", "1m", "2h", "2d"]);
    }
}
