//! Objects listed by several records, and eviction marks of releases missing from the desired state.

use std::collections::HashSet;
use std::sync::Arc;

use domain::{ReleaseId, Timestamp};

use super::{AppliedRelease, AppliedReleases};
use crate::error::Error;

impl AppliedReleases {
    /// Whether another record, of this or another hub, also lists the object with this uid (S3-13).
    pub(crate) fn is_claimed_by_another(&self, release: ReleaseId, uid: &str) -> bool {
        let lists = |record: &AppliedRelease| {
            !record.deleting && record.resources.iter().any(|entry| entry.uid == uid)
        };
        !uid.is_empty()
            && (self.lock_known().values().any(|record| record.release != release && lists(record))
                || self.lock_foreign().values().any(lists))
    }

    /// Sets `evictionStart` on records of releases that are not in `named`, and removes it from the others (S3-8).
    ///
    /// # Errors
    /// The API server rejects a write; the rest is retried with the next desired state.
    pub(crate) async fn mark_evictions(
        &self,
        named: &HashSet<ReleaseId>,
        now: Timestamp,
    ) -> Result<(), Error> {
        for record in self.records_to_mark(named) {
            let eviction_start = (!named.contains(&record.release)).then_some(now);
            match self.write(AppliedRelease { eviction_start, ..(*record).clone() }).await {
                // The record was deleted meanwhile.
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                other => drop(other?),
            }
        }
        Ok(())
    }

    /// The records whose mark has to change.
    pub(crate) fn records_to_mark(&self, named: &HashSet<ReleaseId>) -> Vec<Arc<AppliedRelease>> {
        let wrong = |record: &&Arc<AppliedRelease>| {
            !record.deleting && named.contains(&record.release) == record.eviction_start.is_some()
        };
        self.lock_known().values().filter(wrong).cloned().collect()
    }
}
