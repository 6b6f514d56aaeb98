//! Questions about the event log.

use domain::event::Event;

use crate::{Error, Hub};

/// Most events given at once.
const MOST: u32 = 500;

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only older ones than this position.
    pub before: Option<i64>,
    /// Only of the workload with this name.
    pub workload: Option<String>,
    /// Only of the cluster with this name.
    pub cluster: Option<String>,
    /// At most this many, 1 to 500.
    pub limit: u32,
}

impl Hub {
    /// Events, newest first.
    pub async fn event_list(&self, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let mut tx = self.read().await?;
        let workload = match &query.workload {
            Some(name) => Some(self.load_workload(&mut tx, name).await?.id),
            None => None,
        };
        let cluster = match &query.cluster {
            Some(name) => {
                let found = store::cluster::by_name(&mut tx, name).await?;
                Some(found.ok_or_else(|| Error::not_found("cluster", name))?.id)
            }
            None => None,
        };
        let limit = query.limit.clamp(1, MOST);
        let query = store::event::EventQuery { before: query.before, workload, cluster, limit };
        Ok(store::event::list(&mut tx, &query).await?)
    }

    /// Events after a position, oldest first: how a stream resumes.
    pub async fn events_after(&self, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
        let mut tx = self.read().await?;
        Ok(store::event::after(&mut tx, seq, limit.clamp(1, MOST)).await?)
    }
}
