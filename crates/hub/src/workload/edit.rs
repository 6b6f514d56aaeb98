//! Edits the draft; running releases change only with a publish (S0-1).

use domain::WorkloadId;
use domain::actions;
use domain::authorization::UserAction;
use domain::cluster::check_labels;
use domain::event::{EventKind, NewEvent};
use domain::labels::Labels;
use domain::manifest_work;
use domain::owner::{check_owners, normalize_owners};
use domain::policy::NotAssessedPolicy;
use domain::workload::{Revision, Workload};
use store::Tx;

use super::{WorkloadEdit, authorize_policies, check_if_match};
use crate::hub::CommitEffects;
use crate::overrides::check_limits;
use crate::{Actor, Error, Hub, placement};

/// How often an edit is prepared before its transaction, because the workload was changed meanwhile. After that it is made in the
/// transaction, in which no other edit comes first.
const EDIT_ATTEMPTS: u32 = 3;

impl Hub {
    /// Edits the draft. `if_match` is the revision that the edit is based on. An edit without changes is not stored.
    pub async fn edit_workload(
        &self,
        actor: &Actor,
        name: &str,
        edit: WorkloadEdit,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut findings = edit.labels.as_ref().map(check_labels).unwrap_or_default();
        findings.extend(edit.owners.iter().flat_map(|owners| check_owners(owners)));
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut edit = edit;
        if let Some(spec) = &mut edit.spec {
            let stored = store::workload::get_by_name(&mut self.read().await?, self.project(), name).await;
            if matches!(stored, Err(store::Error::NoMemory)) {
                return Err(store::Error::NoMemory.into());
            }
            // One that can't be read has no commit to keep, and is replaced below.
            let before = stored.ok().flatten().map(|workload| workload.draft.source);
            self.pin_source(&mut spec.source, before.as_ref()).await?;
        }
        let change = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            apply_edit(before, workload, &edit, if_match)?;
            Ok(None)
        };
        match Box::pin(self.edit_read_workload(actor, name, change)).await {
            Err(Error::Unreadable { .. }) if edit.spec.is_some() => {
                Box::pin(self.mend_workload(actor, name, &edit, if_match)).await
            }
            edited => edited,
        }
    }

    /// Edits a workload that can be read: `change` gets it as it is stored and a copy to change, and returns the event of the edit if it has
    /// one of its own. An edit without changes is not stored.
    ///
    /// What takes long for a large draft, to decode it, to compare it with the published revision and to encode the response, is done before
    /// the transaction: it would occupy the only writer of `SQLite`. If the workload was changed meanwhile, the edit begins again.
    pub(crate) async fn edit_read_workload(
        &self,
        actor: &Actor,
        name: &str,
        change: impl Fn(&Workload, &mut Workload) -> Result<Option<NewEvent>, Error> + Send + Sync,
    ) -> Result<Workload, Error> {
        for _ in 0..EDIT_ATTEMPTS {
            let before = self.read_workload(name).await?;
            let mut workload = before.clone();
            let event = change(&before, &mut workload)?;
            if workload == before {
                return Ok(workload);
            }
            let has_new_draft = workload.draft != before.draft;
            if has_new_draft {
                authorize_policies(actor, Some(&before.draft), &workload.draft)?;
                workload.draft_changed = self.differs_from_read_revision(&workload).await?;
            }
            let event = event.unwrap_or_else(|| edited_event(actor, &before, &workload));
            workload.revision += 1;
            workload.updated_at = self.clock().now();
            let effects = CommitEffects::with_event(event);
            let effects = effects.with_response(actor, 200, &workload).with_etag(workload.revision);
            let mut tx = self.write_as(actor, UserAction::Edit).await?;
            if workload.draft.depends_on != before.draft.depends_on {
                self.lock_dependencies(&mut tx, name, &workload.draft).await?;
            }
            let is_stored = if has_new_draft {
                store::workload::update(&mut tx, &workload, before.revision, &actor.name).await?
            } else {
                store::workload::update_metadata(&mut tx, &workload, before.revision, &actor.name).await?
            };
            if is_stored {
                self.commit(tx, effects).await?;
                return Ok(workload);
            }
        }
        let mut tx = self.write_as(actor, UserAction::Edit).await?;
        store::dependency::lock_graph(&mut tx).await?;
        // Other edits of the workload wait.
        self.lock_workload_head(&mut tx, name).await?;
        let before = self.load_workload(&mut tx, name).await?;
        let mut workload = before.clone();
        let event = change(&before, &mut workload)?;
        if workload == before {
            return Ok(workload);
        }
        self.check_dependencies(&mut tx, name, &workload.draft).await?;
        let event = event.unwrap_or_else(|| edited_event(actor, &before, &workload));
        self.store_edit(tx, actor, workload, event).await
    }

    /// Edits a workload whose draft or published revision can't be read.
    async fn mend_workload(
        &self,
        actor: &Actor,
        name: &str,
        edit: &WorkloadEdit,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        let mut tx = self.write_as(actor, UserAction::Edit).await?;
        store::dependency::lock_graph(&mut tx).await?;
        let is_mended = self.replace_unreadable_draft(&mut tx, actor, name, edit).await?;
        let before = self.load_workload(&mut tx, name).await?;
        let mut workload = before.clone();
        apply_edit(&before, &mut workload, edit, if_match)?;
        if workload == before && !is_mended {
            return Ok(workload);
        }
        self.check_dependencies(&mut tx, name, &workload.draft).await?;
        let event = edited_event(actor, &before, &workload);
        self.store_edit(tx, actor, workload, event).await
    }

    /// The workload with this name, or [`Error::NotFound`]. It is decoded when the connection is returned.
    async fn read_workload(&self, name: &str) -> Result<Workload, Error> {
        let unreadable = |error: store::Error| Error::from(error).with_unreadable_workload(name);
        let mut tx = self.read().await?;
        let found = store::workload::find_stored(&mut tx, self.project(), name).await.map_err(unreadable)?;
        drop(tx);
        let found = found.ok_or_else(|| Error::not_found("workload", name))?;
        found.decode().map_err(unreadable)
    }

    /// Whether its draft differs from the published revision, which is decoded when the connection is returned.
    async fn differs_from_read_revision(&self, workload: &Workload) -> Result<bool, Error> {
        let Some(number) = workload.published else {
            return Ok(true);
        };
        let mut tx = self.read().await?;
        let stored = store::revision::find_stored(&mut tx, workload.id, number).await?;
        drop(tx);
        let published = stored.map(|stored| stored.decode()).transpose()?;
        Ok(published.is_none_or(|revision| revision.spec != workload.draft))
    }

    /// Replaces a draft that can't be read by that of the edit, so that the workload is mended without a deletion; returns
    /// whether it did.
    async fn replace_unreadable_draft(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        name: &str,
        edit: &WorkloadEdit,
    ) -> Result<bool, Error> {
        let (Some(spec), Err(Error::Unreadable { .. })) = (&edit.spec, self.load_workload(tx, name).await)
        else {
            return Ok(false);
        };
        check_limits(&[], &spec.overrides)?;
        placement::check_limits(None, &spec.placement)?;
        let head = self.load_workload_head(tx, name).await?;
        // What the unreadable draft has is not known: what is published may stay.
        let published = match head.published {
            Some(number) => load_readable_revision(tx, head.id, number).await?,
            None => None,
        };
        authorize_policies(actor, published.as_ref().map(|revision| &revision.spec), spec)?;
        // What the former draft said is not known, so a policy that is left out is that of a new workload.
        let mut spec = spec.clone();
        spec.policies = spec.policies.with_not_assessed_or(Some(NotAssessedPolicy::Wait));
        store::workload::replace_draft(tx, head.id, &spec).await?;
        Ok(true)
    }

    /// Stores a workload whose draft or labels were edited in this transaction, and commits.
    pub(crate) async fn store_edit(
        &self,
        mut tx: Tx,
        actor: &Actor,
        mut workload: Workload,
        event: NewEvent,
    ) -> Result<Workload, Error> {
        workload.draft_changed = self.differs_from_published(&mut tx, &workload).await?;
        self.store_workload(&mut tx, actor, &mut workload).await?;
        let effects = CommitEffects::with_event(event).with_response(actor, 200, &workload);
        self.commit(tx, effects.with_etag(workload.revision)).await?;
        Ok(workload)
    }

    async fn differs_from_published(&self, tx: &mut store::Tx, workload: &Workload) -> Result<bool, Error> {
        let Some(number) = workload.published else {
            return Ok(true);
        };
        let published = store::revision::get(tx, workload.id, number).await?;
        Ok(published.is_none_or(|revision| revision.spec != workload.draft))
    }
}

