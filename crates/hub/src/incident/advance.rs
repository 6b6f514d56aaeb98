//! Opens, grows, shrinks and closes the incidents of workloads that changed, or whose causes have lasted long enough.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::{EventKind, NewEvent};
use domain::incident::{
    ClusterObservation, Incident, IncidentChange, IncidentKind, IncidentStep, PendingFailure,
    WorkloadFailures, advance,
};
use domain::notification::{IncidentSubject, MessageKind};
use domain::workload::WorkloadHead;
use domain::{ClusterId, IncidentId, Severity, Timestamp, WorkloadId};
use store::Tx;
use store::incident::FailingRelease;
use store::queue::INCIDENTS;

use super::load_cluster_owners;
use super::preceding_change::find_preceding_change;
use super::workload_causes::observe_workload;
use crate::hub::CommitEffects;
use crate::supervise::catch_panic;
use crate::{Error, Hub};

/// Workloads claimed in one pass.
const BATCH: u32 = 32;
/// Lease of a claim, in milliseconds.
const CLAIM_MILLIS: i64 = 30_000;
/// When the releases of a new incident are read again, in milliseconds.
const RECHECK_MILLIS: i64 = 2_000;
/// When a workload is read again with which a loop fails, in milliseconds: its next success marks nothing.
const LOOP_RECHECK_MILLIS: i64 = 60_000;

impl Hub {
    /// Advances the incidents of workloads that are due; returns how many. In an outage of the database the pass ends: the claims
    /// expire.
    ///
    /// # Errors
    /// The database can't be reached.
    pub async fn advance_due_incidents(&self) -> Result<usize, Error> {
        let now = self.clock().now();
        // Checked without the write lock: most of the time nothing is due.
        let mut tx = self.read().await?;
        if !INCIDENTS.has_due(&mut tx, now).await? {
            return Ok(0);
        }
        drop(tx);
        let mut tx = self.write().await?;
        let due = INCIDENTS.claim(&mut tx, BATCH, now, now.plus_millis(CLAIM_MILLIS)).await?;
        tx.commit().await?;
        for claim in &due {
            let result = catch_panic(self.advance_incidents(*claim)).await;
            if let Err(error) = result.map_err(Error::from).flatten() {
                self.record_incident_failure(*claim, error).await?;
            }
        }
        Ok(due.len())
    }

    /// Stores a failure; the workload is due again after a pause. Others are not affected.
    async fn record_incident_failure(&self, claim: (WorkloadId, i64), error: Error) -> Result<(), Error> {
        let workload = claim.0;
        let Some(message) = error.workload_failure() else { return Err(error) };
        tracing::warn!(%workload, error = &error as &dyn std::error::Error, "incidents could not be advanced; it will be retried");
        let stored = async {
            let mut tx = self.write().await?;
            INCIDENTS.fail(&mut tx, claim, &message, self.clock().now()).await?;
            self.commit(tx, CommitEffects::default()).await
        };
        if let Err(error) = stored.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(%workload, error, "the failure could not be stored");
        }
        Ok(())
    }

    async fn advance_incidents(&self, (id, epoch): (WorkloadId, i64)) -> Result<(), Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let Some(workload) = store::workload::get_head_by_id(&mut tx, id).await? else {
            // Deleted with its queue entry; its incidents were closed in that transaction.
            return Ok(());
        };
        let mut failures = load_failures(&mut tx, id).await?;
        let before = failures.pending.clone();
        let releases = store::incident::list_failing_releases(&mut tx, id, &tracked(&failures)).await?;
        let mut observations = observe(releases, now);
        let snoozed = store::incident::list_snoozed_drift(&mut tx, id, now).await?;
        end_snoozed(&mut observations, &snoozed);
        let is_failure_open = |incident: &Incident| incident.cause.kind == IncidentKind::Failure;
        let is_failing = failures.open.iter().any(is_failure_open)
            || observations.values().any(|one| is_of(one, IncidentKind::Failure));
        observations.extend(observe_workload(&mut tx, &workload, &failures.open, is_failing, now).await?);
        let step = advance(&mut failures, &observations, now, self.incident_delay_millis());
        // A recovery that is committed while this pass is the first one to track the workload marks nothing, and the end of a failure lets
        // a paused rollout count.
        let recheck_at =
            (!step.opened.is_empty() || !step.changes.is_empty()).then(|| now.plus_millis(RECHECK_MILLIS));
        let has_failing_loop =
            IncidentKind::Loop.workload_place().is_some_and(|place| observations.contains_key(&place));
        let poll_at = has_failing_loop.then(|| now.plus_millis(LOOP_RECHECK_MILLIS));
        let shown_at = snoozed.values().min().copied();
        let next_at = [step.next_at, recheck_at, poll_at, shown_at].into_iter().flatten().min();
        let mut effects = CommitEffects::default();
        let is_open = self.store_step(&mut tx, &workload, (&failures, step), &mut effects).await?;
        store::incident::replace_pending(&mut tx, id, &before, &failures.pending).await?;
        store::incident::set_tracked(&mut tx, id, is_open || !failures.pending.is_empty()).await?;
        INCIDENTS.settle(&mut tx, id, epoch).await?;
        if let Some(next_at) = next_at {
            INCIDENTS.mark(&mut tx, &[id], next_at).await?;
        }
        self.commit(tx, effects).await
    }

    /// Closes the incidents of a workload that is deleted in this transaction.
    pub(crate) async fn close_incidents(
        &self,
        tx: &mut Tx,
        workload: &WorkloadHead,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let mut failures = load_failures(tx, workload.id).await?;
        let step = advance(&mut failures, &BTreeMap::new(), self.clock().now(), self.incident_delay_millis());
        self.store_step(tx, workload, (&failures, step), effects).await.map(drop)
    }

    /// Writes what a step changed, with its messages and events. Returns whether an incident is open now.
    async fn store_step(
        &self,
        tx: &mut Tx,
        workload: &WorkloadHead,
        (failures, step): (&WorkloadFailures, IncidentStep),
        effects: &mut CommitEffects,
    ) -> Result<bool, Error> {
        if step.changes.is_empty() && step.opened.is_empty() {
            return Ok(!failures.open.is_empty());
        }
        let subject = store::workload::get_incident_subject(tx, workload.id).await?.unwrap_or_default();
        effects.wake_deliveries = true;
        let mut open = failures.open.len();
        for (at, change) in step.changes {
            let incident = &failures.open[at];
            store::incident::update(tx, self.project(), incident).await?;
            let kind = match change {
                IncidentChange::Changed => MessageKind::Updated,
                IncidentChange::Closed => MessageKind::Closed,
            };
            self.enqueue_message(tx, (incident, &subject), kind).await?;
            if change == IncidentChange::Closed {
                open -= 1;
                effects.events.push(incident_event(EventKind::IncidentClosed, Severity::Note, incident));
            }
        }
        for (cause, clusters) in step.opened {
            let now = self.clock().now();
            let preceding_change = find_preceding_change(tx, workload, cause.kind, &clusters).await?;
            let incident = Incident {
                id: self.ids().generate(IncidentId::from_parts),
                workload: workload.id,
                workload_name: workload.name.clone(),
                cause,
                clusters,
                preceding_change,
                opened_at: now,
                changed_at: now,
                closed_at: None,
                acknowledged_by: None,
                acknowledged_at: None,
            };
            store::incident::insert(tx, self.project(), &incident).await?;
            let cluster_owners = load_cluster_owners(tx, &incident).await?;
            let selected_by = IncidentSubject { cluster_owners, ..subject.clone() };
            self.enqueue_message(tx, (&incident, &selected_by), MessageKind::Opened).await?;
            open += 1;
            let severity = match incident.cause.kind {
                IncidentKind::Failure => Severity::Error,
                _ => Severity::Warning,
            };
            effects.events.push(incident_event(EventKind::IncidentOpened, severity, &incident));
        }
        Ok(open > 0)
    }
}

