//! The plan of a publish: every cluster that gets or loses the workload, and the changes there.
//!
//! Its hash covers the inputs of a publish on the hub ([`PlanInputsDigest`]): if one of them changed, the plan is stale and a publish
//! with its hash is rejected. The live state of clusters is shown but not part of the hash: it changes all the time, and
//! an agent compares again before it applies.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::variants::CreatedVariant;
use super::{BlastRadius, ChangeCounts, ClusterPlan, Distinction, PlanVariants};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, PlanId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::placement::Decision;
use crate::model::rollout::{OnFailure, WavePreview};
use crate::text::finding::{self, Finding, SourceLocation};
use crate::text::manifest::Manifest;

/// Whether a cluster gets the workload or loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum TargetChange {
    /// It gets it.
    Deploy,
    /// It loses it.
    Remove,
}

/// State of the dry-run request to a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DryRunState {
    /// Its agent has not answered yet.
    Requested,
    /// Its agent answered.
    Answered,
    /// No dry run is possible; the changes are an estimate of the hub, and nothing waits for the cluster.
    NotRequested {
        /// The reason.
        message: String,
    },
    /// No dry run, because nothing could be rendered for the cluster or a stored bundle can't be read, or one whose answer is
    /// too large: the changes are unknown.
    NotRendered {
        /// The reason.
        message: String,
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
    /// State of its dry run.
    pub dry_run: DryRunState,
    /// Key of its changes in [`Plan::cluster_plans`]: an estimate until the dry run is answered; `None` if they are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_plan: Option<Digest>,
}

/// The inputs of a plan for one cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanInputsTarget {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whether it gets or loses the workload.
    pub change: TargetChange,
    /// Digest of what is rendered for it.
    pub bundle: Option<Digest>,
    /// The bundle released to it: another publish in between changes this.
    pub released: Option<Digest>,
    /// Its wave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
}

/// The inputs of a plan: if any of them changes, the plan is stale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanInputsDigest {
    /// The workload.
    pub workload: WorkloadId,
    /// The draft's counter of changes.
    pub draft: i64,
    /// The digest of the change of the published revision; `None` for a publish of the draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Digest>,
    /// The earlier revision that is published again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_revision: Option<u32>,
    /// Every cluster, by id.
    pub targets: Vec<PlanInputsTarget>,
}

impl PlanInputsDigest {
    /// The hash of a plan with these inputs.
    pub fn hash(mut self) -> Digest {
        self.targets.sort();
        // Serialization of plain data into memory does not fail.
        Digest::compute(&serde_json::to_vec(&self).unwrap_or_default())
    }
}

/// What a publish would change (E-2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Its id.
    pub id: PlanId,
    /// Name of the workload.
    pub workload: String,
    /// The override that is published alone, as a change of the published revision; omitted if the draft is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_name: Option<String>,
    /// The earlier revision that is published again; omitted if the draft or an override is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_revision: Option<u32>,
    /// The number the revision would get.
    pub revision: u32,
    /// The hash that a publish is bound to.
    pub hash: Digest,
    /// The user who requested it.
    pub requested_by: String,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time from which a publish with it is rejected.
    pub expires_at: Timestamp,
    /// Findings of the guard rails and the clusters, worst first.
    pub findings: Vec<Finding>,
    /// The clusters that lose the workload.
    pub blast_radius: BlastRadius,
    /// The waves of its rollout; none if all clusters get it together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<WavePreview>,
    /// What happens when more clusters fail than a wave allows.
    #[serde(default, skip_serializing_if = "OnFailure::is_pause")]
    pub on_failure: OnFailure,
    /// Every cluster, by name.
    pub targets: Vec<PlanTarget>,
    /// The changes on clusters that a target names, by digest; many clusters share one.
    pub cluster_plans: BTreeMap<Digest, ClusterPlan>,
    /// What is rendered differently for some clusters.
    #[serde(default, skip_serializing_if = "PlanVariants::is_empty")]
    pub variants: PlanVariants,
    /// Whether nothing would change on any cluster, as far as is known; false while that is unknown for one.
    #[serde(default)]
    pub no_op: bool,
    /// The placement decision.
    pub decision: Decision,
    /// Locations of the objects in the source, by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_locations: BTreeMap<String, SourceLocation>,
}

