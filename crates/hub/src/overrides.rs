//! Saves and removes overrides.
//!
//! An override belongs to the draft. Saved with `now` while the workload is published, it also makes a new revision of
//! what is *published* plus this one change: other edits of the draft do not slip out with it. The placer then touches
//! only the clusters whose bundle changed.

use domain::event::{EventKind, NewEvent};
use domain::overrides::{self, Override, Patch, Target};
use domain::workload::{Intent, Workload, WorkloadSpec};
use domain::{Finding, OverrideId, can};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

/// What an override says, without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideContent {
    /// The clusters it is for.
    pub target: Target,
    /// Its strength among those as specific.
    pub priority: u32,
    /// Changes, in order.
    pub patches: Vec<Patch>,
}

impl Hub {
    /// Saves an override under a name: the one that has it already keeps its id.
    pub async fn override_put(
        &self,
        actor: &Actor,
        workload: &str,
        name: &str,
        (content, now): (OverrideContent, bool),
    ) -> Result<Workload, Error> {
        let mut tx = self.read().await?;
        let before = self.load_workload(&mut tx, workload).await?.draft.overrides;
        drop(tx);
        let known = before.into_iter().find(|known| known.name == name).map(|known| known.id);
        let change = Override {
            id: known.unwrap_or_else(|| self.ids().make(OverrideId::from_parts)),
            name: name.to_owned(),
            target: content.target,
            priority: content.priority,
            patches: content.patches,
        };
        self.override_save(actor, workload, change, now).await
    }

    /// Saves an override by name.
    pub async fn override_save(
        &self,
        actor: &Actor,
        workload: &str,
        change: Override,
        now: bool,
    ) -> Result<Workload, Error> {
        let findings = overrides::check(std::slice::from_ref(&change));
        if findings.iter().any(Finding::blocks) {
            return Err(Error::Invalid(findings));
        }
        let what = format!("Override {} of {workload} was saved.", change.name);
        self.change_overrides(actor, workload, Change { what, now }, move |spec| {
            match spec.overrides.iter_mut().find(|other| other.name == change.name) {
                Some(other) => *other = change.clone(),
                None => spec.overrides.push(change.clone()),
            }
        })
        .await
    }

    /// Removes an override by name.
    pub async fn override_delete(
        &self,
        actor: &Actor,
        workload: &str,
        name: &str,
        now: bool,
    ) -> Result<Workload, Error> {
        let what = format!("Override {name} of {workload} was removed.");
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        drop(tx);
        if !found.draft.overrides.iter().any(|other| other.name == name) {
            return Err(Error::not_found("override", name));
        }
        self.change_overrides(actor, workload, Change { what, now }, |spec| {
            spec.overrides.retain(|other| other.name != name);
        })
        .await
    }

    async fn change_overrides(
        &self,
        actor: &Actor,
        name: &str,
        change: Change,
        edit: impl Fn(&mut WorkloadSpec),
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        can::edit(&workload)?;
        edit(&mut workload.draft);
        let mut done = Done::with(
            NewEvent::new(EventKind::OverrideSaved, &actor.name, &*change.what).workload(workload.id, name),
        );
        match (change.now, workload.intent, workload.published) {
            (true, Intent::Published, Some(number)) => {
                self.publish_override(&mut tx, actor, &mut workload, (number, &change.what, &edit)).await?;
                done.dirty = true;
            }
            _ => {
                workload.draft_changed = self.differs_from_published(&mut tx, &workload).await?;
                self.store_workload(&mut tx, actor, &mut workload).await?;
            }
        }
        self.commit(tx, done).await?;
        Ok(workload)
    }

    /// Publishes the published revision with this one change, and keeps the draft as it is.
    async fn publish_override(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        workload: &mut Workload,
        (number, what, edit): (u32, &str, &impl Fn(&mut WorkloadSpec)),
    ) -> Result<(), Error> {
        let published = store::revision::get(tx, workload.id, number).await?;
        let Some(published) = published else {
            return Err(Error::not_found("revision", number.to_string()));
        };
        self.check_rollout_over(tx, &workload.name, (workload.id, number)).await?;
        let mut spec = published.spec;
        edit(&mut spec);
        let draft = std::mem::replace(&mut workload.draft, spec);
        let revision = self.freeze(tx, actor, workload, what).await?;
        workload.draft = draft;
        workload.draft_changed = workload.draft != revision.spec;
        self.store_workload(tx, actor, workload).await
    }
}

struct Change {
    what: String,
    now: bool,
}
