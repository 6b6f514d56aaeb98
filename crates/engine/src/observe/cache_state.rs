//! State of a cache that a watch fills, and how long its readers wait for it.

use std::time::Duration;

use tokio::sync::watch;

use super::watcher::WatcherEvent;
use crate::error::Error;

/// Time limit for the first list or the recovery of a watch.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// State of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CacheState {
    /// The first list has not arrived yet.
    Starting,
    /// Up to date.
    Fresh,
    /// The kind can't be read; the cache holds the last known state. `true` if a list succeeded before.
    Failing(Error, bool),
    /// The cluster does not serve the kind.
    NotServed,
}

impl CacheState {
    /// Whether a list has arrived, so that an object that is not in the cache did not exist then.
    pub(crate) const fn is_listed(&self) -> bool {
        matches!(self, Self::Fresh | Self::Failing(_, true))
    }

    /// The state after an event; `None` if the event does not change it.
    pub(super) fn after(&self, event: &WatcherEvent) -> Option<Self> {
        match event {
            WatcherEvent::Listed(..) | WatcherEvent::Resumed => Some(Self::Fresh),
            WatcherEvent::Failing(error) => Some(Self::Failing(error.clone(), self.is_listed())),
            WatcherEvent::NotServed => Some(Self::NotServed),
            WatcherEvent::ListStarted | WatcherEvent::Upserted(_) | WatcherEvent::Deleted(_) => None,
        }
    }
}

/// Waits until the cache is fresh, the kind is unavailable, or the time limit is reached: a first list that has not arrived
/// by then is a failure, never an empty cache. Does not return [`CacheState::Starting`].
pub(super) async fn wait_until_settled(state: &watch::Sender<CacheState>) -> CacheState {
    let mut receiver = state.subscribe();
    // A failed watch usually recovers soon; until then the cache must not be acted on.
    let is_settled =
        |state: &CacheState| !matches!(state, CacheState::Starting | CacheState::Failing(_, true));
    let settled = tokio::time::timeout(SETTLE_TIMEOUT, receiver.wait_for(is_settled)).await;
    let state = match settled {
        Ok(Ok(state)) => state.clone(),
        _ => state.borrow().clone(),
    };
    match state {
        CacheState::Starting => CacheState::Failing(Error::Timeout(SETTLE_TIMEOUT), false),
        state => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_first_list_that_does_not_arrive_is_a_failure_and_no_empty_cache() {
        let state = watch::Sender::new(CacheState::Starting);
        let settled = wait_until_settled(&state).await;
        assert_eq!(settled, CacheState::Failing(Error::Timeout(SETTLE_TIMEOUT), false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fails_after_its_list_is_waited_for_and_then_reported() {
        let broken = CacheState::Failing(Error::Gone, true);
        let state = watch::Sender::new(broken.clone());
        let (settled, ()) = tokio::join!(wait_until_settled(&state), async {
            tokio::time::sleep(SETTLE_TIMEOUT / 2).await;
            state.send_replace(CacheState::Fresh);
        });
        assert_eq!(settled, CacheState::Fresh, "it recovered in time");
        state.send_replace(broken.clone());
        assert_eq!(wait_until_settled(&state).await, broken);
    }
}
