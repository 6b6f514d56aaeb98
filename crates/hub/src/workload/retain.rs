//! Cancels pending removals of a workload from clusters that no longer match it (E-6).

use domain::actions::ActionUnavailable;
use domain::event::{EventDetail, EventSubject, NewEvent};

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
        let mut tx = self.write().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let mut decision = store::decision::get_latest(&mut tx, workload.id).await?.unwrap_or_default();
        let has_removal = |cluster: &String| decision.pending_removals.iter().any(|one| one.name == *cluster);
        if let Some(other) = clusters.iter().find(|cluster| !has_removal(cluster)) {
            return Err(ActionUnavailable(format!("{name} is not about to be removed from {other}.")).into());
        }
        let mut retained = Vec::new();
        for one in &mut decision.pending_removals {
            if one.retained_by.is_none() && (clusters.is_empty() || clusters.contains(&one.name)) {
                one.retained_by = Some(actor.name.clone());
                retained.push(one.name.clone());
            }
        }
        if retained.is_empty() && clusters.is_empty() {
            return Err(
                ActionUnavailable(format!("{name} is not about to be removed from any cluster.")).into()
            );
        }
        let now = self.clock().now();
        let mut effects = CommitEffects { wake_placer: true, ..CommitEffects::default() };
        if !retained.is_empty() {
            decision.decided_at = Some(now);
            store::decision::insert(&mut tx, workload.id, &decision).await?;
            store::queue::PLACER.mark(&mut tx, &[workload.id], now).await?;
            let detail = EventDetail::RemovalsCancelled { clusters: retained.clone() };
            let subject = EventSubject::workload(workload.id, name);
            effects.events.push(NewEvent::from_detail(detail, &actor.name, subject, now));
        }
        self.commit(tx, effects).await?;
        Ok(retained)
    }
}
