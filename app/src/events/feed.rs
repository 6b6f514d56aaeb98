//! Events as entries of a list: what belongs together is one entry, with its events as steps.
//!
//! A publish takes the placement, the rollout and the states of its clusters until each has settled; transitions of a release that
//! follow each other, the same change on several clusters, and the outage of a cluster are one entry each.

use domain::Timestamp;
#[cfg(feature = "ssr")]
use domain::event::Event;
use serde::{Deserialize, Serialize};

use super::EventSummary;

#[cfg(feature = "ssr")]
mod describe;
#[cfg(feature = "ssr")]
mod group;

#[cfg(all(test, feature = "ssr"))]
mod tests;

/// What happened, once or on several clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// The event that decides about icon and address.
    pub event: EventSummary,
    /// When it began.
    pub at: Timestamp,
    /// The workload or cluster that the text is about; empty if the text names it.
    pub subject: String,
    /// The clusters where it happened; empty if the text names them.
    pub clusters: String,
    /// What happened, in a few words: `r3 published`, `Progressing → Degraded`.
    pub text: String,
    /// Why, by whom or with which outcome; may be empty.
    pub detail: String,
    /// Names in the texts, with their pages.
    pub names: Vec<(String, String)>,
    /// Its events, oldest first, if there are several.
    pub steps: Vec<EventSummary>,
}

impl FeedEntry {
    /// Clusters and detail in one line.
    pub fn whole_detail(&self) -> String {
        let parts = [self.clusters.as_str(), self.detail.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

/// Folds events, newest first, into entries, newest first.
#[cfg(feature = "ssr")]
pub fn fold_events(events: &[Event]) -> Vec<FeedEntry> {
    let groups = group::group_events(events);
    groups.iter().rev().map(describe::entry).collect()
}
