//! Records agents' reports (S0-9, S0-10). After the placer, only reports change the state of a release.

use domain::event::{DriftDetail, EventDetail, EventSubject, NewEvent};
use domain::release::{Release, ReleaseGoal, ReleaseState};
use domain::report::{DriftReport, ReleaseReport, ReportAck, ReportBatch};
use domain::{ClusterId, Timestamp, WorkloadId};
use store::Tx;

use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

impl Hub {
    /// Records a batch of reports in one transaction; a late or replayed one is rejected and logged.
    pub async fn record_reports(&self, cluster: ClusterId, batch: ReportBatch) -> Result<ReportAck, Error> {
        let mut tx = self.write().await?;
        let mut effects = CommitEffects::default();
        let is_accepted =
            store::cluster::advance_report_position(&mut tx, cluster, batch.incarnation, batch.seq).await?;
        if is_accepted {
            self.renew_lease(&mut tx, cluster, &mut effects).await?;
            if let Some(facts) = &batch.facts {
                self.record_facts(&mut tx, cluster, facts, &mut effects).await?;
            }
            if let Some(digest) = &batch.schema {
                store::cluster::set_schema_digest(&mut tx, cluster, digest).await?;
            }
            if let Some(leftovers) = &batch.leftovers {
                self.record_leftovers(&mut tx, cluster, leftovers, &mut effects).await?;
            }
            for report in &batch.releases {
                let recorded = self.record_release_report(&mut tx, cluster, report, &mut effects).await;
                skip_unreadable(recorded, report)?;
            }
        } else {
            tracing::debug!(%cluster, seq = batch.seq, "rejected a late or replayed report");
        }
        // Also for a batch that is repeated because its response was lost.
        let schema_wanted = match &batch.schema {
            Some(digest) => !store::artifact::exists(&mut tx, digest).await?,
            None => false,
        };
        let desired_state_version = store::cluster::desired_state_version(&mut tx, cluster).await?;
        failpoint("report.before_commit");
        self.commit(tx, effects).await?;
        failpoint("report.after_commit");
        Ok(ReportAck { accepted: is_accepted, desired_state_version, schema_requested: schema_wanted })
    }

    async fn record_facts(
        &self,
        tx: &mut Tx,
        id: ClusterId,
        facts: &domain::cluster::ClusterFacts,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let Some(cluster) = store::cluster::get_many_with_facts(tx, &[id]).await?.pop() else {
            return Ok(());
        };
        if cluster.facts == *facts {
            return Ok(());
        }
        store::cluster::set_facts(tx, id, facts).await?;
        let now = self.clock().now();
        if cluster.facts.kubernetes_version != facts.kubernetes_version {
            let detail = EventDetail::KubernetesVersion {
                from: cluster.facts.kubernetes_version.clone(),
                to: facts.kubernetes_version.clone(),
            };
            let subject = EventSubject::cluster(id, &cluster.name);
            effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        }
        if !cluster.facts.has_same_render_inputs(facts) {
            store::queue::PLACER.mark_all(tx, now).await?;
            effects.wake_placer = true;
        }
        Ok(())
    }

    async fn record_release_report(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        report: &ReleaseReport,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let found = store::release::get(tx, report.release).await?;
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
        if let Err(why) = release.apply_report(report, self.clock().now()) {
            tracing::debug!(%cluster, release = %report.release, ?why, "rejected a report");
            return Ok(());
        }
        store::release::update(tx, &release).await?;
        store::release::set_resources(tx, release.id(), &report.resources).await?;
        effects.events.extend(report_events(tx, &release, before, &report.drift, self.clock().now()).await?);
        let has_changed = release.state() != before && release.wave().is_some();
        if has_changed && store::rollout::has_active(tx, release.workload()).await? {
            effects.dirty_rollouts.insert(release.workload());
        }
        if release.state().is_gone() {
            // Removes it from the desired state; the placer deletes a workload in deletion once nothing of it is left.
            effects.changed_clusters.push(cluster);
            store::queue::PLACER.mark(tx, &[release.workload()], self.clock().now()).await?;
            effects.wake_placer = true;
        }
        if !was_available && release.is_available() {
            self.mark_waiting_removals(tx, release.workload(), effects).await?;
        }
        Ok(())
    }

    /// Places a workload again if removals wait until more clusters run it (P28).
    async fn mark_waiting_removals(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let removals = store::pending_removal::list(tx, workload).await?;
        if removals.iter().any(|one| one.waiting_for.is_some()) {
            store::queue::PLACER.mark(tx, &[workload], self.clock().now()).await?;
            effects.wake_placer = true;
        }
        Ok(())
    }
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
    drift: &[DriftReport],
    now: Timestamp,
) -> Result<Vec<NewEvent>, Error> {
    let after = release.state();
    if after == before && drift.is_empty() {
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
    };
    let event = |detail: EventDetail, actor: &str| NewEvent::from_detail(detail, actor, subject.clone(), now);
    let drift_event = |report: &DriftReport| {
        let drift = drift_detail(report);
        let actor = drift.actor().to_owned();
        event(EventDetail::Drift(drift), &actor)
    };
    let mut events: Vec<NewEvent> = drift.iter().map(drift_event).collect();
    if after != before {
        events.push(event(state_detail(release, before), "flotilla"));
    }
    Ok(events)
}

fn state_detail(release: &Release, before: ReleaseState) -> EventDetail {
    let after = release.state();
    let message = if after.is_failing() { release.message() } else { String::new() };
    EventDetail::ReleaseState { from: before, to: after, message }
}

fn drift_detail(report: &DriftReport) -> DriftDetail {
    DriftDetail {
        object: report.object.clone(),
        fields: report.fields.clone(),
        manager: if report.manager == "unknown" { String::new() } else { report.manager.clone() },
        outcome: report.outcome,
    }
}
