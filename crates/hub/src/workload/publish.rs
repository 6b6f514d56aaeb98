//! Publishing: the draft, one override of it, or an earlier revision becomes a revision, which the placer delivers (S0-1 … S0-5).
//!
//! The guard rails run first, whether or not the browser ran them. Then one transaction stores the revision, the intent
//! and the dirty mark; the response is sent only after the commit (P1).

use std::collections::BTreeSet;

use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::guard::Exposures;
use domain::operation::OperationKind;
use domain::rollout::{Rollout, RolloutStrategy};
use domain::workload::{
    Intent, NewWorkload, PublishResult, PublishValidation, Revision, Workload, WorkloadSpec,
};
use domain::{ClusterId, Digest, Finding, WorkloadId};
use store::Tx;
use store::exposure::ExposureRow;

use super::check::DraftCheck;
use super::create::created_event;
use super::publish_content::load_published;
use super::snapshot::{DraftSnapshot, PublishCandidate, PublishSnapshot, PublishableWorkload};
use super::{PublishContent, PublishOptions, PublishResponse, authorize_revision, check_if_match};
use crate::blocking::run_blocking;
use crate::deployment::{check_deployments_enabled, started_deployment};
use crate::failpoint::failpoint;
use crate::git::adopt_pin;
use crate::group::load_group;
use crate::hub::CommitEffects;
use crate::idempotency::{IN_PROGRESS, workload_status_path};
use crate::operation::OperationRequest;
use crate::plan::{PlanInputs, check_findings, parse_forced_codes};
use crate::render::RetainedBundles;
use crate::{Actor, Error, Hub};

/// The checked draft of a publish.
struct PublishCheck {
    snapshot: PublishSnapshot,
    checked: DraftCheck,
    validation: PublishValidation,
    /// The codes that were forced, of the hub and of the clusters, sorted.
    forced: Vec<String>,
}

/// The workload of a publish.
enum PublishTarget<'a> {
    /// The stored one of this name.
    Existing(&'a str),
    /// One that the publish creates.
    New(Box<Workload>),
}

impl Hub {
    /// Stores the draft, the published revision with one override changed, or an earlier revision, as a revision for the placer to deliver
    /// (S0-1 … S0-5).
    ///
    /// # Errors
    /// A guard rail rejects the content; the draft or the plan is not the reviewed one; clusters rejected the plan with codes
    /// that are not forced; more clusters than the limit would lose the workload and the number was not confirmed (G505).
    pub async fn publish_workload(
        &self,
        actor: &Actor,
        name: &str,
        message: &str,
        options: PublishOptions,
    ) -> Result<PublishResult, Error> {
        actor.authorize(UserAction::Publish)?;
        let check = Box::pin(self.check_publish(PublishTarget::Existing(name), &options)).await?;
        Box::pin(self.store_publish(actor, check, message, options)).await
    }

    /// Creates a workload and publishes its draft, in one transaction: nothing is stored of a workload that is refused.
    ///
    /// # Errors
    /// As [`Self::create_workload`] and [`Self::publish_workload`].
    pub(crate) async fn create_published_workload(
        &self,
        actor: &Actor,
        new: NewWorkload,
        message: &str,
        options: PublishOptions,
    ) -> Result<PublishResult, Error> {
        actor.authorize(UserAction::Publish)?;
        let workload = Box::new(self.build_workload(actor, new).await?);
        let check = Box::pin(self.check_publish(PublishTarget::New(workload), &options)).await?;
        Box::pin(self.store_publish(actor, check, message, options)).await
    }

