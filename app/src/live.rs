//! The only room that knows it is in a browser: live notices, the ticking clock, keys, the editor module, the DOM.
//!
//! A notice says "release R changed, position n" and nothing more; the page asks its one query again (DESIGN 3.11). On
//! the server everything here stands still, and nothing here runs before hydration is over, so the markup of both sides
//! is the same.

use domain::{ClusterId, ReleaseId, Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use serde::Deserialize;

use crate::paths;

pub mod editor;
pub mod files;
pub mod keys;
pub mod page;
pub mod schema;
mod stream;

/// One notice of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
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

/// Notices since the last look, at most four batches a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Grows with every batch.
    pub number: u32,
    /// Something may have been missed: everybody looks again.
    pub everything: bool,
    /// What changed.
    pub changes: Vec<Change>,
}

/// What a page wants to hear about.
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
    /// Whether a page with this topic looks again after this batch.
    pub fn hears(self, batch: &Batch) -> bool {
        let concerns = |change: &Change| match self {
            Self::Fleet => true,
            Self::Workload(id) => change.workload == Some(id),
            Self::Cluster(id) => change.cluster == Some(id),
        };
        batch.everything || batch.changes.iter().any(concerns)
    }
}

/// The word in the top bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only a browser has a stream"))]
pub enum Word {
    /// Without script, or before the stream is open.
    #[default]
    Still,
    /// Notices arrive.
    Live,
    /// The stream broke and is opened again.
    Reconnecting,
    /// It has been broken for a while; what is shown is from then.
    Stale(Timestamp),
}

/// What pages can follow.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    /// The word in the top bar.
    pub word: RwSignal<Word>,
    /// The last notices.
    pub batch: RwSignal<Batch>,
    /// The server's time as the browser reckons it; `None` before hydration.
    pub clock: RwSignal<Option<Timestamp>>,
}

/// Puts the stream, the clock and the keys in place, once, at the root of the app.
pub fn provide() {
    let live = Live { word: RwSignal::default(), batch: RwSignal::default(), clock: RwSignal::default() };
    provide_context(live);
    let path = use_location().pathname;
    // A stranger gets no stream: it begins on the first page that is not for signing in.
    Effect::new(move |begun: Option<bool>| {
        let begin = begun != Some(true) && path.with(|path| path != paths::SIGN_IN && path != paths::SETUP);
        if begin {
            stream::open(live);
        }
        begin || begun == Some(true)
    });
    Effect::new(move |_| {
        page::tick(live.clock);
        keys::listen();
        page::follow_places();
    });
}

/// What pages can follow; still for who stands outside the app, as tests do.
pub fn live() -> Live {
    use_context::<Live>().unwrap_or_else(|| Live {
        word: RwSignal::default(),
        batch: RwSignal::default(),
        clock: RwSignal::default(),
    })
}

/// A number that grows when a page with this topic should look again. `None` waits until the page knows its topic.
pub fn version(topic: impl Fn() -> Option<Topic> + Send + Sync + 'static) -> RwSignal<u32> {
    let version = RwSignal::new(0);
    let batch = live().batch;
    Effect::new(move |seen: Option<u32>| {
        batch.with(|batch| {
            let fresh = seen.is_some_and(|seen| batch.number > seen);
            if fresh && untrack(&topic).is_none_or(|topic| topic.hears(batch)) {
                version.update(|n| *n += 1);
            }
            batch.number
        })
    });
    version
}

/// The server's time: what the page was made with, then as the browser's clock goes on.
pub fn now(at: Timestamp) -> Signal<Timestamp> {
    let clock = live().clock;
    Signal::derive(move || clock.get().map_or(at, |ticked| ticked.max(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_looks_again_only_for_what_concerns_it() {
        let (mine, other) = (WorkloadId::from_parts(1, 1), WorkloadId::from_parts(1, 2));
        let change = Change { seq: 4, workload: Some(mine), cluster: None, release: None };
        let batch = Batch { number: 1, everything: false, changes: vec![change] };
        assert!(Topic::Workload(mine).hears(&batch));
        assert!(!Topic::Workload(other).hears(&batch));
        assert!(Topic::Fleet.hears(&batch));
        assert!(Topic::Workload(other).hears(&Batch { everything: true, ..batch }));
    }

    #[test]
    fn a_notice_is_read_as_the_stream_writes_it() {
        let change: Change =
            serde_json::from_str(r#"{"seq":7,"workload":null,"cluster":null,"kind":"releaseChanged"}"#)
                .unwrap();
        assert_eq!(change.seq, 7);
    }
}