/// Clusters with the same changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterPlanGroup {
    /// Whether they get or lose the workload.
    pub change: TargetChange,
    /// State of their dry runs: the same for all of them.
    pub dry_run: DryRunState,
    /// Their names, sorted.
    pub clusters: Vec<String>,
    /// Key of their changes in [`Plan::cluster_plans`]: an estimate until the dry run is answered; `None` if they are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_plan: Option<Digest>,
    /// Number of its objects per action.
    pub counts: ChangeCounts,
    /// How new objects differ from those of other groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distinctions: Vec<Distinction>,
}

/// What the clusters of one group have in common.
#[derive(PartialEq, Eq, Hash)]
struct GroupKey<'a> {
    change: TargetChange,
    dry_run: &'a DryRunState,
    cluster_plan: Option<&'a Digest>,
    /// The content of their new objects.
    created: Vec<CreatedVariant>,
}

/// Kind and name of `Kind namespace/name`: in the source the namespace may be omitted.
fn kind_and_name(object: &str) -> String {
    let (kind, name) = object.split_once(' ').unwrap_or(("", object));
    format!("{kind} {}", name.rsplit('/').next().unwrap_or_default())
}

impl Plan {
    /// Locations of the objects of these manifests, for [`Plan::source_locations`]; without objects of equal kind and name.
    pub fn locate_objects(manifests: &[Manifest]) -> BTreeMap<String, SourceLocation> {
        let mut locations: BTreeMap<String, Option<SourceLocation>> = BTreeMap::new();
        for manifest in manifests {
            let location = Some(manifest.location.clone());
            let name = kind_and_name(&manifest.object_ref().to_string());
            locations.entry(name).and_modify(|existing| *existing = None).or_insert(location);
        }
        locations.into_iter().filter_map(|(name, location)| Some((name, location?))).collect()
    }

    /// Whether every requested dry run is answered.
    pub fn is_complete(&self) -> bool {
        self.targets.iter().all(|target| target.dry_run != DryRunState::Requested)
    }

    /// Whether it can no longer be published.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// Whether publishing it would be rejected.
    pub fn is_blocked(&self) -> bool {
        self.findings.iter().any(Finding::is_blocking)
    }

    /// Whether publishing it would change anything on any cluster, as far as is known. A removal is a change.
    pub fn has_changes(&self) -> bool {
        let is_no_op = |target: &PlanTarget| {
            target.change == TargetChange::Deploy
                && self.changes_on(target).is_some_and(ClusterPlan::is_no_op)
        };
        !self.targets.iter().all(is_no_op)
    }

    /// What a publish without changes does, as a sentence for people; `None` if there are changes or no clusters.
    pub fn no_op_message(&self) -> Option<String> {
        if !self.no_op || self.targets.is_empty() {
            return None;
        }
        let (answered, not_requested, pending) = self.dry_run_counts();
        let (clusters, untested) = (self.targets.len(), not_requested + pending);
        let (noun, verb) = if clusters == 1 { ("cluster", "runs") } else { ("clusters", "run") };
        let revision = self.revision;
        Some(match (answered, untested) {
            (_, 0) => {
                format!("No changes: {clusters} {noun} already {verb} what revision {revision} contains.")
            }
            (answered, _) => format!(
                "No changes expected: {clusters} {noun} already {verb} what revision {revision} contains; {answered} of them {} this by a dry run.",
                if answered == 1 { "confirmed" } else { "have confirmed" }
            ),
        })
    }

    /// The changes on a cluster; `None` if they are unknown.
    fn changes_on(&self, target: &PlanTarget) -> Option<&ClusterPlan> {
        target.cluster_plan.as_ref().and_then(|digest| self.cluster_plans.get(digest))
    }

    /// The plan with what follows from its targets and their changes: its findings and whether it is a no-op.
    #[must_use]
    pub fn with_results(self) -> Self {
        let no_op = !self.has_changes();
        Self { no_op, ..self.with_cluster_findings() }
    }