    /// Stores the revision of a checked publish, if the workload and what it refers to are still as they were checked.
    async fn store_publish(
        &self,
        actor: &Actor,
        PublishCheck { snapshot, checked, validation, forced }: PublishCheck,
        message: &str,
        options: PublishOptions,
    ) -> Result<PublishResult, Error> {
        let unchanged_since = snapshot.unchanged_since();
        let mut tx = self.write_as(actor, UserAction::Publish).await?;
        self.lock_references(&mut tx, &snapshot.stored, &snapshot.draft, &options).await?;
        let (mut tx, created) = self.lock_or_insert(tx, actor, &snapshot.stored, &options.content).await?;
        let mut workload = snapshot.stored.workload;
        let name = workload.name.clone();
        let published = snapshot.stored.published.as_ref().map(|revision| &revision.spec);
        authorize_revision(actor, &workload.draft, published, &snapshot.draft.spec)?;
        let now = self.clock().now();
        let edited = snapshot.stored.change.map(|change| change.event(actor, &workload, now));
        let restored = snapshot.stored.restored_revision;
        let message = match (&edited, restored) {
            (Some(edited), _) if message.is_empty() => edited.message.trim_end_matches('.').to_owned(),
            (None, Some(number)) if message.is_empty() => format!("Roll back to revision {number}"),
            _ => message.to_owned(),
        };
        if restored.is_none() {
            adopt_pin(&mut workload.draft, &snapshot.draft.spec);
        }
        let strategy = self.rollout_strategy(&mut tx, &snapshot.draft.spec, &options.content).await?;
        let helm_versions = snapshot.draft.manifests.helm_versions().iter().cloned().collect();
        let next = NextRevision { spec: snapshot.draft.spec, strategy, message: &message, helm_versions };
        let revision = self.create_revision(&mut tx, actor, &mut workload, next).await?;
        reserve_exposures(&mut tx, workload.id, &checked.exposures).await?;
        let request = OperationRequest {
            workload: workload.id,
            name: &name,
            kind: OperationKind::Publish,
            revision: Some(revision.number),
            restored_revision: restored,
            started_at: now,
        };
        let operation = self.begin_operation(&mut tx, actor, request).await?;
        workload.draft_changed = workload.draft != revision.spec;
        match options.content {
            PublishContent::Spec(_) => self.store_workload(&mut tx, actor, &mut workload).await?,
            // They leave the policies of the draft, which has not changed since it was read.
            _ => self.store_authorized_workload(&mut tx, actor, &mut workload).await?,
        }
        let detail = EventDetail::Published { revision: revision.number, message, forced };
        let subject = EventSubject::workload(workload.id, &name);
        let published = NewEvent::from_detail(detail, &actor.name, subject, now);
        // A change that is also made in the draft is an edit of it.
        let edited = edited.filter(|_| matches!(options.content, PublishContent::Override(_)));
        let events = created.into_iter().chain(edited).chain([published]).collect();
        let result = PublishResult {
            revision: revision.number,
            operation: Some(operation),
            clusters: snapshot.draft.decision.selected().map(|evaluation| evaluation.name.clone()).collect(),
            findings: checked.findings,
            validation,
            unchanged_since,
        };
        failpoint("publish.before_commit");
        let effects = CommitEffects { events, wake_placer: true, ..CommitEffects::default() };
        let effects = match options.response {
            PublishResponse::Publish => {
                effects.with_response(actor, IN_PROGRESS, &result).with_location(workload_status_path(&name))
            }
            PublishResponse::Deployment { release_name, findings, .. } => {
                let started =
                    started_deployment(&release_name, &snapshot.draft.decision, operation, findings);
                effects.with_response(actor, IN_PROGRESS, &started)
            }
        };
        self.commit(tx, effects).await?;
        failpoint("publish.after_commit");
        Ok(result)
    }

    /// Locks the workload of a publish until the transaction ends, or adds it. Returns the transaction, and the event of its creation.
    ///
    /// # Errors
    /// It has changed since it was checked; the name of a new one is in use.
    async fn lock_or_insert(
        &self,
        mut tx: Tx,
        actor: &Actor,
        stored: &PublishableWorkload,
        content: &PublishContent,
    ) -> Result<(Tx, Option<NewEvent>), Error> {
        let workload = &stored.workload;
        if stored.is_new {
            let tx = self.insert_workload(tx, actor, workload).await?;
            return Ok((tx, Some(created_event(actor, workload))));
        }
        let current = store::workload::lock_head(&mut tx, workload.id).await?;
        let current = current.ok_or_else(|| Error::not_found("workload", workload.name.as_str()))?;
        // The findings are for the draft of the snapshot: fail if it has changed since.
        self.check_unchanged(&mut tx, content, workload, current.revision).await?;
        Ok((tx, None))
    }

