//! When clusters may be let through: hours of some days of the week (G513).
//!
//! Times are at a fixed offset from UTC. A zone with daylight saving would need a table of zones in the browser, and a
//! window that moves by an hour twice a year is what people write down as a range that is an hour longer.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::time::Timestamp;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
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
    /// All of them, Monday first.
    pub const ALL: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// The word in JSON and in forms.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Mon => "mon",
            Self::Tue => "tue",
            Self::Wed => "wed",
            Self::Thu => "thu",
            Self::Fri => "fri",
            Self::Sat => "sat",
            Self::Sun => "sun",
        }
    }

    /// The day of the week of a day counted from 1970-01-01, which was a Thursday.
    fn of(day: i64) -> Self {
        Self::ALL[usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)]
    }
}

/// From one time of the day to another, on some days of the week. It may go over midnight; it then belongs to the day on
/// which it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Window {
    /// The days on which it opens; empty for every day.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Weekday>,
    /// When it opens, such as `22:00`.
    pub from: String,
    /// When it closes, such as `04:00`; `24:00` for the end of the day.
    pub to: String,
    /// Hours and minutes that the times are ahead of UTC, such as `+01:00`; empty for UTC.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub utc_offset: String,
}

/// A window that can be read: milliseconds of the day, and of the offset.
struct Hours {
    from: i64,
    length: i64,
    offset: i64,
}

impl Window {
    /// When it opens next: `None` if it is open at `now`. One that never opens opens at the end of time.
    pub fn opens(&self, now: Timestamp) -> Option<Timestamp> {
        let Some(hours) = self.hours() else { return Some(Timestamp::from_millis(i64::MAX)) };
        let local = now.millis().saturating_add(hours.offset);
        let today = local.div_euclid(DAY);
        // One that opened yesterday may still be open; within eight days each day of the week comes.
        let starts = (today - 1..=today + 8)
            .filter(|day| self.days.is_empty() || self.days.contains(&Weekday::of(*day)))
            .map(|day| day * DAY + hours.from);
        let next = starts.into_iter().find(|start| start + hours.length > local);
        let next = next.map_or(i64::MAX, |start| start.saturating_sub(hours.offset));
        (next > now.millis()).then(|| Timestamp::from_millis(next))
    }

    fn hours(&self) -> Option<Hours> {
        let (from, to) = (clock(&self.from)?, clock(&self.to)?);
        let offset = if self.utc_offset.is_empty() { 0 } else { offset(&self.utc_offset)? };
        let length = if to > from { to - from } else { to + DAY - from };
        (from != to && from < DAY).then_some(Hours { from, length, offset })
    }

    /// What is wrong with it (G513). Paths are relative to the workload's spec.
    pub(super) fn check(&self) -> Vec<Finding> {
        let error = |field: &str, message: String, hint: &str| {
            Finding::error("G513", message, hint).at(format!("/rollout/window/{field}"))
        };
        let mut findings = Vec::new();
        for (field, text) in [("from", &self.from), ("to", &self.to)] {
            if clock(text).is_none() {
                let message = format!("The window's {field} is {text:?}, which is no time of the day.");
                findings.push(error(field, message, "Write hours and minutes, such as 22:00."));
            }
        }
        if !self.utc_offset.is_empty() && offset(&self.utc_offset).is_none() {
            let message =
                format!("The window's utcOffset is {:?}, which is no offset from UTC.", self.utc_offset);
            findings.push(error(
                "utcOffset",
                message,
                "Write it as +01:00 or -05:30, or leave it out for UTC.",
            ));
        }
        if findings.is_empty() && self.hours().is_none() {
            let message = format!(
                "The window opens at {} and closes at {}: it is never open, so no cluster would ever be let through.",
                self.from, self.to
            );
            findings.push(error("to", message, "Let it close later than it opens, or take the window away."));
        }
        findings
    }
}

/// Milliseconds of the day, of `22:00`; `24:00` is its end.
fn clock(text: &str) -> Option<i64> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let two = |text: &str| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| digits)
    };
    let (hours, minutes) = (two(hours)?, two(minutes).filter(|minutes| *minutes < 60)?);
    let all = hours * 60 + minutes;
    (all <= 24 * 60).then_some(all * MINUTE)
}

/// Milliseconds ahead of UTC, of `+01:00`; at most 14 hours, as no zone is farther.
fn offset(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    clock(rest).filter(|ahead| *ahead <= 14 * 60 * MINUTE).map(|ahead| sign * ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(days: &[Weekday], from: &str, to: &str, utc_offset: &str) -> Window {
        Window { days: days.to_vec(), from: from.into(), to: to.into(), utc_offset: utc_offset.into() }
    }

    fn opens(window: &Window, now: &str) -> Option<String> {
        window.opens(now.parse().unwrap()).map(|at| at.to_string())
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
    fn a_window_over_midnight_belongs_to_the_day_on_which_it_opens() {
        // 2026-11-20 is a Friday.
        let nights = window(&[Weekday::Fri], "22:00", "04:00", "");
        assert_eq!(opens(&nights, "2026-11-21T03:59:00Z"), None, "Friday's night goes on on Saturday");
        assert_eq!(
            opens(&nights, "2026-11-20T03:00:00Z").as_deref(),
            Some("2026-11-20T22:00:00.000Z"),
            "Thursday's night is none of it"
        );
        assert_eq!(opens(&nights, "2026-11-21T04:00:00Z").as_deref(), Some("2026-11-27T22:00:00.000Z"));
    }

    #[test]
    fn a_window_stands_at_its_offset_from_utc() {
        let there = window(&[Weekday::Mon], "00:30", "24:00", "+01:00");
        // Half past midnight on Monday at +01:00 is half past eleven on Sunday in UTC.
        assert_eq!(opens(&there, "2026-11-22T12:00:00Z").as_deref(), Some("2026-11-22T23:30:00.000Z"));
        let behind = window(&[], "10:00", "11:00", "-05:30");
        assert_eq!(opens(&behind, "2026-11-22T15:30:00Z"), None);
    }

    #[test]
    fn g513_a_window_that_never_opens_is_refused_with_its_times() {
        assert_eq!(window(&[], "22:00", "04:00", "+05:45").check(), []);
        let never = window(&[], "22:00", "22:00", "").check();
        assert_eq!(never.len(), 1);
        assert_eq!((never[0].code.as_str(), never[0].path.as_str()), ("G513", "/rollout/window/to"));
        assert!(never[0].blocks() && never[0].message.contains("opens at 22:00 and closes at 22:00"));
        assert!(opens(&window(&[], "22:00", "22:00", ""), "2026-11-22T22:00:00Z").is_some());
    }

    #[test]
    fn g513_what_cant_be_read_of_a_window_is_named() {
        let bad = window(&[], "25:00", "noon", "CET").check();
        let paths: Vec<&str> = bad.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["/rollout/window/from", "/rollout/window/to", "/rollout/window/utcOffset"]);
        assert!(bad.iter().all(|finding| finding.code == "G513" && finding.blocks()));
    }
}
