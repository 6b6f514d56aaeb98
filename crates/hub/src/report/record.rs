//! Records agents' reports (S0-9, S0-10). After the placer, only reports change the state of a release.

use domain::event::{EventKind, NewEvent};
use domain::release::{Release, ReleaseState};
use domain::report::{DriftOutcome, DriftReport, ReleaseReport, ReportAck, ReportBatch};
use domain::{ClusterId, Severity};
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
            for report in &batch.releases {
                self.record_release_report(&mut tx, cluster, report, &mut effects).await?;
            }
        } else {
            tracing::debug!(%cluster, seq = batch.seq, "rejected a late or replayed report");
        }
        // Also for a batch that is repeated because its response was lost.
        let schema_wanted = match &batch.schema {
            Some(digest) => !store::artifact::exists(&mut tx, digest).await?,
            None => false,
        };
        let desired_state_version = store::cluster::wants_version(&mut tx, cluster).await?;
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
        let message = format!("Cluster {} runs Kubernetes {}.", cluster.name, facts.kubernetes_version);
        if cluster.facts.kubernetes_version != facts.kubernetes_version {
            effects.events.push(
                NewEvent::new(EventKind::ClusterFacts, "flotilla", message).with_cluster(id, &cluster.name),
            );
        }
        if !cluster.facts.has_same_render_inputs(facts) {
            store::queue::PLACER.mark_all(tx, self.clock().now()).await?;
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
        let Some(mut release) = found.filter(|release| release.cluster() == cluster) else {
            tracing::warn!(%cluster, release = %report.release, "rejected a report about a release that is not this cluster's");
            return Ok(());
        };
        let before = release.state();
        if let Err(why) = release.apply_report(report, self.clock().now()) {
            tracing::debug!(%cluster, release = %report.release, ?why, "rejected a report");
            return Ok(());
        }
        store::release::update(tx, &release).await?;
        store::release::set_resources(tx, release.id(), &report.resources).await?;
        effects.events.extend(report_events(tx, &release, before, &report.drift).await?);
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
        Ok(())
    }
}

/// The events of a report: drift, and a change of state.
async fn report_events(
    tx: &mut Tx,
    release: &Release,
    before: ReleaseState,
    drift: &[DriftReport],
) -> Result<Vec<NewEvent>, Error> {
    let after = release.state();
    if after == before && drift.is_empty() {
        return Ok(Vec::new());
    }
    let workload = store::workload::get_by_id(tx, release.workload()).await?;
    let cluster = store::cluster::get_by_id(tx, release.cluster()).await?;
    let (Some(workload), Some(cluster)) = (workload, cluster) else {
        return Ok(Vec::new());
    };
    let mut events: Vec<NewEvent> = drift.iter().map(|note| drift_event(note, &cluster.name)).collect();
    if after != before {
        events.push(state_event(release, before, &format!("{} on {}", workload.name, cluster.name)));
    }
    let with_refs = |event: NewEvent| {
        event
            .with_workload(workload.id, &workload.name)
            .with_cluster(cluster.id, &cluster.name)
            .with_release(release.id())
    };
    Ok(events.into_iter().map(with_refs).collect())
}

fn state_event(release: &Release, before: ReleaseState, place: &str) -> NewEvent {
    let after = release.state();
    let severity = match after {
        ReleaseState::Failed | ReleaseState::Degraded => Severity::Error,
        ReleaseState::Blocked | ReleaseState::Drifted => Severity::Warning,
        _ => Severity::Note,
    };
    let why = release.message();
    let why = if after.is_failing() && !why.is_empty() { format!(" {why}") } else { String::new() };
    NewEvent::new(
        EventKind::ReleaseChanged,
        "flotilla",
        format!("{place}: {} → {}.{why}", before.as_str(), after.as_str()),
    )
    .with_severity(severity)
}

/// An event with the object, the fields and their field manager (S0-12).
fn drift_event(note: &DriftReport, cluster: &str) -> NewEvent {
    // A deleted object has no managed fields, so the field manager is known only for edits.
    let by = if matches!(&*note.manager, "" | "unknown") { "an unknown client" } else { &note.manager };
    let what = match note.fields.as_slice() {
        [] => format!("{} was deleted on {cluster}", note.object),
        fields => format!("{} on {cluster}: {} changed by {by}", note.object, fields.join(", ")),
    };
    let (kind, severity, outcome) = match note.outcome {
        DriftOutcome::Found => (EventKind::DriftFound, Severity::Warning, "; it was not reverted."),
        DriftOutcome::Healed => (EventKind::DriftHealed, Severity::Note, " and reverted."),
        DriftOutcome::Contested => (
            EventKind::DriftFound,
            Severity::Warning,
            "; it was reverted several times and changed again each time.",
        ),
    };
    NewEvent::new(kind, by, format!("{what}{outcome}")).with_severity(severity)
}
