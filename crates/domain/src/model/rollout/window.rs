//! The rollout window: the hours of the week in which clusters may be admitted (G513).
//!
//! Times are at a fixed offset from UTC, or in a named time zone with its daylight saving time. The offsets of a named zone are an
//! argument: only the hub has a table of zones.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::time::{Timestamp, ZoneOffsets};
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
    /// Name of the time zone of the times, such as `Europe/Berlin`, instead of an offset.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time_zone: String,
}

/// The text is not a window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no window of the week; write it as 22:00-06:00 Europe/Berlin, with sat,sun behind it for some days only"
)]
pub struct InvalidWindow(String);

impl fmt::Display for RolloutWindow {
    /// As it is parsed: `22:00-06:00 Europe/Berlin sat,sun`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)?;
        for zone in [&self.utc_offset, &self.time_zone].into_iter().filter(|zone| !zone.is_empty()) {
            write!(f, " {zone}")?;
        }
        let days: Vec<&str> = self.days.iter().map(|day| day.as_str()).collect();
        if days.is_empty() { Ok(()) } else { write!(f, " {}", days.join(",")) }
    }
}

impl FromStr for RolloutWindow {
    type Err = InvalidWindow;

    /// Parses hours, then a time zone or an offset from UTC, then days; only the hours are required. Its fields are not checked.
    fn from_str(text: &str) -> Result<Self, InvalidWindow> {
        let invalid = || InvalidWindow(text.chars().take(80).collect());
        let mut parts = text.split_whitespace();
        let (from, to) = parts.next().and_then(|hours| hours.split_once('-')).ok_or_else(invalid)?;
        let mut window = Self { from: from.to_owned(), to: to.to_owned(), ..Self::default() };
        for part in parts {
            let day = |name: &str| Weekday::ALL.iter().copied().find(|day| day.as_str() == name);
            let days: Option<Vec<Weekday>> = part.split(',').map(day).collect();
            let place = match days {
                Some(days) if window.days.is_empty() => {
                    window.days = days;
                    continue;
                }
                Some(_) => return Err(invalid()),
                None if part.starts_with(['+', '-']) => &mut window.utc_offset,
                None => &mut window.time_zone,
            };
            if !place.is_empty() {
                return Err(invalid());
            }
            part.clone_into(place);
        }
        Ok(window)
    }
}

/// Longest text of a time of day or of an offset, in bytes, with spaces around it.
const MAX_TIME_BYTES: usize = 32;
/// Longest name of a time zone, in bytes; the longest of the table has 32.
const MAX_ZONE_BYTES: usize = 64;

/// A parsed window: opening time and length by the clocks of its zone, in milliseconds.
struct WindowHours {
    from: i64,
    length: i64,
}

impl RolloutWindow {
    /// When it opens next; `None` if it is open at `now`, the maximum timestamp if it never opens. `zone` has the offsets of its named zone
    /// from a day before `now` to nine days after it; without them, a window in a named zone never opens.
    pub fn next_opening(&self, now: Timestamp, zone: Option<&ZoneOffsets>) -> Option<Timestamp> {
        let never = Some(Timestamp::from_millis(i64::MAX));
        let (Some(hours), Some(offsets)) = (self.parse_hours(), self.offsets(zone)) else { return never };
        match self.openings(&hours, &offsets, now).find(|(_, closes)| *closes > now) {
            Some((opens, _)) => (opens > now).then_some(opens),
            None => never,
        }
    }

    /// When it closes, if it is open at `now`; one that opens again when it closes is taken as one, for nine days at most. `zone` is as for
    /// [`Self::next_opening`].
    pub fn closes_at(&self, now: Timestamp, zone: Option<&ZoneOffsets>) -> Option<Timestamp> {
        let (hours, offsets) = (self.parse_hours()?, self.offsets(zone)?);
        let mut until = now;
        for (opens, closes) in self.openings(&hours, &offsets, now) {
            if opens <= until && closes > until {
                until = closes;
            }
        }
        (until > now).then_some(until)
    }

    /// Whether it is open all the week.
    pub fn is_always_open(&self) -> bool {
        let is_every_day =
            self.days.is_empty() || Weekday::ALL.iter().all(|weekday| self.days.contains(weekday));
        is_every_day && self.parse_hours().is_some_and(|hours| hours.length >= DAY)
    }

