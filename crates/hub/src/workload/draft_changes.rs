//! Findings on the changes from the published revision to the draft.

use domain::workload::{Intent, Workload};
use domain::{Finding, guard};

use super::check::parse_source;
use crate::{Error, Hub};

impl Hub {
    /// Data that would be pruned and large changes of replicas (G516, G213); empty if the manifests are unchanged.
    pub(super) async fn draft_change_findings(&self, workload: &Workload) -> Result<Vec<Finding>, Error> {
        let Some(number) = workload.published.filter(|_| workload.intent == Intent::Published) else {
            return Ok(Vec::new());
        };
        let mut tx = self.read().await?;
        let published = store::revision::get_existing(&mut tx, workload.id, number).await?;
        drop(tx);
        if published.spec.source == workload.draft.source {
            return Ok(Vec::new());
        }
        let draft = workload.draft.clone();
        let (before, now) =
            (parse_source(published.spec.source.clone()).await?, parse_source(draft.source.clone()).await?);
        let compare = move || guard::check_change((&published.spec, &before), (&draft, &now));
        tokio::task::spawn_blocking(compare).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}
