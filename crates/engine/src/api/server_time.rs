//! What time it is for the API server, as its answers say: ages of objects are measured by the clock that stamped them,
//! so the agent's own may be wrong (P10).

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use domain::Timestamp;
use http::{HeaderMap, header};

/// A difference that is let be, in milliseconds: answers tell whole seconds, and take some time on their way.
const LET_BE: i64 = 3_000;

/// How far the API server's clock is from ours.
#[derive(Debug, Default)]
pub(crate) struct ServerTime {
    /// In milliseconds; positive if its clock is ahead.
    ahead: AtomicI64,
}

impl ServerTime {
    /// Takes note of when an answer was made; `now` is what our clock says.
    pub(crate) fn note(&self, headers: &HeaderMap, now: Timestamp) {
        let Some(told) = date(headers) else { return };
        let ahead = told.millis().saturating_sub(now.millis());
        self.ahead.store(if ahead.abs() > LET_BE { ahead } else { 0 }, Relaxed);
    }

    /// What the API server's clock says when ours says `now`.
    pub(crate) fn at(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(self.ahead.load(Relaxed))
    }
}

fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let told = httpdate::parse_http_date(headers.get(header::DATE)?.to_str().ok()?).ok()?;
    let millis = told.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Timestamp::from_millis(i64::try_from(millis).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p10_a_clock_that_is_an_hour_off_is_set_by_the_servers_answers_and_a_second_is_let_be() {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, "Fri, 21 Nov 2025 13:00:00 GMT".parse().unwrap());
        let right = Timestamp::from_millis(1_763_730_000_000);
        for off in [3_600_000, -3_600_000] {
            let time = ServerTime::default();
            let ours = right.plus_millis(off);
            assert_eq!(time.at(ours), ours, "nothing is known yet");
            time.note(&headers, ours);
            assert_eq!(time.at(ours.plus_millis(5)), right.plus_millis(5));
            time.note(&headers, right.plus_millis(1_500));
            assert_eq!(time.at(right), right);
        }
        let time = ServerTime::default();
        headers.insert(header::DATE, "yesterday".parse().unwrap());
        time.note(&headers, right);
        assert_eq!(time.at(right), right);
    }
}
