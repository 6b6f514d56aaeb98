//! Queries on placement: previews and decisions with their reasons (E-3).

use domain::cluster::Cluster;
use domain::placement::{self, ClusterGroup, Decision, Placement};
use domain::workload::{Intent, Workload};
use domain::{ClusterId, WorkloadId};
use store::{Tx, run_blocking_in_place};

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

/// The published placement of a workload, and the clusters that run it.
pub(crate) struct PublishedPlacement {
    /// The placement.
    pub placement: Placement,
    /// The clusters.
    pub current: Vec<ClusterId>,
}

impl Hub {
    /// The published placement of a workload; `None` if nothing of it should run. Each workload is read in a transaction of its own, and
    /// its revision is decoded when the connection is returned: many large ones would occupy the connection for seconds.
    pub(crate) async fn read_published_placement(
        &self,
        workload: WorkloadId,
    ) -> Result<Option<PublishedPlacement>, Error> {
        let mut tx = self.read().await?;
        let head = store::workload::get_head_by_id(&mut tx, workload).await?;
        let published = head.filter(|head| head.intent == Intent::Published).and_then(|head| head.published);
        let Some(number) = published else { return Ok(None) };
        let revision = store::revision::get_existing_stored(&mut tx, workload, number).await?;
        let current = load_present_releases(&mut tx, workload).await?.into_keys().collect();
        drop(tx);
        let placement = revision.decode()?.spec.placement;
        Ok(Some(PublishedPlacement { placement, current }))
    }

    /// The decision of this placement now. `workload` is the workload whose current clusters are preferred; may be empty.
    pub async fn preview_placement(&self, workload: &str, placement: &Placement) -> Result<Decision, Error> {
        let mut tx = self.read().await?;
        let found = store::workload::get_by_name(&mut tx, self.project(), workload).await?;
        check_limits(found.as_ref().map(|found| &found.draft.placement), placement)?;
        let inputs = load_placement_inputs(&mut tx, found.map(|found| found.id)).await?;
        drop(tx);
        let PlacementInputs { clusters, groups, current } = inputs;
        Ok(decide(placement, &clusters, &groups, &current))
    }

    /// A workload with its draft, and the inputs of a placement decision for it, from one read transaction.
    pub async fn get_draft_with_placement_inputs(
        &self,
        workload: &str,
    ) -> Result<(Workload, PlacementInputs), Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        let inputs = load_placement_inputs(&mut tx, Some(found.id)).await?;
        Ok((found, inputs))
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

/// [`placement::decide`] beside the tasks that serve other requests: it evaluates the policy for every cluster.
pub(crate) fn decide(
    placement: &Placement,
    clusters: &[Cluster],
    groups: &[ClusterGroup],
    current: &[ClusterId],
) -> Decision {
    run_blocking_in_place(|| placement::decide(placement, clusters, groups, current))
}

/// Rejects a changed policy with too many entries or values (G502). An unchanged one is accepted: a draft of an earlier version can be edited, and its
/// workload stays where it is.
pub(crate) fn check_limits(before: Option<&Placement>, after: &Placement) -> Result<(), Error> {
    let findings = if before == Some(after) { Vec::new() } else { placement::check_limits(after) };
    if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
}

/// `workload` is the workload whose current clusters are preferred.
pub(crate) async fn load_placement_inputs(
    tx: &mut Tx,
    workload: Option<WorkloadId>,
) -> Result<PlacementInputs, Error> {
    let current = match workload {
        Some(id) => load_present_releases(tx, id).await?.into_keys().collect(),
        None => Vec::new(),
    };
    let clusters = store::cluster::list_all(tx).await?;
    let groups = store::group::list(tx).await?;
    Ok(PlacementInputs { clusters, groups, current })
}
