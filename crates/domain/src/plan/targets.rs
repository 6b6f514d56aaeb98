//! The plan of a publish: every cluster that gets or loses the workload, and what would happen there.
//!
//! Its hash is over what the hub knows and a publish depends on ([`Basis`]): if any of it changed, the plan is stale and a
//! publish with its hash is refused. What agents saw on their clusters is shown, but is not in the hash: a cluster moves
//! all the time, and an agent compares again before it writes.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{BlastRadius, Effect, Tally};
use crate::digest::Digest;
use crate::finding::{self, Finding, Place};
use crate::id::{ClusterId, PlanId, ReleaseId, WorkloadId};
use crate::manifest::Manifest;
use crate::placement::Decision;
use crate::report::Goal;
use crate::rollout::WaveOutlook;
use crate::time::Timestamp;

/// A question to a cluster's agent: what would this do? Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// The plan it is for.
    pub plan: PlanId,
    /// The release, if there is one on the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
    /// Name of the workload.
    pub workload: String,
    /// What would be wanted.
    pub goal: Goal,
}

/// Whether a cluster gets the workload or loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum TargetChange {
    /// It should have it.
    Get,
    /// It has it and should not any more.
    Lose,
}

/// How far the question to a cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum TargetState {
    /// Its agent is asked.
    Asked,
    /// Its agent answered.
    Answered,
    /// It can't be asked; the effect is what the hub expects, and nothing waits for it.
    NotAsked {
        /// Why.
        why: String,
    },
    /// There is nothing to ask about, because nothing could be rendered for it.
    NotRendered {
        /// Why.
        why: String,
    },
}

/// One cluster of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanTarget {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// Whether it gets or loses the workload.
    pub change: TargetChange,
    /// Digest of what is rendered for it; `None` if it loses it, or nothing could be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Digest>,
    /// How far its answer is.
    pub state: TargetState,
    /// Which of the plan's effects it has; none while it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Digest>,
}

/// What a plan depends on, of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BasisTarget {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whether it gets or loses the workload.
    pub change: TargetChange,
    /// Digest of what is rendered for it.
    pub bundle: Option<Digest>,
    /// What it may apply now: another publish in between changes this.
    pub released: Option<Digest>,
    /// Its wave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
}

/// What a plan depends on: if any of this changes, it is stale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Basis {
    /// The workload.
    pub workload: WorkloadId,
    /// The draft's own count of changes.
    pub draft: i64,
    /// Every cluster, by id.
    pub targets: Vec<BasisTarget>,
}

impl Basis {
    /// The hash of a plan with this basis.
    pub fn hash(mut self) -> Digest {
        self.targets.sort();
        // Writing a tree of plain data into memory does not fail.
        Digest::of(&serde_json::to_vec(&self).unwrap_or_default())
    }
}

/// What publishing the draft would do (E-2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Its id.
    pub id: PlanId,
    /// Name of the workload.
    pub workload: String,
    /// The number the revision would get.
    pub revision: u32,
    /// What a publish is bound to.
    pub hash: Digest,
    /// Who asked for it.
    pub by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is no longer taken.
    pub expires_at: Timestamp,
    /// What the guard rails and the clusters say, worst first.
    pub findings: Vec<Finding>,
    /// What it takes away.
    pub blast_radius: BlastRadius,
    /// The waves it would go in; none if it would go everywhere at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<WaveOutlook>,
    /// Every cluster, by name.
    pub targets: Vec<PlanTarget>,
    /// What would happen, by digest; many clusters share one.
    pub effects: BTreeMap<Digest, Effect>,
    /// Where it would go, and why.
    pub decision: Decision,
    /// Where the objects stand in the source, by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, Place>,
}

/// Clusters on which the same would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EffectGroup {
    /// Whether they get or lose the workload.
    pub change: TargetChange,
    /// How far their answers are: the same for all of them.
    pub state: TargetState,
    /// Their names, sorted.
    pub clusters: Vec<String>,
    /// Which effect; none while they are asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Digest>,
    /// Its objects, counted.
    pub tally: Tally,
}