    /// Rejects a publish of a workload that has changed since it was read as `read`. Of two removals of one override at once, the second one
    /// finds that there is none.
    async fn check_unchanged(
        &self,
        tx: &mut Tx,
        content: &PublishContent,
        read: &Workload,
        current: i64,
    ) -> Result<(), Error> {
        let unchanged = check_if_match(current, Some(read.revision));
        if unchanged.is_err() && content.override_name().is_some() {
            let workload = self.load_workload(tx, &read.name).await?;
            let published = load_published(tx, &workload).await?;
            content.check_removable(&workload.draft, published.as_ref())?;
        }
        unchanged
    }

    /// Locks what the revision refers to until the transaction ends: it existed when it was checked, and has to exist when the revision
    /// does.
    async fn lock_references(
        &self,
        tx: &mut Tx,
        stored: &PublishableWorkload,
        DraftSnapshot { spec, decision, .. }: &DraftSnapshot,
        PublishOptions { response, force, .. }: &PublishOptions,
    ) -> Result<(), Error> {
        let PublishableWorkload { workload, is_new, .. } = stored;
        self.lock_dependencies(tx, &workload.name, spec).await?;
        // The approval that it requires is that of the commit.
        store::project::share(tx, self.project()).await?;
        self.recheck_dependents(tx, stored, decision, force).await?;
        if matches!(response, PublishResponse::Deployment { .. }) {
            store::group::lock_changes(tx).await?;
        }
        if *is_new {
            // Before the name of its release, which the same workload would have.
            self.check_name_is_free(tx, &workload.name).await?;
        }
        if let Some(missing) = store::group::share_referenced(tx, spec).await? {
            return Err(Error::not_found("cluster group", missing));
        }
        if let PublishResponse::Deployment { group, release_name, .. } = response {
            check_deployments_enabled(&load_group(tx, group).await?)?;
            let targets: Vec<String> =
                decision.selected().map(|evaluation| evaluation.name.clone()).collect();
            self.recheck_release_name(tx, workload.id, (group, release_name), &targets).await?;
        }
        match spec.source.chart() {
            Some(source) => self.lock_source_chart(tx, source).await,
            None => Ok(()),
        }
    }

    /// Checks what would be published as it is now, and the preconditions of the publish.
    async fn check_publish(
        &self,
        target: PublishTarget<'_>,
        options: &PublishOptions,
    ) -> Result<PublishCheck, Error> {
        let force = parse_forced_codes(&options.force)?;
        let mut tx = self.read().await?;
        let candidate = match target {
            PublishTarget::Existing(name) => self.load_publishable(&mut tx, name, options).await?,
            PublishTarget::New(workload) => PublishCandidate::from_new(*workload)?,
        };
        let id = candidate.stored.workload.id;
        let review = self.load_plan_review(&mut tx, id, options.plan_hash.as_ref()).await?;
        let snapshot = self.load_publish_snapshot(tx, candidate).await?;
        let (mut snapshot, checked) = self.check_publish_snapshot(snapshot).await?;
        let mut forced = check_findings(&checked.findings, &force)?;
        let mut validation = PublishValidation::NotPlanned;
        if review.needs_inputs() {
            let (rendered, current) = run_blocking(move || {
                let current = PlanInputs::render(&snapshot, RetainedBundles::Digests).hash(&snapshot);
                (snapshot, current)
            })
            .await?;
            validation = review.check(&current, &force, self.clock().now())?;
            snapshot = rendered;
        }
        let radius = snapshot.blast_radius();
        let unconfirmed = radius.confirmation().filter(|number| options.confirmed_removals != Some(*number));
        match unconfirmed.and_then(|_| radius.finding(&snapshot.stored.workload.name)) {
            Some(finding) => Err(Error::ConfirmationRequired(Box::new(finding))),
            None => {
                forced.extend(validation.forced_codes().iter().cloned());
                let forced = forced.into_iter().collect();
                Ok(PublishCheck { snapshot, checked, validation, forced })
            }
        }
    }

