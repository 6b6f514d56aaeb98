//! The flag for the timeout of a wait: `none`, `30s`, `5m`, `1h30m`.

use std::str::FromStr;
use std::time::Duration;

use domain::rollout::TimeSpan;

/// The timeout of a wait; `None` waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeout(pub Option<Duration>);

impl FromStr for WaitTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self(None));
        }
        // A number without a unit is in seconds.
        if let Ok(seconds) = text.parse::<u32>() {
            return Ok(Self(Some(Duration::from_secs(seconds.into()))));
        }
        let Ok(span) = text.parse::<TimeSpan>();
        let millis = span.millis().and_then(|millis| u64::try_from(millis).ok());
        millis
            .map(|millis| Self(Some(Duration::from_millis(millis))))
            .ok_or_else(|| format!("{text:?} is not a timeout; write none, 30s, 5m or 1h30m, at most a year"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_parsed() {
        let read =
            |text: &str| text.parse::<WaitTimeout>().map(|timeout| timeout.0.map(|limit| limit.as_secs()));
        assert_eq!(read("none"), Ok(None));
        assert_eq!(read("30s"), Ok(Some(30)));
        assert_eq!(read("1h30m"), Ok(Some(5400)));
        assert_eq!(read("90"), Ok(Some(90)));
        assert_eq!(read("2d"), Ok(Some(172_800)));
        assert_eq!(read("0s"), Ok(Some(0)));
        for wrong in ["", "s", "-1s", "5m3", "30m1h", "366d", "99999999999999999999s", "1.5h"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
