//! Lists of workloads and of their revisions.

use domain::page::{ListQuery, Page};
use domain::workload::{Revision, WorkloadSummary};

use store::workload::WorkloadOrder;

use crate::{Error, Hub};

impl Hub {
    /// One page of workloads, by name.
    pub async fn list_workloads(&self, query: &ListQuery) -> Result<Page<WorkloadSummary>, Error> {
        let mut tx = self.read().await?;
        Ok(store::workload::list(&mut tx, self.project(), query, WorkloadOrder::Name).await?)
    }

    /// Its revisions, newest first.
    pub async fn list_revisions(&self, name: &str, query: &ListQuery) -> Result<Page<Revision>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        Ok(store::revision::list(&mut tx, workload.id, query).await?)
    }
}
