//! What the hub knows about a publish before any cluster is asked.

use std::collections::HashMap;

use domain::finding::{self, Finding};
use domain::plan::{Basis, BasisTarget, BlastRadius, TargetChange};
use domain::release::{Release, ReleaseGoal, Rendered};
use domain::workload::{Revision, Workload};
use domain::{ClusterId, Digest};

use crate::render::{Standing, Target, targets};
use crate::workload::CheckResult;
use crate::{Error, Hub};

/// What publishing a draft would give and take, as far as the hub knows.
pub(crate) struct Outlook {
    /// What the guard rails say, and where it would go.
    pub checked: CheckResult,
    /// What each chosen cluster would get.
    pub targets: Vec<Target>,
    /// Releases that are there now.
    pub present: HashMap<ClusterId, Release>,
    /// Those that would go, with the names of their clusters.
    pub leaving: Vec<(String, Release)>,
    /// The number the revision would get.
    pub revision: u32,
}

impl Outlook {
    /// What the guard rails say, and what is lost (G505).
    pub fn findings(&self, workload: &Workload) -> Vec<Finding> {
        let lost = self.blast_radius().finding(&workload.name);
        let mut findings: Vec<Finding> = self.checked.findings.iter().cloned().chain(lost).collect();
        finding::sort(&mut findings);
        findings
    }

    /// What it takes away.
    pub fn blast_radius(&self) -> BlastRadius {
        BlastRadius::of(&self.checked.decision, &self.present.keys().copied().collect())
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
            wave: target.wave,
        });
        let lose = self.leaving.iter().map(|(_, release)| BasisTarget {
            cluster: release.cluster,
            change: TargetChange::Lose,
            bundle: None,
            released: release.released.clone(),
            wave: None,
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
        let targets = targets(
            self,
            &workload.name,
            revision,
            &checked.decision,
            Standing { groups, ..Standing::default() },
        )
        .await?;
        Ok(Outlook { checked, targets, present, leaving, revision: number })
    }
}
