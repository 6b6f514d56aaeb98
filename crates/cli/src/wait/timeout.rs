//! The flag for the timeout of a wait: `none`, `30s`, `5m`, `1h30m`.

use std::str::FromStr;
use std::time::Duration;

/// Upper limit in seconds; longer values are reduced to it.
const MAX_SECONDS: u64 = 365 * 24 * 3600;

/// The timeout of a wait; `None` waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeout(pub Option<Duration>);

impl FromStr for WaitTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a timeout; write none, 30s, 5m or 1h30m");
        let text = text.trim();
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self(None));
        }
        let (mut seconds, mut digits) = (0_u64, String::new());
        for c in text.chars() {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            let unit = match c {
                's' => 1,
                'm' => 60,
                'h' => 3600,
                _ => return Err(wrong()),
            };
            let number: u64 = digits.parse().map_err(|_| wrong())?;
            seconds = seconds.saturating_add(number.saturating_mul(unit));
            digits.clear();
        }
        if !digits.is_empty() {
            seconds = digits.parse().ok().filter(|_| seconds == 0).ok_or_else(wrong)?;
        } else if text.is_empty() {
            return Err(wrong());
        }
        Ok(Self(Some(Duration::from_secs(seconds.min(MAX_SECONDS)))))
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
        assert_eq!(read("0s"), Ok(Some(0)));
        for wrong in ["", "s", "5d", "-1s", "5m3", "99999999999999999999s", "1.5h"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
