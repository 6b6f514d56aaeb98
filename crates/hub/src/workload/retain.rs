//! Cancels pending removals of a workload from clusters that no longer match it (E-6).

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};

use serde_json::json;
use store::retained_cluster::{self, RetainedCluster};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Cancels the pending removals on these clusters (all if empty) until the next publish; returns the names of the
    /// clusters whose removal was cancelled now.
    ///
    /// # Errors
    /// A cluster has no pending removal.
    pub async fn retain_workload(
        &self,
        actor: &Actor,
        name: &str,
        clusters: &[String],
    ) -> Result<Vec<String>, Error> {
        actor.authorize(UserAction::Retain)?;
        let mut tx = self.write_as(actor, UserAction::Retain).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        let removals = store::pending_removal::list(&mut tx, workload.id).await?;
        let has_removal = |cluster: &String| removals.iter().any(|one| one.name == *cluster);
        if let Some(other) = clusters.iter().find(|cluster| !has_removal(cluster)) {
            return Err(ActionUnavailable(format!("{name} is not about to be removed from {other}.")).into());
        }
        let mut retained = Vec::new();
        let now = self.clock().now();
        for one in removals.iter().filter(|one| clusters.is_empty() || clusters.contains(&one.name)) {
            if let (None, Some(revision)) = (&one.retained_by, workload.published) {
                let row = RetainedCluster {
                    workload: workload.id,
                    cluster: one.cluster,
                    revision,
                    retained_by: actor.name.clone(),
                    retained_at: now,
                };
                retained_cluster::insert(&mut tx, &row).await?;
                retained.push(one.name.clone());
            }
        }
        if retained.is_empty() && clusters.is_empty() {
            return Err(
                ActionUnavailable(format!("{name} is not about to be removed from any cluster.")).into()
            );
        }
        let mut effects = CommitEffects { wake_placer: true, ..CommitEffects::default() };
        let subject = EventSubject::workload(workload.id, name);
        if retained.is_empty() {
            let message = format!("The removals of {name} were cancelled before; nothing was changed.");
            tx.describe_audit(subject.describe(), message);
        } else {
            store::queue::PLACER.mark_requested(&mut tx, workload.id, now).await?;
            let detail = EventDetail::RemovalsCancelled { clusters: retained.clone() };
            effects.events.push(NewEvent::from_detail(detail, &actor.name, subject, now));
        }
        let response = json!({ "retained": &retained });
        self.commit(tx, effects.with_response(actor, 200, &response)).await?;
        Ok(retained)
    }
}
