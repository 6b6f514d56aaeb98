//! Records agents' reports (S0-9, S0-10). After the placer, only reports change the state of a release.

use std::collections::HashMap;

use domain::cluster::{Cluster, ClusterFacts, ClusterKind, PendingFact};
use domain::event::{DriftDetail, EventDetail, EventSubject, NewEvent};
use domain::release::{Release, ReleaseGoal, ReleaseState, StageName, StageState, SyncStatus};
use domain::report::limits::MAX_RELEASES;
use domain::report::{DriftReport, ReleaseReport, ReportAck, ReportBatch};
use domain::report_redaction::redact_batch;
use domain::secret_content::hide_drifted_fields;
use domain::{ClusterId, Finding, ReleaseId, Timestamp};
use store::Tx;
use store::cluster::ReportPosition;

use crate::blocking::run_blocking;
use crate::drift::record_field_reverts;
use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::mark_pace::MarkCause;
use crate::{Error, Hub};

/// Reports in one transaction: other writes wait no longer than these take.
const REPORTS_PER_TRANSACTION: usize = 50;

impl Hub {
    /// Records a batch of reports; a late or replayed one is rejected and logged.
    ///
    /// It is truncated to the limits and reduced to the releases of this cluster before the database is locked. A large one
    /// is recorded in several transactions, the last of which advances the position: if one fails, the agent sends the
    /// batch again, and its full states replace those already recorded.
    ///
    /// # Errors
    /// [`Error::SessionUnknown`] if its position is none that follows from what this hub issued and accepted,
    /// [`Error::Invalid`] if it has more than [`MAX_RELEASES`] reports, and [`Error::NotFound`] if the cluster was deleted
    /// after the agent was authenticated. Nothing is recorded.
    pub async fn record_reports(&self, cluster: ClusterId, batch: ReportBatch) -> Result<ReportAck, Error> {
        check_size(&batch)?;
        let mut batch = run_blocking(move || {
            let mut batch = batch;
            // Before texts are cut, so that no part of a value stays.
            redact_batch(&mut batch);
            batch.truncate();
            batch
        })
        .await?;
        let mut tx = self.read().await?;
        let position =
            store::cluster::check_report_position(&mut tx, cluster, batch.incarnation, batch.seq).await?;
        if position != ReportPosition::Next {
            return acknowledge_unrecorded(&mut tx, cluster, &batch, position).await;
        }
        retain_owned_reports(&mut tx, cluster, &mut batch.releases).await?;
        drop(tx);
        let mut reports = batch.releases.as_slice();
        let mut is_first = true;
        loop {
            let (some, rest) = reports.split_at(reports.len().min(REPORTS_PER_TRANSACTION));
            reports = rest;
            let mut tx = self.write().await?;
            let mut effects = CommitEffects::default();
            let (incarnation, seq) = (batch.incarnation, batch.seq);
            // Another copy of the batch or a newer session may have come first.
            let position = if reports.is_empty() {
                store::cluster::advance_report_position(&mut tx, cluster, incarnation, seq).await?
            } else {
                store::cluster::check_report_position(&mut tx, cluster, incarnation, seq).await?
            };
            if position != ReportPosition::Next {
                return acknowledge_unrecorded(&mut tx, cluster, &batch, position).await;
            }
            if is_first {
                self.record_cluster_report(&mut tx, cluster, &batch, &mut effects).await?;
            }
            self.record_release_reports(&mut tx, cluster, some, &mut effects).await?;
            is_first = false;
            if reports.is_empty() {
                let ack = acknowledge(&mut tx, cluster, &batch, true).await?;
                failpoint("report.before_commit");
                self.commit(tx, effects).await?;
                failpoint("report.after_commit");
                return Ok(ack);
            }
            self.commit(tx, effects).await?;
        }
    }

    /// Records what a batch says about the cluster itself.
    async fn record_cluster_report(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        batch: &ReportBatch,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        self.renew_lease(tx, cluster, effects).await?;
        if let Some(facts) = &batch.facts {
            self.record_facts(tx, cluster, facts, effects).await?;
        }
        if let Some(digest) = &batch.schema {
            store::cluster::set_schema_digest(tx, cluster, digest).await?;
        }
        if let Some(leftovers) = &batch.leftovers {
            self.record_leftovers(tx, cluster, leftovers, effects).await?;
        }
        Ok(())
    }

    async fn record_release_reports(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        reports: &[ReleaseReport],
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let ids: Vec<ReleaseId> = reports.iter().map(|report| report.release).collect();
        let found = store::release::get_readable(tx, &ids).await?;
        let mut found: HashMap<ReleaseId, Release> =
            found.into_iter().map(|release| (release.id(), release)).collect();
        let reporter = store::cluster::get_by_id(tx, cluster).await?;
        let reporter = reporter.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        for report in reports {
            let release = found.remove(&report.release);
            let recorded = self.record_release_report(tx, &reporter, (report, release), effects).await;
            skip_unreadable(recorded, report)?;
        }
        Ok(())
    }

