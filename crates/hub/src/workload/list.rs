//! Lists of workloads and of their revisions.

use domain::page::{ListQuery, Page};
use domain::workload::{Revision, WorkloadSummary};

use store::workload::Order;

use crate::{Error, Hub};

impl Hub {
    /// One page of workloads, by name.
    pub async fn workload_list(&self, query: &ListQuery) -> Result<Page<WorkloadSummary>, Error> {
        let mut tx = self.read().await?;
        Ok(store::workload::list(&mut tx, self.project(), query, Order::Name).await?)
    }

    /// Its revisions, newest first.
    pub async fn workload_revisions(&self, name: &str, query: &ListQuery) -> Result<Page<Revision>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        Ok(store::revision::list(&mut tx, workload.id, query).await?)
    }
}
