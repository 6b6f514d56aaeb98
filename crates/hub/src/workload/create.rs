//! Creates a workload.

use domain::authorization::UserAction;
use domain::cluster::check_labels;
use domain::event::{EventKind, NewEvent};
use domain::manifest_work;
use domain::name_check;
use domain::owner::{check_owners, normalize_owners};
use domain::policy::NotAssessedPolicy;
use domain::workload::{Intent, NewWorkload, Workload};
use domain::{Finding, WorkloadId};

use super::snapshot::DraftAuthor;
use super::{CheckResult, authorize_policies};
use crate::hub::CommitEffects;
use crate::idempotency::workload_path;
use crate::overrides::check_limits;
use crate::{Actor, Error, Hub, placement};

impl Hub {
    /// Creates a draft. A draft may have findings; only a publish is rejected for them (S0-1).
    pub async fn create_workload(&self, actor: &Actor, new: NewWorkload) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let workload = self.build_workload(actor, new).await?;
        let mut tx = self.write_as(actor, UserAction::Edit).await?;
        self.lock_dependencies(&mut tx, &workload.name, &workload.draft).await?;
        self.check_name_is_free(&mut tx, &workload.name).await?;
        // A draft may name a group that does not exist; one that exists is not deleted before this reference is stored.
        store::group::share_referenced(&mut tx, &workload.draft).await?;
        let tx = self.insert_workload(tx, actor, &workload).await?;
        let effects = CommitEffects::with_event(created_event(actor, &workload));
        let effects = effects.with_response(actor, 201, &workload).with_etag(workload.revision);
        self.commit(tx, effects.with_location(workload_path(&workload.name))).await?;
        Ok(workload)
    }

    /// Checks what a new workload has whatever is stored, and pins its source.
    ///
    /// # Errors
    /// Its name, labels, owners or overrides are invalid.
    pub(super) async fn build_workload(
        &self,
        actor: &Actor,
        mut new: NewWorkload,
    ) -> Result<Workload, Error> {
        let findings = check_name_and_labels(&new);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        check_limits(&[], &new.spec.overrides)?;
        placement::check_limits(None, &new.spec.placement)?;
        manifest_work::adopt_policies(&mut new.spec);
        new.spec.policies = new.spec.policies.with_not_assessed_or(Some(NotAssessedPolicy::Wait));
        self.pin_source(&mut new.spec.source, None).await?;
        let now = self.clock().now();
        Ok(Workload {
            id: self.ids().generate(WorkloadId::from_parts),
            project: self.project(),
            name: new.name,
            labels: new.labels,
            owners: normalize_owners(&new.owners, &actor.name),
            draft: new.spec,
            intent: Intent::Draft,
            published: None,
            draft_changed: true,
            created_by: actor.name.clone(),
            created_at: now,
            updated_at: now,
            revision: 1,
        })
    }

    /// Adds a workload. The caller has checked its name and locked what it refers to, and commits the transaction that is returned.
    ///
    /// # Errors
    /// Another server has added one with the same name in the meantime (G102); the user may not set its policies.
    pub(super) async fn insert_workload(
        &self,
        mut tx: store::Tx,
        actor: &Actor,
        workload: &Workload,
    ) -> Result<store::Tx, Error> {
        authorize_policies(actor, None, &workload.draft)?;
        match store::workload::insert(&mut tx, workload).await {
            Err(unique @ store::Error::AlreadyExists { .. }) => {
                tx.rollback().await?;
                let taken = self.find_name_conflict(&mut self.read().await?, &workload.name).await?;
                return Err(taken.map_or_else(|| unique.into(), |taken| Error::NameTaken(Box::new(taken))));
            }
            result => result?,
        }
        Ok(tx)
    }

    /// Checks a new workload without creating it.
    ///
    /// # Errors
    /// The name is in use (G102).
    pub async fn check_workload_create(
        &self,
        actor: &Actor,
        new: &NewWorkload,
    ) -> Result<CheckResult, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut tx = self.read().await?;
        self.check_name_is_free(&mut tx, &new.name).await?;
        self.check_spec(tx, None, (new.name.as_str(), &new.spec), DraftAuthor::from_actor(actor)).await
    }

    /// Rejects the name of a workload that exists (G102).
    pub(super) async fn check_name_is_free(&self, tx: &mut store::Tx, name: &str) -> Result<(), Error> {
        match self.find_name_conflict(tx, name).await? {
            Some(taken) => Err(Error::NameTaken(Box::new(taken))),
            None => Ok(()),
        }
    }

    /// G102: a finding with the owner of the name, if it is in use.
    async fn find_name_conflict(&self, tx: &mut store::Tx, name: &str) -> Result<Option<Finding>, Error> {
        let found = store::workload::get_by_name(tx, self.project(), name).await?;
        Ok(found
            .map(|found| name_check::existing_name_finding(name, store::project::DEFAULT, &found.created_by)))
    }
}

/// The event of a creation.
pub(super) fn created_event(actor: &Actor, workload: &Workload) -> NewEvent {
    let message = format!("{} was created.", workload.name);
    NewEvent::new(EventKind::WorkloadCreated, &actor.name, message).with_workload(workload.id, &workload.name)
}

/// Checks the name, which can't be changed later, the labels and the owners.
fn check_name_and_labels(new: &NewWorkload) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name_check::check_workload_name(&new.name).into_iter().collect();
    findings.extend(check_labels(&new.labels));
    findings.extend(check_owners(&new.owners));
    findings
}
