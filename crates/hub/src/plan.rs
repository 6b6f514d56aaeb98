//! Plans: what a publish would change on every cluster, by dry runs on the clusters (E-2, S1-15).
//!
//! A plan decides and renders as a publish would, requests a dry run from every reachable agent, and stores the answers
//! until it expires. A publish with the plan's hash is rejected if any input of the plan has changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::authorization::UserAction;
use domain::finding::{self, Finding};
use domain::plan::{ClusterPlan, DryRunState, MAX_PLAN_BYTES, MAX_PLAN_VALUES, Plan};
use domain::report::DryRunRequest;
use domain::report_redaction::redact_plan;
use domain::{ClusterId, Digest, PlanId, Timestamp};
use source::client_shares::ClientReservation;
use store::Tx;
use store::plan::{StoredPlan, TargetWithRequest};

use crate::blocking::run_blocking;
use crate::hub::CommitEffects;
use crate::render::{BundlesMemory, RetainedBundles};
use crate::workload::{PublishOptions, PublishSnapshot, trim_passed_filters};
use crate::{Actor, Error, Hub};

mod created_manifests;
mod inputs;
mod review;
mod targets;

pub(crate) use inputs::PlanInputs;
pub(crate) use review::{check_findings, parse_forced_codes};
use targets::{ReleasedBundles, load_released_bundles, plan_targets};

/// Lifetime of a plan, in milliseconds: one hour.
const LIFETIME_MILLIS: i64 = 3_600_000;
/// How long a plan waits for an agent, in milliseconds; a later answer is still stored.
const ANSWER_TIMEOUT_MILLIS: i64 = 20_000;
/// How long a dry run is requested, also after reconnects, in milliseconds.
const DRY_RUN_REQUEST_MILLIS: i64 = 120_000;

impl Hub {
    /// Plans a publish with these options and requests dry runs from the agents. The answers arrive later; see
    /// [`Hub::wait_for_plan`].
    ///
    /// # Errors
    /// There is no such workload, its draft is not the one of the options, or its state does not allow the publish; its
    /// overrides need too much work on the selected clusters, or the bundles that differ there too much memory (G111); others use the
    /// memory.
    pub async fn create_plan(
        &self,
        actor: &Actor,
        name: &str,
        options: &PublishOptions,
    ) -> Result<Plan, Error> {
        actor.authorize(UserAction::Plan)?;
        let mut tx = self.read().await?;
        let candidate = self.load_publishable(&mut tx, name, options).await?;
        let workload = candidate.stored.workload.id;
        let snapshot = Box::pin(self.load_publish_snapshot(tx, candidate)).await?;
        let (snapshot, checked) = Box::pin(self.check_publish_snapshot(snapshot)).await?;
        if !checked.can_render {
            return Err(Error::Invalid(checked.findings));
        }
        let head = PlanHead {
            id: self.ids().generate(PlanId::from_parts),
            requested_by: actor.name.clone(),
            created_at: self.clock().now(),
            findings: checked.findings,
        };
        // Not before the manifests have their memory, for which the request may wait. What a digest names does not change.
        let mut memory = BundlesMemory::reserve().await?;
        let mut tx = self.read().await?;
        let released = load_released_bundles(&mut tx, &snapshot.stored, &mut memory).await?;
        drop(tx);
        let compute = move || ComputedPlan::compute(head, snapshot, released, memory);
        let ComputedPlan { mut plan, bundles, targets, expected, memory: _memory } =
            run_blocking(compute).await??;
        let mut tx = self.write().await?;
        // Not recorded in the audit log, and refused like what is.
        Box::pin(self.require_credential(&mut tx, actor, UserAction::Plan)).await?;
        for (digest, bytes) in &bundles {
            store::artifact::put(&mut tx, digest, bytes, plan.created_at).await?;
        }
        store::plan::insert(&mut tx, workload, &plan, &targets, &expected).await?;
        let requested =
            targets.iter().filter(|(_, request)| request.is_some()).map(|(target, _)| target.cluster);
        let changed_clusters: Vec<ClusterId> = requested.collect();
        self.commit(tx, CommitEffects { changed_clusters, ..CommitEffects::default() }).await?;
        plan.targets = targets.into_iter().map(|(target, _)| target).collect();
        plan.targets.sort_by(|a, b| a.name.cmp(&b.name));
        plan.cluster_plans = expected;
        Ok(plan.with_results())
    }

    /// A plan with the answers received so far.
    pub async fn get_plan(&self, id: PlanId) -> Result<Plan, Error> {
        let mut tx = self.read().await?;
        let found = self.load_plan(&mut tx, id).await?;
        found.ok_or_else(|| Error::not_found("plan", id.to_string()))
    }

    /// A plan with the answers received so far; `None` if it does not exist or has expired.
    async fn load_plan(&self, tx: &mut Tx, id: PlanId) -> Result<Option<Plan>, Error> {
        let now = self.clock().now();
        let found = store::plan::get(tx, id).await?;
        let Some(StoredPlan { mut plan, unread, .. }) = found.filter(|found| !found.plan.is_expired(now))
        else {
            return Ok(None);
        };
        if now >= plan.created_at.plus_millis(ANSWER_TIMEOUT_MILLIS) {
            mark_unanswered(&mut plan);
        }
        // Afterwards: a cluster that did not answer has no estimate if that is not read.
        mark_unread(&mut plan, &unread);
        Ok(Some(plan.with_results()))
    }

