//! The rollout window: the hours of the week in which clusters may be admitted (G513).
//!
//! Times are at a fixed offset from UTC. A zone with daylight saving time would need a time zone table in the browser; a
//! window that is an hour longer covers both offsets.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::time::Timestamp;
use crate::text::finding::Finding;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Weekday {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Weekday {
    /// All days, Monday first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and in forms.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The weekday of a day counted from 1970-01-01, a Thursday.
    fn from_day(day: i64) -> Self {
        Self::ALL[usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)]
    }
}

/// A range of the day on some days of the week. If it crosses midnight, it belongs to the day on which it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutWindow {
    /// The days on which it opens; empty for every day.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Weekday>,
    /// When it opens, such as `22:00`.
    pub from: String,
    /// When it closes, such as `04:00`; `24:00` for the end of the day.
    pub to: String,
    /// Offset of the times from UTC, such as `+01:00`; empty for UTC.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub utc_offset: String,
}

/// A parsed window: opening time, length and UTC offset in milliseconds.
struct WindowHours {
    from: i64,
    length: i64,
    offset: i64,
}

impl RolloutWindow {
    /// When it opens next; `None` if it is open at `now`, the maximum timestamp if it never opens.
    pub fn next_opening(&self, now: Timestamp) -> Option<Timestamp> {
        let Some(hours) = self.parse_hours() else { return Some(Timestamp::from_millis(i64::MAX)) };
        let local = now.millis().saturating_add(hours.offset);
        let today = local.div_euclid(DAY);
        // A window that opened yesterday may still be open; eight days contain every weekday.
        let starts = (today - 1..=today + 8)
            .filter(|day| self.days.is_empty() || self.days.contains(&Weekday::from_day(*day)))
            .map(|day| day * DAY + hours.from);
        let next = starts.into_iter().find(|start| start + hours.length > local);
        let next = next.map_or(i64::MAX, |start| start.saturating_sub(hours.offset));
        (next > now.millis()).then(|| Timestamp::from_millis(next))
    }

    fn parse_hours(&self) -> Option<WindowHours> {
        let (from, to) = (parse_time_of_day(&self.from)?, parse_time_of_day(&self.to)?);
        let offset = if self.utc_offset.is_empty() { 0 } else { parse_utc_offset(&self.utc_offset)? };
        let length = if to > from { to - from } else { to + DAY - from };
        (from != to && from < DAY).then_some(WindowHours { from, length, offset })
    }

    /// Checks its fields (G513). Paths are relative to the workload's spec.
    pub(super) fn check(&self) -> Vec<Finding> {
        let error = |field: &str, message: String, hint: &str| {
            Finding::error("G513", message, hint).with_path(format!("/rollout/window/{field}"))
        };
        let mut findings = Vec::new();
        for (field, text) in [("from", &self.from), ("to", &self.to)] {
            if parse_time_of_day(text).is_none() {
                let message = format!("The window's {field} is {text:?}, which is not a time of day.");
                findings.push(error(field, message, "Write hours and minutes, such as 22:00."));
            }
        }
        if !self.utc_offset.is_empty() && parse_utc_offset(&self.utc_offset).is_none() {
            let message =
                format!("The window's utcOffset is {:?}, which is not an offset from UTC.", self.utc_offset);
            findings.push(error(
                "utcOffset",
                message,
                "Write it as +01:00 or -05:30, or leave it out for UTC.",
            ));
        }
        if findings.is_empty() && self.parse_hours().is_none() {
            let message = format!(
                "The window opens at {} and closes at {}: it is never open, so no cluster would ever be admitted.",
                self.from, self.to
            );
            findings.push(error(
                "to",
                message,
                "Set an opening time before 24:00 and a different closing time, or remove the window.",
            ));
        }
        findings
    }
}