async fn load_failures(tx: &mut Tx, id: WorkloadId) -> Result<WorkloadFailures, Error> {
    let pending: BTreeMap<ClusterId, PendingFailure> = store::incident::list_pending(tx, id).await?;
    Ok(WorkloadFailures { pending, open: store::incident::list_open(tx, id).await? })
}

fn tracked(failures: &WorkloadFailures) -> BTreeSet<ClusterId> {
    let affected = failures.open.iter().flat_map(Incident::failing_clusters).map(|cluster| cluster.id);
    failures.pending.keys().copied().chain(affected).collect()
}

/// What the releases say. One that can't be read says nothing.
fn observe(
    releases: BTreeMap<ClusterId, FailingRelease>,
    now: Timestamp,
) -> BTreeMap<ClusterId, ClusterObservation> {
    let observe = |found: &FailingRelease| match &found.release {
        Some(release) => ClusterObservation::from_release(release, &found.cluster_name, &found.resources),
        None => ClusterObservation::Undecided { since: now },
    };
    releases.iter().map(|(cluster, found)| (*cluster, observe(found))).collect()
}

fn is_of(observed: &ClusterObservation, kind: IncidentKind) -> bool {
    matches!(observed, ClusterObservation::Failing { causes, .. }
        if causes.first().is_some_and(|cause| cause.kind == kind))
}

/// Drift that a person snoozed needs nobody's attention until that ends.
fn end_snoozed(
    observations: &mut BTreeMap<ClusterId, ClusterObservation>,
    snoozed: &BTreeMap<ClusterId, Timestamp>,
) {
    for cluster in snoozed.keys() {
        if let Some(observed) = observations.get_mut(cluster)
            && is_of(observed, IncidentKind::Drift)
        {
            *observed = ClusterObservation::Recovered;
        }
    }
}

fn incident_event(kind: EventKind, severity: Severity, incident: &Incident) -> NewEvent {
    let summary = incident.summary();
    let message = match kind {
        EventKind::IncidentOpened => {
            let clusters = match summary.has_clusters() {
                true => format!(" ({})", summary.cluster_text()),
                false => String::new(),
            };
            format!("An incident was opened: {}{clusters}. {}", summary.headline(), summary.cause)
        }
        _ => format!("The incident was closed: {}.", summary.headline()),
    };
    let event =
        NewEvent::new(kind, "flotilla", message).with_workload(incident.workload, &incident.workload_name);
    NewEvent { severity, ..event }
}
