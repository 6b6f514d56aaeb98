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

impl Hub {
    /// Saves an override under a name: an existing one with the name keeps its id.
    pub async fn put_override(
        &self,
        actor: &Actor,
        workload: &str,
        OverrideEdit { name, content, publish_now }: OverrideEdit,
    ) -> Result<Workload, Error> {
        let mut tx = self.read().await?;
        let before = self.load_workload(&mut tx, workload).await?.draft.overrides;
        drop(tx);
        let existing = before.into_iter().find(|existing| existing.name == name).map(|existing| existing.id);
        let change = Override {
            id: existing.unwrap_or_else(|| self.ids().generate(OverrideId::from_parts)),
            name,
            target: content.target,
            priority: content.priority,
            patches: content.patches,
        };
        self.save_override(actor, workload, change, publish_now).await
    }

    /// Saves an override by name.
    pub async fn save_override(
        &self,
        actor: &Actor,
        workload: &str,
        change: Override,
        now: bool,
    ) -> Result<Workload, Error> {
        let findings = overrides::check(std::slice::from_ref(&change));
        if findings.iter().any(Finding::is_blocking) {
            return Err(Error::Invalid(findings));
        }
        let detail = EventDetail::Override { name: change.name.clone(), action: EditAction::Saved };
        self.change_overrides(actor, workload, OverrideChange { detail, publish_now: now }, move |spec| {
            match spec.overrides.iter_mut().find(|other| other.name == change.name) {
                Some(other) => *other = change.clone(),
                None => spec.overrides.push(change.clone()),
            }
        })
        .await
    }

    /// Removes an override by name.
    pub async fn delete_override(
        &self,
        actor: &Actor,
        workload: &str,
        name: &str,
        now: bool,
    ) -> Result<Workload, Error> {
        let detail = EventDetail::Override { name: name.to_owned(), action: EditAction::Deleted };
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        drop(tx);
        if !found.draft.overrides.iter().any(|other| other.name == name) {
            return Err(Error::not_found("override", name));
        }
        self.change_overrides(actor, workload, OverrideChange { detail, publish_now: now }, |spec| {
            spec.overrides.retain(|other| other.name != name);
        })
        .await
    }

    async fn change_overrides(
        &self,
        actor: &Actor,
        name: &str,
        change: OverrideChange,
        edit: impl Fn(&mut WorkloadSpec),
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        actions::check_edit(&workload)?;
        edit(&mut workload.draft);
        let subject = EventSubject::workload(workload.id, name);
        let event = NewEvent::from_detail(change.detail, &actor.name, subject, self.clock().now());
        let message = event.message.clone();
        let mut effects = CommitEffects::with_event(event);
        match (change.publish_now, workload.intent, workload.published) {
            (true, Intent::Published, Some(number)) => {
                self.publish_override(
                    &mut tx,
                    actor,
                    &mut workload,
                    PublishedEdit { number, message: &message, edit: &edit },
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
        change: PublishedEdit<'_, impl Fn(&mut WorkloadSpec)>,
    ) -> Result<(), Error> {
        let PublishedEdit { number, message, edit } = change;
        let published = store::revision::get(tx, workload.id, number).await?;
        let Some(published) = published else {
            return Err(Error::not_found("revision", number.to_string()));
        };
        self.check_rollout_completed(tx, &workload.name, (workload.id, number)).await?;
        let mut spec = published.spec;
        edit(&mut spec);
        let draft = std::mem::replace(&mut workload.draft, spec);
        let revision = self.create_revision(tx, actor, workload, message).await?;
        workload.draft = draft;
        workload.draft_changed = workload.draft != revision.spec;
        self.store_workload(tx, actor, workload).await
    }
}

struct OverrideChange {
    detail: EventDetail,
    publish_now: bool,
}

/// An edit of the published revision with this number, and the message of the revision that it creates.
struct PublishedEdit<'e, F> {
    number: u32,
    message: &'e str,
    edit: &'e F,
}