    /// When it opens and closes around `now`, in the order of time. A window that opened yesterday may still be open; eight days contain
    /// every weekday. On the day of a change of the clocks each end is the first time at which they show it or later, so a window that
    /// lies in the hour that they skip does not open on that day.
    fn openings<'w>(
        &'w self,
        hours: &'w WindowHours,
        offsets: &'w ZoneOffsets,
        now: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, Timestamp)> + 'w {
        let today = offsets.to_local(now).div_euclid(DAY);
        (today - 1..=today + 8)
            .filter(move |day| self.days.is_empty() || self.days.contains(&Weekday::from_day(*day)))
            .map(move |day| {
                let opens = day * DAY + hours.from;
                (offsets.first_at(opens), offsets.first_at(opens + hours.length))
            })
            .filter(|(opens, closes)| opens < closes)
    }

    /// The offsets of its times; `None` if they are not known.
    fn offsets<'z>(&self, zone: Option<&'z ZoneOffsets>) -> Option<Cow<'z, ZoneOffsets>> {
        if !self.time_zone.is_empty() {
            return zone.map(Cow::Borrowed);
        }
        let offset = if self.utc_offset.is_empty() { 0 } else { parse_utc_offset(&self.utc_offset)? };
        Some(Cow::Owned(ZoneOffsets::fixed(offset)))
    }

    fn parse_hours(&self) -> Option<WindowHours> {
        let (from, to) = (parse_time_of_day(&self.from)?, parse_time_of_day(&self.to)?);
        let length = if to > from { to - from } else { to + DAY - from };
        (from != to && from < DAY).then_some(WindowHours { from, length })
    }

    /// Checks its fields (G513), whose paths begin with `path`. Whether a named zone exists is checked where the table of zones is.
    pub fn check(&self, path: &str) -> Vec<Finding> {
        let error = |field: &str, message: String, hint: &str| {
            Finding::error("G513", message, hint).with_path(format!("{path}/{field}"))
        };
        let mut findings = Vec::new();
        if self.days.len() > Weekday::ALL.len() {
            let message = format!("The window lists {} days, more than a week has.", self.days.len());
            findings.push(error("days", message, "Name each day once."));
        }
        for (field, text) in [("from", &self.from), ("to", &self.to)] {
            if text.len() > MAX_TIME_BYTES || parse_time_of_day(text).is_none() {
                let message = format!("The window's {field} is {text:?}, which is not a time of day.");
                findings.push(error(field, message, "Write hours and minutes, such as 22:00."));
            }
        }
        let offset = &self.utc_offset;
        if offset.len() > MAX_TIME_BYTES || !offset.is_empty() && parse_utc_offset(offset).is_none() {
            let message =
                format!("The window's utcOffset is {:?}, which is not an offset from UTC.", self.utc_offset);
            findings.push(error(
                "utcOffset",
                message,
                "Write it as +01:00 or -05:30, or leave it out for UTC.",
            ));
        }
        if !self.time_zone.is_empty() && !is_zone_name(&self.time_zone) {
            let shown: String = self.time_zone.chars().take(80).collect();
            let message =
                format!("The window's timeZone is {shown:?}, which is not the name of a time zone.");
            findings.push(error("timeZone", message, "Write a name such as Europe/Berlin, or leave it out."));
        } else if !self.time_zone.is_empty() && !self.utc_offset.is_empty() {
            let message = format!(
                "The window has the time zone {} and the offset {} from UTC.",
                self.time_zone, self.utc_offset
            );
            findings.push(error("utcOffset", message, "Leave out one of them: the zone has its own offset."));
        }
        if findings.is_empty() && self.parse_hours().is_none() {
            let message =
                format!("The window opens at {} and closes at {}: it is never open.", self.from, self.to);
            findings.push(error(
                "to",
                message,
                "Set an opening time before 24:00 and a different closing time, or remove the window.",
            ));
        }
        findings
    }
}

