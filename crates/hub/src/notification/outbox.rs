//! Writes messages into the outbox, in the transaction that changes the incident (P27).
//!
//! Quiet hours belong to subscriptions, and messages to channels: a channel is quiet while every subscription of it that selects the
//! workload is.

use std::collections::BTreeSet;

use domain::incident::Incident;
use domain::notification::{IncidentMessage, IncidentSubject, MessageKind};
use domain::{DeliveryId, Timestamp};
use store::Tx;
use store::delivery::NewDelivery;
use store::subscription::SubscriptionRow;

use crate::time_zone::find_offsets;
use crate::{Error, Hub};

impl Hub {
    /// Writes a message about an incident for each channel that is concerned: when it is opened those of the subscriptions that
    /// select it, then those that have a message about it. What was not sent yet is replaced. Changes of clusters are sent at most once
    /// per delay of incidents, so that one that grows over a large fleet is a few messages; an acknowledgement is sent at once. In quiet
    /// hours a message is held back until they end, and what was opened and is closed within them is not sent at all.
    pub(crate) async fn enqueue_message(
        &self,
        tx: &mut Tx,
        (incident, subject): (&Incident, &IncidentSubject),
        kind: MessageKind,
    ) -> Result<(), Error> {
        let message = IncidentMessage {
            kind,
            incident: incident.summary(),
            owners: subject.owners.clone(),
            at: self.clock().now(),
        };
        let project = self.project();
        let subscriptions = store::subscription::list(tx, project).await?;
        let channels = match kind {
            MessageKind::Opened => list_selected_channels(&subscriptions, subject),
            _ => store::delivery::list_channels(tx, incident.id).await?.into_iter().collect(),
        };
        for channel in channels {
            if !store::channel::share(tx, project, &channel).await? {
                // Deleted since the list was read, with what waits for it.
                continue;
            }
            if kind == MessageKind::Updated
                && store::delivery::refresh_unsent_opened(tx, (project, &channel), &message).await?
            {
                continue;
            }
            if kind == MessageKind::Closed
                && store::delivery::suppress_held(tx, incident.id, (project, &channel), message.at).await?
            {
                continue;
            }
            store::delivery::delete_unsent_updates(tx, incident.id, (project, &channel)).await?;
            let mut due_at = message.at;
            if kind == MessageKind::Updated && incident.acknowledged_at != Some(incident.changed_at) {
                let last = store::delivery::get_last_time(tx, incident.id, (project, &channel)).await?;
                due_at = due_at.max(last.plus_millis(self.incident_delay_millis()));
            }
            let quiet_until = find_quiet_end(&subscriptions, (&channel, subject), due_at);
            let due_at = quiet_until.map_or(due_at, |until| until.max(due_at));
            let delivery = NewDelivery {
                id: self.ids().generate(DeliveryId::from_parts),
                project,
                channel: &channel,
                position: store::delivery::next_position(tx, incident.id).await?,
                due_at,
                quiet_until,
                message: &message,
            };
            store::delivery::insert(tx, &delivery).await?;
        }
        Ok(())
    }
}

/// The channels with a subscription that selects a workload; each once.
fn list_selected_channels(subscriptions: &[SubscriptionRow], subject: &IncidentSubject) -> BTreeSet<String> {
    let selected = subscriptions.iter().filter(|row| row.scope.explain_mismatch(subject).is_none());
    selected.map(|row| row.channel.clone()).collect()
}

/// Until when a channel is quiet about a workload: the first end of the quiet hours of the subscriptions that select it; `None` if one of
/// them has none now. Without any the subscription was deleted, and what is still to be sent is sent at once.
fn find_quiet_end(
    subscriptions: &[SubscriptionRow],
    (channel, subject): (&str, &IncidentSubject),
    now: Timestamp,
) -> Option<Timestamp> {
    let selects =
        |row: &&SubscriptionRow| row.channel == channel && row.scope.explain_mismatch(subject).is_none();
    let ends = subscriptions.iter().filter(selects).map(|row| quiet_end(row, now));
    let ends: Option<Vec<Timestamp>> = ends.collect();
    ends?.into_iter().min()
}

/// When the quiet hours of a subscription end; `None` outside of them. Those in a zone that this server does not know hold nothing back: a
/// message too many is better than none.
pub(super) fn quiet_end(row: &SubscriptionRow, now: Timestamp) -> Option<Timestamp> {
    let window = row.quiet_hours.as_ref()?;
    window.closes_at(now, find_offsets(window, now).as_ref())
}
