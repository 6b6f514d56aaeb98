//! Queries on the event log.

use domain::event::Event;
use domain::request::EventQuery;
use store::event::ListedEvents;

use crate::{Error, Hub};

/// Maximum events per response.
const MAX_EVENTS: u32 = 500;

impl Hub {
    /// Events, newest first. A page ends early where its events have many bytes; the next one begins after them.
    pub async fn list_events(&self, query: &EventQuery) -> Result<ListedEvents, Error> {
        let mut tx = self.read().await?;
        let workload = match &query.workload {
            Some(name) => Some(self.load_workload_head(&mut tx, name).await?.id),
            None => None,
        };
        let cluster = match &query.cluster {
            Some(name) => {
                let found = store::cluster::get_by_name(&mut tx, name).await?;
                Some(found.ok_or_else(|| Error::not_found("cluster", name))?.id)
            }
            None => None,
        };
        let limit = query.limit().clamp(1, MAX_EVENTS);
        let query = store::event::EventFilter { before: query.before, workload, cluster, limit };
        Ok(store::event::list(&mut tx, &query).await?)
    }

    /// Events after a position, oldest first; fewer than the limit where they have many bytes. One that can't be read is left out.
    pub async fn list_events_after(&self, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
        let mut tx = self.read().await?;
        Ok(store::event::list_after(&mut tx, seq, limit.clamp(1, MAX_EVENTS)).await?)
    }

    /// The same without actors, messages and details, to resume a stream of changes.
    pub async fn list_changes_after(&self, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
        let mut tx = self.read().await?;
        Ok(store::event::list_changes_after(&mut tx, seq, limit.clamp(1, MAX_EVENTS)).await?)
    }
}
