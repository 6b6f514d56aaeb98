//! The targets of a plan: a dry-run request and the expected changes for every cluster.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use domain::bundle::Bundle;
use domain::cluster::Connectivity;
use domain::plan::{ClusterPlan, DryRunState, PlanTarget, TargetChange};
use domain::release::{Release, RenderOutcome};
use domain::report::{DesiredPhase, DryRunRequest};
use domain::workload::Policies;
use domain::{Digest, PlanId};
use store::Tx;
use store::plan::TargetWithRequest;

use super::inputs::PlanInputs;
use crate::Error;
use crate::render::ReleaseTarget;
use crate::workload::{PublishSnapshot, PublishableWorkload};

/// Note in expected changes; the cause of the missing dry run is in the target's state.
const EXPECTED_NOTE: &str = "No dry run: compared with the bundle that the cluster received last.";

/// The bytes of released bundles, by digest.
pub(super) type ReleasedBundles = HashMap<Digest, Vec<u8>>;

/// Loads the bundles released to the clusters, each once.
pub(super) async fn load_released_bundles(
    tx: &mut Tx,
    stored: &PublishableWorkload,
) -> Result<ReleasedBundles, Error> {
    let mut bundles = ReleasedBundles::new();
    for digest in stored.releases.values().filter_map(|release| release.released().cloned()) {
        if let Entry::Vacant(entry) = bundles.entry(digest)
            && let Some(bytes) = store::artifact::get(tx, entry.key()).await?
        {
            entry.insert(bytes);
        }
    }
    Ok(bundles)
}

/// The targets of a plan with their dry-run requests, and the expected changes by digest. Parses and compares bundles:
/// call it off the async threads.
pub(super) fn plan_targets(
    plan: PlanId,
    snapshot: &PublishSnapshot,
    inputs: &PlanInputs,
    released: ReleasedBundles,
) -> (Vec<TargetWithRequest>, BTreeMap<Digest, ClusterPlan>) {
    let stored = &snapshot.stored;
    let parse = |(digest, bytes): (Digest, Vec<u8>)| Some((digest, Bundle::from_bytes(&bytes).ok()?));
    let mut planner = TargetPlanner {
        plan,
        workload: stored.workload.name.clone(),
        policies: stored.workload.draft.policies.clone(),
        revision: inputs.revision,
        released_bundles: released.into_iter().filter_map(parse).collect(),
        expected_plans: BTreeMap::new(),
        expected_by_bundles: HashMap::new(),
    };
    let mut targets = Vec::with_capacity(inputs.targets.len() + inputs.removals.len());
    for target in &inputs.targets {
        targets.push(planner.plan_gain(target, stored.releases.get(&target.cluster)));
    }
    for (name, cluster) in &inputs.removals {
        targets.extend(stored.releases.get(cluster).map(|release| planner.plan_loss(name, release)));
    }
    (targets, planner.expected_plans)
}

/// Builds the targets of one plan.
struct TargetPlanner {
    plan: PlanId,
    workload: String,
    policies: Policies,
    revision: u32,
    /// The released bundles by digest.
    released_bundles: HashMap<Digest, Bundle>,
    /// The expected changes, each once however many clusters share them.
    expected_plans: BTreeMap<Digest, ClusterPlan>,
    /// The expected changes from one bundle to another, computed once per pair.
    expected_by_bundles: HashMap<(Option<Digest>, Digest), Digest>,
}

impl TargetPlanner {
    /// The target for a selected cluster.
    fn plan_gain(&mut self, target: &ReleaseTarget, release: Option<&Release>) -> TargetWithRequest {
        let mut planned = PlanTarget {
            cluster: target.cluster,
            name: target.name.clone(),
            change: TargetChange::Deploy,
            bundle: None,
            dry_run: DryRunState::Requested,
            cluster_plan: None,
        };
        match &target.rendered {
            RenderOutcome::Waiting(trouble) | RenderOutcome::Failed(trouble) => {
                planned.dry_run = DryRunState::NotRendered { message: trouble.message.clone() };
                (planned, None)
            }
            RenderOutcome::Bundle(digest) => {
                planned.bundle = Some(digest.clone());
                planned.cluster_plan = target.bytes.as_ref().map(|(_, bytes)| {
                    self.expected_plan(release.and_then(|release| release.released().cloned()), digest, bytes)
                });
                let goal = DesiredPhase::Present {
                    bundle: digest.clone(),
                    revision: self.revision,
                    policies: target.policies.clone(),
                };
                request_dry_run(planned, target.reach, self.dry_run_request(release, goal))
            }
        }
    }

    /// The target for a cluster that loses the workload.
    fn plan_loss(&mut self, name: &str, release: &Release) -> TargetWithRequest {
        let deletion = self.policies.deletion;
        let before = release.released().and_then(|digest| self.released_bundles.get(digest));
        let effect = before
            .map(|before| ClusterPlan::estimate_removal(before, deletion, release.policies(), EXPECTED_NOTE));
        let planned = PlanTarget {
            cluster: release.cluster(),
            name: name.to_owned(),
            change: TargetChange::Remove,
            bundle: None,
            dry_run: DryRunState::Requested,
            cluster_plan: effect.map(|effect| self.insert_expected(effect)),
        };
        let goal = DesiredPhase::Absent { deletion, policies: release.policies().clone() };
        request_dry_run(planned, release.connectivity(), self.dry_run_request(Some(release), goal))
    }

    /// The digest of the expected changes from one bundle to another.
    fn expected_plan(&mut self, released: Option<Digest>, digest: &Digest, bytes: &[u8]) -> Digest {
        let key = (released, digest.clone());
        if let Some(known) = self.expected_by_bundles.get(&key) {
            return known.clone();
        }
        let before = key.0.as_ref().and_then(|digest| self.released_bundles.get(digest));
        let new = Bundle::from_bytes(bytes).unwrap_or_default();
        let effect = self.insert_expected(ClusterPlan::estimate(before, &new, &self.policies, EXPECTED_NOTE));
        self.expected_by_bundles.insert(key, effect.clone());
        effect
    }

    fn insert_expected(&mut self, effect: ClusterPlan) -> Digest {
        let digest = effect.digest();
        self.expected_plans.insert(digest.clone(), effect);
        digest
    }

    fn dry_run_request(&self, release: Option<&Release>, goal: DesiredPhase) -> DryRunRequest {
        DryRunRequest {
            plan: self.plan,
            release: release.map(|release| release.id()),
            workload: self.workload.clone(),
            desired_phase: goal,
        }
    }
}

/// Adds the dry-run request, unless the cluster is offline.
fn request_dry_run(target: PlanTarget, reach: Connectivity, ask: DryRunRequest) -> TargetWithRequest {
    match reach {
        Connectivity::Online | Connectivity::Late => (target, Some(ask)),
        Connectivity::Offline => {
            let why =
                "The cluster is offline. It gets this when it reconnects and does not block other clusters."
                    .to_owned();
            (PlanTarget { dry_run: DryRunState::NotRequested { message: why }, ..target }, None)
        }
    }
}
