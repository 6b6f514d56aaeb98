//! Changes parts of the draft and the labels: what one form of the console edits.

use domain::actions;
use domain::authorization::UserAction;
use domain::cluster::check_labels;
use domain::dependency::WorkloadDependency;
use domain::event::NewEvent;
use domain::labels::Labels;
use domain::manifest_work;
use domain::owner::{check_owners, normalize_owners};
use domain::placement::Placement;
use domain::rollout::RolloutStrategy;
use domain::workload::{Policies, Source, Workload};

use super::check_if_match;
use crate::git::keep_pin;
use crate::{Actor, Error, Hub, placement};

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
    /// The workloads that it depends on.
    pub depends_on: Option<Vec<WorkloadDependency>>,
    /// The policies.
    pub policies: Option<Policies>,
    /// The labels of the workload, which no revision contains.
    pub labels: Option<Labels>,
    /// Its owners, which no revision contains.
    pub owners: Option<Vec<String>>,
}

impl DraftPatch {
    fn apply_to(self, workload: &mut Workload) {
        fn replace<T>(value: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *value = new;
            }
        }
        let draft = &mut workload.draft;
        replace(&mut draft.namespace, self.namespace);
        replace(&mut draft.source, self.source);
        replace(&mut draft.placement, self.placement);
        replace(&mut draft.rollout, self.rollout);
        replace(&mut draft.addon, self.addon);
        replace(&mut draft.depends_on, self.depends_on);
        replace(&mut draft.policies, self.policies.map(|policies| policies.with_not_assessed_or(None)));
        replace(&mut workload.labels, self.labels);
        if let Some(owners) = self.owners {
            workload.owners = normalize_owners(&owners, &workload.created_by);
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
        actor.authorize(UserAction::Edit)?;
        let mut findings = patch.labels.as_ref().map(check_labels).unwrap_or_default();
        findings.extend(patch.owners.iter().flat_map(|owners| check_owners(owners)));
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut patch = patch;
        if let Some(source) = &mut patch.source {
            let stored = store::workload::get_by_name(&mut self.read().await?, self.project(), name).await;
            if matches!(stored, Err(store::Error::NoMemory)) {
                return Err(store::Error::NoMemory.into());
            }
            // One that can't be read has no commit to keep; the edit reports it.
            let before = stored.ok().flatten().map(|workload| workload.draft.source);
            keep_pin(source, before.as_ref());
            self.pin_source(source, before.as_ref()).await?;
        }
        let change = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            actions::check_edit(before)?;
            let has_new_source = patch.source.is_some();
            patch.clone().apply_to(workload);
            if has_new_source {
                manifest_work::adopt_policies(&mut workload.draft);
            }
            if *workload == *before {
                return Ok(None);
            }
            check_if_match(before.revision, Some(if_match))?;
            placement::check_limits(Some(&before.draft.placement), &workload.draft.placement)?;
            Ok(None)
        };
        Box::pin(self.edit_read_workload(actor, name, change)).await
    }
}
