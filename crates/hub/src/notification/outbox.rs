//! Writes messages into the outbox, in the transaction that changes the incident (P27).

use std::collections::BTreeSet;

use domain::DeliveryId;
use domain::incident::Incident;
use domain::notification::{IncidentMessage, IncidentSubject, MessageKind};
use store::Tx;
use store::delivery::NewDelivery;

use crate::{Error, Hub};

impl Hub {
    /// Writes a message about an incident for each channel that is concerned: when it is opened those of the subscriptions that
    /// select it, then those that have a message about it. What was not sent yet is replaced. Changes of clusters are sent at most once
    /// per delay of incidents, so that one that grows over a large fleet is a few messages; an acknowledgement is sent at once.
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
        let channels = match kind {
            MessageKind::Opened => self.list_selected_channels(tx, subject).await?,
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
            store::delivery::delete_unsent_updates(tx, incident.id, (project, &channel)).await?;
            let mut due_at = message.at;
            if kind == MessageKind::Updated && incident.acknowledged_at != Some(incident.changed_at) {
                let last = store::delivery::get_last_time(tx, incident.id, (project, &channel)).await?;
                due_at = due_at.max(last.plus_millis(self.incident_delay_millis()));
            }
            let delivery = NewDelivery {
                id: self.ids().generate(DeliveryId::from_parts),
                project,
                channel: &channel,
                position: store::delivery::next_position(tx, incident.id).await?,
                due_at,
                message: &message,
            };
            store::delivery::insert(tx, &delivery).await?;
        }
        Ok(())
    }

    /// The channels with a subscription that selects a workload; each once.
    async fn list_selected_channels(
        &self,
        tx: &mut Tx,
        subject: &IncidentSubject,
    ) -> Result<BTreeSet<String>, Error> {
        let subscriptions = store::subscription::list(tx, self.project()).await?;
        let selected = subscriptions.into_iter().filter(|row| row.scope.explain_mismatch(subject).is_none());
        Ok(selected.map(|row| row.channel).collect())
    }
}
