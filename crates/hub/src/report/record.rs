//! Takes what agents say (S0-9, S0-10): the only way a release's state moves after the placer.

use domain::event::{EventKind, NewEvent};
use domain::release::{Release, State};
use domain::report::{DriftNote, DriftOutcome, ReleaseReport, ReportAck, ReportBatch};
use domain::{ClusterId, Severity};
use store::Tx;

use crate::failpoint::failpoint;
use crate::hub::Done;
use crate::{Error, Hub};

impl Hub {
    /// Takes a batch of reports in one transaction; a late or replayed one is dropped and counted.
    pub async fn record_reports(&self, cluster: ClusterId, batch: ReportBatch) -> Result<ReportAck, Error> {
        let mut tx = self.write().await?;
        let mut done = Done::default();
        let taken = store::cluster::take_report_mark(&mut tx, cluster, batch.incarnation, batch.seq).await?;
        if taken {
            self.heard_from(&mut tx, cluster, &mut done).await?;
            if let Some(facts) = &batch.facts {
                self.take_facts(&mut tx, cluster, facts, &mut done).await?;
            }
            if let Some(digest) = &batch.schema {
                store::cluster::set_schema(&mut tx, cluster, digest).await?;
            }
            for report in &batch.releases {
                self.take_report(&mut tx, cluster, report, &mut done).await?;
            }
        } else {
            tracing::debug!(%cluster, seq = batch.seq, "dropped a late or replayed report");
        }
        // Also asked of a batch that is repeated because its answer was lost.
        let schema_wanted = match &batch.schema {
            Some(digest) => !store::artifact::is_kept(&mut tx, digest).await?,
            None => false,
        };
        let wants_version = store::cluster::wants_version(&mut tx, cluster).await?;
        failpoint("report.before_commit");
        self.commit(tx, done).await?;
        failpoint("report.after_commit");
        Ok(ReportAck { taken, wants_version, schema_wanted })
    }

    async fn take_facts(
        &self,
        tx: &mut Tx,
        id: ClusterId,
        facts: &domain::cluster::ClusterFacts,
        done: &mut Done,
    ) -> Result<(), Error> {
        let Some(cluster) = store::cluster::all_with_facts(tx, &[id]).await?.pop() else {
            return Ok(());
        };
        if cluster.facts == *facts {
            return Ok(());
        }
        store::cluster::set_facts(tx, id, facts).await?;
        let message = format!("Cluster {} runs Kubernetes {}.", cluster.name, facts.kubernetes_version);
        if cluster.facts.kubernetes_version != facts.kubernetes_version {
            done.events
                .push(NewEvent::new(EventKind::ClusterFacts, "flotilla", message).cluster(id, &cluster.name));
        }
        if !cluster.facts.render_alike(facts) {
            store::queue::PLACER.mark_everything(tx, self.clock().now()).await?;
            done.dirty = true;
        }
        Ok(())
    }

    async fn take_report(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        report: &ReleaseReport,
        done: &mut Done,
    ) -> Result<(), Error> {
        let found = store::release::get(tx, report.release).await?;
        let Some(mut release) = found.filter(|release| release.cluster == cluster) else {
            tracing::warn!(%cluster, release = %report.release, "dropped a report about a release that is not this cluster's");
            return Ok(());
        };
        let before = release.state();
        if let Err(why) = release.record(report, self.clock().now()) {
            tracing::debug!(%cluster, release = %report.release, ?why, "dropped a report");
            return Ok(());
        }
        store::release::update(tx, &release).await?;
        store::release::set_resources(tx, release.id, &report.resources).await?;
        done.events.extend(news(tx, &release, before, &report.drift).await?);
        let moved = release.state() != before && release.wave.is_some();
        if moved && store::rollout::is_active(tx, release.workload).await? {
            done.rollouts.insert(release.workload);
        }
        if release.state().is_gone() {
            // The agent may forget it, and the placer forgets a deleted workload once nothing of it is left.
            done.wants_of.push(cluster);
            store::queue::PLACER.mark(tx, &[release.workload], self.clock().now()).await?;
            done.dirty = true;
        }
        Ok(())
    }
}

/// What changed, in words.
async fn news(
    tx: &mut Tx,
    release: &Release,
    before: State,
    drift: &[DriftNote],
) -> Result<Vec<NewEvent>, Error> {
    let after = release.state();
    if after == before && drift.is_empty() {
        return Ok(Vec::new());
    }
    let workload = store::workload::by_id(tx, release.workload).await?;
    let cluster = store::cluster::by_id(tx, release.cluster).await?;
    let (Some(workload), Some(cluster)) = (workload, cluster) else {
        return Ok(Vec::new());
    };
    let mut events: Vec<NewEvent> = drift.iter().map(|note| drift_event(note, &cluster.name)).collect();
    if after != before {
        events.push(state_event(release, before, &format!("{} on {}", workload.name, cluster.name)));
    }
    let about = |event: NewEvent| {
        event.workload(workload.id, &workload.name).cluster(cluster.id, &cluster.name).release(release.id)
    };
    Ok(events.into_iter().map(about).collect())
}

fn state_event(release: &Release, before: State, where_: &str) -> NewEvent {
    let after = release.state();
    let severity = match after {
        State::Failed | State::Degraded => Severity::Error,
        State::Blocked | State::Drifted => Severity::Warning,
        _ => Severity::Note,
    };
    let why = release.message();
    let why = if after.is_failing() && !why.is_empty() { format!(" {why}") } else { String::new() };
    NewEvent::new(
        EventKind::ReleaseChanged,
        "flotilla",
        format!("{where_}: {} → {}.{why}", before.word(), after.word()),
    )
    .weighing(severity)
}

/// Names the object, the fields and who changed them (S0-12).
fn drift_event(note: &DriftNote, cluster: &str) -> NewEvent {
    // Who deletes leaves no trace on the cluster; who edits does.
    let by = if matches!(&*note.manager, "" | "unknown") { "somebody" } else { &note.manager };
    let what = match note.fields.as_slice() {
        [] => format!("{} was deleted on {cluster}", note.object),
        fields => format!("{} on {cluster}: {} changed by {by}", note.object, fields.join(", ")),
    };
    let (kind, severity, outcome) = match note.outcome {
        DriftOutcome::Found => (EventKind::DriftFound, Severity::Warning, "; it is left as it is."),
        DriftOutcome::Healed => (EventKind::DriftHealed, Severity::Note, " and put back."),
        DriftOutcome::Contested => (
            EventKind::DriftFound,
            Severity::Warning,
            "; it was put back several times and changed again each time.",
        ),
    };
    NewEvent::new(kind, by, format!("{what}{outcome}")).weighing(severity)
}