/// A revision; `None` if it can't be read.
async fn load_readable_revision(
    tx: &mut Tx,
    workload: WorkloadId,
    number: u32,
) -> Result<Option<Revision>, Error> {
    match store::revision::get(tx, workload, number).await {
        Err(store::Error::InvalidRow { .. }) => Ok(None),
        found => Ok(found?),
    }
}

/// Makes an edit, or says why it is not possible.
fn apply_edit(
    before: &Workload,
    workload: &mut Workload,
    edit: &WorkloadEdit,
    if_match: Option<i64>,
) -> Result<(), Error> {
    check_if_match(before.revision, if_match)?;
    actions::check_edit(before)?;
    if let Some(spec) = &edit.spec {
        workload.draft = spec.clone();
        manifest_work::adopt_policies(&mut workload.draft);
        // A client that never wrote the value that a creation sets does not change it.
        let policies = std::mem::take(&mut workload.draft.policies);
        workload.draft.policies = policies.with_not_assessed_or(before.draft.policies.not_assessed);
    }
    check_limits(&before.draft.overrides, &workload.draft.overrides)?;
    placement::check_limits(Some(&before.draft.placement), &workload.draft.placement)?;
    apply_metadata(workload, edit.labels.as_ref(), edit.owners.as_deref());
    Ok(())
}

/// Replaces the labels and owners that are given.
fn apply_metadata(workload: &mut Workload, labels: Option<&Labels>, owners: Option<&[String]>) {
    if let Some(labels) = labels {
        workload.labels.clone_from(labels);
    }
    if let Some(owners) = owners {
        workload.owners = normalize_owners(owners, &workload.created_by);
    }
}

/// The event of an edit that has no event of its own: which parts were changed, without their content, which may have secrets.
fn edited_event(actor: &Actor, before: &Workload, workload: &Workload) -> NewEvent {
    let parts = list_changed_parts(before, workload);
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let message = format!("{} was edited{parts}.", workload.name);
    NewEvent::new(EventKind::WorkloadEdited, &actor.name, message).with_workload(workload.id, &workload.name)
}

fn list_changed_parts(before: &Workload, after: &Workload) -> Vec<&'static str> {
    let (old, new) = (&before.draft, &after.draft);
    let parts = [
        ("namespace", old.namespace != new.namespace),
        ("addon", old.addon != new.addon),
        ("source", old.source != new.source),
        ("placement", old.placement != new.placement),
        ("overrides", old.overrides != new.overrides),
        ("rollout", old.rollout != new.rollout),
        ("policies", old.policies != new.policies),
        ("labels", before.labels != after.labels),
        ("owners", before.owners != after.owners),
    ];
    parts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name).collect()
}
