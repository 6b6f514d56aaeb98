//! Questions about placement: what would be chosen, what was chosen, and why (E-3).

use domain::ClusterId;
use domain::event::{EventKind, NewEvent};
use domain::placement::{ClusterGroup, Decision, Placement, decide};
use domain::release::ReleaseGoal;
use store::Tx;

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// What this placement would choose now; `workload` names who has clusters already (steady), may be empty.
    pub async fn placement_preview(&self, workload: &str, placement: &Placement) -> Result<Decision, Error> {
        let mut tx = self.read().await?;
        let current = match store::workload::by_name(&mut tx, self.project(), workload).await? {
            Some(found) => current_clusters(&mut tx, found.id).await?,
            None => Vec::new(),
        };
        let clusters = store::cluster::all(&mut tx).await?;
        let groups = store::group::all(&mut tx).await?;
        Ok(decide(placement, &clusters, &groups, &current))
    }

    /// What was decided last for this workload; a preview of the draft if nothing was.
    pub async fn placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        let latest = store::decision::latest(&mut tx, found.id).await?;
        drop(tx);
        match latest {
            Some(decision) => Ok(decision),
            None => self.placement_preview(workload, &found.draft.placement).await,
        }
    }
}

impl Hub {
    /// All groups, by name.
    pub async fn group_list(&self) -> Result<Vec<ClusterGroup>, Error> {
        let mut tx = self.read().await?;
        Ok(store::group::all(&mut tx).await?)
    }

    /// Saves a group by name; every published workload is placed anew.
    pub async fn group_save(&self, actor: &Actor, group: ClusterGroup) -> Result<(), Error> {
        let refused: Vec<_> = domain::name::check_label("Group name", &group.name).into_iter().collect();
        if !refused.is_empty() {
            return Err(Error::Invalid(refused));
        }
        let mut tx = self.write().await?;
        store::group::save(&mut tx, &group).await?;
        store::workload::mark_all_published_dirty(&mut tx, self.clock().now()).await?;
        let message = format!("Cluster group {} was saved.", group.name);
        self.commit(tx, Done::dirty_with(NewEvent::new(EventKind::ClusterEdited, &actor.name, message))).await
    }
}

/// The clusters that have the workload now.
async fn current_clusters(tx: &mut Tx, workload: domain::WorkloadId) -> Result<Vec<ClusterId>, Error> {
    let releases = store::release::all_of_workload(tx, workload).await?;
    let here = releases.into_iter().filter(|release| release.goal == ReleaseGoal::Present);
    Ok(here.map(|release| release.cluster).collect())
}
