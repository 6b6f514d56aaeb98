//! Queries on placement: previews and decisions with their reasons (E-3).

use domain::ClusterId;
use domain::cluster::Cluster;
use domain::placement::{ClusterGroup, Decision, PendingRemoval, Placement, decide};

use crate::workload::load_present_releases;
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

impl Hub {
    /// The decision of this placement now. `workload` is the workload whose current clusters are preferred; may be empty.
    pub async fn preview_placement(&self, workload: &str, placement: &Placement) -> Result<Decision, Error> {
        let PlacementInputs { clusters, groups, current } = self.load_placement_inputs(workload).await?;
        Ok(decide(placement, &clusters, &groups, &current))
    }

    /// The inputs of a placement decision for this workload; the name may be empty or unknown.
    pub async fn load_placement_inputs(&self, workload: &str) -> Result<PlacementInputs, Error> {
        let mut tx = self.read().await?;
        let current = match store::workload::get_by_name(&mut tx, self.project(), workload).await? {
            Some(found) => load_present_releases(&mut tx, found.id).await?.into_keys().collect(),
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
        Ok(store::pending_removal::list(&mut tx, found.id).await?)
    }

    /// The latest decision for this workload; a preview of the draft if there is none.
    pub async fn get_placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        let latest = store::decision::get_latest(&mut tx, found.id).await?;
        let pending_removals = store::pending_removal::list(&mut tx, found.id).await?;
        drop(tx);
        match latest {
            Some(decision) => Ok(Decision { pending_removals, ..decision }),
            None => self.preview_placement(workload, &found.draft.placement).await,
        }
    }
}
