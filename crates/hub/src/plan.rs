//! Plans: what publishing the draft would change on every cluster, by dry runs on the clusters (E-2, S1-15).
//!
//! A plan decides and renders as a publish would, requests a dry run from every reachable agent, and stores the answers
//! until it expires. A publish with the plan's hash is rejected if any input of the plan has changed since.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::plan::{ClusterPlan, DryRunRequest, DryRunState, Plan};
use domain::workload::Workload;
use domain::{ClusterId, Digest, PlanId};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod inputs;
mod targets;

use inputs::PlanInputs;

/// Lifetime of a plan, in milliseconds: one hour.
const LIFETIME_MILLIS: i64 = 3_600_000;
/// How long a plan waits for an agent, in milliseconds; a later answer is still stored.
const ANSWER_TIMEOUT_MILLIS: i64 = 20_000;
/// How long a dry run is requested, also after reconnects, in milliseconds.
const DRY_RUN_REQUEST_MILLIS: i64 = 120_000;
/// Maximum size of an answer, as JSON, in bytes.
const MAX_ANSWER_BYTES: usize = 2 * 1024 * 1024;

impl Hub {
    /// Plans a publish of the draft and requests dry runs from the agents. The answers arrive later; see
    /// [`Hub::wait_for_plan`].
    ///
    /// # Errors
    /// There is no such workload, or its state does not allow a publish.
    pub async fn create_plan(&self, actor: &Actor, name: &str) -> Result<Plan, Error> {
        let workload = self.load_publishable(name, None).await?;
        let checked = self.check_draft(&workload).await?;
        let inputs = self.plan_inputs(&workload, checked).await?;
        let now = self.clock().now();
        let plan = Plan {
            id: self.ids().generate(PlanId::from_parts),
            workload: workload.name.clone(),
            revision: inputs.revision,
            hash: inputs.hash(&workload),
            requested_by: actor.name.clone(),
            created_at: now,
            expires_at: now.plus_millis(LIFETIME_MILLIS),
            findings: inputs.findings(&workload),
            blast_radius: inputs.blast_radius(),
            waves: inputs.check.waves.clone(),
            targets: Vec::new(),
            cluster_plans: BTreeMap::new(),
            decision: inputs.check.decision.clone(),
            source_locations: Plan::locate_objects(
                &crate::workload::parse_source(workload.draft.source.clone()).await?.manifests,
            ),
        };
        let (targets, expected) = self.plan_targets(&plan, &workload, &inputs).await?;
        let mut tx = self.write().await?;
        for (digest, bytes) in inputs.targets.iter().filter_map(|target| target.bytes.as_ref()) {
            store::artifact::put(&mut tx, digest, bytes, now).await?;
        }
        store::plan::insert(&mut tx, workload.id, &plan, &targets, &expected).await?;
        let requested = targets.iter().filter(|(_, ask)| ask.is_some()).map(|(target, _)| target.cluster);
        let changed_clusters: Vec<ClusterId> = requested.collect();
        self.commit(tx, CommitEffects { changed_clusters, ..CommitEffects::default() }).await?;
        self.get_plan(plan.id).await
    }

    /// A plan with the answers received so far.
    pub async fn get_plan(&self, id: PlanId) -> Result<Plan, Error> {
        let mut tx = self.read().await?;
        let found = store::plan::get(&mut tx, id).await?;
        let now = self.clock().now();
        let (_, mut plan) = found
            .filter(|(_, plan)| !plan.is_expired(now))
            .ok_or_else(|| Error::not_found("plan", id.to_string()))?;
        if now >= plan.created_at.plus_millis(ANSWER_TIMEOUT_MILLIS) {
            mark_unanswered(&mut plan);
        }
        Ok(plan.with_cluster_findings())
    }