    /// A plan as soon as every agent has answered, or as it is when `wait` has passed.
    pub async fn wait_for_plan(&self, id: PlanId, wait: Duration) -> Result<Plan, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        // Subscribed before the first read, so an answer between read and wait is not missed.
        let mut answers = self.live().subscribe_answers();
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
        mut effect: ClusterPlan,
    ) -> Result<(), Error> {
        redact_plan(&mut effect);
        let is_storable = effect.is_storable();
        let mut tx = self.write().await?;
        let target = store::plan::get_pending_target(&mut tx, plan, cluster).await?;
        let mut target = target.ok_or_else(|| Error::not_found("plan", plan.to_string()))?;
        if is_storable {
            target.dry_run = DryRunState::Answered;
            target.cluster_plan = Some(effect.digest());
            store::plan::record_result(&mut tx, plan, &target, &effect).await?;
        } else {
            // What the hub has estimated may say that nothing changes: the agent found otherwise, or something else.
            let message = format!(
                "The answer of its agent is too large: at most {} KiB and {MAX_PLAN_VALUES} values are stored. What a publish changes there is \
                 not known. Split the workload.",
                MAX_PLAN_BYTES >> 10
            );
            (target.dry_run, target.cluster_plan) = (DryRunState::NotRendered { message }, None);
            store::plan::record_result(&mut tx, plan, &target, &ClusterPlan::default()).await?;
        }
        self.commit(tx, CommitEffects::default()).await?;
        self.live().notify_answer();
        Ok(())
    }
}

/// What a plan has in addition to what follows from its snapshot.
struct PlanHead {
    id: PlanId,
    requested_by: String,
    created_at: Timestamp,
    findings: Vec<Finding>,
}

/// A plan to be stored.
struct ComputedPlan {
    /// The plan without targets and expected changes, which are stored separately.
    plan: Plan,
    /// The rendered bundles by digest.
    bundles: BTreeMap<Digest, Arc<[u8]>>,
    targets: Vec<TargetWithRequest>,
    /// The expected changes by digest.
    expected: BTreeMap<Digest, ClusterPlan>,
    /// What is reserved for the bundles, until they are stored.
    memory: ClientReservation,
}

impl ComputedPlan {
    /// Renders and compares for every cluster: call it off the async threads.
    ///
    /// # Errors
    /// There is not enough memory for the bundles that differ on the clusters.
    fn compute(
        head: PlanHead,
        snapshot: PublishSnapshot,
        released: ReleasedBundles,
        mut memory: BundlesMemory,
    ) -> Result<Self, Error> {
        let mut inputs = PlanInputs::render(&snapshot, RetainedBundles::BytesWithin(&mut memory));
        let memory = memory.finish()?;
        let (targets, expected) = plan_targets(head.id, &snapshot, &inputs, released);
        let blast_radius = snapshot.blast_radius();
        let mut findings = head.findings;
        findings.extend(blast_radius.finding(&snapshot.stored.workload.name));
        finding::sort_findings(&mut findings);
        let plan = Plan {
            id: head.id,
            workload: snapshot.stored.workload.name.clone(),
            override_name: snapshot.stored.change.as_ref().map(|change| change.name().to_owned()),
            restored_revision: snapshot.stored.restored_revision,
            revision: inputs.revision,
            hash: inputs.hash(&snapshot),
            requested_by: head.requested_by,
            created_at: head.created_at,
            expires_at: head.created_at.plus_millis(LIFETIME_MILLIS),
            findings,
            blast_radius,
            waves: snapshot.draft.preview_waves(),
            on_failure: snapshot.draft.spec.rollout.on_failure,
            targets: Vec::new(),
            cluster_plans: BTreeMap::new(),
            variants: inputs.compare_bundles(),
            no_op: false,
            source_locations: Plan::locate_objects(&snapshot.draft.manifests.sample().manifests),
            decision: trim_passed_filters(snapshot.draft.decision),
        };
        let bundles = inputs.targets.iter_mut().filter_map(|target| target.bytes.take()).collect();
        Ok(Self { plan, bundles, targets, expected, memory })
    }
}

/// Marks the clusters whose changes are not read because those of all clusters are too large together: they are unknown.
fn mark_unread(plan: &mut Plan, unread: &BTreeSet<Digest>) {
    for target in &mut plan.targets {
        if target.cluster_plan.as_ref().is_none_or(|digest| !unread.contains(digest)) {
            continue;
        }
        target.cluster_plan = None;
        if target.dry_run != DryRunState::Requested {
            let message =
                "The answers of all clusters are too large together: what a publish changes on this one is not shown. Split the workload, or \
                 select fewer clusters."
                    .to_owned();
            target.dry_run = DryRunState::NotRendered { message };
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
