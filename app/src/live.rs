//! The only module that uses browser APIs: live notices, the clock, keyboard shortcuts, the editor module, the DOM.
//!
//! A notice contains "release R changed, position n" and no data; the page runs its query again. On the server everything
//! here is inactive, and nothing here runs before hydration is complete, so that the markup of both sides is the same.

use domain::{ClusterId, ReleaseId, Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use serde::Deserialize;

use crate::paths;

pub mod alerts;
pub mod editor;
pub mod files;
pub mod form;
pub mod keys;
pub mod page;
pub mod press;
pub mod schema;
pub mod search;
mod stream;
pub mod unsaved;

/// One notice of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveNotice {
    /// Position in the log.
    pub seq: i64,
    /// The workload concerned.
    #[serde(default)]
    pub workload: Option<WorkloadId>,
    /// The cluster concerned.
    #[serde(default)]
    pub cluster: Option<ClusterId>,
    /// The release concerned.
    #[serde(default)]
    pub release: Option<ReleaseId>,
}

/// Notices since the previous batch; at most four batches a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoticeBatch {
    /// Incremented with every batch.
    pub number: u32,
    /// Notices may have been missed: every page runs its query again.
    pub resync: bool,
    /// What changed.
    pub changes: Vec<LiveNotice>,
}

/// Which notices concern a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Everything.
    Fleet,
    /// One workload.
    Workload(WorkloadId),
    /// One cluster.
    Cluster(ClusterId),
}

impl Topic {
    /// Whether a page with this topic has to run its query again after this batch.
    pub fn matches(self, batch: &NoticeBatch) -> bool {
        let concerns = |change: &LiveNotice| match self {
            Self::Fleet => true,
            // A change of a cluster alone, such as its connectivity, changes the state of the releases on it.
            Self::Workload(id) => change.workload.map_or(change.cluster.is_some(), |workload| workload == id),
            Self::Cluster(id) => change.cluster == Some(id),
        };
        batch.resync || batch.changes.iter().any(concerns)
    }
}

/// The live status in the top bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only a browser has a stream"))]
pub enum LiveMessage {
    /// Without script, or before the stream is open.
    #[default]
    Inactive,
    /// Notices arrive.
    Live,
    /// The stream failed and is being opened again.
    Reconnecting,
    /// The stream has failed for a while; the page's data is from this time.
    Stale(Timestamp),
}

/// The signals that pages subscribe to.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveUpdates {
    /// The live status in the top bar.
    pub message: RwSignal<LiveMessage>,
    /// The last batch.
    pub batch: RwSignal<NoticeBatch>,
    /// No page runs its query again: see [`hold_while`].
    pub is_held: RwSignal<bool>,
    /// The server's time, estimated in the browser; `None` before hydration.
    pub clock: RwSignal<Option<Timestamp>>,
}

/// Starts the stream, the clock and the shortcuts, once, at the root of the app.
pub fn provide_live_updates() {
    let live = LiveUpdates::default();
    provide_context(live);
    let path = use_location().pathname;
    // No stream without a session: it is opened on the first page other than sign-in and set-up.
    Effect::new(move |opened: Option<bool>| {
        let open_now =
            opened != Some(true) && path.with(|path| path != paths::SIGN_IN && path != paths::SETUP);
        if open_now {
            stream::open(live);
        }
        open_now || opened == Some(true)
    });
    Effect::new(move |_| {
        page::start_clock(live.clock);
        keys::listen();
        page::follow_finding_links();
        press::watch_presses();
        alerts::watch_submissions();
        unsaved::watch_forms();
    });
}

/// The signals from the context; inactive ones outside the app, as in tests.
pub fn use_live_updates() -> LiveUpdates {
    use_context().unwrap_or_default()
}

/// A number that grows when a page with this topic has to run its query again. While `topic` returns `None`, every batch
/// counts.
pub fn watch_version(topic: impl Fn() -> Option<Topic> + Send + Sync + 'static) -> RwSignal<u32> {
    let version = RwSignal::new(0);
    let LiveUpdates { batch, is_held, .. } = use_live_updates();
    Effect::new(move |previous: Option<u32>| {
        let is_held = is_held.get();
        batch.with(|batch| {
            let Some(previous) = previous else { return batch.number };
            if is_held {
                return previous;
            }
            if concerns(batch, previous, untrack(&topic)) {
                version.update(|n| *n += 1);
            }
            batch.number
        })
    });
    version
}