    async fn record_facts(
        &self,
        tx: &mut Tx,
        id: ClusterId,
        facts: &ClusterFacts,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let cluster = store::cluster::get_many_with_facts(tx, &[id]).await?.pop();
        let cluster = cluster.ok_or_else(|| Error::not_found("cluster", id.to_string()))?;
        if cluster.facts == *facts {
            return Ok(());
        }
        store::cluster::set_facts(tx, id, facts).await?;
        let now = self.clock().now();
        let mut reported = Cluster { facts: facts.clone(), ..cluster.clone() };
        // The server itself reads the facts of these clusters, with credentials that a user gave it.
        if cluster.kind != ClusterKind::Agent && reported.confirmed_facts.adopt_unknown(facts) {
            store::cluster::set_confirmed_facts(tx, id, &reported.confirmed_facts).await?;
        }
        let pending = list_unusual_facts(&reported);
        if pending != list_unusual_facts(&cluster) {
            let detail = EventDetail::FactsPending { facts: pending };
            let subject = EventSubject::cluster(id, &cluster.name);
            effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        }
        if cluster.facts.kubernetes_version != facts.kubernetes_version {
            let detail = EventDetail::KubernetesVersion {
                from: cluster.facts.kubernetes_version.clone(),
                to: facts.kubernetes_version.clone(),
            };
            let subject = EventSubject::cluster(id, &cluster.name);
            effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        }
        if !cluster.facts.has_same_render_inputs(facts) || cluster.confirmed_facts != reported.confirmed_facts
        {
            let due = self.mark_pace().next_due(id, MarkCause::Facts, now);
            store::queue::PLACER.mark_all(tx, due).await?;
            effects.wake_placer = true;
        }
        Ok(())
    }

    async fn record_release_report(
        &self,
        tx: &mut Tx,
        reporter: &Cluster,
        (report, found): (&ReleaseReport, Option<Release>),
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let cluster = reporter.id;
        let is_given_up = |release: &Release| matches!(release.goal(), ReleaseGoal::Abandoned { .. });
        if found.as_ref().is_none_or(is_given_up)
            && self.record_cleanup(tx, cluster, (report, found.clone()), effects).await?
        {
            return Ok(());
        }
        let Some(mut release) = found.filter(|release| release.cluster() == cluster) else {
            tracing::warn!(%cluster, release = %report.release, "rejected a report about a release that is not this cluster's");
            return Ok(());
        };
        let (before, was_available) = (release.state(), release.is_available());
        let obstacle = find_obstacle(&release);
        let was_drifted = release.sync() == SyncStatus::Drifted;
        if let Err(why) = release.apply_report(report, self.clock().now()) {
            tracing::debug!(%cluster, release = %report.release, ?why, "rejected a report");
            return Ok(());
        }
        // Late while the API server does not respond: the report repeats what was observed before (P29).
        release.set_connectivity(reporter.release_connectivity(), self.clock().now());
        store::release::update(tx, &release).await?;
        let is_changed = store::release::set_resources(tx, release.id(), &report.resources).await?;
        self.record_drift(tx, &release, report, is_changed || was_drifted).await?;
        if is_changed && record_field_reverts(tx, release.id(), &report.resources).await? {
            effects.changed_clusters.push(cluster);
        }
        effects.events.extend(report_events(tx, &release, before, report, self.clock().now()).await?);
        let has_changed = release.state() != before && release.wave().is_some();
        if has_changed && store::rollout::is_affected(tx, release.workload(), release.revision()).await? {
            effects.dirty_rollouts.insert(release.workload());
        }
        if find_obstacle(&release) != obstacle {
            // They wait for it, or show why.
            self.mark_dependents_on(tx, (release.workload(), cluster), effects).await?;
        }
        if release.state().is_gone() {
            // Removes it from the desired state; the placer deletes a workload in deletion once nothing of it is left.
            effects.changed_clusters.push(cluster);
            store::queue::PLACER.mark(tx, &[release.workload()], self.clock().now()).await?;
            effects.wake_placer = true;
        }
        if !was_available && release.is_available() {
            // Placed again if removals wait until more clusters run it, or if a pass that is running now may decide so without
            // having read this report (P28).
            let due = self.mark_pace().next_due(cluster, MarkCause::Availability, self.clock().now());
            store::queue::PLACER.mark_waiting(tx, release.workload(), due).await?;
        }
        Ok(())
    }
}

/// Why workloads that depend on this one wait on its cluster, whatever revision is published: that does not change by a report.
fn find_obstacle(release: &Release) -> Option<String> {
    release.dependency_obstacle(release.revision().unwrap_or_default())
}

/// The pending facts that are not of routine operation.
fn list_unusual_facts(cluster: &Cluster) -> Vec<PendingFact> {
    let mut pending = cluster.pending_facts();
    pending.retain(|one| !one.routine);
    pending
}

