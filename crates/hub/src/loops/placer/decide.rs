//! Reads the intent and computes the desired releases of a workload, without writing.

use std::collections::{BTreeSet, HashSet};

use domain::cluster::Cluster;
use domain::dependency::WorkloadDependency;
use domain::operation::OperationTarget;
use domain::placement::{self, ClusterGroup, Decision, DecisionTrigger, PendingRemoval};
use domain::project::Project;
use domain::release::Release;
use domain::rollout::RolloutState;
use domain::workload::{Intent, Revision, WorkloadHead};
use domain::{ClusterId, Digest, OperationId, ProjectId, ReleaseId, Timestamp, WorkloadId};
use store::Tx;
use store::exposure::ExposuresByCluster;
use store::retained_cluster::RetainedClusters;

use super::removals::{ReleaseRemoval, RemovalInputs, SelectedRemovals, select_removals};
use crate::failpoint::panicpoint;
use crate::manifests::load_project;
use crate::operation::evaluate_earlier_operations;
use crate::render::{CurrentReleases, RecordedRendering, ReleaseTarget, RenderedTargets, render_targets};
use crate::workload::InstalledReleases;
use crate::{Error, Hub};

/// The result of placing one workload, for the writer.
pub(super) struct PlacementOutcome {
    pub workload: WorkloadHead,
    /// Number of the published revision; `None` if nothing should run.
    pub revision: Option<u32>,
    /// The operations before the latest one that are still open, with their outcome.
    pub earlier_operations: Vec<(OperationId, Vec<OperationTarget>)>,
    /// The decision, if it differs from the stored one.
    pub decision: Option<Decision>,
    /// Names of the waves; empty without a staged rollout.
    pub waves: Vec<String>,
    /// Releases that have a wave and whose cluster is no longer selected.
    pub deselected: Vec<ReleaseId>,
    /// The workloads that have to be operational on a cluster before this one is delivered there.
    pub depends_on: Vec<WorkloadDependency>,
    /// The selected clusters.
    pub targets: Vec<ReleaseTarget>,
    /// Digests of the inputs of the renderings of its chart.
    pub chart_inputs: Vec<Digest>,
    /// The versions of Helm that made them.
    pub helm_versions: BTreeSet<String>,
    /// Clusters to remove it from, and why.
    pub removals: Vec<ReleaseRemoval>,
    /// The requested removals that the decision takes into account, with the time of the request.
    pub known_requests: Vec<(ClusterId, Timestamp)>,
    /// Number of removals withheld because they exceed the limit of one automatic pass.
    pub withheld_removals: usize,
    /// Names of clusters with a new pending removal.
    pub new_pending_removals: Vec<String>,
    /// What it exposes.
    pub exposures: KnownExposures,
}

/// The stored exposures of a workload.
#[derive(Default)]
pub(super) struct KnownExposures {
    /// By cluster.
    pub by_cluster: ExposuresByCluster,
    /// Clusters that neither have it nor should: a newer publish replaced the one that reserved them.
    pub stale: Vec<ClusterId>,
}

struct FleetSnapshot {
    clusters: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
    project: Option<Project>,
    /// Clusters with a release that exist, but are not among `clusters`: they are not evaluated, so they keep it.
    unevaluated: BTreeSet<ClusterId>,
    /// Who retains the workload where.
    retained: RetainedClusters,
}

/// What earlier passes stored for the workload.
struct StoredPlacement {
    /// The latest decision, without pending removals. It may have been deleted.
    decision: Option<Decision>,
    /// The clusters in notice, by name.
    pending_removals: Vec<PendingRemoval>,
    /// The last revision that was written to every selected cluster. The first pass for a revision is that of its publish.
    placed_revision: u32,
}

impl StoredPlacement {
    /// Whether this decision is the stored one.
    fn is_decision(&self, new: &Decision) -> bool {
        self.decision.as_ref().is_some_and(|latest| {
            latest.revision == new.revision
                && latest.evaluations == new.evaluations
                && self.pending_removals == new.pending_removals
        })
    }
}

/// The clusters of the releases of a workload.
struct CurrentClusters {
    /// Those that are no new members: a sync can install the revision again where its first installation was rolled back.
    placed: Vec<ClusterId>,
    /// Those that a removal has something to delete on.
    present: Vec<ClusterId>,
}

impl CurrentClusters {
    fn of(releases: &[Release], revision: u32) -> Self {
        let placed = releases.iter().filter(|release| release.is_placed(revision));
        Self {
            placed: placed.map(Release::cluster).collect(),
            present: present_releases(releases).map(Release::cluster).collect(),
        }
    }
}

