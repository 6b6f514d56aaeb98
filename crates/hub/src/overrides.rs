//! Changes of overrides.
//!
//! An override belongs to the draft; [`Hub::change_override`] saves or removes it there. A publish with
//! [`PublishContent::Override`](crate::PublishContent) makes the same change in the draft and in the published revision,
//! without other edits of the draft. The placer then updates only the clusters whose bundle changed.

use domain::authorization::UserAction;
use domain::event::{EditAction, EventDetail, EventSubject, NewEvent};
use domain::overrides::{self, Override};
use domain::request::OverridePut;
use domain::workload::{Workload, WorkloadSpec};
use domain::{Digest, Finding, OverrideId, actions};
use serde::Serialize;

use crate::workload::check_if_match;
use crate::{Actor, Error, Hub};

/// A change of one override of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OverrideChange {
    /// Saves an override under its name; an existing one with the name is replaced and keeps its id.
    Save {
        /// The name.
        name: String,
        /// The content.
        content: OverridePut,
    },
    /// Removes the override of this name.
    Remove {
        /// The name.
        name: String,
    },
}

impl OverrideChange {
    /// The change that makes the override of this name as it is in `spec`, where it may be missing.
    pub(crate) fn from_spec(spec: &WorkloadSpec, name: &str) -> Self {
        let name = name.to_owned();
        match find(spec, &name) {
            Some(Override { target, priority, values, patches, .. }) => {
                let (target, values, patches) = (target.clone(), values.clone(), patches.clone());
                Self::Save { name, content: OverridePut { target, priority: *priority, values, patches } }
            }
            None => Self::Remove { name },
        }
    }

    /// The name of the override.
    pub fn name(&self) -> &str {
        match self {
            Self::Save { name, .. } | Self::Remove { name } => name,
        }
    }

    /// The digest of the change, for the hash of a plan.
    pub(crate) fn digest(&self) -> Digest {
        // Serialization of plain data into memory does not fail.
        Digest::compute(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Rejects an override that is invalid in every draft.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self::Save { name, content } = self else { return Ok(()) };
        let findings = overrides::check(&[new_override(name, content, OverrideId::from_parts(0, 0))]);
        if findings.iter().any(Finding::is_blocking) { Err(Error::Invalid(findings)) } else { Ok(()) }
    }

    /// Rejects a saved override with which all overrides of `spec` together exceed a limit (G111). A removal is possible
    /// also if the others exceed it.
    pub(crate) fn check_limits(&self, spec: &WorkloadSpec) -> Result<(), Error> {
        match self {
            Self::Save { .. } => check_limits(&[], &spec.overrides),
            Self::Remove { .. } => Ok(()),
        }
    }

    /// Rejects the removal of an override that `spec` does not have.
    pub(crate) fn check_exists(&self, spec: &WorkloadSpec) -> Result<(), Error> {
        match self {
            Self::Remove { name } if find(spec, name).is_none() => {
                Err(Error::not_found("override", name.as_str()))
            }
            _ => Ok(()),
        }
    }

    /// The id of the override in `spec`; `None` if it has none of this name.
    pub(crate) fn find_id(&self, spec: &WorkloadSpec) -> Option<OverrideId> {
        find(spec, self.name()).map(|found| found.id)
    }

    /// Makes the change; a saved override gets this id.
    pub(crate) fn apply_to(&self, spec: &mut WorkloadSpec, id: OverrideId) {
        match self {
            Self::Save { name, content } => {
                let saved = new_override(name, content, id);
                match spec.overrides.iter_mut().find(|other| other.name == *name) {
                    Some(other) => *other = saved,
                    None => spec.overrides.push(saved),
                }
            }
            Self::Remove { name } => spec.overrides.retain(|other| other.name != *name),
        }
    }

    /// The event of the change.
    pub(crate) fn event(&self, actor: &Actor, workload: &Workload, now: domain::Timestamp) -> NewEvent {
        let action = match self {
            Self::Save { .. } => EditAction::Saved,
            Self::Remove { .. } => EditAction::Deleted,
        };
        let detail = EventDetail::Override { name: self.name().to_owned(), action };
        let subject = EventSubject::workload(workload.id, &workload.name);
        NewEvent::from_detail(detail, &actor.name, subject, now)
    }
}

/// Rejects changed overrides that exceed a limit on number, size or nesting (G111). Unchanged ones are accepted: a draft of
/// an earlier version can be edited.
pub(crate) fn check_limits(before: &[Override], after: &[Override]) -> Result<(), Error> {
    let findings = if before == after { Vec::new() } else { overrides::check_limits(after) };
    if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
}

fn find<'s>(spec: &'s WorkloadSpec, name: &str) -> Option<&'s Override> {
    spec.overrides.iter().find(|other| other.name == name)
}

fn new_override(name: &str, content: &OverridePut, id: OverrideId) -> Override {
    Override {
        id,
        name: name.to_owned(),
        target: content.target.clone(),
        priority: content.priority,
        values: content.values.clone(),
        patches: content.patches.clone(),
    }
}

impl Hub {
    /// One override of the draft, with the revision of the workload.
    ///
    /// # Errors
    /// There is no such workload, or it has no such override.
    pub async fn get_override(&self, workload: &str, name: &str) -> Result<(i64, Override), Error> {
        let workload = self.get_workload(workload).await?.workload;
        let found = find(&workload.draft, name).ok_or_else(|| Error::not_found("override", name))?;
        Ok((workload.revision, found.clone()))
    }

    /// Saves or removes an override in the draft. `if_match` is the revision of the draft that the change is based on. A
    /// change without effect is not stored.
    ///
    /// # Errors
    /// [`Error::RevisionConflict`] if the workload was edited since that revision; the override is invalid in every draft;
    /// there is none to remove, whatever the revision.
    pub async fn change_override(
        &self,
        actor: &Actor,
        name: &str,
        change: OverrideChange,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        change.check()?;
        let edit = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            change.check_exists(&before.draft)?;
            check_if_match(before.revision, if_match)?;
            actions::check_edit(before)?;
            let id = change.find_id(&before.draft);
            let id = id.unwrap_or_else(|| self.ids().generate(OverrideId::from_parts));
            change.apply_to(&mut workload.draft, id);
            if workload.draft == before.draft {
                return Ok(None);
            }
            change.check_limits(&workload.draft)?;
            Ok(Some(change.event(actor, workload, self.clock().now())))
        };
        // Of two removals at once, the second one begins again, and finds nothing to remove.
        Box::pin(self.edit_read_workload(actor, name, edit)).await
    }
}
