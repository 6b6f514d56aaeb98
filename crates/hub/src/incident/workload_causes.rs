//! The causes of a workload as a whole: a rollout that waits for a person or has silent clusters, a source that is not followed,
//! and a loop that fails.

use std::collections::BTreeMap;

use domain::incident::{
    ClusterObservation, Incident, IncidentCause, IncidentKind, loop_cause, rollback_cause, rollout_cause,
    silence_cause, source_causes,
};
use domain::rollout::Rollout;
use domain::workload::{Intent, WorkloadHead};
use domain::{ClusterId, Timestamp, WorkloadId};
use store::Tx;
use store::queue::{PLACER, ROLLOUTS};

use crate::Error;

/// What holds for a published workload as a whole, by [`IncidentKind::workload_place`]; what is missing does not hold. `is_failing` is
/// whether it fails on a cluster, or an incident of a failure is open: a rollout that was paused by that is no incident of its own. `open`
/// has its open incidents. A row that can't be read neither opens nor closes an incident, and stops no other one.
pub(super) async fn observe_workload(
    tx: &mut Tx,
    workload: &WorkloadHead,
    open: &[Incident],
    is_failing: bool,
    now: Timestamp,
) -> Result<BTreeMap<ClusterId, ClusterObservation>, Error> {
    let mut found = BTreeMap::new();
    if workload.intent != Intent::Published {
        return Ok(found);
    }
    match unless_unreadable(store::rollout::find_open(tx, workload.id).await)? {
        None => {
            let kinds = [IncidentKind::Rollout, IncidentKind::Rollback, IncidentKind::Silence];
            let places = kinds.map(IncidentKind::workload_place);
            let undecided = |place| (place, ClusterObservation::Undecided { since: now });
            found.extend(places.into_iter().flatten().map(undecided));
        }
        Some(rollout) => {
            let observed = rollout.map(|rollout| observe_rollout(&rollout, open, is_failing, now));
            found.extend(observed.unwrap_or_default());
        }
    }
    let followed = unless_unreadable(store::git::get_followed_ref(tx, workload.id).await)?;
    let observed = match followed {
        None => Some(ClusterObservation::Undecided { since: now }),
        Some(None) => None,
        Some(Some(followed)) => {
            let status = followed.status.unwrap_or_default();
            let causes = source_causes((&followed.url, &followed.reference), &status, &followed.follow);
            // It is not stored since when checks fail: the time of the first observation is.
            (!causes.is_empty()).then(|| observe_causes(causes, now))
        }
    };
    found.extend(IncidentKind::Source.workload_place().zip(observed));
    let observed = observe_loops(tx, workload.id, now).await?;
    found.extend(IncidentKind::Loop.workload_place().zip(observed));
    Ok(found)
}

/// What a rollout waits for, and whether clusters of it are silent. One that was paused because of failures or silence that are incidents
/// themselves is no other one: an incident of this pause stays as it is, and one of an earlier wait is over.
fn observe_rollout(
    rollout: &Rollout,
    open: &[Incident],
    is_failing: bool,
    now: Timestamp,
) -> BTreeMap<ClusterId, ClusterObservation> {
    let mut found = BTreeMap::new();
    let silence = silence_cause(rollout);
    let is_explained = rollout.is_auto_paused() && (is_failing || silence.is_some());
    let is_open = |cause: &IncidentCause| open.iter().any(|incident| incident.cause.key() == cause.key());
    let waiting = rollout_cause(rollout).and_then(|cause| match is_explained {
        true => is_open(&cause).then_some(ClusterObservation::Undecided { since: now }),
        false => Some(observe_causes(vec![cause], rollout.since)),
    });
    found.extend(IncidentKind::Rollout.workload_place().zip(waiting));
    let rolled_back = rollback_cause(rollout).map(|cause| observe_causes(vec![cause], rollout.since));
    found.extend(IncidentKind::Rollback.workload_place().zip(rolled_back));
    // It is not stored since when they are silent.
    let silence = silence.map(|cause| observe_causes(vec![cause], now));
    found.extend(IncidentKind::Silence.workload_place().zip(silence));
    found
}

/// What the loops that change the clusters fail to do, whatever they were stopped by: rows that can't be read, and defects.
async fn observe_loops(
    tx: &mut Tx,
    workload: WorkloadId,
    now: Timestamp,
) -> Result<Option<ClusterObservation>, Error> {
    let mut causes = Vec::new();
    for (queue, reason) in [(PLACER, "PlacementFails"), (ROLLOUTS, "RolloutFails")] {
        let Some(failure) = unless_unreadable(queue.get_failure(tx, workload).await)? else {
            return Ok(Some(ClusterObservation::Undecided { since: now }));
        };
        causes.extend(failure.map(|failure| loop_cause(reason, &failure.message)));
    }
    // It is not stored since when it fails.
    Ok((!causes.is_empty()).then(|| observe_causes(causes, now)))
}

fn observe_causes(causes: Vec<IncidentCause>, since: Timestamp) -> ClusterObservation {
    ClusterObservation::Failing { name: String::new(), causes, since }
}

/// `None` if the row can't be read.
fn unless_unreadable<T>(read: Result<T, store::Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(store::Error::InvalidRow { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use domain::IncidentId;
    use domain::rollout::{RolloutState, RolloutStrategy};

    use super::*;

    fn open_incident(cause: IncidentCause, at: Timestamp) -> Incident {
        Incident {
            id: IncidentId::from_parts(1, 1),
            workload: WorkloadId::from_parts(1, 1),
            workload_name: "web".to_owned(),
            cause,
            clusters: Vec::new(),
            preceding_change: None,
            opened_at: at,
            changed_at: at,
            closed_at: None,
            acknowledged_by: None,
            acknowledged_at: None,
        }
    }

    #[test]
    fn e12_a_pause_that_a_failure_explains_holds_its_own_incident_and_ends_that_of_an_earlier_wait() {
        let at = Timestamp::from_millis(1_763_665_200_000);
        let place = IncidentKind::Rollout.workload_place().unwrap();
        let mut rollout =
            Rollout::new(WorkloadId::from_parts(1, 1), (Some(1), 2), RolloutStrategy::default(), at);
        rollout.state = RolloutState::AwaitingApproval;
        let waited = open_incident(rollout_cause(&rollout).unwrap(), at);
        rollout.state = RolloutState::AutoPaused { message: "1 of 3 clusters fails.".to_owned() };
        let paused = open_incident(rollout_cause(&rollout).unwrap(), at);
        let observe = |open: &Incident, is_failing| {
            observe_rollout(&rollout, std::slice::from_ref(open), is_failing, at).remove(&place)
        };
        assert_eq!(observe(&waited, true), None, "it does not wait for an approval any more");
        assert_eq!(observe(&paused, true), Some(ClusterObservation::Undecided { since: at }));
        let found = observe(&waited, false).unwrap();
        assert!(matches!(found, ClusterObservation::Failing { .. }), "nothing else explains it: {found:?}");
    }
}