/// Kind and name out of `Kind namespace/name`: in the source the namespace may be left out.
fn called(object: &str) -> String {
    let (kind, name) = object.split_once(' ').unwrap_or(("", object));
    format!("{kind} {}", name.rsplit('/').next().unwrap_or_default())
}

impl Plan {
    /// Where the objects of these manifests stand, for [`Plan::places`]; of two that are called the same, neither.
    pub fn places_of(manifests: &[Manifest]) -> BTreeMap<String, Place> {
        let mut places: BTreeMap<String, Option<Place>> = BTreeMap::new();
        for manifest in manifests {
            let place = Some(manifest.place.clone());
            let name = called(&manifest.object_ref().to_string());
            places.entry(name).and_modify(|there| *there = None).or_insert(place);
        }
        places.into_iter().filter_map(|(name, place)| Some((name, place?))).collect()
    }

    /// Whether every agent that was asked has answered.
    pub fn is_complete(&self) -> bool {
        self.targets.iter().all(|target| target.state != TargetState::Asked)
    }

    /// Whether it may no longer be published.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// Whether publishing it would be refused.
    pub fn blocks(&self) -> bool {
        self.findings.iter().any(Finding::blocks)
    }

    /// Whether publishing it would change anything on any cluster, as far as is known.
    pub fn changes_anything(&self) -> bool {
        let effect = |target: &PlanTarget| target.effect.as_ref().and_then(|digest| self.effects.get(digest));
        self.targets.iter().any(|target| effect(target).is_none_or(|effect| !effect.is_nothing()))
    }

    /// Adds what the clusters say to the findings, with its place in the source: the same on several clusters once, and not
    /// what a guard rail has said of the object already.
    #[must_use]
    pub fn with_verdicts(mut self) -> Self {
        let mut found = Vec::new();
        for target in &self.targets {
            let Some(effect) = target.effect.as_ref().and_then(|digest| self.effects.get(digest)) else {
                continue;
            };
            found.extend(effect.findings().map(|finding| finding.clone().on(vec![target.name.clone()])));
        }
        let told = |verdict: &Finding| {
            let same =
                |one: &Finding| one.code == verdict.code && called(&one.object) == called(&verdict.object);
            self.findings.iter().any(same)
        };
        found.retain(|verdict| !told(verdict));
        for verdict in &mut found {
            verdict.place = self.places.get(&called(&verdict.object)).cloned();
        }
        self.findings.extend(finding::group(found));
        finding::sort(&mut self.findings);
        self
    }

