//! Publishing: the draft becomes a revision, which the placer delivers (S0-1 … S0-5).
//!
//! The guard rails run first, whether or not the browser ran them. Then one transaction stores the revision, the intent
//! and the dirty mark; the response is sent only after the commit (P1).

use std::collections::BTreeSet;

use domain::actions::{self, ActionUnavailable};
use domain::event::{EventKind, NewEvent};
use domain::plan::BlastRadius;
use domain::rollout::Rollout;
use domain::workload::{Intent, PublishResult, Revision, Workload};

use super::{CheckResult, PublishOptions, check_if_match};
use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Stores the draft as a revision for the placer to deliver (S0-1 … S0-5).
    ///
    /// # Errors
    /// A guard rail rejects the draft; the draft or the plan is not the reviewed one; more clusters than the limit would
    /// lose the workload and the number was not confirmed (G505).
    pub async fn publish_workload(
        &self,
        actor: &Actor,
        name: &str,
        message: &str,
        terms: PublishOptions,
    ) -> Result<PublishResult, Error> {
        let (workload, checked) = self.check_publish(name, &terms).await?;
        let mut tx = self.write().await?;
        let mut current = self.load_workload(&mut tx, name).await?;
        // The findings are for the draft that was read: fail if it has changed since.
        check_if_match(current.revision, Some(workload.revision))?;
        current.draft_changed = false;
        // In this transaction, so that the next publish sees them; from then on the placer maintains them.
        let own = checked
            .exposures
            .iter()
            .map(|(cluster, (key, class))| (cluster, (key.clone(), class.to_owned())));
        let own: BTreeSet<_> = own.collect();
        store::exposure::add(&mut tx, current.id, own).await?;
        let revision = self.create_revision(&mut tx, actor, &mut current, message).await?;
        self.store_workload(&mut tx, actor, &mut current).await?;
        let event = NewEvent::new(
            EventKind::WorkloadPublished,
            &actor.name,
            format!("{name} revision {} was published{}.", revision.number, message_suffix(message)),
        )
        .with_workload(current.id, name);
        let published = PublishResult {
            revision: revision.number,
            clusters: checked.decision.selected().map(|verdict| verdict.name.clone()).collect(),
            findings: checked.findings,
        };
        failpoint("publish.before_commit");
        self.commit(tx, CommitEffects::with_event_for_placer(event).with_response(actor, 202, &published))
            .await?;
        failpoint("publish.after_commit");
        Ok(published)
    }

    /// The workload, if its state allows a publish; the content of the draft is not checked.
    pub(crate) async fn load_publishable(&self, name: &str, seen: Option<i64>) -> Result<Workload, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        drop(tx);
        check_if_match(workload.revision, seen)?;
        actions::check_publish(&workload)?;
        if workload.draft.source.is_blank() {
            // Publishing it would remove everything that runs; that is an unpublish.
            return Err(ActionUnavailable(
                "The manifests are still empty: write or upload one first.".to_owned(),
            )
            .into());
        }
        Ok(workload)
    }

    /// Runs the guard rails on the draft and on its changes since the published revision.
    pub(crate) async fn check_draft(&self, workload: &Workload) -> Result<CheckResult, Error> {
        let mut checked = self.check_workload(&workload.name, &workload.draft).await?;
        checked.findings.extend(self.draft_change_findings(workload).await?);
        domain::finding::sort_findings(&mut checked.findings);
        Ok(checked)
    }

    async fn check_publish(
        &self,
        name: &str,
        terms: &PublishOptions,
    ) -> Result<(Workload, CheckResult), Error> {
        let workload = self.load_publishable(name, terms.draft_revision).await?;
        let checked = self.check_draft(&workload).await?;
        if checked.findings.iter().any(domain::Finding::is_blocking) {
            return Err(Error::Invalid(checked.findings));
        }
        if let Some(hash) = &terms.plan_hash {
            let inputs = self.plan_inputs(&workload, checked.clone()).await?;
            self.check_plan_hash(&workload, &inputs, hash).await?;
        }
        let radius = self.compute_blast_radius(&workload, &checked).await?;
        match radius.confirmation() {
            Some(number) if terms.confirmed_removals != Some(number) => {
                let finding = radius.finding(name).map(Box::new);
                finding.map_or(Ok((workload, checked)), |finding| Err(Error::ConfirmationRequired(finding)))
            }
            _ => Ok((workload, checked)),
        }
    }

    /// The clusters that would lose the workload with this draft.
    async fn compute_blast_radius(
        &self,
        workload: &Workload,
        checked: &CheckResult,
    ) -> Result<BlastRadius, Error> {
        let mut tx = self.read().await?;
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        let present = releases.iter().filter(|release| release.is_present());
        Ok(BlastRadius::from_decision(&checked.decision, &present.map(|release| release.cluster()).collect()))
    }

    /// Stores the draft as the next revision and marks the workload published and dirty; the caller has to store the
    /// workload row.
    pub(crate) async fn create_revision(
        &self,
        tx: &mut store::Tx,
        actor: &Actor,
        workload: &mut Workload,
        message: &str,
    ) -> Result<Revision, Error> {
        let now = self.clock().now();
        let number = store::revision::latest_number(tx, workload.id).await? + 1;
        let revision = Revision {
            workload: workload.id,
            number,
            spec: workload.draft.clone(),
            author: actor.name.clone(),
            message: message.chars().take(500).collect(),
            created_at: now,
        };
        store::revision::insert(tx, &revision).await?;
        self.supersede_rollout(tx, workload.id).await?;
        if !revision.spec.rollout.is_at_once() {
            let numbers = (workload.published, number);
            let rollout = Rollout::new(workload.id, numbers, revision.spec.rollout.clone(), now);
            store::rollout::insert(tx, &rollout).await?;
        }
        workload.intent = Intent::Published;
        workload.published = Some(number);
        store::queue::PLACER.mark(tx, &[workload.id], now).await?;
        Ok(revision)
    }
}

fn message_suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
