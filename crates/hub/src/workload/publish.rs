//! Publishing: the draft becomes a revision, and the placer carries it out (S0-1 … S0-5).
//!
//! The guard rails run first, on the server too, whatever the browser has said. Then one transaction stores the
//! revision, the intent and the mark that wakes the placer; the answer is given only after it is committed (P1).

use std::collections::BTreeSet;

use domain::can::{self, WhyNot};
use domain::event::{EventKind, NewEvent};
use domain::plan::BlastRadius;
use domain::release::ReleaseGoal;
use domain::rollout::Rollout;
use domain::workload::{Intent, Published, Revision, Workload};

use super::{CheckResult, Terms, check_match};
use crate::failpoint::failpoint;
use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Freezes the draft as a revision and lets the placer carry it out (S0-1 … S0-5).
    ///
    /// # Errors
    /// A guard rail refuses the draft; the draft or the plan is not the one that was seen; more clusters than the limit
    /// would lose the workload and nobody said how many (G505).
    pub async fn workload_publish(
        &self,
        actor: &Actor,
        name: &str,
        message: &str,
        terms: Terms,
    ) -> Result<Published, Error> {
        let (workload, checked) = self.publishable(name, &terms).await?;
        let mut tx = self.write().await?;
        let mut current = self.load_workload(&mut tx, name).await?;
        // The findings are about the draft that was read; if it has changed since, they prove nothing.
        check_match(current.revision, Some(workload.revision))?;
        current.draft_changed = false;
        // At once, so that a publish that follows this one on its heels sees them; the placer keeps them from then on.
        let own = checked
            .exposures
            .each()
            .map(|(cluster, (key, class))| (cluster, (key.clone(), class.to_owned())));
        let own: BTreeSet<_> = own.collect();
        store::exposure::add(&mut tx, current.id, own).await?;
        let revision = self.freeze(&mut tx, actor, &mut current, message).await?;
        self.store_workload(&mut tx, actor, &mut current).await?;
        let event = NewEvent::new(
            EventKind::WorkloadPublished,
            &actor.name,
            format!("{name} revision {} was published{}.", revision.number, said(message)),
        )
        .workload(current.id, name);
        let published = Published {
            revision: revision.number,
            clusters: checked.decision.chosen().map(|verdict| verdict.name.clone()).collect(),
            findings: checked.findings,
        };
        failpoint("publish.before_commit");
        self.commit(tx, Done::dirty_with(event).answering(actor, 202, &published)).await?;
        failpoint("publish.after_commit");
        Ok(published)
    }

    /// The workload, if its draft may be published at all, whatever it says.
    pub(crate) async fn publishable_draft(&self, name: &str, seen: Option<i64>) -> Result<Workload, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        drop(tx);
        check_match(workload.revision, seen)?;
        can::publish(&workload)?;
        if workload.draft.source.is_blank() {
            // Publishing it would take away everything that runs; that is what unpublishing is for.
            return Err(WhyNot("The manifests are still empty: write or upload one first.".to_owned()).into());
        }
        Ok(workload)
    }

    /// What the guard rails say of the draft, and of the step to it from what is published.
    pub(crate) async fn checked_draft(&self, workload: &Workload) -> Result<CheckResult, Error> {
        let mut checked = self.workload_check(&workload.name, &workload.draft).await?;
        checked.findings.extend(self.step_findings(workload).await?);
        domain::finding::sort(&mut checked.findings);
        Ok(checked)
    }

    async fn publishable(&self, name: &str, terms: &Terms) -> Result<(Workload, CheckResult), Error> {
        let workload = self.publishable_draft(name, terms.seen).await?;
        let checked = self.checked_draft(&workload).await?;
        if checked.findings.iter().any(domain::Finding::blocks) {
            return Err(Error::Invalid(checked.findings));
        }
        if let Some(hash) = &terms.plan {
            let outlook = self.outlook(&workload, checked.clone()).await?;
            self.check_plan(&workload, &outlook, hash).await?;
        }
        let radius = self.blast_radius(&workload, &checked).await?;
        match radius.confirmation() {
            Some(number) if terms.confirm != Some(number) => {
                let finding = radius.finding(name).map(Box::new);
                finding.map_or(Ok((workload, checked)), |finding| Err(Error::Unconfirmed(finding)))
            }
            _ => Ok((workload, checked)),
        }
    }

    /// What publishing this draft would take away.
    async fn blast_radius(&self, workload: &Workload, checked: &CheckResult) -> Result<BlastRadius, Error> {
        let mut tx = self.read().await?;
        let releases = store::release::all_of_workload(&mut tx, workload.id).await?;
        let present = releases.iter().filter(|release| release.goal == ReleaseGoal::Present);
        Ok(BlastRadius::of(&checked.decision, &present.map(|release| release.cluster).collect()))
    }

    /// Stores the next revision of the workload's draft and marks the workload published and dirty; the workload row is
    /// the caller's to store.
    pub(crate) async fn freeze(
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
        self.end_rollout(tx, workload.id).await?;
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

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