/// Whether a page that has followed the batches until number `previous` has to run its query again. Only the last batch is
/// stored: if the page was held during earlier ones, they may have concerned it.
fn concerns(batch: &NoticeBatch, previous: u32, topic: Option<Topic>) -> bool {
    let missed = batch.number > previous + 1;
    batch.number > previous && (missed || topic.is_none_or(|topic| topic.matches(batch)))
}

/// No page runs its query again while `is_held` is true; what concerned it meanwhile makes it do so afterwards. For the
/// deletion of what the page shows: the notice of it can arrive before the response, which leads to another page, and the
/// query would find nothing.
pub fn hold_while(is_held: impl Fn() -> bool + 'static) {
    let held = use_live_updates().is_held;
    Effect::new(move |_| held.set(is_held()));
    on_cleanup(move || {
        let _ = held.try_set(false);
    });
}

/// How often a page reads what changes without an event, in milliseconds.
const REFRESH_MILLIS: i64 = 30_000;

/// A number that grows every 30 s while the page is open and not held, for what an agent reports without an event, such as nodes and Helm releases.
pub fn count_refreshes() -> Memo<i64> {
    let LiveUpdates { clock, is_held, .. } = use_live_updates();
    let start = StoredValue::new(None::<Timestamp>);
    Memo::new(move |previous: Option<&i64>| {
        if is_held.get() {
            return previous.copied().unwrap_or_default();
        }
        let Some(now) = clock.get() else { return 0 };
        let start = start.try_update_value(|start| *start.get_or_insert(now)).unwrap_or(now);
        now.millis_since(start) / REFRESH_MILLIS
    })
}

/// The server's time: from the page's rendering, then advanced with the browser's clock.
pub fn server_now(at: Timestamp) -> Signal<Timestamp> {
    let clock = use_live_updates().clock;
    Signal::derive(move || clock.get().map_or(at, |ticked| ticked.max(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_refreshed_only_by_notices_of_its_topic() {
        let (mine, other) = (WorkloadId::from_parts(1, 1), WorkloadId::from_parts(1, 2));
        let change = LiveNotice { seq: 4, workload: Some(mine), cluster: None, release: None };
        let batch = NoticeBatch { number: 1, resync: false, changes: vec![change] };
        assert!(Topic::Workload(mine).matches(&batch));
        assert!(!Topic::Workload(other).matches(&batch));
        assert!(Topic::Fleet.matches(&batch));
        assert!(Topic::Workload(other).matches(&NoticeBatch { resync: true, ..batch }));
    }

    #[test]
    fn a_page_that_was_held_is_refreshed_if_a_batch_was_missed_meanwhile() {
        let (mine, other) = (WorkloadId::from_parts(1, 1), WorkloadId::from_parts(1, 2));
        let change = LiveNotice { seq: 4, workload: Some(other), cluster: None, release: None };
        let batch = NoticeBatch { number: 7, resync: false, changes: vec![change] };
        let concerns_mine = |previous| concerns(&batch, previous, Some(Topic::Workload(mine)));
        assert!(!concerns_mine(7), "nothing since");
        assert!(!concerns_mine(6), "another workload");
        assert!(concerns_mine(5), "batch 6 is not known");
        assert!(concerns(&batch, 6, Some(Topic::Workload(other))));
        assert!(concerns(&batch, 6, None));
    }

    #[test]
    fn the_page_of_a_workload_is_refreshed_when_the_connectivity_of_a_cluster_changes() {
        let (workload, cluster) = (WorkloadId::from_parts(1, 1), ClusterId::from_parts(1, 2));
        let change = LiveNotice { seq: 4, workload: None, cluster: Some(cluster), release: None };
        let batch = NoticeBatch { number: 1, resync: false, changes: vec![change] };
        assert!(Topic::Workload(workload).matches(&batch));
        assert!(!Topic::Cluster(ClusterId::from_parts(1, 3)).matches(&batch));
    }

    #[test]
    fn a_notice_is_parsed_as_the_stream_writes_it() {
        let change: LiveNotice =
            serde_json::from_str(r#"{"seq":7,"workload":null,"cluster":null,"kind":"releaseChanged"}"#)
                .unwrap();
        assert_eq!(change.seq, 7);
    }
}
