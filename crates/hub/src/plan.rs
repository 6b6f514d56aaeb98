//! Plans: what publishing the draft would do on every cluster, asked of the clusters themselves (E-2, S1-15).
//!
//! The hub decides and renders as a publish would, asks every agent that can be asked for a dry run, and keeps what they
//! say until the plan expires. A publish that names the plan's hash is carried out only if everything the hub knows is
//! still as the plan saw it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::bundle::Bundle;
use domain::cluster::Reach;
use domain::finding::{self, Finding};
use domain::plan::{
    Ask, Basis, BasisTarget, BlastRadius, Effect, Plan, PlanTarget, TargetChange, TargetState,
};
use domain::release::{Release, ReleaseGoal, Rendered};
use domain::report::Goal;
use domain::workload::{Revision, Workload};
use domain::{ClusterId, Digest, PlanId};

use crate::hub::Done;
use crate::render::{Target, targets};
use crate::workload::CheckResult;
use crate::{Actor, Error, Hub};

/// A plan is taken for so long, in milliseconds: an hour (`product.md` F.1).
const LASTS_MILLIS: i64 = 3_600_000;
/// An agent is waited for so long; a later answer still counts.
const ANSWER_MILLIS: i64 = 20_000;
/// And is asked for so long, over reconnects.
const ASK_MILLIS: i64 = 120_000;
/// Largest answer kept, as JSON.
const LARGEST_EFFECT: usize = 2 * 1024 * 1024;

/// What the hub knows about a publish before anybody is asked.
pub(crate) struct Outlook {
    /// What the guard rails say, and where it would go.
    pub checked: CheckResult,
    /// What each chosen cluster would get.
    pub targets: Vec<Target>,
    /// Releases that are there now.
    present: HashMap<ClusterId, Release>,
    /// Those that would go, with the names of their clusters.
    leaving: Vec<(String, Release)>,
    /// The number the revision would get.
    revision: u32,
}

impl Outlook {
    /// What the guard rails say, and what is lost (G505).
    fn findings(&self, workload: &Workload) -> Vec<Finding> {
        let lost = self.blast_radius().finding(&workload.name);
        let mut findings: Vec<Finding> = self.checked.findings.iter().cloned().chain(lost).collect();
        finding::sort(&mut findings);
        findings
    }

    /// What it takes away.
    pub fn blast_radius(&self) -> BlastRadius {
        BlastRadius {
            losing: self.leaving.iter().map(|(name, _)| name.clone()).collect(),
            current: u32::try_from(self.present.len()).unwrap_or(u32::MAX),
        }
    }

    /// The hash of a plan made now.
    pub fn hash(&self, workload: &Workload) -> Digest {
        let released =
            |cluster| self.present.get(&cluster).and_then(|release: &Release| release.released.clone());
        let get = self.targets.iter().map(|target| BasisTarget {
            cluster: target.cluster,
            change: TargetChange::Get,
            bundle: bundle_of(target).cloned(),
            released: released(target.cluster),
        });
        let lose = self.leaving.iter().map(|(_, release)| BasisTarget {
            cluster: release.cluster,
            change: TargetChange::Lose,
            bundle: None,
            released: release.released.clone(),
        });
        Basis { workload: workload.id, draft: workload.revision, targets: get.chain(lose).collect() }.hash()
    }
}

fn bundle_of(target: &Target) -> Option<&Digest> {
    match &target.rendered {
        Rendered::Bundle(digest) => Some(digest),
        Rendered::Waiting(_) | Rendered::Failed(_) => None,
    }
}

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

    /// What publishing this draft would give and take, as far as the hub knows.
    pub(crate) async fn outlook(&self, workload: &Workload, checked: CheckResult) -> Result<Outlook, Error> {
        let mut tx = self.read().await?;
        let releases = store::release::all_of_workload(&mut tx, workload.id).await?;
        let number = store::revision::latest_number(&mut tx, workload.id).await? + 1;
        let groups = store::group::all(&mut tx).await?;
        let present: HashMap<ClusterId, Release> = releases
            .into_iter()
            .filter(|release| release.goal == ReleaseGoal::Present)
            .map(|release| (release.cluster, release))
            .collect();
        drop(tx);
        let mut leaving: Vec<(String, Release)> = checked
            .decision
            .refused()
            .filter_map(|verdict| Some((verdict.name.clone(), present.get(&verdict.cluster)?.clone())))
            .collect();
        leaving.sort_by(|(a, _), (b, _)| a.cmp(b));
        let revision = Revision {
            workload: workload.id,
            number,
            spec: workload.draft.clone(),
            author: String::new(),
            message: String::new(),
            created_at: self.clock().now(),
        };
        let targets = targets(self, &workload.name, revision, &checked.decision, groups).await?;
        Ok(Outlook { checked, targets, present, leaving, revision: number })
    }

    /// Every cluster of a plan with the question to its agent and what is expected to happen there.
    async fn questions(
        &self,
        plan: &Plan,
        workload: &Workload,
        outlook: &Outlook,
    ) -> Result<(Vec<store::plan::Asked>, BTreeMap<Digest, Effect>), Error> {
        let mut tx = self.read().await?;
        let mut before = HashMap::new();
        for digest in outlook.present.values().filter_map(|release| release.released.clone()) {
            if let Entry::Vacant(place) = before.entry(digest) {
                let bytes = store::artifact::get(&mut tx, place.key()).await?;
                place.insert(bytes);
            }
        }
        drop(tx);
        let work = Work {
            plan: plan.id,
            workload: workload.name.clone(),
            policies: workload.draft.policies.clone(),
            revision: outlook.revision,
            before,
        };
        let targets: Vec<(Target, Option<Release>)> = outlook
            .targets
            .iter()
            .map(|target| (target.clone(), outlook.present.get(&target.cluster).cloned()))
            .collect();
        let leaving = outlook.leaving.clone();
        let all = move || work.all(&targets, &leaving);
        tokio::task::spawn_blocking(all).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}

