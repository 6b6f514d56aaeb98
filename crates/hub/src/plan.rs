//! Plans: what publishing the draft would do on every cluster, asked of the clusters themselves (E-2, S1-15).
//!
//! The hub decides and renders as a publish would, asks every agent that can be asked for a dry run, and keeps what they
//! say until the plan expires. A publish that names the plan's hash is carried out only if everything the hub knows is
//! still as the plan saw it.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::plan::{Ask, Effect, Plan, TargetState};
use domain::workload::Workload;
use domain::{ClusterId, Digest, PlanId};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

mod outlook;
mod questions;

use outlook::Outlook;

/// A plan is taken for so long, in milliseconds: an hour (`product.md` F.1).
const LASTS_MILLIS: i64 = 3_600_000;
/// An agent is waited for so long; a later answer still counts.
const ANSWER_MILLIS: i64 = 20_000;
/// And is asked for so long, over reconnects.
const ASK_MILLIS: i64 = 120_000;
/// Largest answer kept, as JSON.
const LARGEST_EFFECT: usize = 2 * 1024 * 1024;

impl Hub {
    /// Plans a publish of the draft: works out what it would do and asks the agents. The answers come in later; see
    /// [`Hub::plan_wait`].
    ///
    /// # Errors
    /// There is no such workload, or it can't be published whatever the draft says.
    pub async fn plan_make(&self, actor: &Actor, name: &str) -> Result<Plan, Error> {
        let workload = self.publishable_draft(name, None).await?;
        let checked = self.checked_draft(&workload).await?;
        let outlook = self.outlook(&workload, checked).await?;
        let now = self.clock().now();
        let plan = Plan {
            id: self.ids().make(PlanId::from_parts),
            workload: workload.name.clone(),
            revision: outlook.revision,
            hash: outlook.hash(&workload),
            by: actor.name.clone(),
            created_at: now,
            expires_at: now.plus_millis(LASTS_MILLIS),
            findings: outlook.findings(&workload),
            blast_radius: outlook.blast_radius(),
            waves: outlook.checked.waves.clone(),
            targets: Vec::new(),
            effects: BTreeMap::new(),
            decision: outlook.checked.decision.clone(),
            places: Plan::places_of(&crate::workload::parse(workload.draft.source.clone()).await?.manifests),
        };
        let (targets, effects) = self.questions(&plan, &workload, &outlook).await?;
        let mut tx = self.write().await?;
        for (digest, bytes) in outlook.targets.iter().filter_map(|target| target.bytes.as_ref()) {
            store::artifact::put(&mut tx, digest, bytes, now).await?;
        }
        store::plan::insert(&mut tx, workload.id, &plan, &targets, &effects).await?;
        let asked = targets.iter().filter(|(_, ask)| ask.is_some()).map(|(target, _)| target.cluster);
        let wants_of: Vec<ClusterId> = asked.collect();
        self.commit(tx, Done { wants_of, ..Done::default() }).await?;
        self.plan(plan.id).await
    }

    /// A plan with what the clusters have said so far.
    pub async fn plan(&self, id: PlanId) -> Result<Plan, Error> {
        let mut tx = self.read().await?;
        let found = store::plan::get(&mut tx, id).await?;
        let now = self.clock().now();
        let (_, mut plan) = found
            .filter(|(_, plan)| !plan.is_expired(now))
            .ok_or_else(|| Error::not_found("plan", id.to_string()))?;
        if now >= plan.created_at.plus_millis(ANSWER_MILLIS) {
            give_up(&mut plan);
        }
        Ok(plan.with_verdicts())
    }

    /// A plan as soon as every agent has answered, or what there is of it when `wait` is over.
    pub async fn plan_wait(&self, id: PlanId, wait: Duration) -> Result<Plan, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        // Subscribed before the first look, so an answer between look and wait is not missed.
        let mut answered = self.live().plans();
        loop {
            answered.borrow_and_update();
            let mut tx = self.read().await?;
            let open = store::plan::count_open(&mut tx, id).await?;
            drop(tx);
            if open == 0 || tokio::time::Instant::now() >= deadline {
                return self.plan(id).await;
            }
            let _ = tokio::time::timeout_at(deadline, answered.changed()).await;
        }
    }

    /// What an agent is asked, for its list of wants.
    pub(crate) async fn asks(&self, tx: &mut store::Tx, cluster: ClusterId) -> Result<Vec<Ask>, Error> {
        let since = self.clock().now().plus_millis(-ASK_MILLIS);
        Ok(store::plan::asks_of_cluster(tx, cluster, since).await?)
    }

    /// The canonical bytes of the bundle that this cluster is asked about.
    pub async fn planned_bundle(
        &self,
        cluster: ClusterId,
        plan: PlanId,
        digest: &Digest,
    ) -> Result<Vec<u8>, Error> {
        let missing = || Error::not_found("bundle", digest.short());
        let mut tx = self.read().await?;
        if !store::plan::asks_about(&mut tx, plan, cluster, digest).await? {
            return Err(missing());
        }
        store::artifact::get(&mut tx, digest).await?.ok_or_else(missing)
    }

    /// Takes the answer of a cluster's agent; the second one to a question is not found.
    pub async fn plan_answer(&self, cluster: ClusterId, plan: PlanId, effect: Effect) -> Result<(), Error> {
        let size = serde_json::to_vec(&effect).map_or(usize::MAX, |bytes| bytes.len());
        let mut tx = self.write().await?;
        let target = store::plan::open_target(&mut tx, plan, cluster).await?;
        let mut target = target.ok_or_else(|| Error::not_found("plan", plan.to_string()))?;
        if size > LARGEST_EFFECT {
            let why = "Its answer is too large to be kept; what is shown is what the hub expects.".to_owned();
            target.state = TargetState::NotAsked { why };
            store::plan::answer(&mut tx, plan, &target, &Effect::default()).await?;
        } else {
            target.state = TargetState::Answered;
            target.effect = Some(effect.digest());
            store::plan::answer(&mut tx, plan, &target, &effect).await?;
        }
        self.commit(tx, Done::default()).await?;
        self.live().plan();
        Ok(())
    }

    /// Refuses a publish whose plan is not there any more, was refused by a cluster, or saw something else.
    pub(crate) async fn check_plan(
        &self,
        workload: &Workload,
        outlook: &Outlook,
        hash: &Digest,
    ) -> Result<(), Error> {
        let stale = |why: &str| Err(Error::PlanStale(format!("{why} Plan again and look at what is new.")));
        if outlook.hash(workload) != *hash {
            return stale(
                "The draft, the clusters it goes to or what runs there changed since this was planned.",
            );
        }
        let mut tx = self.read().await?;
        let found = store::plan::by_hash(&mut tx, workload.id, hash).await?;
        drop(tx);
        let Some(id) = found else { return stale("There is no such plan of this workload.") };
        match self.plan(id).await {
            Err(Error::NotFound { .. }) => stale("The plan has expired."),
            Err(error) => Err(error),
            Ok(plan) if plan.blocks() => Err(Error::Invalid(plan.findings)),
            Ok(_) => Ok(()),
        }
    }
}

/// After so long, what an agent did not say is what the hub expects.
fn give_up(plan: &mut Plan) {
    for target in plan.targets.iter_mut().filter(|target| target.state == TargetState::Asked) {
        let why = format!("Its agent did not answer within {} s.", ANSWER_MILLIS / 1_000);
        target.state = TargetState::NotAsked { why };
    }
}
