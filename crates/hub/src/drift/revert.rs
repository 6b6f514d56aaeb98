//! Reverts drift: the values of the workload are applied again, under either policy.

use domain::DriftId;
use domain::authorization::UserAction;
use domain::drift::{DriftItem, DriftVerb};

use super::{check_decision, show_item};
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Requests the cluster of an entry to apply the workload again now, whatever its policy is. It reverts everything that drifts in
    /// this workload on this cluster, and a contested field is tried again. Returns the entry, which ends with the cluster's next report.
    ///
    /// # Errors
    /// There is no such entry; the workload can't be synced.
    pub async fn revert_drift(&self, actor: &Actor, id: DriftId) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::Sync)?;
        let name = self.read_drift_row(id).await?.item.workload;
        let mut tx = self.write_as(actor, UserAction::Sync).await?;
        let workload = self.lock_workload_head(&mut tx, &name).await?;
        let row = self.load_drift_row(&mut tx, id).await?;
        check_decision(&row, DriftVerb::Revert, None)?;
        let (_, effects) = self.stage_sync(&mut tx, actor, &workload, &[row.cluster]).await?;
        let item = show_item(actor, row);
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &item)).await?;
        Ok(item)
    }
}
