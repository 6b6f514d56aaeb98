//! Hides an entry of the inbox until a time, and shows it again.

use domain::authorization::UserAction;
use domain::drift::{DriftItem, DriftSnooze, DriftSnoozeRequest, DriftState, DriftVerb, MAX_SNOOZE_MILLIS};
use domain::event::{EventKind, NewEvent};
use domain::{DriftId, Finding, Timestamp};

use super::{check_decision, show_item};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Hides an entry until a time, unless its fields change before; without a time it is shown again. A snooze that is set already is
    /// replaced.
    ///
    /// # Errors
    /// There is no such entry; the time has passed, or is later than in 30 days; the fields have changed since they were read.
    pub async fn snooze_drift(
        &self,
        actor: &Actor,
        id: DriftId,
        request: &DriftSnoozeRequest,
    ) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::SnoozeDrift)?;
        let now = self.clock().now();
        if let Some(until) = request.until {
            check_end(until, now)?;
        }
        let mut tx = self.write_as(actor, UserAction::SnoozeDrift).await?;
        let mut row = self.load_drift_row(&mut tx, id).await?;
        check_decision(&row, DriftVerb::Snooze, request.digest.as_ref())?;
        row.item.snooze = request.until.map(|until| DriftSnooze { until, by: actor.name.clone(), at: now });
        let message = match &row.item.snooze {
            Some(snooze) => {
                store::drift::snooze(&mut tx, &row, snooze).await?;
                row.item.state = DriftState::Snoozed;
                format!("The drift of {} was snoozed until {}.", row.item.object, snooze.until)
            }
            None => {
                store::drift::end_snooze(&mut tx, &row).await?;
                row.item.state = DriftState::Open;
                format!("The drift of {} is shown again.", row.item.object)
            }
        };
        let event = NewEvent::new(EventKind::DriftSnoozed, &actor.name, message)
            .with_workload(row.workload.id, &row.workload.name)
            .with_cluster(row.cluster, &row.item.cluster)
            .with_release(row.release);
        let item = show_item(actor, row);
        let effects = CommitEffects::with_event(event).with_response(actor, 200, &item);
        self.commit(tx, effects).await?;
        Ok(item)
    }
}

/// Rejects an end that has passed, or that is too late.
fn check_end(until: Timestamp, now: Timestamp) -> Result<(), Error> {
    let message = if until <= now {
        format!("until is {until}, which has passed.")
    } else if until.millis_since(now) > MAX_SNOOZE_MILLIS {
        format!("until is {until}, which is more than 30 days from now.")
    } else {
        return Ok(());
    };
    let hint = "Write a time within the next 30 days, or null to show the entry again.";
    Err(Error::Invalid(vec![Finding::error("Drift", message, hint).with_path("/until")]))
}
