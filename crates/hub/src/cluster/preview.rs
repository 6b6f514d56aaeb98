//! Which workloads would leave a cluster, before it is changed or deleted.

use domain::cluster::Cluster;
use domain::placement::{ClusterGroup, Placement, is_still_selected};
use domain::request::ClusterPatch;
use domain::{ClusterId, Finding};
use store::{Tx, run_blocking_in_place};

use super::{edit, load_cluster};
use crate::{Error, Hub};

/// What an edit of a cluster would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterEditPreview {
    /// The names of the workloads that it would remove from the cluster, after the removal notice; sorted. A workload that is about to
    /// be removed already is not one of them.
    pub leaving: Vec<String>,
    /// Why it would be rejected, such as labels that put the cluster into two groups of which one is exclusive (G502).
    pub findings: Vec<Finding>,
}

impl Hub {
    /// What this edit would do.
    ///
    /// # Errors
    /// There is no such cluster; a workload on it can't be read, so it is not known whether it would leave.
    pub async fn preview_cluster_edit(
        &self,
        name: &str,
        patch: ClusterPatch,
    ) -> Result<ClusterEditPreview, Error> {
        let mut tx = self.read().await?;
        let before = load_cluster(&mut tx, name).await?;
        let mut after = before.clone();
        edit::apply_edit(&mut after, patch);
        let findings = edit::check_edit(&mut tx, &before, &after).await?;
        if (&after.labels, &after.taints) == (&before.labels, &before.taints) {
            return Ok(ClusterEditPreview { leaving: Vec::new(), findings });
        }
        let comparison = FleetComparison::load(&mut tx, after).await?;
        let releases = store::release::list_all_by_cluster(&mut tx, before.id).await?;
        drop(tx);
        let mut leaving = Vec::new();
        for (release, workload) in releases.into_iter().filter(|(release, _)| release.is_present()) {
            let Some(placed) = self.read_published_placement(release.workload()).await? else { continue };
            if run_blocking_in_place(|| comparison.removes(&placed.placement, &placed.current)) {
                leaving.push(workload);
            }
        }
        leaving.sort();
        Ok(ClusterEditPreview { leaving, findings })
    }

    /// The names of the workloads that have a release on a cluster, sorted: those that a deletion of the cluster leaves running.
    pub async fn list_cluster_workloads(&self, name: &str) -> Result<Vec<String>, Error> {
        let mut tx = self.read().await?;
        let cluster = load_cluster(&mut tx, name).await?;
        let releases = store::release::list_all_by_cluster(&mut tx, cluster.id).await?;
        let there = releases.into_iter().filter(|(release, _)| !release.last_known_state().is_gone());
        let mut names: Vec<String> = there.map(|(_, workload)| workload).collect();
        names.sort();
        Ok(names)
    }
}

/// The clusters before and after a change of one of them, and the groups.
struct FleetComparison {
    before: Vec<Cluster>,
    after: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
    /// Index of the changed cluster.
    at: usize,
}

impl FleetComparison {
    async fn load(tx: &mut Tx, changed: Cluster) -> Result<Self, Error> {
        let before = store::cluster::list_all(tx).await?;
        let groups = store::group::list(tx).await?;
        let at = before.iter().position(|cluster| cluster.id == changed.id);
        let at = at.ok_or_else(|| Error::not_found("cluster", &changed.name))?;
        let mut after = before.clone();
        after[at] = changed;
        Ok(Self { before, after, groups, at })
    }

    /// Whether the change ends the selection of the changed cluster.
    fn removes(&self, placement: &Placement, current: &[ClusterId]) -> bool {
        let is_selected =
            |clusters: &[Cluster]| is_still_selected(placement, (clusters, self.at), &self.groups, current);
        is_selected(&self.before) && !is_selected(&self.after)
    }
}