/// Computes the placement of this workload; `None` if there is no such workload. A row that can't be read is an error,
/// so that nothing is removed because of it.
pub(super) async fn decide_workload(hub: &Hub, id: WorkloadId) -> Result<Option<PlacementOutcome>, Error> {
    let mut tx = hub.read().await?;
    let Some(workload) = store::workload::get_head_by_id(&mut tx, id).await? else {
        return Ok(None);
    };
    panicpoint("placer.decide", &workload.name);
    let releases = store::release::list_all_by_workload(&mut tx, id).await?;
    let published = load_published(&mut tx, &workload).await?;
    let exposures = store::exposure::list_by_workload(&mut tx, id).await?;
    let earlier_operations = evaluate_earlier_operations(&mut tx, id, &releases).await?;
    let Some(mut revision) = published else {
        let exposures = known_exposures(exposures, &releases, &[]);
        let outcome = unpublished_outcome(workload, &releases);
        return Ok(Some(PlacementOutcome { exposures, earlier_operations, ..outcome }));
    };
    let stored = StoredPlacement {
        decision: store::decision::get_latest(&mut tx, id).await?,
        pending_removals: store::pending_removal::list(&mut tx, id).await?,
        placed_revision: store::decision::get_placed_revision(&mut tx, id).await?,
    };
    let current = CurrentClusters::of(&releases, revision.number);
    let fleet = load_fleet(&mut tx, hub.project(), &revision, &current.present).await?;
    let is_rolling_out = adopt_rollout(&mut tx, &mut revision).await?;
    drop(tx);
    let mut decision = decide_placement(hub, &revision, &fleet, &current, &stored);
    let now = hub.clock().now();
    let SelectedRemovals { removals, withheld: withheld_removals } = select_removals(
        RemovalInputs {
            revision: &revision,
            releases: &releases,
            unevaluated: &fleet.unevaluated,
            is_rolling_out,
        },
        &mut decision,
        now,
    );
    let (number, depends_on) = (Some(revision.number), revision.spec.depends_on.clone());
    let waves = releases.iter().filter(|release| release.revision() == number);
    let waves = waves.filter_map(|release| Some((release.cluster(), release.wave()?))).collect();
    let installed = InstalledReleases::of(present_releases(&releases));
    let recorded = RecordedRendering::list(&releases, revision.number);
    let names = revision.spec.rollout.waves.iter().map(|wave| wave.name.clone()).collect();
    let RenderedTargets { targets, chart_inputs, helm_versions } = render_targets(
        hub,
        &workload.name,
        revision,
        &decision,
        CurrentReleases { groups: fleet.groups, project: fleet.project, waves, installed, recorded },
    )
    .await?;
    let deselected = list_deselected(&releases, &targets);
    let new_pending_removals = new_pending_removals(&stored.pending_removals, &decision);
    let requested = stored.pending_removals.iter().filter(|one| one.is_requested);
    let known_requests = requested.map(|one| (one.cluster, one.remove_after)).collect();
    let exposures = known_exposures(exposures, &releases, &targets);
    let decision = (!stored.is_decision(&decision)).then_some(decision);
    Ok(Some(PlacementOutcome {
        workload,
        revision: number,
        earlier_operations,
        decision,
        waves: names,
        deselected,
        depends_on,
        targets,
        chart_inputs,
        helm_versions,
        removals,
        known_requests,
        withheld_removals,
        new_pending_removals,
        exposures,
    }))
}

/// The releases that have a wave and whose cluster is not among the targets.
fn list_deselected(releases: &[Release], targets: &[ReleaseTarget]) -> Vec<ReleaseId> {
    let selected: HashSet<ClusterId> = targets.iter().map(|target| target.cluster).collect();
    let with_wave = releases.iter().filter(|release| release.wave().is_some());
    with_wave.filter(|release| !selected.contains(&release.cluster())).map(Release::id).collect()
}

/// The published revision; `None` if nothing should run.
async fn load_published(tx: &mut Tx, workload: &WorkloadHead) -> Result<Option<Revision>, Error> {
    if workload.intent != Intent::Published {
        return Ok(None);
    }
    let number = workload.published.ok_or_else(|| store::Error::InvalidRow {
        table: "workload",
        id: workload.id.to_string(),
        why: "published: it is published without a revision".to_owned(),
    })?;
    Ok(Some(store::revision::get_existing(tx, workload.id, number).await?))
}

/// Whether the revision has a rollout that is not completed: until then nothing is removed. Without waves of a user, it has the wave for the
/// approval of its publish, which its spec has not and which the revision gets here, or the one for the rollback of clusters: these
/// hold up removals only until the approval, because a failure may pause what is left of them.
async fn adopt_rollout(tx: &mut Tx, revision: &mut Revision) -> Result<bool, Error> {
    let Some(rollout) = store::rollout::get(tx, revision.workload, revision.number).await? else {
        return Ok(false);
    };
    let is_completed = rollout.state == RolloutState::Completed;
    if !revision.spec.rollout.is_at_once() && !revision.spec.rollout.has_only_rollback() {
        return Ok(!is_completed);
    }
    let is_awaited =
        rollout.strategy.waves.first().is_some_and(|wave| wave.approval) && !rollout.is_approved();
    revision.spec.rollout.waves = rollout.strategy.waves;
    Ok(!is_completed && is_awaited)
}

