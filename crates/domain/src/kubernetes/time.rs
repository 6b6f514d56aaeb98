//! Instants as stored in the database: milliseconds since the Unix epoch, displayed as RFC 3339 in UTC.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod pauses;
mod zone_offsets;

pub use pauses::Pauses;
pub use zone_offsets::ZoneOffsets;

/// An instant, in milliseconds since 1970-01-01T00:00:00Z. The server's clock unless a field says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a timestamp; write it as 2026-11-20T19:00:00Z")]
pub struct InvalidTimestamp(String);

impl Timestamp {
    /// The instant `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// This instant moved by `millis` milliseconds, saturating at the ends of the range.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this instant; 0 if `earlier` is later (clocks may step back).
    pub const fn millis_since(self, earlier: Self) -> i64 {
        let elapsed = self.0.saturating_sub(earlier.0);
        if elapsed < 0 { 0 } else { elapsed }
    }

    /// The age as a short text: `< 1 s`, `12 s`, `5 min`, `3 h`, `9 d`. Milliseconds of an age would only flicker.
    pub fn format_age(self, now: Self) -> String {
        match now.millis_since(self) {
            ..1_000 => "< 1 s".to_owned(),
            millis => format_duration(millis),
        }
    }
}

/// A duration in milliseconds as a short text: `120 ms`, `12 s`, `5 min`, `3 h`, `9 d`.
pub fn format_duration(millis: i64) -> String {
    match millis {
        ..1_000 => format!("{} ms", millis.max(0)),
        1_000..60_000 => format!("{} s", millis / 1_000),
        60_000..3_600_000 => format!("{} min", millis / 60_000),
        3_600_000..86_400_000 => format!("{} h", millis / 3_600_000),
        _ => format!("{} d", millis / 86_400_000),
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        text.parse::<jiff::Timestamp>()
            .map(|at| Self(at.as_millisecond()))
            .map_err(|_| InvalidTimestamp(text.chars().take(60).collect()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_round_trips_through_its_text() {
        let at = Timestamp::from_millis(1_763_665_200_123);
        assert_eq!(at.to_string(), "2025-11-20T19:00:00.123Z");
        assert_eq!(at.to_string().parse(), Ok(at));
    }

    #[test]
    fn ages_are_short_and_never_negative() {
        let at = Timestamp::from_millis(1_000_000);
        assert_eq!(at.format_age(at.plus_millis(12_500)), "12 s");
        assert_eq!(at.format_age(at.plus_millis(3 * 3_600_000)), "3 h");
        assert_eq!(at.format_age(at.plus_millis(-5)), "< 1 s");
    }
}
