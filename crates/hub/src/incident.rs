//! Incidents: why workloads need attention, by cause, over all clusters. The loop `incidents` opens and closes them; users acknowledge them.

use domain::authorization::UserAction;
use domain::event::{EventKind, EventSubject, NewEvent};
use domain::incident::{Incident, IncidentKind, IncidentQuery, IncidentState, IncidentSummary};
use domain::notification::{IncidentDetails, IncidentSubject, MessageKind, SkippedSubscription};
use domain::page::Page;
use domain::{ClusterId, IncidentId};
use store::Tx;
use store::subscription::SubscriptionRow;

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod advance;
mod preceding_change;
mod workload_causes;

impl Hub {
    /// One page of incidents, newest first.
    ///
    /// # Errors
    /// The cursor is not of this list.
    pub async fn list_incidents(&self, query: &IncidentQuery) -> Result<Page<IncidentSummary>, Error> {
        let mut tx = self.read().await?;
        let page = store::incident::list(&mut tx, self.project(), query).await?;
        // A list of many incidents on a large fleet has the names of the clusters only.
        Ok(page.map(|incident| IncidentSummary { cluster_details: Vec::new(), ..incident.summary() }))
    }

    /// Number of open incidents.
    pub async fn count_open_incidents(&self) -> Result<u32, Error> {
        let mut tx = self.read().await?;
        Ok(store::incident::count_open(&mut tx, self.project()).await?)
    }

    /// One incident, with what was sent about it, and where it was not sent to and why.
    ///
    /// # Errors
    /// There is no such incident.
    pub async fn get_incident(&self, id: IncidentId) -> Result<IncidentDetails, Error> {
        let mut tx = self.read().await?;
        let found = store::incident::get(&mut tx, self.project(), id).await?;
        let incident = found.ok_or_else(|| Error::not_found("incident", id.to_string()))?;
        self.load_details(&mut tx, &incident).await
    }

    /// Records that the actor works on an incident. If somebody has acknowledged it already, that stays.
    ///
    /// # Errors
    /// There is no such incident.
    pub async fn acknowledge_incident(
        &self,
        actor: &Actor,
        id: IncidentId,
    ) -> Result<IncidentDetails, Error> {
        actor.authorize(UserAction::AcknowledgeIncident)?;
        let mut tx = self.write_as(actor, UserAction::AcknowledgeIncident).await?;
        let found = store::incident::get(&mut tx, self.project(), id).await?;
        let mut incident = found.ok_or_else(|| Error::not_found("incident", id.to_string()))?;
        let is_new = incident.acknowledge(&actor.name, self.clock().now());
        let mut effects = CommitEffects::default();
        if is_new {
            store::incident::update(&mut tx, self.project(), &incident).await?;
            let subject = self.load_subject(&mut tx, &incident).await?;
            self.enqueue_message(&mut tx, (&incident, &subject), MessageKind::Updated).await?;
            let message = format!("The incident was acknowledged: {}.", incident.summary().headline());
            let event = NewEvent::new(EventKind::IncidentAcknowledged, &actor.name, message)
                .with_workload(incident.workload, &incident.workload_name);
            effects = CommitEffects { wake_deliveries: true, ..CommitEffects::with_event(event) };
        } else {
            let subject = EventSubject::workload(incident.workload, &incident.workload_name);
            let message = "The incident was acknowledged before; nothing was changed.";
            tx.describe_audit(subject.describe(), message);
        }
        let details = self.load_details(&mut tx, &incident).await?;
        self.commit(tx, effects.with_response(actor, 200, &details)).await?;
        Ok(details)
    }

    /// What subscriptions select an incident by; of the workload only its name if it is deleted.
    async fn load_subject(&self, tx: &mut Tx, incident: &Incident) -> Result<IncidentSubject, Error> {
        let found = store::workload::get_incident_subject(tx, incident.workload).await?;
        let subject = found.unwrap_or_else(|| IncidentSubject {
            workload: incident.workload_name.clone(),
            ..IncidentSubject::default()
        });
        let cluster_owners = load_cluster_owners(tx, incident).await?;
        Ok(IncidentSubject { cluster_owners, ..subject })
    }

    async fn load_details(&self, tx: &mut Tx, incident: &Incident) -> Result<IncidentDetails, Error> {
        let subject = self.load_subject(tx, incident).await?;
        let deliveries = store::delivery::list(tx, incident.id).await?;
        let subscriptions = store::subscription::list(tx, self.project()).await?;
        let is_sent = |row: &SubscriptionRow| deliveries.iter().any(|sent| sent.channel == row.channel);
        let skipped = subscriptions.into_iter().filter(|row| !is_sent(row));
        let skipped_subscriptions = skipped.map(|row| explain_skipped(row, incident, &subject)).collect();
        Ok(IncidentDetails {
            incident: incident.summary(),
            owners: subject.owners,
            deliveries,
            skipped_subscriptions,
        })
    }
}

/// The owners of the clusters that an incident is about: on which the workload fails or drifts, or that are silent.
async fn load_cluster_owners(tx: &mut Tx, incident: &Incident) -> Result<Vec<String>, Error> {
    let clusters: Vec<ClusterId> = match incident.cause.kind {
        IncidentKind::Failure | IncidentKind::Drift => {
            incident.clusters.iter().map(|cluster| cluster.id).collect()
        }
        IncidentKind::Silence => store::rollout::list_silent_clusters(tx, incident.workload).await?,
        IncidentKind::Rollout | IncidentKind::Rollback | IncidentKind::Source | IncidentKind::Loop => {
            return Ok(Vec::new());
        }
    };
    Ok(store::cluster::list_owners(tx, &clusters).await?.into_iter().collect())
}

/// Why nothing was sent by a subscription.
fn explain_skipped(
    row: SubscriptionRow,
    incident: &Incident,
    subject: &IncidentSubject,
) -> SkippedSubscription {
    let reason = row.scope.explain_mismatch(subject).unwrap_or_else(|| {
        if row.created_at >= incident.opened_at {
            "It was created after the incident was opened.".to_owned()
        } else if incident.state() == IncidentState::Closed {
            "It did not select the workload when the incident was opened, or its messages are deleted."
                .to_owned()
        } else {
            "It did not select the workload when the incident was opened.".to_owned()
        }
    });
    SkippedSubscription { id: row.id, channel: row.channel, scope: row.scope.to_string(), reason }
}