    /// Clusters with the same effect together: refused first, then the largest group, then those that lose it.
    pub fn groups(&self) -> Vec<EffectGroup> {
        let mut groups: Vec<EffectGroup> = Vec::new();
        let mut known: HashMap<(TargetChange, &TargetState, Option<&Digest>), usize> = HashMap::new();
        for target in &self.targets {
            let key = (target.change, &target.state, target.effect.as_ref());
            let at = *known.entry(key).or_insert_with(|| {
                let effect = target.effect.as_ref().and_then(|digest| self.effects.get(digest));
                groups.push(EffectGroup {
                    change: target.change,
                    state: target.state.clone(),
                    clusters: Vec::new(),
                    effect: target.effect.clone(),
                    tally: effect.map(Effect::tally).unwrap_or_default(),
                });
                groups.len() - 1
            });
            groups[at].clusters.push(target.name.clone());
        }
        let rank = |group: &EffectGroup| (group.tally.refused == 0, group.change);
        groups.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| b.clusters.len().cmp(&a.clusters.len())));
        groups
    }

    /// How many clusters' agents answered, were not asked, and are still asked.
    pub fn heard(&self) -> (usize, usize, usize) {
        let asked = self.targets.iter().filter(|target| target.state == TargetState::Asked).count();
        let answered = self.targets.iter().filter(|target| target.state == TargetState::Answered).count();
        (answered, self.targets.len() - asked - answered, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectRef;
    use crate::plan::{ObjectEffect, Outcome};

    fn cluster(n: u128) -> ClusterId {
        ClusterId::from_parts(1, n)
    }

    fn basis(bundle: &str, released: Option<&str>) -> Basis {
        let target = |n| BasisTarget {
            cluster: cluster(n),
            change: TargetChange::Get,
            bundle: Some(Digest::of(bundle.as_bytes())),
            released: released.map(|text| Digest::of(text.as_bytes())),
            wave: None,
        };
        Basis { workload: WorkloadId::from_parts(1, 1), draft: 1, targets: vec![target(1), target(2)] }
    }

    #[test]
    fn e_2_the_hash_of_a_plan_is_that_of_what_it_depends_on_in_any_order() {
        let hash = basis("a", None).hash();
        let mut turned = basis("a", None);
        turned.targets.reverse();
        assert_eq!(turned.hash(), hash);
        assert_ne!(basis("b", None).hash(), hash);
        assert_ne!(basis("a", Some("x")).hash(), hash);
        let mut fewer = basis("a", None);
        fewer.targets.pop();
        assert_ne!(fewer.hash(), hash);
        assert_ne!(Basis { draft: 2, ..basis("a", None) }.hash(), hash);
    }

    fn plan(outcomes: &[(&str, TargetChange, Outcome)]) -> Plan {
        let mut plan = Plan {
            id: PlanId::from_parts(1, 1),
            workload: "web".into(),
            revision: 1,
            hash: Digest::of(b""),
            by: "ana".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1),
            findings: Vec::new(),
            waves: Vec::new(),
            blast_radius: BlastRadius::default(),
            targets: Vec::new(),
            effects: BTreeMap::new(),
            decision: Decision::default(),
            places: BTreeMap::new(),
        };
        for (n, (name, change, outcome)) in outcomes.iter().enumerate() {
            let effect = Effect::of(vec![ObjectEffect::tried(ObjectRef::default(), outcome.clone())]);
            plan.targets.push(PlanTarget {
                cluster: cluster(n as u128),
                name: (*name).to_owned(),
                change: *change,
                bundle: None,
                state: TargetState::Answered,
                effect: Some(effect.digest()),
            });
            plan.effects.insert(effect.digest(), effect);
        }
        plan
    }

    #[test]
    fn e_2_clusters_with_the_same_effect_are_one_group_refused_first_losers_last() {
        let refused = Outcome::Refused { finding: Finding::error("G404", "no", "") };
        let plan = plan(&[
            ("a", TargetChange::Get, Outcome::Create),
            ("b", TargetChange::Get, Outcome::Create),
            ("c", TargetChange::Get, refused),
            ("d", TargetChange::Lose, Outcome::Delete),
            ("e", TargetChange::Get, Outcome::Unchanged),
        ]);
        let groups: Vec<Vec<String>> = plan.groups().into_iter().map(|group| group.clusters).collect();
        assert_eq!(groups, [vec!["c"], vec!["a", "b"], vec!["e"], vec!["d"]]);
        let found = plan.with_verdicts().findings;
        assert_eq!(found[0].clusters, ["c"]);
    }

    #[test]
    fn e_2_what_a_cluster_refuses_has_its_place_and_is_not_said_after_a_guard_rail() {
        let refuse =
            |code: &str| Outcome::Refused { finding: Finding::error(code, "no", "").about("Widget web/x") };
        let place = Place { file: "a.yaml".into(), line: 3, column: 1 };
        let mut first = plan(&[("a", TargetChange::Get, refuse("G404"))]);
        first.places.insert("Widget x".into(), place.clone());
        assert_eq!(first.with_verdicts().findings[0].place, Some(place));
        let mut known = plan(&[("a", TargetChange::Get, refuse("G401"))]);
        known.findings.push(Finding::error("G401", "not served", "").about("Widget x"));
        assert_eq!(known.with_verdicts().findings.len(), 1);
    }
}
