//! What records claim: objects that another record lists too, and releases that the hub does not name any more.

use std::collections::HashSet;
use std::sync::Arc;

use domain::{ReleaseId, Timestamp};

use super::{Record, Records};
use crate::error::Error;

impl Records {
    /// Whether another record, of this hub or of another, lists the object with this uid too (S3-13).
    pub(crate) fn is_claimed_by_another(&self, release: ReleaseId, uid: &str) -> bool {
        let lists =
            |record: &Record| !record.deleting && record.resources.iter().any(|entry| entry.uid == uid);
        !uid.is_empty()
            && (self.known().values().any(|record| record.release != release && lists(record))
                || self.foreign().values().any(lists))
    }

    /// Marks the records of releases that the hub does not name any more; takes the mark off those it names again (S3-8).
    ///
    /// # Errors
    /// When the API server refuses; what is left is marked with the next list.
    pub(crate) async fn mark_evictions(
        &self,
        named: &HashSet<ReleaseId>,
        now: Timestamp,
    ) -> Result<(), Error> {
        for record in self.to_mark(named) {
            let eviction_start = (!named.contains(&record.release)).then_some(now);
            match self.write(Record { eviction_start, ..(*record).clone() }).await {
                // It was let go meanwhile.
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                other => drop(other?),
            }
        }
        Ok(())
    }

    /// The records whose mark is not as it should be.
    pub(crate) fn to_mark(&self, named: &HashSet<ReleaseId>) -> Vec<Arc<Record>> {
        let wrong = |record: &&Arc<Record>| {
            !record.deleting && named.contains(&record.release) == record.eviction_start.is_some()
        };
        self.known().values().filter(wrong).cloned().collect()
    }
}