    /// A plan as soon as every agent has answered, or as it is when `wait` has passed.
    pub async fn wait_for_plan(&self, id: PlanId, wait: Duration) -> Result<Plan, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        // Subscribed before the first read, so an answer between read and wait is not missed.
        let mut answers = self.live().subscribe_plans();
        loop {
            answers.borrow_and_update();
            let mut tx = self.read().await?;
            let unanswered = store::plan::count_pending(&mut tx, id).await?;
            drop(tx);
            if unanswered == 0 || tokio::time::Instant::now() >= deadline {
                return self.get_plan(id).await;
            }
            let _ = tokio::time::timeout_at(deadline, answers.changed()).await;
        }
    }

    /// The open dry-run requests of a cluster, part of its desired state.
    pub(crate) async fn dry_run_requests(
        &self,
        tx: &mut store::Tx,
        cluster: ClusterId,
    ) -> Result<Vec<DryRunRequest>, Error> {
        let since = self.clock().now().plus_millis(-DRY_RUN_REQUEST_MILLIS);
        Ok(store::plan::list_dry_run_requests(tx, cluster, since).await?)
    }

    /// The canonical bytes of a bundle that this cluster has a dry-run request for.
    pub async fn get_planned_bundle(
        &self,
        cluster: ClusterId,
        plan: PlanId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        let missing = || Error::not_found("bundle", digest.short());
        let mut tx = self.read().await?;
        if !store::plan::has_dry_run_request(&mut tx, plan, cluster, digest).await? {
            return Err(missing());
        }
        store::artifact::get(&mut tx, digest).await?.ok_or_else(missing)
    }

    /// Stores a cluster's answer to a dry-run request; a second answer to the same request is [`Error::NotFound`].
    pub async fn record_dry_run_result(
        &self,
        cluster: ClusterId,
        plan: PlanId,
        effect: ClusterPlan,
    ) -> Result<(), Error> {
        let size = serde_json::to_vec(&effect).map_or(usize::MAX, |bytes| bytes.len());
        let mut tx = self.write().await?;
        let target = store::plan::get_pending_target(&mut tx, plan, cluster).await?;
        let mut target = target.ok_or_else(|| Error::not_found("plan", plan.to_string()))?;
        if size > MAX_ANSWER_BYTES {
            let why =
                "The agent's answer is too large to be stored; the changes shown are computed by the hub."
                    .to_owned();
            target.dry_run = DryRunState::NotRequested { message: why };
            store::plan::record_result(&mut tx, plan, &target, &ClusterPlan::default()).await?;
        } else {
            target.dry_run = DryRunState::Answered;
            target.cluster_plan = Some(effect.digest());
            store::plan::record_result(&mut tx, plan, &target, &effect).await?;
        }
        self.commit(tx, CommitEffects::default()).await?;
        self.live().notify_plan();
        Ok(())
    }

    /// Rejects a publish whose plan is missing or expired, was rejected by a cluster, or has other inputs.
    pub(crate) async fn check_plan_hash(
        &self,
        workload: &Workload,
        inputs: &PlanInputs,
        hash: &Digest,
    ) -> Result<(), Error> {
        let stale = |why: &str| Err(Error::PlanStale(format!("{why} Create a new plan and review it.")));
        if inputs.hash(workload) != *hash {
            return stale(
                "The draft, the selected clusters or what runs there changed since the plan was created.",
            );
        }
        let mut tx = self.read().await?;
        let found = store::plan::get_id_by_hash(&mut tx, workload.id, hash).await?;
        drop(tx);
        let Some(id) = found else { return stale("There is no such plan of this workload.") };
        match self.get_plan(id).await {
            Err(Error::NotFound { .. }) => stale("The plan has expired."),
            Err(error) => Err(error),
            Ok(plan) if plan.is_blocked() => Err(Error::Invalid(plan.findings)),
            Ok(_) => Ok(()),
        }
    }
}

/// Marks missing answers as not asked: their changes are then those the hub computed.
fn mark_unanswered(plan: &mut Plan) {
    for target in plan.targets.iter_mut().filter(|target| target.dry_run == DryRunState::Requested) {
        let why = format!("Its agent did not answer within {} s.", ANSWER_TIMEOUT_MILLIS / 1_000);
        target.dry_run = DryRunState::NotRequested { message: why };
    }
}
