//! What a publish stores as the next revision.

use domain::OverrideId;
use domain::actions::{self, ActionUnavailable};
use domain::remote::PinnedCommit;
use domain::workload::{Intent, Revision, Workload, WorkloadSpec};
use store::Tx;

use super::restore::load_restorable_revision;
use crate::overrides::{OverrideChange, check_limits};
use crate::{Error, Hub, placement};

/// What a publish stores as the next revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PublishContent {
    /// The draft.
    #[default]
    Draft,
    /// This spec, which also becomes the draft.
    Spec(Box<WorkloadSpec>),
    /// The published revision with this change of an override; the change is made in the draft too.
    Override(OverrideChange),
    /// The published revision with the override of this name as it is in the draft, which may have removed it.
    DraftOverride(String),
    /// An earlier revision again, with its source, placement, overrides and policies: a rollback. The draft stays as it is.
    Revision(u32),
    /// The published revision with another commit of its Git source; the draft gets it too, if it has the same source.
    Commit {
        /// The commit.
        pinned: Box<PinnedCommit>,
        /// Whether a person has to approve the rollout after its first wave.
        approve_after_first_wave: bool,
    },
}

impl PublishContent {
    /// The name of the override that is published alone.
    pub fn override_name(&self) -> Option<&str> {
        match self {
            Self::Draft | Self::Spec(_) | Self::Revision(_) | Self::Commit { .. } => None,
            Self::Override(change) => Some(change.name()),
            Self::DraftOverride(name) => Some(name),
        }
    }

    /// The revision that is published again.
    pub const fn restored_revision(&self) -> Option<u32> {
        match self {
            Self::Revision(number) => Some(*number),
            _ => None,
        }
    }

    /// Rejects the removal of an override that neither the draft nor the published revision has, whatever revision it is based on.
    pub(super) fn check_removable(
        &self,
        draft: &WorkloadSpec,
        published: Option<&Revision>,
    ) -> Result<(), Error> {
        let Self::Override(change) = self else { return Ok(()) };
        match published {
            Some(published) if change.check_exists(&published.spec).is_ok() => Ok(()),
            _ => change.check_exists(draft),
        }
    }

    /// The change of the published revision; `None` for a publish of the draft.
    fn resolve(&self, draft: &WorkloadSpec) -> Option<OverrideChange> {
        match self {
            Self::Draft | Self::Spec(_) | Self::Revision(_) | Self::Commit { .. } => None,
            Self::Override(change) => Some(change.clone()),
            Self::DraftOverride(name) => Some(OverrideChange::from_spec(draft, name)),
        }
    }
}

/// The specs of a publish before anything is stored.
pub(super) struct ResolvedContent {
    /// The spec of the next revision.
    pub spec: WorkloadSpec,
    /// The change that it makes of the published revision; `None` for a publish of the draft.
    pub change: Option<OverrideChange>,
}

impl Hub {
    /// Determines what the publish of `content` stores, and makes the change of an override in the draft of `workload`,
    /// which is not stored. `published` is the published revision.
    ///
    /// # Errors
    /// The state of the workload or of its rollout does not allow the publish; the override is invalid, or there is none
    /// to remove; the override of the draft is already published.
    pub(super) async fn resolve_content(
        &self,
        tx: &mut Tx,
        content: &PublishContent,
        workload: &mut Workload,
        published: Option<&Revision>,
    ) -> Result<ResolvedContent, Error> {
        if let PublishContent::Spec(spec) = content {
            check_limits(&workload.draft.overrides, &spec.overrides)?;
            placement::check_limits(Some(&workload.draft.placement), &spec.placement)?;
            workload.draft = spec.as_ref().clone();
        }
        if let PublishContent::Commit { pinned, .. } = content {
            let spec = resolve_commit(pinned, workload, published)?;
            return Ok(ResolvedContent { spec, change: None });
        }
        if let PublishContent::Revision(number) = content {
            actions::check_roll_back(workload)?;
            let spec = load_restorable_revision(tx, workload, *number).await?.spec;
            return Ok(ResolvedContent { spec, change: None });
        }
        let Some(change) = content.resolve(&workload.draft) else {
            actions::check_publish(workload)?;
            actions::check_manifests(&workload.draft.source)?;
            return Ok(ResolvedContent { spec: workload.draft.clone(), change: None });
        };
        let rollout = match published {
            Some(revision) => store::rollout::get(tx, workload.id, revision.number).await?,
            None => None,
        };
        actions::check_publish_override(workload, rollout.as_ref())?;
        let number = workload.published.unwrap_or_default();
        let published = &published.ok_or_else(|| Error::revision_not_found(&workload.name, number))?.spec;
        change.check()?;
        if matches!(content, PublishContent::Override(_)) {
            change.check_exists(published)?;
        }
        // One id in both: otherwise the draft would differ from the revision by the id alone.
        let known = change.find_id(&workload.draft).or_else(|| change.find_id(published));
        let id = known.unwrap_or_else(|| self.ids().generate(OverrideId::from_parts));
        let mut spec = published.clone();
        change.apply_to(&mut spec, id);
        if matches!(content, PublishContent::DraftOverride(_)) && spec == *published {
            return Err(nothing_to_publish(change.name(), number).into());
        }
        change.apply_to(&mut workload.draft, id);
        change.check_limits(&workload.draft)?;
        Ok(ResolvedContent { spec, change: Some(change) })
    }
}

/// The published spec with this commit, which the draft gets too if it has the same source.
fn resolve_commit(
    pinned: &PinnedCommit,
    workload: &mut Workload,
    published: Option<&Revision>,
) -> Result<WorkloadSpec, Error> {
    actions::check_publish(workload)?;
    let unavailable = || {
        ActionUnavailable(format!(
            "{} has no published revision with a source in Git or in a registry.",
            workload.name
        ))
    };
    let mut spec = published.ok_or_else(unavailable)?.spec.clone();
    let source = spec.source.remote_mut().ok_or_else(unavailable)?;
    source.pinned = Some(pinned.clone());
    if let Some(draft) = workload.draft.source.remote_mut()
        && draft.has_same_address(source)
    {
        draft.pinned = Some(pinned.clone());
    }
    Ok(spec)
}

fn nothing_to_publish(name: &str, revision: u32) -> ActionUnavailable {
    ActionUnavailable(format!("The override {name} of the draft is the same as in revision {revision}."))
}

/// The published revision of a workload; `None` while nothing is published.
pub(super) async fn load_published(tx: &mut Tx, workload: &Workload) -> Result<Option<Revision>, Error> {
    match workload.published.filter(|_| workload.intent == Intent::Published) {
        Some(number) => Ok(Some(store::revision::get_existing(tx, workload.id, number).await?)),
        None => Ok(None),
    }
}