/// After so long, what an agent did not say is what the hub expects.
fn give_up(plan: &mut Plan) {
    for target in plan.targets.iter_mut().filter(|target| target.state == TargetState::Asked) {
        let why = format!("Its agent did not answer within {} s.", ANSWER_MILLIS / 1_000);
        target.state = TargetState::NotAsked { why };
    }
}

/// Works out the expected effects, off the async threads: bundles are parsed and compared.
struct Work {
    plan: PlanId,
    workload: String,
    policies: domain::workload::Policies,
    revision: u32,
    /// Bytes of what clusters were given last.
    before: HashMap<Digest, Option<Vec<u8>>>,
}

/// What stands in an expected effect in place of the reason; the target's state has that.
const EXPECTED: &str = "Nobody was asked: compared with what was given to the cluster last.";

impl Work {
    fn all(
        &self,
        targets: &[(Target, Option<Release>)],
        leaving: &[(String, Release)],
    ) -> (Vec<store::plan::Asked>, BTreeMap<Digest, Effect>) {
        let old: HashMap<&Digest, Bundle> = self
            .before
            .iter()
            .filter_map(|(digest, bytes)| Some((digest, Bundle::from_bytes(bytes.as_ref()?).ok()?)))
            .collect();
        let mut effects = BTreeMap::new();
        let mut keep = |effect: Effect| {
            let digest = effect.digest();
            effects.insert(digest.clone(), effect);
            digest
        };
        let mut known: HashMap<(Option<Digest>, Option<Digest>), Digest> = HashMap::new();
        let mut asked = Vec::with_capacity(targets.len() + leaving.len());
        for (target, release) in targets {
            let released = release.as_ref().and_then(|release| release.released.clone());
            let bundle = bundle_of(target).cloned();
            let effect = target.bytes.as_ref().map(|(_, bytes)| {
                let key = (released.clone(), bundle.clone());
                known.entry(key).or_insert_with(|| {
                    let new = Bundle::from_bytes(bytes).unwrap_or_default();
                    let before = released.as_ref().and_then(|digest| old.get(digest));
                    keep(Effect::expected(before, &new, &self.policies, EXPECTED))
                });
                known[&(released, bundle.clone())].clone()
            });
            asked.push(self.target(target, release.as_ref(), bundle, effect));
        }
        for (name, release) in leaving {
            let deletion = self.policies.deletion;
            let before = release.released.as_ref().and_then(|digest| old.get(digest));
            let effect =
                before.map(|before| keep(Effect::leaving(before, deletion, &release.policies, EXPECTED)));
            let goal = Goal::Absent { deletion, policies: release.policies.clone() };
            let ask = self.ask(Some(release), goal);
            asked.push(settle(
                PlanTarget {
                    cluster: release.cluster,
                    name: name.clone(),
                    change: TargetChange::Lose,
                    bundle: None,
                    state: TargetState::Asked,
                    effect,
                },
                release.reach,
                ask,
            ));
        }
        (asked, effects)
    }

    fn target(
        &self,
        target: &Target,
        release: Option<&Release>,
        bundle: Option<Digest>,
        effect: Option<Digest>,
    ) -> store::plan::Asked {
        let planned = PlanTarget {
            cluster: target.cluster,
            name: target.name.clone(),
            change: TargetChange::Get,
            bundle: bundle.clone(),
            state: TargetState::Asked,
            effect,
        };
        match (&target.rendered, bundle) {
            (Rendered::Waiting(trouble) | Rendered::Failed(trouble), _) => {
                let state = TargetState::NotRendered { why: trouble.message.clone() };
                (PlanTarget { state, ..planned }, None)
            }
            (Rendered::Bundle(_), bundle) => {
                let goal = Goal::Present {
                    bundle: bundle.unwrap_or_else(|| Digest::of(b"")),
                    revision: self.revision,
                    policies: target.policies.clone(),
                };
                settle(planned, target.reach, self.ask(release, goal))
            }
        }
    }

    fn ask(&self, release: Option<&Release>, goal: Goal) -> Ask {
        Ask {
            plan: self.plan,
            release: release.map(|release| release.id),
            workload: self.workload.clone(),
            goal,
        }
    }
}

/// Asks who can be asked.
fn settle(target: PlanTarget, reach: Reach, ask: Ask) -> store::plan::Asked {
    match reach {
        Reach::Online | Reach::Late => (target, Some(ask)),
        Reach::Offline => {
            let why = "It is offline. It gets this when it returns and holds nobody up.".to_owned();
            (PlanTarget { state: TargetState::NotAsked { why }, ..target }, None)
        }
    }
}

impl Hub {
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
