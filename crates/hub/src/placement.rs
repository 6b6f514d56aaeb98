//! Questions about placement: what would be chosen, what was chosen, and why (E-3).

use domain::ClusterId;
use domain::cluster::Cluster;
use domain::placement::{ClusterGroup, Decision, Leaving, Placement, decide};
use domain::release::ReleaseGoal;
use store::Tx;

use crate::{Error, Hub};

/// What placement asks of the fleet.
#[derive(Debug, Clone)]
pub struct PlacementFleet {
    /// Every cluster, without its lists of kinds and namespaces.
    pub clusters: Vec<Cluster>,
    /// Every group.
    pub groups: Vec<ClusterGroup>,
    /// The clusters that have the workload now.
    pub current: Vec<ClusterId>,
}

/// A decision with what it was made of.
pub(crate) struct Preview {
    pub decision: Decision,
    pub clusters: Vec<Cluster>,
    pub groups: Vec<ClusterGroup>,
}

impl Hub {
    /// What this placement would choose now; `workload` names who has clusters already (steady), may be empty.
    pub async fn placement_preview(&self, workload: &str, placement: &Placement) -> Result<Decision, Error> {
        Ok(self.preview(workload, placement).await?.decision)
    }

    pub(crate) async fn preview(&self, workload: &str, placement: &Placement) -> Result<Preview, Error> {
        let PlacementFleet { clusters, groups, current } = self.placement_fleet(workload).await?;
        let decision = decide(placement, &clusters, &groups, &current);
        Ok(Preview { decision, clusters, groups })
    }

    /// What a placement of this workload is decided from; the name may be empty or nobody's.
    pub async fn placement_fleet(&self, workload: &str) -> Result<PlacementFleet, Error> {
        let mut tx = self.read().await?;
        let current = match store::workload::by_name(&mut tx, self.project(), workload).await? {
            Some(found) => current_clusters(&mut tx, found.id).await?,
            None => Vec::new(),
        };
        let clusters = store::cluster::all(&mut tx).await?;
        let groups = store::group::all(&mut tx).await?;
        Ok(PlacementFleet { clusters, groups, current })
    }

    /// Clusters that still have this workload and lose it soon, because they no longer match (E-6).
    pub async fn placement_leaving(&self, workload: &str) -> Result<Vec<Leaving>, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        Ok(store::decision::leaving(&mut tx, found.id).await?)
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

/// The clusters that have the workload now.
async fn current_clusters(tx: &mut Tx, workload: domain::WorkloadId) -> Result<Vec<ClusterId>, Error> {
    let releases = store::release::all_of_workload(tx, workload).await?;
    let here = releases.into_iter().filter(|release| release.goal == ReleaseGoal::Present);
    Ok(here.map(|release| release.cluster).collect())
}
