//! The inputs of a plan: what the hub knows about a publish before any dry run.

use std::collections::HashMap;

use domain::finding::{self, Finding};
use domain::plan::{BlastRadius, PlanInputsDigest, PlanInputsTarget, TargetChange};
use domain::release::{Release, RenderOutcome};
use domain::workload::{Revision, Workload};
use domain::{ClusterId, Digest};

use crate::render::{CurrentReleases, ReleaseTarget, render_targets};
use crate::workload::CheckResult;
use crate::{Error, Hub};

/// The releases that publishing a draft would write and remove, and its findings.
pub(crate) struct PlanInputs {
    /// Findings of the guard rails and the placement decision.
    pub check: CheckResult,
    /// The rendered release of each selected cluster.
    pub targets: Vec<ReleaseTarget>,
    /// The current releases, by cluster.
    pub current: HashMap<ClusterId, Release>,
    /// The releases that would be removed, with the names of their clusters.
    pub removals: Vec<(String, Release)>,
    /// The number of the next revision.
    pub revision: u32,
}

impl PlanInputs {
    /// Findings of the guard rails and of the blast radius (G505), worst first.
    pub fn findings(&self, workload: &Workload) -> Vec<Finding> {
        let losses = self.blast_radius().finding(&workload.name);
        let mut findings: Vec<Finding> = self.check.findings.iter().cloned().chain(losses).collect();
        finding::sort_findings(&mut findings);
        findings
    }

    /// The clusters that would lose the workload.
    pub fn blast_radius(&self) -> BlastRadius {
        BlastRadius::from_decision(&self.check.decision, &self.current.keys().copied().collect())
    }

    /// The hash of a plan with these inputs.
    pub fn hash(&self, workload: &Workload) -> Digest {
        let released =
            |cluster| self.current.get(&cluster).and_then(|release: &Release| release.released().cloned());
        let get = self.targets.iter().map(|target| PlanInputsTarget {
            cluster: target.cluster,
            change: TargetChange::Deploy,
            bundle: bundle_digest(target).cloned(),
            released: released(target.cluster),
            wave: target.wave,
        });
        let lose = self.removals.iter().map(|(_, release)| PlanInputsTarget {
            cluster: release.cluster(),
            change: TargetChange::Remove,
            bundle: None,
            released: release.released().cloned(),
            wave: None,
        });
        PlanInputsDigest {
            workload: workload.id,
            draft: workload.revision,
            targets: get.chain(lose).collect(),
        }
        .hash()
    }
}

fn bundle_digest(target: &ReleaseTarget) -> Option<&Digest> {
    match &target.rendered {
        RenderOutcome::Bundle(digest) => Some(digest),
        RenderOutcome::Waiting(_) | RenderOutcome::Failed(_) => None,
    }
}

impl Hub {
    /// Computes the inputs of a plan of this draft.
    pub(crate) async fn plan_inputs(
        &self,
        workload: &Workload,
        checked: CheckResult,
    ) -> Result<PlanInputs, Error> {
        let mut tx = self.read().await?;
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        let number = store::revision::latest_number(&mut tx, workload.id).await? + 1;
        let groups = store::group::list(&mut tx).await?;
        let present: HashMap<ClusterId, Release> = releases
            .into_iter()
            .filter(|release| release.is_present())
            .map(|release| (release.cluster(), release))
            .collect();
        drop(tx);
        let mut removals: Vec<(String, Release)> = checked
            .decision
            .rejected()
            .filter_map(|verdict| Some((verdict.name.clone(), present.get(&verdict.cluster)?.clone())))
            .collect();
        removals.sort_by(|(a, _), (b, _)| a.cmp(b));
        let revision = Revision {
            workload: workload.id,
            number,
            spec: workload.draft.clone(),
            author: String::new(),
            message: String::new(),
            created_at: self.clock().now(),
        };
        let targets = render_targets(
            self,
            &workload.name,
            revision,
            &checked.decision,
            CurrentReleases { groups, ..CurrentReleases::default() },
        )
        .await?;
        Ok(PlanInputs { check: checked, targets, current: present, removals, revision: number })
    }
}