    /// How a revision is delivered: as its spec says, with an approval after the first wave if its publish requires one, and with the
    /// approval that the project requires; the publish has locked that.
    async fn rollout_strategy(
        &self,
        tx: &mut Tx,
        spec: &WorkloadSpec,
        content: &PublishContent,
    ) -> Result<RolloutStrategy, Error> {
        let mut strategy = spec.rollout.clone();
        if let PublishContent::Commit { approve_after_first_wave: true, .. } = content
            && let Some(second) = strategy.waves.get_mut(1)
        {
            second.approval = true;
        }
        strategy.require_approval(store::project::get_publish_approval(tx, self.project()).await?);
        Ok(strategy)
    }

    /// Stores the next revision and marks the workload published and dirty; the caller has to store the workload row.
    async fn create_revision(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        workload: &mut Workload,
        NextRevision { spec, strategy, message, helm_versions }: NextRevision<'_>,
    ) -> Result<Revision, Error> {
        let now = self.clock().now();
        let number = store::revision::latest_number(tx, workload.id).await? + 1;
        let revision = Revision {
            workload: workload.id,
            number,
            spec,
            author: actor.name.clone(),
            message: message.chars().take(500).collect(),
            created_at: now,
            helm_versions,
        };
        store::revision::insert(tx, &revision).await?;
        self.supersede_rollout(tx, workload.id).await?;
        if !strategy.is_at_once() {
            let numbers = (workload.published, number);
            let published_by = actor.name.clone();
            let rollout = Rollout { published_by, ..Rollout::new(workload.id, numbers, strategy, now) };
            store::rollout::insert(tx, &rollout).await?;
        }
        // After the rollout: it locks heartbeats of clusters.
        store::retained_cluster::delete_by_workload(tx, workload.id).await?;
        workload.intent = Intent::Published;
        workload.published = Some(number);
        store::queue::PLACER.mark_requested(tx, workload.id, now).await?;
        Ok(revision)
    }
}

/// Stores what the revision exposes, so that the next publish sees it; from then on the placer maintains it. Another publish may have
/// exposed the same since the check: conflicts are read again while the clusters are locked.
///
/// # Errors
/// Another workload has the same node port, the same host and path, or the same release name on a cluster (G303, G305, G105).
async fn reserve_exposures(tx: &mut Tx, workload: WorkloadId, exposures: &Exposures) -> Result<(), Error> {
    let mut own: BTreeSet<(ClusterId, ExposureRow)> =
        exposures.iter().map(|(cluster, (key, class))| (cluster, (key.clone(), class.to_owned()))).collect();
    if own.is_empty() {
        return Ok(());
    }
    let clusters: Vec<ClusterId> = own.iter().map(|(cluster, _)| *cluster).collect();
    store::cluster::lock_many(tx, &clusters).await?;
    // A cluster may have been deleted since the check: a row can't refer to it, and the placer selects it no more.
    let existing = store::cluster::filter_existing_ids(tx, &clusters).await?;
    own.retain(|(cluster, _)| existing.contains(cluster));
    let keys: Vec<(ClusterId, Digest)> =
        own.iter().map(|(cluster, (key, _))| (*cluster, key.clone())).collect();
    let others = store::exposure::list_conflicts(tx, Some(workload), &keys).await?;
    let conflicts = exposures.find_conflicts(&others);
    if conflicts.iter().any(Finding::is_blocking) {
        return Err(Error::Invalid(conflicts));
    }
    Ok(store::exposure::add(tx, workload, own).await?)
}

/// A revision to be stored.
struct NextRevision<'r> {
    spec: WorkloadSpec,
    /// How it is delivered.
    strategy: RolloutStrategy,
    /// The author's message.
    message: &'r str,
    /// The versions of Helm that rendered it.
    helm_versions: Vec<String>,
}
