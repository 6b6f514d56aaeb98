//! Lists of workloads and of their revisions.

use domain::WorkloadId;
use domain::authorization::UserAction;
use domain::page::{ListQuery, Page};
use domain::workload::{Revision, WorkloadOrder, WorkloadSummary};

use crate::{Actor, Error, Hub};

impl Hub {
    /// One page of workloads, by name.
    pub async fn list_workloads(
        &self,
        query: &ListQuery,
        order: WorkloadOrder,
    ) -> Result<Page<WorkloadSummary>, Error> {
        let mut tx = self.read().await?;
        let mut page = store::workload::list(&mut tx, self.project(), query, order).await?;
        let ids: Vec<WorkloadId> = page.items.iter().map(|one| one.id).collect();
        let mut suspensions = store::suspension::list_of_workloads(&mut tx, &ids).await?;
        for one in &mut page.items {
            one.suspension = suspensions.remove(&one.id);
        }
        Ok(page)
    }

    /// Of each of these workloads with a failing or blocked release, the message of the worst one.
    pub async fn list_failure_messages(
        &self,
        workloads: &[WorkloadId],
    ) -> Result<Vec<(WorkloadId, String)>, Error> {
        let mut tx = self.read().await?;
        Ok(store::release::list_worst_messages(&mut tx, workloads).await?)
    }

    /// The numbers of its newest revisions, newest first.
    ///
    /// # Errors
    /// There is no such workload.
    pub async fn list_revision_numbers(&self, name: &str, limit: u32) -> Result<Vec<u32>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        Ok(store::revision::list_numbers(&mut tx, workload.id, limit).await?)
    }

    /// Its revisions, newest first, with the values of their Secrets hidden.
    pub async fn list_revisions(
        &self,
        actor: &Actor,
        name: &str,
        query: &ListQuery,
    ) -> Result<Page<Revision>, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        let page = store::revision::list(&mut tx, workload.id, query).await?;
        drop(tx);
        self.hide_secrets(actor, page).await
    }
}