/// Whether a text can be the name of a time zone, such as `America/Argentina/Buenos_Aires` or `Etc/GMT+5`.
fn is_zone_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
    text.len() <= MAX_ZONE_BYTES && text.bytes().all(is_part)
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
        let (from, to, utc_offset) = (from.into(), to.into(), utc_offset.into());
        RolloutWindow { days: days.to_vec(), from, to, utc_offset, time_zone: String::new() }
    }

    fn opens(window: &RolloutWindow, now: &str) -> Option<String> {
        window.next_opening(now.parse().unwrap(), None).map(|at| at.to_string())
    }

    fn in_berlin(from: &str, to: &str) -> RolloutWindow {
        RolloutWindow { time_zone: "Europe/Berlin".into(), ..window(&[], from, to, "") }
    }

    /// The offsets of Berlin in 2026.
    fn berlin() -> ZoneOffsets {
        let (winter, summer) = (60 * MINUTE, 120 * MINUTE);
        let change = |at: &str, offset| (at.parse().unwrap(), offset);
        ZoneOffsets::new(
            winter,
            vec![change("2026-03-29T01:00:00Z", summer), change("2026-10-25T01:00:00Z", winter)],
        )
    }

    /// When a window in Berlin opens and closes next after a time, in UTC, hours and minutes.
    fn opening(window: &RolloutWindow, after: &str) -> (String, String) {
        let offsets = berlin();
        let opens = window.next_opening(after.parse().unwrap(), Some(&offsets)).unwrap();
        assert_eq!(window.next_opening(opens, Some(&offsets)), None, "it is open when it opens");
        let closes = window.closes_at(opens, Some(&offsets)).unwrap();
        assert!(window.next_opening(closes, Some(&offsets)).is_some(), "it is closed when it closes");
        let text = |at: Timestamp| at.to_string()[5..16].to_owned();
        (text(opens), text(closes))
    }

    fn pair(opens: &str, closes: &str) -> (String, String) {
        (opens.to_owned(), closes.to_owned())
    }

    #[test]
    fn a_window_in_a_zone_has_its_hours_before_and_after_the_change_to_summer_time() {
        let office = in_berlin("09:00", "17:00");
        assert_eq!(opening(&office, "2026-03-27T20:00:00Z"), pair("03-28T08:00", "03-28T16:00"));
        assert_eq!(opening(&office, "2026-03-28T20:00:00Z"), pair("03-29T07:00", "03-29T15:00"));
        // Across the change, the night has an hour less.
        let night = in_berlin("22:00", "04:00");
        assert_eq!(opening(&night, "2026-03-28T20:00:00Z"), pair("03-28T21:00", "03-29T02:00"));
        // The clocks skip 02:00 to 03:00: an end in it is at the change, and a window in it does not open on that day.
        assert_eq!(
            opening(&in_berlin("02:30", "05:00"), "2026-03-28T20:00:00Z"),
            pair("03-29T01:00", "03-29T03:00")
        );
        assert_eq!(
            opening(&in_berlin("01:00", "02:30"), "2026-03-28T20:00:00Z"),
            pair("03-29T00:00", "03-29T01:00")
        );
        assert_eq!(
            opening(&in_berlin("02:10", "02:50"), "2026-03-28T20:00:00Z"),
            pair("03-30T00:10", "03-30T00:50")
        );
    }

    #[test]
    fn a_window_in_a_zone_opens_once_when_the_clocks_show_an_hour_twice() {
        let office = in_berlin("09:00", "17:00");
        assert_eq!(opening(&office, "2026-10-24T20:00:00Z"), pair("10-25T08:00", "10-25T16:00"));
        // The night has an hour more.
        let night = in_berlin("22:00", "04:00");
        assert_eq!(opening(&night, "2026-10-24T18:00:00Z"), pair("10-24T20:00", "10-25T03:00"));
        // 02:00 to 03:00 is shown twice: each end is its first time.
        assert_eq!(
            opening(&in_berlin("02:30", "03:30"), "2026-10-24T20:00:00Z"),
            pair("10-25T00:30", "10-25T02:30")
        );
        assert_eq!(
            opening(&in_berlin("01:00", "02:30"), "2026-10-24T20:00:00Z"),
            pair("10-24T23:00", "10-25T00:30")
        );
        let short = in_berlin("02:10", "02:50");
        assert_eq!(opening(&short, "2026-10-24T20:00:00Z"), pair("10-25T00:10", "10-25T00:50"));
        assert_eq!(opening(&short, "2026-10-25T00:50:00Z"), pair("10-26T01:10", "10-26T01:50"));
    }

    #[test]
    fn a_window_in_a_zone_whose_offsets_are_not_known_never_opens() {
        let now = "2026-10-24T20:00:00Z".parse().unwrap();
        let unknown = in_berlin("00:00", "24:00");
        assert_eq!(unknown.next_opening(now, None), Some(Timestamp::from_millis(i64::MAX)));
        assert_eq!(unknown.closes_at(now, None), None);
    }

    #[test]
    fn a_window_is_written_as_it_is_parsed() {
        for text in
            ["22:00-06:00", "22:00-06:00 Europe/Berlin", "00:00-24:00 +01:00 sat,sun", "1:00-2:00 mon"]
        {
            assert_eq!(text.parse::<RolloutWindow>().unwrap().to_string(), text);
        }
        let parsed: RolloutWindow = "22:00-06:00 sat,sun Europe/Berlin".parse().unwrap();
        assert_eq!((parsed.days.len(), parsed.time_zone.as_str()), (2, "Europe/Berlin"));
        for text in ["", "22:00", "22:00-06:00 Europe/Berlin UTC", "22:00-06:00 sat sun"] {
            assert!(text.parse::<RolloutWindow>().is_err(), "{text}");
        }
    }

    #[test]
    fn days_that_follow_each_other_are_one_window() {
        let weekend = window(&[Weekday::Sat, Weekday::Sun], "00:00", "24:00", "");
        // 2026-11-21 is a Saturday.
        let closes = weekend.closes_at("2026-11-21T12:00:00Z".parse().unwrap(), None);
        assert_eq!(closes.map(|at| at.to_string()).as_deref(), Some("2026-11-23T00:00:00.000Z"));
        assert_eq!(weekend.closes_at("2026-11-23T00:00:00Z".parse().unwrap(), None), None);
        assert!(!weekend.is_always_open() && window(&[], "00:00", "24:00", "").is_always_open());
        assert!(window(Weekday::ALL, "00:00", "24:00", "").is_always_open());
    }

    #[test]
    fn g513_a_zone_is_a_name_and_has_no_other_offset() {
        let path = |window: RolloutWindow| {
            window.check("/rollout/window").into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        assert_eq!(path(in_berlin("09:00", "17:00")), [""; 0]);
        let both = RolloutWindow { utc_offset: "+01:00".into(), ..in_berlin("09:00", "17:00") };
        assert_eq!(path(both), ["/rollout/window/utcOffset"]);
        for zone in ["Europe Berlin", "Europe/Berl\u{ed}n", "a".repeat(65).as_str()] {
            let wrong = RolloutWindow { time_zone: zone.into(), ..in_berlin("09:00", "17:00") };
            assert_eq!(path(wrong), ["/rollout/window/timeZone"], "{zone}");
        }
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
        assert_eq!(window(&[], "22:00", "04:00", "+05:45").check("/rollout/window"), []);
        let never = window(&[], "22:00", "22:00", "").check("/rollout/window");
        assert_eq!(never.len(), 1);
        assert_eq!((never[0].code.as_str(), never[0].path.as_str()), ("G513", "/rollout/window/to"));
        assert!(never[0].is_blocking() && never[0].message.contains("opens at 22:00 and closes at 22:00"));
        assert!(opens(&window(&[], "22:00", "22:00", ""), "2026-11-22T22:00:00Z").is_some());
    }

    #[test]
    fn g513_names_the_fields_of_a_window_that_are_not_valid() {
        let bad = window(&[], "25:00", "noon", "CET").check("/rollout/window");
        let paths: Vec<&str> = bad.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["/rollout/window/from", "/rollout/window/to", "/rollout/window/utcOffset"]);
        assert!(bad.iter().all(|finding| finding.code == "G513" && finding.is_blocking()));
        assert_eq!(window(Weekday::ALL, "22:00", "04:00", "").check("/quietHours"), []);
        let repeated = window(&[Weekday::Mon; 8], "22:00", "04:00", "").check("/quietHours");
        assert_eq!((repeated.len(), repeated[0].path.as_str()), (1, "/quietHours/days"));
    }
}