/// Parses a time of day such as `22:00` into milliseconds; `24:00` is the end of the day.
fn parse_time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let two = |text: &str| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| digits)
    };
    let (hours, minutes) = (two(hours)?, two(minutes).filter(|minutes| *minutes < 60)?);
    let all = hours * 60 + minutes;
    (all <= 24 * 60).then_some(all * MINUTE)
}

/// Parses a UTC offset such as `+01:00` into milliseconds; at most 14 hours, the largest offset of any zone.
fn parse_utc_offset(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    parse_time_of_day(rest).filter(|ahead| *ahead <= 14 * 60 * MINUTE).map(|ahead| sign * ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(days: &[Weekday], from: &str, to: &str, utc_offset: &str) -> RolloutWindow {
        RolloutWindow { days: days.to_vec(), from: from.into(), to: to.into(), utc_offset: utc_offset.into() }
    }

    fn opens(window: &RolloutWindow, now: &str) -> Option<String> {
        window.next_opening(now.parse().unwrap()).map(|at| at.to_string())
    }

    #[test]
    fn a_window_is_open_from_its_first_minute_to_the_last_before_it_closes() {
        let daily = window(&[], "09:00", "17:00", "");
        assert_eq!(opens(&daily, "2026-11-22T08:59:59Z").as_deref(), Some("2026-11-22T09:00:00.000Z"));
        assert_eq!(opens(&daily, "2026-11-22T09:00:00Z"), None);
        assert_eq!(opens(&daily, "2026-11-22T16:59:59Z"), None);
        assert_eq!(opens(&daily, "2026-11-22T17:00:00Z").as_deref(), Some("2026-11-23T09:00:00.000Z"));
    }

    #[test]
    fn a_window_that_crosses_midnight_belongs_to_the_day_on_which_it_opens() {
        // 2026-11-20 is a Friday.
        let nights = window(&[Weekday::Fri], "22:00", "04:00", "");
        assert_eq!(opens(&nights, "2026-11-21T03:59:00Z"), None, "Friday's window continues on Saturday");
        assert_eq!(
            opens(&nights, "2026-11-20T03:00:00Z").as_deref(),
            Some("2026-11-20T22:00:00.000Z"),
            "Thursday has no window"
        );
        assert_eq!(opens(&nights, "2026-11-21T04:00:00Z").as_deref(), Some("2026-11-27T22:00:00.000Z"));
    }

    #[test]
    fn a_window_uses_its_offset_from_utc() {
        let there = window(&[Weekday::Mon], "00:30", "24:00", "+01:00");
        // Monday 00:30 at +01:00 is Sunday 23:30 in UTC.
        assert_eq!(opens(&there, "2026-11-22T12:00:00Z").as_deref(), Some("2026-11-22T23:30:00.000Z"));
        let behind = window(&[], "10:00", "11:00", "-05:30");
        assert_eq!(opens(&behind, "2026-11-22T15:30:00Z"), None);
    }

    #[test]
    fn g513_a_window_that_never_opens_is_rejected_with_its_times() {
        assert_eq!(window(&[], "22:00", "04:00", "+05:45").check(), []);
        let never = window(&[], "22:00", "22:00", "").check();
        assert_eq!(never.len(), 1);
        assert_eq!((never[0].code.as_str(), never[0].path.as_str()), ("G513", "/rollout/window/to"));
        assert!(never[0].is_blocking() && never[0].message.contains("opens at 22:00 and closes at 22:00"));
        assert!(opens(&window(&[], "22:00", "22:00", ""), "2026-11-22T22:00:00Z").is_some());
    }

    #[test]
    fn g513_names_the_fields_of_a_window_that_are_not_valid() {
        let bad = window(&[], "25:00", "noon", "CET").check();
        let paths: Vec<&str> = bad.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["/rollout/window/from", "/rollout/window/to", "/rollout/window/utcOffset"]);
        assert!(bad.iter().all(|finding| finding.code == "G513" && finding.is_blocking()));
    }
}
