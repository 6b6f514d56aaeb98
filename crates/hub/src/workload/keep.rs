//! Keeps a workload on clusters that no longer match it (E-6): the undo of a change of labels or taints that takes it away.

use domain::can::WhyNot;
use domain::event::{EventKind, NewEvent};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Keeps it on these clusters (all that are about to lose it if none) until the next publish; returns their names.
    ///
    /// # Errors
    /// A cluster named here is not about to lose it.
    pub async fn workload_keep(
        &self,
        actor: &Actor,
        name: &str,
        clusters: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut tx = self.write().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let mut decision = store::decision::latest(&mut tx, workload.id).await?.unwrap_or_default();
        let is_leaving = |cluster: &String| decision.leaving.iter().any(|one| one.name == *cluster);
        if let Some(stranger) = clusters.iter().find(|cluster| !is_leaving(cluster)) {
            return Err(WhyNot(format!("{stranger} is not about to lose {name}.")).into());
        }
        let mut kept = Vec::new();
        for one in &mut decision.leaving {
            if one.kept_by.is_none() && (clusters.is_empty() || clusters.contains(&one.name)) {
                one.kept_by = Some(actor.name.clone());
                kept.push(one.name.clone());
            }
        }
        if kept.is_empty() && clusters.is_empty() {
            return Err(WhyNot(format!("No cluster is about to lose {name}.")).into());
        }
        let now = self.clock().now();
        let mut done = Done { dirty: true, ..Done::default() };
        if !kept.is_empty() {
            decision.at = Some(now);
            store::decision::insert(&mut tx, workload.id, &decision).await?;
            store::queue::PLACER.mark(&mut tx, &[workload.id], now).await?;
            let message = format!("{name} is kept on {} until the next publish.", kept.join(", "));
            done.events.push(
                NewEvent::new(EventKind::PlacementDecided, &actor.name, message).workload(workload.id, name),
            );
        }
        self.commit(tx, done).await?;
        Ok(kept)
    }
}
