//! The API server's time, from the `Date` header of its responses: object ages are measured with the clock that set the
//! timestamps, so the agent's clock may be wrong (P10).

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use domain::Timestamp;
use http::{HeaderMap, header};

/// Ignored difference, in milliseconds: `Date` has a resolution of one second, and responses have latency.
const TOLERANCE_MILLIS: i64 = 3_000;

/// Offset between the API server's clock and the agent's.
#[derive(Debug, Default)]
pub(crate) struct ServerTime {
    /// In milliseconds; positive if the server's clock is ahead.
    offset_millis: AtomicI64,
}

impl ServerTime {
    /// Records the `Date` of a response; `now` is the agent's time.
    pub(crate) fn record_date(&self, headers: &HeaderMap, now: Timestamp) {
        let Some(server_now) = parse_date(headers) else { return };
        let ahead = server_now.millis().saturating_sub(now.millis());
        self.offset_millis.store(if ahead.abs() > TOLERANCE_MILLIS { ahead } else { 0 }, Relaxed);
    }

    /// The API server's time when the agent's is `now`.
    pub(crate) fn to_server_time(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(self.offset_millis.load(Relaxed))
    }
}

fn parse_date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = httpdate::parse_http_date(headers.get(header::DATE)?.to_str().ok()?).ok()?;
    let millis = date.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Timestamp::from_millis(i64::try_from(millis).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p10_a_clock_that_is_an_hour_off_is_corrected_and_a_difference_of_a_second_is_ignored() {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, "Fri, 21 Nov 2025 13:00:00 GMT".parse().unwrap());
        let right = Timestamp::from_millis(1_763_730_000_000);
        for off in [3_600_000, -3_600_000] {
            let time = ServerTime::default();
            let ours = right.plus_millis(off);
            assert_eq!(time.to_server_time(ours), ours, "no response yet");
            time.record_date(&headers, ours);
            assert_eq!(time.to_server_time(ours.plus_millis(5)), right.plus_millis(5));
            time.record_date(&headers, right.plus_millis(1_500));
            assert_eq!(time.to_server_time(right), right);
        }
        let time = ServerTime::default();
        headers.insert(header::DATE, "yesterday".parse().unwrap());
        time.record_date(&headers, right);
        assert_eq!(time.to_server_time(right), right);
    }
}