    /// Adds the clusters' findings with their locations in the source: equal ones of several clusters once, and none that a
    /// guard rail reports for the object already.
    fn with_cluster_findings(mut self) -> Self {
        let mut found = Vec::new();
        for target in &self.targets {
            let Some(effect) = self.changes_on(target) else { continue };
            found.extend(
                effect.findings().map(|finding| finding.clone().with_clusters(vec![target.name.clone()])),
            );
        }
        // Before each is compared with those of the guard rails: many clusters may have the same ones.
        let mut found = finding::limit_findings(finding::merge_clusters(found));
        let is_reported = |finding: &Finding| {
            let is_same = |other: &Finding| {
                other.code == finding.code && kind_and_name(&other.object) == kind_and_name(&finding.object)
            };
            self.findings.iter().any(is_same)
        };
        found.retain(|finding| !is_reported(finding));
        for finding in &mut found {
            finding.location = self.source_locations.get(&kind_and_name(&finding.object)).cloned();
        }
        self.findings.extend(finding::merge_clusters(found));
        finding::sort_findings(&mut self.findings);
        self.findings = finding::limit_findings(self.findings);
        self
    }

    /// Clusters with the same changes together, and the same content of new objects: rejected first, then those that get
    /// the workload, then those that lose it; larger groups first.
    pub fn groups(&self) -> Vec<ClusterPlanGroup> {
        let mut groups: Vec<ClusterPlanGroup> = Vec::new();
        let mut known: HashMap<GroupKey<'_>, usize> = HashMap::new();
        // Many clusters share bundle and changes.
        let mut variants: HashMap<(Option<&Digest>, Option<&Digest>), Vec<CreatedVariant>> = HashMap::new();
        for target in &self.targets {
            let digests = (target.bundle.as_ref(), target.cluster_plan.as_ref());
            let created = variants.entry(digests).or_insert_with(|| self.created_variants(target)).clone();
            let distinctions = self.variants.distinctions(&created);
            let key = GroupKey {
                change: target.change,
                dry_run: &target.dry_run,
                cluster_plan: target.cluster_plan.as_ref(),
                created,
            };
            let at = *known.entry(key).or_insert_with(|| {
                groups.push(ClusterPlanGroup {
                    change: target.change,
                    dry_run: target.dry_run.clone(),
                    clusters: Vec::new(),
                    cluster_plan: target.cluster_plan.clone(),
                    counts: self.changes_on(target).map(ClusterPlan::counts).unwrap_or_default(),
                    distinctions,
                });
                groups.len() - 1
            });
            groups[at].clusters.push(target.name.clone());
        }
        let rank = |group: &ClusterPlanGroup| (group.counts.rejected == 0, group.change);
        groups.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| b.clusters.len().cmp(&a.clusters.len())));
        groups
    }

    /// The variants of new objects that a cluster gets.
    fn created_variants(&self, target: &PlanTarget) -> Vec<CreatedVariant> {
        match (&target.bundle, self.changes_on(target)) {
            (Some(bundle), Some(changes)) => self.variants.created_variants(bundle, changes),
            _ => Vec::new(),
        }
    }

    /// Number of clusters whose dry run is answered, was not requested, and is not answered yet.
    pub fn dry_run_counts(&self) -> (usize, usize, usize) {
        let open = self.targets.iter().filter(|target| target.dry_run == DryRunState::Requested).count();
        let answered = self.targets.iter().filter(|target| target.dry_run == DryRunState::Answered).count();
        (answered, self.targets.len() - open - answered, open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::plan::{PlannedAction, PlannedChange};
    use crate::kubernetes::object::ObjectRef;

    fn cluster(n: u128) -> ClusterId {
        ClusterId::from_parts(1, n)
    }

    fn plan_inputs(bundle: &str, released: Option<&str>) -> PlanInputsDigest {
        let target = |n| PlanInputsTarget {
            cluster: cluster(n),
            change: TargetChange::Deploy,
            bundle: Some(Digest::compute(bundle.as_bytes())),
            released: released.map(|text| Digest::compute(text.as_bytes())),
            wave: None,
        };
        PlanInputsDigest {
            workload: WorkloadId::from_parts(1, 1),
            draft: 1,
            change: None,
            restored_revision: None,
            targets: vec![target(1), target(2)],
        }
    }

    #[test]
    fn e_2_the_hash_of_a_plan_covers_its_inputs_in_any_order() {
        let hash = plan_inputs("a", None).hash();
        let mut reordered = plan_inputs("a", None);
        reordered.targets.reverse();
        assert_eq!(reordered.hash(), hash);
        assert_ne!(plan_inputs("b", None).hash(), hash);
        assert_ne!(plan_inputs("a", Some("x")).hash(), hash);
        let mut fewer = plan_inputs("a", None);
        fewer.targets.pop();
        assert_ne!(fewer.hash(), hash);
        assert_ne!(PlanInputsDigest { draft: 2, ..plan_inputs("a", None) }.hash(), hash);
        let change = Some(Digest::compute(b"override"));
        assert_ne!(PlanInputsDigest { change, ..plan_inputs("a", None) }.hash(), hash);
        let restored_revision = Some(1);
        assert_ne!(PlanInputsDigest { restored_revision, ..plan_inputs("a", None) }.hash(), hash);
    }

    fn plan(outcomes: &[(&str, TargetChange, PlannedAction)]) -> Plan {
        let mut plan = Plan {
            id: PlanId::from_parts(1, 1),
            workload: "web".into(),
            override_name: None,
            restored_revision: None,
            revision: 1,
            hash: Digest::compute(b""),
            requested_by: "ana".into(),
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(1),
            findings: Vec::new(),
            waves: Vec::new(),
            on_failure: OnFailure::Pause,
            blast_radius: BlastRadius::default(),
            targets: Vec::new(),
            cluster_plans: BTreeMap::new(),
            variants: PlanVariants::default(),
            no_op: false,
            decision: Decision::default(),
            source_locations: BTreeMap::new(),
        };
        for (n, (name, change, outcome)) in outcomes.iter().enumerate() {
            let effect = ClusterPlan::from_changes(vec![PlannedChange::verified(
                ObjectRef::default(),
                outcome.clone(),
            )]);
            plan.targets.push(PlanTarget {
                cluster: cluster(n as u128),
                name: (*name).to_owned(),
                change: *change,
                bundle: None,
                dry_run: DryRunState::Answered,
                cluster_plan: Some(effect.digest()),
            });
            plan.cluster_plans.insert(effect.digest(), effect);
        }
        plan
    }

    #[test]
    fn e_2_clusters_with_the_same_changes_are_one_group_rejected_first_removed_last() {
        let rejected = PlannedAction::Rejected { finding: Finding::error("G404", "no", "") };
        let plan = plan(&[
            ("a", TargetChange::Deploy, PlannedAction::Create),
            ("b", TargetChange::Deploy, PlannedAction::Create),
            ("c", TargetChange::Deploy, rejected),
            ("d", TargetChange::Remove, PlannedAction::Delete),
            ("e", TargetChange::Deploy, PlannedAction::Unchanged),
        ]);
        let groups: Vec<Vec<String>> = plan.groups().into_iter().map(|group| group.clusters).collect();
        assert_eq!(groups, [vec!["c"], vec!["a", "b"], vec!["e"], vec!["d"]]);
        let found = plan.with_results().findings;
        assert_eq!(found[0].clusters, ["c"]);
    }

    #[test]
    fn e_2_a_rejection_by_a_cluster_has_a_source_location_and_does_not_repeat_a_guard_rail() {
        let rejected = |code: &str| PlannedAction::Rejected {
            finding: Finding::error(code, "no", "").with_object("Widget web/x"),
        };
        let location = SourceLocation { file: "a.yaml".into(), line: 3, column: 1 };
        let mut first = plan(&[("a", TargetChange::Deploy, rejected("G404"))]);
        first.source_locations.insert("Widget x".into(), location.clone());
        assert_eq!(first.with_results().findings[0].location, Some(location));
        let mut known = plan(&[("a", TargetChange::Deploy, rejected("G401"))]);
        known.findings.push(Finding::error("G401", "not served", "").with_object("Widget x"));
        assert_eq!(known.with_results().findings.len(), 1);
    }
}
