//! The inputs of a plan: what the hub knows about a publish before any dry run.

use std::collections::{BTreeMap, HashMap};

use domain::bundle::Bundle;
use domain::plan::{PlanInputsDigest, PlanInputsTarget, PlanVariants, TargetChange};
use domain::release::RenderOutcome;
use domain::{ClusterId, Digest};

use crate::overrides::OverrideChange;
use crate::render::{ReleaseTarget, RetainedBundles, render_clusters};
use crate::workload::PublishSnapshot;

/// The releases that a publish of a snapshot would write and remove.
pub(crate) struct PlanInputs {
    /// The rendered release of each selected cluster.
    pub targets: Vec<ReleaseTarget>,
    /// The clusters that would lose their release, with their names, by name.
    pub removals: Vec<(String, ClusterId)>,
    /// The number of the next revision.
    pub revision: u32,
}

impl PlanInputs {
    /// Renders the spec for every selected cluster: call it off the async threads.
    pub fn render(snapshot: &PublishSnapshot, retained: RetainedBundles<'_>) -> Self {
        let PublishSnapshot { stored, draft } = snapshot;
        let revision = stored.latest_revision + 1;
        let names = draft.target_names();
        let renderer = draft.renderer(revision, &names);
        let none = (&HashMap::new(), &HashMap::new());
        let clusters = draft.targets_in_decision_order();
        let targets = render_clusters(&renderer, &draft.manifests, &clusters, none, retained);
        let lost =
            draft.decision.rejected().filter(|evaluation| stored.releases.contains_key(&evaluation.cluster));
        let mut removals: Vec<(String, ClusterId)> =
            lost.map(|evaluation| (evaluation.name.clone(), evaluation.cluster)).collect();
        removals.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { targets, removals, revision }
    }

    /// The objects that differ between the rendered bundles; call it before the bytes are taken.
    pub fn compare_bundles(&self) -> PlanVariants {
        let bytes: BTreeMap<&Digest, &[u8]> =
            self.targets.iter().filter_map(|target| target.bytes.as_ref()).map(|(d, b)| (d, &**b)).collect();
        if bytes.len() < 2 {
            return PlanVariants::default();
        }
        // An unreadable bundle is reported on its target.
        let parsed = bytes.into_iter().filter_map(|(d, b)| Some((d.clone(), Bundle::from_bytes(b).ok()?)));
        PlanVariants::compare(parsed)
    }

    /// The hash of a plan with these inputs.
    pub fn hash(&self, snapshot: &PublishSnapshot) -> Digest {
        let stored = &snapshot.stored;
        let released =
            |cluster| stored.releases.get(&cluster).and_then(|release| release.released().cloned());
        let get = self.targets.iter().map(|target| PlanInputsTarget {
            cluster: target.cluster,
            change: TargetChange::Deploy,
            bundle: bundle_digest(target).cloned(),
            released: released(target.cluster),
            wave: target.wave,
        });
        let lose = self.removals.iter().map(|(_, cluster)| PlanInputsTarget {
            cluster: *cluster,
            change: TargetChange::Remove,
            bundle: None,
            released: released(*cluster),
            wave: None,
        });
        PlanInputsDigest {
            workload: stored.workload.id,
            draft: stored.workload.revision,
            change: stored.change.as_ref().map(OverrideChange::digest),
            restored_revision: stored.restored_revision,
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
