//! Saves and removes overrides.
//!
//! An override belongs to the draft. Saved with `publish_now` while the workload is published, it also creates a revision of the
//! *published* spec plus this one change, without other edits of the draft. The placer then updates only the clusters
//! whose bundle changed.

use domain::event::{EditAction, EventDetail, EventSubject, NewEvent};
use domain::overrides::{self, Override};
use domain::request::OverridePut;
use domain::workload::{Intent, Workload, WorkloadSpec};
use domain::{Finding, OverrideId, actions};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// An override to save under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideEdit {
    /// Its name.
    pub name: String,
    /// Its content.
    pub content: OverridePut,
    /// Whether to change the published revision too.
    pub publish_now: bool,
}

/// A change of the overrides of one workload.
enum OverrideChange {
    /// Stores an override under its name.
    Save(Override),
    /// Removes the override of this name.
    Remove(String),
}

impl OverrideChange {
    fn detail(&self) -> EventDetail {
        let (name, action) = match self {
            Self::Save(change) => (change.name.clone(), EditAction::Saved),
            Self::Remove(name) => (name.clone(), EditAction::Deleted),
        };
        EventDetail::Override { name, action }
    }

    /// Adapts the change to the draft: an override with the name keeps its id, and only an existing one can be removed.
    fn adapt_to(&mut self, draft: &WorkloadSpec) -> Result<(), Error> {
        let find = |name: &str| draft.overrides.iter().find(|other| other.name == name);
        match self {
            Self::Save(change) => change.id = find(&change.name).map_or(change.id, |other| other.id),
            Self::Remove(name) if find(name).is_none() => {
                return Err(Error::not_found("override", name.as_str()));
            }
            Self::Remove(_) => {}
        }
        Ok(())
    }

    fn apply_to(&self, spec: &mut WorkloadSpec) {
        match self {
            Self::Save(change) => match spec.overrides.iter_mut().find(|other| other.name == change.name) {
                Some(other) => *other = change.clone(),
                None => spec.overrides.push(change.clone()),
            },
            Self::Remove(name) => spec.overrides.retain(|other| other.name != *name),
        }
    }
}

impl Hub {
    /// Saves an override under a name: an existing one with the name keeps its id.
    pub async fn put_override(
        &self,
        actor: &Actor,
        workload: &str,
        OverrideEdit { name, content, publish_now }: OverrideEdit,
    ) -> Result<Workload, Error> {
        let change = Override {
            id: self.ids().generate(OverrideId::from_parts),
            name,
            target: content.target,
            priority: content.priority,
            patches: content.patches,
        };
        let findings = overrides::check(std::slice::from_ref(&change));
        if findings.iter().any(Finding::is_blocking) {
            return Err(Error::Invalid(findings));
        }
        self.change_overrides(actor, workload, OverrideChange::Save(change), publish_now).await
    }

    /// Removes an override by name.
    pub async fn delete_override(
        &self,
        actor: &Actor,
        workload: &str,
        name: &str,
        now: bool,
    ) -> Result<Workload, Error> {
        self.change_overrides(actor, workload, OverrideChange::Remove(name.to_owned()), now).await
    }

    async fn change_overrides(
        &self,
        actor: &Actor,
        name: &str,
        mut change: OverrideChange,
        now: bool,
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        actions::check_edit(&workload)?;
        change.adapt_to(&workload.draft)?;
        change.apply_to(&mut workload.draft);
        let subject = EventSubject::workload(workload.id, name);
        let event = NewEvent::from_detail(change.detail(), &actor.name, subject, self.clock().now());
        let message = event.message.clone();
        let mut effects = CommitEffects::with_event(event);
        match (now, workload.intent, workload.published) {
            (true, Intent::Published, Some(number)) => {
                self.publish_override(
                    &mut tx,
                    actor,
                    &mut workload,
                    PublishedEdit { number, message: &message, change: &change },
                )
                .await?;
                effects.wake_placer = true;
            }
            _ => {
                workload.draft_changed = self.differs_from_published(&mut tx, &workload).await?;
                self.store_workload(&mut tx, actor, &mut workload).await?;
            }
        }
        self.commit(tx, effects).await?;
        Ok(workload)
    }

    /// Publishes the published revision with this one change; the draft stays unchanged.
    async fn publish_override(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        workload: &mut Workload,
        PublishedEdit { number, message, change }: PublishedEdit<'_>,
    ) -> Result<(), Error> {
        let published = store::revision::get(tx, workload.id, number).await?;
        let Some(published) = published else {
            return Err(Error::not_found("revision", number.to_string()));
        };
        self.check_rollout_completed(tx, &workload.name, (workload.id, number)).await?;
        let mut spec = published.spec;
        change.apply_to(&mut spec);
        let draft = std::mem::replace(&mut workload.draft, spec);
        let revision = self.create_revision(tx, actor, workload, message).await?;
        workload.draft = draft;
        workload.draft_changed = workload.draft != revision.spec;
        self.store_workload(tx, actor, workload).await
    }
}

/// A change of the published revision with this number, and the message of the revision that it creates.
struct PublishedEdit<'e> {
    number: u32,
    message: &'e str,
    change: &'e OverrideChange,
}