async fn load_fleet(
    tx: &mut Tx,
    project: ProjectId,
    revision: &Revision,
    current: &[ClusterId],
) -> Result<FleetSnapshot, Error> {
    let clusters = store::cluster::list_all(tx).await?;
    let groups = store::group::list(tx).await?;
    let project = load_project(tx, project, &[&revision.spec.source]).await?;
    let evaluated: HashSet<ClusterId> = clusters.iter().map(|cluster| cluster.id).collect();
    let missing: Vec<ClusterId> = current.iter().copied().filter(|id| !evaluated.contains(id)).collect();
    let unevaluated = store::cluster::filter_existing_ids(tx, &missing).await?;
    let retained = store::retained_cluster::list(tx, revision.workload, revision.number).await?;
    Ok(FleetSnapshot { clusters, groups, project, unevaluated, retained })
}

fn known_exposures(
    by_cluster: ExposuresByCluster,
    releases: &[Release],
    targets: &[ReleaseTarget],
) -> KnownExposures {
    if by_cluster.is_empty() {
        return KnownExposures::default();
    }
    let existing = releases.iter().filter(|release| !release.last_known_state().is_gone());
    let in_use: HashSet<ClusterId> = targets
        .iter()
        .map(|target| target.cluster)
        .chain(existing.map(|release| release.cluster()))
        .collect();
    let stale = by_cluster.keys().copied().filter(|cluster| !in_use.contains(cluster)).collect();
    KnownExposures { by_cluster, stale }
}

pub(super) fn present_releases(releases: &[Release]) -> impl Iterator<Item = &Release> {
    releases.iter().filter(|release| release.is_present())
}

/// The outcome without a published revision: every release is removed.
fn unpublished_outcome(workload: WorkloadHead, releases: &[Release]) -> PlacementOutcome {
    let why = format!("{} was unpublished from every cluster.", workload.name);
    let removal = |release: &Release| ReleaseRemoval {
        cluster: release.cluster(),
        deletion: release.policies().deletion,
        reason: why.clone(),
    };
    let removals = present_releases(releases).map(removal).collect();
    PlacementOutcome {
        workload,
        revision: None,
        earlier_operations: Vec::new(),
        decision: None,
        waves: Vec::new(),
        deselected: Vec::new(),
        depends_on: Vec::new(),
        targets: Vec::new(),
        chart_inputs: Vec::new(),
        helm_versions: BTreeSet::new(),
        removals,
        known_requests: Vec::new(),
        withheld_removals: 0,
        new_pending_removals: Vec::new(),
        exposures: KnownExposures::default(),
    }
}

fn decide_placement(
    hub: &Hub,
    revision: &Revision,
    fleet: &FleetSnapshot,
    current: &CurrentClusters,
    stored: &StoredPlacement,
) -> Decision {
    let policy = &revision.spec.placement;
    let mut decision = crate::placement::decide(policy, &fleet.clusters, &fleet.groups, &current.placed);
    let is_first = stored.placed_revision != revision.number;
    // An addon is placed on every matching cluster, also on those that join later (S4-1).
    if !is_first && !revision.spec.addon {
        placement::apply_new_members_policy(&mut decision, policy.new_members, &current.placed);
    }
    let before = Decision { pending_removals: stored.pending_removals.clone(), ..Decision::default() };
    let before = (!is_first).then_some(&before);
    let now = hub.clock().now();
    placement::update_pending_removals(&mut decision, before, &current.present, &fleet.retained, now);
    if is_first {
        // A publish removes without notice.
        placement::request_removals(&mut decision, hub.clock().now());
    }
    decision.pending_removals.sort_by(|a, b| a.name.cmp(&b.name));
    decision.revision = Some(revision.number);
    decision.decided_at = Some(hub.clock().now());
    decision.trigger = if is_first { DecisionTrigger::Published } else { DecisionTrigger::FleetChanged };
    decision
}

/// Names of the clusters whose pending removal is not stored yet and was not cancelled.
fn new_pending_removals(before: &[PendingRemoval], decision: &Decision) -> Vec<String> {
    let is_new = |one: &&PendingRemoval| {
        one.retained_by.is_none() && !one.is_requested && before.iter().all(|old| old.cluster != one.cluster)
    };
    decision.pending_removals.iter().filter(is_new).map(|one| one.name.clone()).collect()
}
