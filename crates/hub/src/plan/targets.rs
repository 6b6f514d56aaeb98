//! The targets of a plan: a dry-run request and the expected changes for every cluster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

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
use crate::render::{BundlesMemory, ReleaseTarget};
use crate::workload::{PublishSnapshot, PublishableWorkload};

/// Note in expected changes; the cause of the missing dry run is in the target's state.
const EXPECTED_NOTE: &str = "No dry run: compared with the bundle that the cluster received last.";

/// The stored bytes of released bundles, by digest; `None` if they are missing.
pub(super) type ReleasedBundles = HashMap<Digest, Option<Vec<u8>>>;

/// Loads the bundles released to the clusters, each once, after `memory` is extended by their bytes.
///
/// # Errors
/// There is not enough memory for all of them.
pub(super) async fn load_released_bundles(
    tx: &mut Tx,
    stored: &PublishableWorkload,
    memory: &mut BundlesMemory,
) -> Result<ReleasedBundles, Error> {
    let released = stored.releases.values().filter_map(|release| release.released());
    load_bundles(tx, &released.collect(), memory).await
}

async fn load_bundles(
    tx: &mut Tx,
    digests: &HashSet<&Digest>,
    memory: &mut BundlesMemory,
) -> Result<ReleasedBundles, Error> {
    let mut bytes = 0;
    for digest in digests {
        bytes += store::artifact::measure(tx, digest).await?.unwrap_or_default();
    }
    memory.extend(bytes).await?;
    let mut bundles = ReleasedBundles::new();
    for &digest in digests {
        bundles.insert(digest.clone(), store::artifact::get(tx, digest).await?);
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
    let mut planner = TargetPlanner {
        plan,
        workload: stored.workload.name.clone(),
        policies: snapshot.draft.spec.policies.clone(),
        revision: inputs.revision,
        released,
        last_released: None,
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
    /// The bytes of the released bundles.
    released: ReleasedBundles,
    /// The released bundle that was read last: those of many clusters may all differ, and are several times their bytes.
    last_released: Option<(Digest, Arc<Bundle>)>,
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
            RenderOutcome::Waiting(reason) | RenderOutcome::Failed(reason) => {
                planned.dry_run = DryRunState::NotRendered { message: reason.message.clone() };
                (planned, None)
            }
            RenderOutcome::Bundle(digest) => {
                planned.bundle = Some(digest.clone());
                let released = release.and_then(|release| release.released().cloned());
                match self.expected_plan(released, digest, target.bytes.as_ref().map(|(_, bytes)| &**bytes)) {
                    Ok(expected) => planned.cluster_plan = Some(expected),
                    Err(message) => return (unplannable(planned, message), None),
                }
                let phase = DesiredPhase::Present {
                    bundle: digest.clone(),
                    revision: self.revision,
                    policies: target.policies.clone(),
                };
                request_dry_run(planned, target.reach, self.dry_run_request(release, phase))
            }
        }
    }

    /// The target for a cluster that loses the workload.
    fn plan_loss(&mut self, name: &str, release: &Release) -> TargetWithRequest {
        let deletion = self.policies.deletion;
        let mut planned = PlanTarget {
            cluster: release.cluster(),
            name: name.to_owned(),
            change: TargetChange::Remove,
            bundle: None,
            dry_run: DryRunState::Requested,
            cluster_plan: None,
        };
        match self.released_bundle(release.released()) {
            Ok(before) => {
                let effect = before.as_deref().map(|before| {
                    ClusterPlan::estimate_removal(before, deletion, release.policies(), EXPECTED_NOTE)
                });
                planned.cluster_plan = effect.map(|effect| self.insert_expected(effect));
            }
            Err(message) => return (unplannable(planned, message), None),
        }
        let phase = DesiredPhase::Absent { deletion, policies: release.policies().clone() };
        request_dry_run(planned, release.connectivity(), self.dry_run_request(Some(release), phase))
    }

    /// The digest of the expected changes from one bundle to another, or why they are unknown.
    fn expected_plan(
        &mut self,
        released: Option<Digest>,
        digest: &Digest,
        bytes: Option<&[u8]>,
    ) -> Result<Digest, String> {
        let key = (released, digest.clone());
        if let Some(known) = self.expected_by_bundles.get(&key) {
            return Ok(known.clone());
        }
        let before = self.released_bundle(key.0.as_ref())?;
        let new = Bundle::from_bytes(bytes.unwrap_or_default())
            .map_err(|why| format!("the rendered bundle {} can't be read: {why}", digest.short()))?;
        let effect = ClusterPlan::estimate(before.as_deref(), &new, &self.policies, EXPECTED_NOTE);
        let effect = self.insert_expected(effect);
        self.expected_by_bundles.insert(key, effect.clone());
        Ok(effect)
    }

    /// The bundle that a cluster received last; `None` if it received none.
    fn released_bundle(&mut self, digest: Option<&Digest>) -> Result<Option<Arc<Bundle>>, String> {
        let Some(digest) = digest else { return Ok(None) };
        if let Some((last, bundle)) = &self.last_released
            && last == digest
        {
            return Ok(Some(bundle.clone()));
        }
        let unreadable =
            |why: &str| format!("the bundle {} that it received last can't be read: {why}", digest.short());
        let bytes = match self.released.get(digest) {
            Some(Some(bytes)) => bytes,
            Some(None) => return Err(unreadable("its bytes are not stored")),
            None => return Err(unreadable("it was not loaded")),
        };
        let bundle = Bundle::from_bytes(bytes).map_err(|error| unreadable(&error.to_string()))?;
        let bundle = Arc::new(bundle);
        self.last_released = Some((digest.clone(), bundle.clone()));
        Ok(Some(bundle))
    }

    fn insert_expected(&mut self, mut effect: ClusterPlan) -> Digest {
        effect.limit_fields();
        let digest = effect.digest();
        self.expected_plans.insert(digest.clone(), effect);
        digest
    }

    fn dry_run_request(&self, release: Option<&Release>, phase: DesiredPhase) -> DryRunRequest {
        DryRunRequest {
            plan: self.plan,
            release: release.map(|release| release.id()),
            workload: self.workload.clone(),
            desired_phase: phase,
        }
    }
}

