//! Queries on placement: previews and decisions with their reasons (E-3).

use domain::ClusterId;
use domain::cluster::Cluster;
use domain::placement::{ClusterGroup, Decision, PendingRemoval, Placement, decide};
use store::Tx;

use crate::{Error, Hub};

/// The inputs of a placement decision.
#[derive(Debug, Clone)]
pub struct PlacementInputs {
    /// Every cluster, without its lists of kinds and namespaces.
    pub clusters: Vec<Cluster>,
    /// Every group.
    pub groups: Vec<ClusterGroup>,
    /// The clusters that have the workload now.
    pub current: Vec<ClusterId>,
}

/// A decision and its inputs.
pub(crate) struct PlacementPreview {
    pub decision: Decision,
    pub clusters: Vec<Cluster>,
    pub groups: Vec<ClusterGroup>,
}

impl Hub {
    /// The decision of this placement now. `workload` is the workload whose current clusters are preferred; may be empty.
    pub async fn preview_placement(&self, workload: &str, placement: &Placement) -> Result<Decision, Error> {
        Ok(self.load_placement_preview(workload, placement).await?.decision)
    }

    pub(crate) async fn load_placement_preview(
        &self,
        workload: &str,
        placement: &Placement,
    ) -> Result<PlacementPreview, Error> {
        let PlacementInputs { clusters, groups, current } = self.load_placement_inputs(workload).await?;
        let decision = decide(placement, &clusters, &groups, &current);
        Ok(PlacementPreview { decision, clusters, groups })
    }

    /// The inputs of a placement decision for this workload; the name may be empty or unknown.
    pub async fn load_placement_inputs(&self, workload: &str) -> Result<PlacementInputs, Error> {
        let mut tx = self.read().await?;
        let current = match store::workload::get_by_name(&mut tx, self.project(), workload).await? {
            Some(found) => current_clusters(&mut tx, found.id).await?,
            None => Vec::new(),
        };
        let clusters = store::cluster::list_all(&mut tx).await?;
        let groups = store::group::list(&mut tx).await?;
        Ok(PlacementInputs { clusters, groups, current })
    }

    /// Clusters that no longer match and from which this workload will be removed (E-6).
    pub async fn list_pending_removals(&self, workload: &str) -> Result<Vec<PendingRemoval>, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        Ok(store::decision::list_pending_removals(&mut tx, found.id).await?)
    }

    /// The latest decision for this workload; a preview of the draft if there is none.
    pub async fn get_placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        let latest = store::decision::get_latest(&mut tx, found.id).await?;
        drop(tx);
        match latest {
            Some(decision) => Ok(decision),
            None => self.preview_placement(workload, &found.draft.placement).await,
        }
    }
}

/// The clusters that have the workload now.
async fn current_clusters(tx: &mut Tx, workload: domain::WorkloadId) -> Result<Vec<ClusterId>, Error> {
    let releases = store::release::list_all_by_workload(tx, workload).await?;
    let present = releases.into_iter().filter(|release| release.is_present());
    Ok(present.map(|release| release.cluster()).collect())
}
