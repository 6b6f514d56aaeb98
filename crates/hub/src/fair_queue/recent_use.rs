//! For how long groups had places lately: who waits with little of that comes before who has had much.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// After this time, half of a use counts.
const HALF_LIFE: Duration = Duration::from_secs(60);
/// Groups that are remembered at least; those without a whole second are forgotten beyond that.
const MAX_IDLE_GROUPS: usize = 1_000;

/// The recent use of each group.
#[derive(Debug, Default)]
pub(super) struct RecentUse(HashMap<String, GroupUse>);

#[derive(Debug, Clone, Copy)]
struct GroupUse {
    seconds: f64,
    /// When that was so.
    at: Instant,
}

impl GroupUse {
    fn seconds_at(self, now: Instant) -> f64 {
        let half_lives = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * 0.5_f64.powf(half_lives)
    }
}

impl RecentUse {
    /// A place of this group was used for this time, until now.
    pub fn add(&mut self, group: &str, used: Duration, now: Instant) {
        if self.0.len() >= MAX_IDLE_GROUPS {
            self.0.retain(|_, one| one.seconds_at(now) >= 1.0);
        }
        let before = self.0.get(group).map_or(0.0, |one| one.seconds_at(now));
        self.0.insert(group.to_owned(), GroupUse { seconds: before + used.as_secs_f64(), at: now });
    }

    /// Whole seconds, so that groups that do short work have their turns one after the other.
    pub fn seconds(&self, group: &str, now: Instant) -> u64 {
        self.0.get(group).map_or(0, |one| one.seconds_at(now) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_use_counts_half_after_a_minute_and_short_uses_add_up() {
        let mut recent = RecentUse::default();
        let start = Instant::now();
        recent.add("ada", seconds(20), start);
        assert_eq!((recent.seconds("ada", start), recent.seconds("bob", start)), (20, 0));
        let later = start + HALF_LIFE;
        assert_eq!(recent.seconds("ada", later), 10);
        recent.add("ada", Duration::from_millis(500), later);
        recent.add("ada", Duration::from_millis(500), later);
        assert_eq!(recent.seconds("ada", later), 11);
        assert_eq!(recent.seconds("ada", later + 10 * HALF_LIFE), 0);
    }

    #[test]
    fn p20_groups_that_used_nothing_lately_are_forgotten() {
        let mut recent = RecentUse::default();
        let start = Instant::now();
        recent.add("busy", seconds(60), start);
        for number in 0..2 * MAX_IDLE_GROUPS {
            recent.add(&number.to_string(), Duration::from_millis(1), start);
        }
        assert!(recent.0.len() <= MAX_IDLE_GROUPS);
        assert_eq!(recent.seconds("busy", start), 60);
    }
}
