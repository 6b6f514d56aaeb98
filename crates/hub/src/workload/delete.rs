//! Deletes a workload (S1-22, S3-12).

use domain::actions;
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::request::RemovalOptions;
use domain::workload::{Intent, RemovedWorkload, WorkloadHead};

use super::unpublish::RemovalRequest;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Removes it from every cluster; the placer deletes it once nothing of it is left. With `force`, releases on clusters
    /// that are not online are abandoned: their clusters remove them when they return. Its draft is not read.
    pub async fn delete_workload(
        &self,
        actor: &Actor,
        name: &str,
        removal: RemovalOptions,
    ) -> Result<RemovedWorkload, Error> {
        actor.authorize(UserAction::DeleteWorkload)?;
        let mut tx = self.write_as(actor, UserAction::DeleteWorkload).await?;
        let (workload, effects) = self.stage_deletion(&mut tx, actor, name, removal).await?;
        self.commit_removal(tx, actor, (workload, Intent::Deleting), effects).await
    }

    /// Starts the deletion of a workload; the caller commits. Returns the workload as it was.
    pub(crate) async fn stage_deletion(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        name: &str,
        removal: RemovalOptions,
    ) -> Result<(WorkloadHead, CommitEffects), Error> {
        // An intent that can't be read keeps the placer from any change, but not a user from the deletion.
        store::workload::replace_unknown_intent(tx, self.project(), name, Intent::Unpublished).await?;
        // A deletion at the same time has ended or begins after this one: it is no conflict.
        let workload = self.lock_workload_head(tx, name).await?;
        if !(removal.force && workload.intent == Intent::Deleting) {
            actions::check_delete(&workload)?;
        }
        let event =
            NewEvent::new(EventKind::WorkloadDeleting, &actor.name, format!("{name} is being deleted."))
                .with_workload(workload.id, name);
        let request = RemovalRequest { intent: Intent::Deleting, options: removal, event };
        let effects = self.stage_removal(tx, actor, &workload, request).await?;
        Ok((workload, effects))
    }
}