/// The target of a cluster whose changes are unknown. No dry run is requested.
fn unplannable(target: PlanTarget, why: String) -> PlanTarget {
    let message = format!("Can't be planned: {why}. Other clusters are not concerned.");
    PlanTarget { dry_run: DryRunState::NotRendered { message }, ..target }
}

/// Adds the dry-run request, unless the cluster is offline.
fn request_dry_run(target: PlanTarget, reach: Connectivity, request: DryRunRequest) -> TargetWithRequest {
    match reach {
        Connectivity::Online | Connectivity::Late => (target, Some(request)),
        Connectivity::Offline => {
            let why =
                "The cluster is offline. It gets this when it reconnects and does not block other clusters."
                    .to_owned();
            (PlanTarget { dry_run: DryRunState::NotRequested { message: why }, ..target }, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use source::client_shares::VALUES_OF_USERS;

    use super::*;
    use crate::render::MEMORY_TESTS;
    use crate::{Clock, Hub, HubConfig, run_for_requester};

    #[tokio::test]
    async fn p19_released_bundles_that_differ_are_loaded_only_with_memory_for_all_of_them() {
        let _alone = MEMORY_TESTS.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let bundles = [b'a', b'b'].map(|letter| vec![letter; 5 << 20]);
        let digests: Vec<Digest> = bundles.iter().map(|bytes| Digest::compute(bytes)).collect();
        let mut tx = hub.write().await.unwrap();
        for (digest, bytes) in digests.iter().zip(&bundles) {
            store::artifact::put(&mut tx, digest, bytes, hub.clock().now()).await.unwrap();
        }
        tx.commit().await.unwrap();
        let load = async || {
            let mut memory = BundlesMemory::reserve().await?;
            let mut tx = hub.read().await?;
            let loaded = load_bundles(&mut tx, &digests.iter().collect(), &mut memory).await?;
            Ok::<_, Error>((loaded, memory))
        };
        let in_use = VALUES_OF_USERS.reserve("user clara".to_owned(), u64::MAX).await.unwrap();
        let refused = run_for_requester("clara".to_owned(), load()).await.err();
        assert!(matches!(refused, Some(Error::ServerBusy { .. })), "{refused:?}");
        drop(in_use);
        let count_free =
            async || VALUES_OF_USERS.reserve("user clara".to_owned(), 0).await.unwrap().free_bytes();
        let before = count_free().await;
        let (loaded, memory) = run_for_requester("clara".to_owned(), load()).await.unwrap();
        let reserved = before - count_free().await;
        assert!(reserved >= 2 << 20, "{reserved}");
        for (digest, bytes) in digests.iter().zip(&bundles) {
            assert!(loaded.get(digest).is_some_and(|found| found.as_ref() == Some(bytes)));
        }
        drop(memory);
        assert_eq!(count_free().await, before);
    }
}