fn check_size(batch: &ReportBatch) -> Result<(), Error> {
    if batch.releases.len() <= MAX_RELEASES {
        return Ok(());
    }
    let message =
        format!("The batch has {} reports; at most {MAX_RELEASES} are accepted.", batch.releases.len());
    let hint = "Send one report per release, in several batches.";
    Err(Error::Invalid(vec![Finding::error("Report", message, hint)]))
}

/// Drops the reports about releases that are not of this cluster.
async fn retain_owned_reports(
    tx: &mut Tx,
    cluster: ClusterId,
    reports: &mut Vec<ReleaseReport>,
) -> Result<(), Error> {
    let ids: Vec<ReleaseId> = reports.iter().map(|report| report.release).collect();
    let owned = store::release::filter_owned(tx, cluster, &ids).await?;
    reports.retain(|report| owned.contains(&report.release));
    if reports.len() < ids.len() {
        let rejected = ids.len() - reports.len();
        tracing::warn!(%cluster, rejected, "rejected reports about releases that are not this cluster's");
    }
    Ok(())
}

/// The answer to a batch that is not recorded.
async fn acknowledge_unrecorded(
    tx: &mut Tx,
    cluster: ClusterId,
    batch: &ReportBatch,
    position: ReportPosition,
) -> Result<ReportAck, Error> {
    if position == ReportPosition::Unknown {
        tracing::warn!(%cluster, batch.incarnation, batch.seq, "rejected reports of a session that this hub does not know");
        return Err(Error::SessionUnknown);
    }
    tracing::debug!(%cluster, seq = batch.seq, "rejected a late or replayed report");
    acknowledge(tx, cluster, batch, false).await
}

/// The schema is requested also for a batch that is repeated because its response was lost.
async fn acknowledge(
    tx: &mut Tx,
    cluster: ClusterId,
    batch: &ReportBatch,
    accepted: bool,
) -> Result<ReportAck, Error> {
    let schema_requested = match &batch.schema {
        Some(digest) => !store::artifact::exists(tx, digest).await?,
        None => false,
    };
    let desired_state_version = store::cluster::desired_state_version(tx, cluster).await?;
    Ok(ReportAck { accepted, desired_state_version, schema_requested })
}

/// Passes over a report whose release, or a row that belongs to it, can't be read: the other reports of the batch are
/// stored. The release keeps its last known state; the placer shows the row as the failure of its workload.
fn skip_unreadable(recorded: Result<(), Error>, report: &ReleaseReport) -> Result<(), Error> {
    match recorded {
        Err(error) if error.unreadable_row().is_some() => {
            tracing::error!(release = %report.release, error = %error, "a report could not be stored");
            Ok(())
        }
        other => other,
    }
}

/// The events of a report: drift, and a change of state.
async fn report_events(
    tx: &mut Tx,
    release: &Release,
    before: ReleaseState,
    report: &ReleaseReport,
    now: Timestamp,
) -> Result<Vec<NewEvent>, Error> {
    let after = release.state();
    if after == before && report.drift.is_empty() {
        return Ok(Vec::new());
    }
    // Only the names: the rest of these rows may be unreadable, which must not delay reports.
    let workload = store::workload::get_name(tx, release.workload()).await?;
    let cluster = store::cluster::get_name(tx, release.cluster()).await?;
    let (Some(workload), Some(cluster)) = (workload, cluster) else {
        return Ok(Vec::new());
    };
    let subject = EventSubject {
        workload: Some((release.workload(), workload)),
        cluster: Some((release.cluster(), cluster)),
        release: Some(release.id()),
        object: None,
    };
    let event = |detail: EventDetail, actor: &str| NewEvent::from_detail(detail, actor, subject.clone(), now);
    let mut drift: Vec<DriftDetail> = report.drift.iter().map(drift_detail).collect();
    if let Some(last) = drift.last_mut() {
        last.more = report.drift_omitted;
    }
    let drift_event = |drift: DriftDetail| {
        let actor = drift.actor().to_owned();
        // At once: a batch may have thousands of them.
        event(EventDetail::Drift(drift), &actor).truncated()
    };
    let mut events: Vec<NewEvent> = drift.into_iter().map(drift_event).collect();
    if after != before {
        events.push(event(state_detail(release, before), "flotilla"));
    }
    Ok(events)
}

fn state_detail(release: &Release, before: ReleaseState) -> EventDetail {
    let after = release.state();
    let message = match release.stages().get(StageName::Pruned).state {
        _ if after.is_failing() => release.message(),
        // It names the objects that stay on the cluster.
        StageState::Skipped { ref message } if after.is_gone() => message.clone(),
        _ => String::new(),
    };
    EventDetail::ReleaseState { from: before, to: after, message }
}

fn drift_detail(report: &DriftReport) -> DriftDetail {
    let mut values = report.values.clone();
    // Everybody reads events.
    hide_drifted_fields(&report.object, &mut values, true);
    DriftDetail {
        object: report.object.clone(),
        fields: report.fields.clone(),
        values,
        manager: if report.manager == "unknown" { String::new() } else { report.manager.clone() },
        outcome: report.outcome,
        more: 0,
    }
}
