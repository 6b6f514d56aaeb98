//! What every cluster of a plan is asked, and what is expected to happen there.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use domain::bundle::Bundle;
use domain::cluster::Reach;
use domain::plan::{Ask, Effect, Plan, PlanTarget, TargetChange, TargetState};
use domain::release::{Release, Rendered};
use domain::report::Goal;
use domain::workload::{Policies, Workload};
use domain::{Digest, PlanId};
use store::plan::Asked;

use super::outlook::Outlook;
use crate::render::Target;
use crate::{Error, Hub};

/// What stands in an expected effect in place of the reason; the target's state has that.
const EXPECTED: &str = "Nobody was asked: compared with what was given to the cluster last.";

impl Hub {
    /// Every cluster of a plan with the question to its agent, and the expected effects that they name.
    pub(super) async fn questions(
        &self,
        plan: &Plan,
        workload: &Workload,
        outlook: &Outlook,
    ) -> Result<(Vec<Asked>, BTreeMap<Digest, Effect>), Error> {
        let before = self.given_last(outlook).await?;
        let mut questions = Questions {
            plan: plan.id,
            workload: workload.name.clone(),
            policies: workload.draft.policies.clone(),
            revision: outlook.revision,
            old: HashMap::new(),
            effects: BTreeMap::new(),
            known: HashMap::new(),
        };
        let release_of = |target: &Target| outlook.present.get(&target.cluster).cloned();
        let targets: Vec<(Target, Option<Release>)> =
            outlook.targets.iter().map(|target| (target.clone(), release_of(target))).collect();
        let leaving = outlook.leaving.clone();
        // Bundles are parsed and compared here: not on an async thread.
        let write = move || {
            questions.old = before
                .into_iter()
                .filter_map(|(digest, bytes)| Some((digest, Bundle::from_bytes(&bytes).ok()?)))
                .collect();
            let mut asked = Vec::with_capacity(targets.len() + leaving.len());
            asked.extend(targets.iter().map(|(target, release)| questions.get(target, release.as_ref())));
            asked.extend(leaving.iter().map(|(name, release)| questions.lose(name, release)));
            (asked, questions.effects)
        };
        tokio::task::spawn_blocking(write).await.map_err(|error| Error::Internal(Box::new(error)))
    }

    /// The bytes of what the clusters have now, each bundle once.
    async fn given_last(&self, outlook: &Outlook) -> Result<HashMap<Digest, Vec<u8>>, Error> {
        let mut tx = self.read().await?;
        let mut bundles = HashMap::new();
        for digest in outlook.present.values().filter_map(|release| release.released.clone()) {
            if let Entry::Vacant(place) = bundles.entry(digest)
                && let Some(bytes) = store::artifact::get(&mut tx, place.key()).await?
            {
                place.insert(bytes);
            }
        }
        Ok(bundles)
    }
}

/// Writes the questions of one plan.
struct Questions {
    plan: PlanId,
    workload: String,
    policies: Policies,
    revision: u32,
    /// What clusters were given last.
    old: HashMap<Digest, Bundle>,
    /// The expected effects, each once however many clusters share it.
    effects: BTreeMap<Digest, Effect>,
    /// The effect of going from one bundle to another, so that it is worked out once.
    known: HashMap<(Option<Digest>, Digest), Digest>,
}

impl Questions {
    /// About a cluster that gets the workload.
    fn get(&mut self, target: &Target, release: Option<&Release>) -> Asked {
        let mut planned = PlanTarget {
            cluster: target.cluster,
            name: target.name.clone(),
            change: TargetChange::Get,
            bundle: None,
            state: TargetState::Asked,
            effect: None,
        };
        match &target.rendered {
            Rendered::Waiting(trouble) | Rendered::Failed(trouble) => {
                planned.state = TargetState::NotRendered { why: trouble.message.clone() };
                (planned, None)
            }
            Rendered::Bundle(digest) => {
                planned.bundle = Some(digest.clone());
                planned.effect = target.bytes.as_ref().map(|(_, bytes)| {
                    self.change(release.and_then(|one| one.released.clone()), digest, bytes)
                });
                let goal = Goal::Present {
                    bundle: digest.clone(),
                    revision: self.revision,
                    policies: target.policies.clone(),
                };
                settle(planned, target.reach, self.ask(release, goal))
            }
        }
    }

    /// About a cluster that loses it.
    fn lose(&mut self, name: &str, release: &Release) -> Asked {
        let deletion = self.policies.deletion;
        let before = release.released.as_ref().and_then(|digest| self.old.get(digest));
        let effect = before.map(|before| Effect::leaving(before, deletion, &release.policies, EXPECTED));
        let planned = PlanTarget {
            cluster: release.cluster,
            name: name.to_owned(),
            change: TargetChange::Lose,
            bundle: None,
            state: TargetState::Asked,
            effect: effect.map(|effect| self.keep(effect)),
        };
        let goal = Goal::Absent { deletion, policies: release.policies.clone() };
        settle(planned, release.reach, self.ask(Some(release), goal))
    }

    /// What going from one bundle to another is expected to do.
    fn change(&mut self, released: Option<Digest>, digest: &Digest, bytes: &[u8]) -> Digest {
        let key = (released, digest.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let before = key.0.as_ref().and_then(|digest| self.old.get(digest));
        let new = Bundle::from_bytes(bytes).unwrap_or_default();
        let effect = self.keep(Effect::expected(before, &new, &self.policies, EXPECTED));
        self.known.insert(key, effect.clone());
        effect
    }

    fn keep(&mut self, effect: Effect) -> Digest {
        let digest = effect.digest();
        self.effects.insert(digest.clone(), effect);
        digest
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
fn settle(target: PlanTarget, reach: Reach, ask: Ask) -> Asked {
    match reach {
        Reach::Online | Reach::Late => (target, Some(ask)),
        Reach::Offline => {
            let why = "It is offline. It gets this when it returns and holds nobody up.".to_owned();
            (PlanTarget { state: TargetState::NotAsked { why }, ..target }, None)
        }
    }
}
