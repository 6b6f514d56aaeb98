//! Changes parts of the draft: what one form of the console edits.

use domain::actions;
use domain::manifest_work;
use domain::placement::Placement;
use domain::rollout::RolloutStrategy;
use domain::workload::{
    ConflictPolicy, DeletionPolicy, DriftPolicy, HelmReleasePolicy, Policies, Source, Workload, WorkloadSpec,
};

use super::check_if_match;
use super::edit::edited_event;
use crate::git::keep_pin;
use crate::{Actor, Error, Hub};

/// New values for parts of a draft; omitted parts stay unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftPatch {
    /// Namespace for objects that name none.
    pub namespace: Option<String>,
    /// The manifests.
    pub source: Option<Source>,
    /// The placement.
    pub placement: Option<Placement>,
    /// The rollout.
    pub rollout: Option<RolloutStrategy>,
    /// Whether it is an addon.
    pub addon: Option<bool>,
    /// The policies.
    pub policies: Option<PolicyPatch>,
}

/// The policies that are changed together; the others stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyPatch {
    /// Create missing namespaces.
    pub create_namespace: bool,
    /// Delete objects that a new revision no longer contains.
    pub prune: bool,
    /// The drift policy.
    pub drift: DriftPolicy,
    /// The policy for objects of other owners.
    pub conflict: ConflictPolicy,
    /// The deletion policy.
    pub deletion: DeletionPolicy,
    /// Change the custom resource definitions of a chart.
    pub upgrade_crds: bool,
    /// Whether Helm's record of a chart's release is kept.
    pub helm_release: HelmReleasePolicy,
}

impl DraftPatch {
    fn apply_to(self, draft: &mut WorkloadSpec) {
        fn replace<T>(value: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *value = new;
            }
        }
        replace(&mut draft.namespace, self.namespace);
        replace(&mut draft.source, self.source);
        replace(&mut draft.placement, self.placement);
        replace(&mut draft.rollout, self.rollout);
        replace(&mut draft.addon, self.addon);
        if let Some(patch) = self.policies {
            draft.policies = Policies {
                create_namespace: patch.create_namespace,
                prune: patch.prune,
                drift: patch.drift,
                conflict: patch.conflict,
                deletion: patch.deletion,
                upgrade_crds: patch.upgrade_crds,
                helm_release: patch.helm_release,
                ..std::mem::take(&mut draft.policies)
            };
        }
    }
}

impl Hub {
    /// Changes parts of the draft. `if_match` is the resource version that the change is based on.
    ///
    /// A patch that changes nothing is not stored and is accepted whatever its version: a form is often submitted
    /// while an automatic save of the same input is stored.
    ///
    /// # Errors
    /// [`Error::RevisionConflict`] if the workload was edited since that version.
    pub async fn change_draft(
        &self,
        actor: &Actor,
        name: &str,
        patch: DraftPatch,
        if_match: i64,
    ) -> Result<Workload, Error> {
        let mut patch = patch;
        if let Some(source) = &mut patch.source {
            let stored = store::workload::get_by_name(&mut self.read().await?, self.project(), name).await;
            // One that can't be read has no commit to keep; the edit reports it.
            let before = stored.ok().flatten().map(|workload| workload.draft.source);
            keep_pin(source, before.as_ref());
            self.pin_source(source, before.as_ref()).await?;
        }
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        actions::check_edit(&workload)?;
        let before = workload.draft.clone();
        let has_new_source = patch.source.is_some();
        patch.apply_to(&mut workload.draft);
        if has_new_source {
            manifest_work::adopt_policies(&mut workload.draft);
        }
        if workload.draft == before {
            return Ok(workload);
        }
        check_if_match(workload.revision, Some(if_match))?;
        let event = edited_event(actor, &workload);
        self.store_edit(tx, actor, workload, event).await
    }
}
