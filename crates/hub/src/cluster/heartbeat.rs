//! Heartbeats: renew a cluster's lease and mark its releases as reachable.

use domain::api_message::redact_values;
use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::{ClusterId, null_character};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Longest stored error of an API server, in characters.
const MAX_ERROR_LENGTH: usize = 300;

impl Hub {
    /// Renews the lease of this cluster, whose API server responds.
    pub async fn record_heartbeat(&self, cluster: ClusterId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mut effects = CommitEffects::default();
        self.renew_lease(&mut tx, cluster, &mut effects).await?;
        if store::cluster::end_api_server_outage(&mut tx, cluster).await? {
            let now = self.clock().now();
            store::release::set_connectivity_by_cluster(&mut tx, cluster, Connectivity::Online, now).await?;
            self.note_connectivity_change(cluster, &mut effects);
            let detail = EventDetail::ApiServer { responds: true, message: String::new() };
            self.push_api_server_event(&mut tx, cluster, detail, &mut effects).await?;
        }
        self.commit(tx, effects).await
    }

    /// Records that the API server of this cluster does not respond to its agent. The lease is not renewed, and its releases
    /// are late from now on.
    pub async fn record_api_server_outage(&self, cluster: ClusterId, error: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mut effects = CommitEffects::default();
        // Before it is cut, so that no part of a value stays.
        let mut error: String = redact_values(error).chars().take(MAX_ERROR_LENGTH).collect();
        null_character::replace(&mut error);
        let now = self.clock().now();
        if store::cluster::begin_api_server_outage(&mut tx, cluster, &error, now).await? {
            if let Some(found) = store::cluster::get_by_id(&mut tx, cluster).await? {
                let reach = found.release_connectivity();
                store::release::set_connectivity_by_cluster(&mut tx, cluster, reach, now).await?;
            }
            // What the agent can't observe is no success for the rollout that admitted it (P29).
            self.note_connectivity_change(cluster, &mut effects);
            let detail = EventDetail::ApiServer { responds: false, message: error };
            self.push_api_server_event(&mut tx, cluster, detail, &mut effects).await?;
        }
        self.commit(tx, effects).await
    }

    async fn push_api_server_event(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        detail: EventDetail,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let Some(found) = store::cluster::get_by_id(tx, cluster).await? else { return Ok(()) };
        let subject = EventSubject::cluster(cluster, &found.name);
        effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, self.clock().now()));
        Ok(())
    }

    /// Lets rollouts and dependencies of workloads on a cluster be evaluated again, whose agent says that it is reachable, or not.
    fn note_connectivity_change(&self, cluster: ClusterId, effects: &mut CommitEffects) {
        effects.changed_connectivity.insert(cluster);
        self.pace_marks(cluster, effects);
    }

    /// Renews the lease inside a transaction; records an event if the cluster was late or offline.
    pub(crate) async fn renew_lease(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let now = self.clock().now();
        for (id, before) in store::cluster::record_heartbeats(tx, &[cluster], now).await? {
            let Some(found) = store::cluster::get_by_id(tx, id).await? else { continue };
            // Late at best while the API server of the cluster does not respond: an agent that returns observes nothing yet.
            let reach = found.release_connectivity();
            store::release::set_connectivity_by_cluster(tx, id, reach, now).await?;
            self.note_connectivity_change(id, effects);
            let detail =
                EventDetail::Connectivity { from: before, to: Connectivity::Online, last_seen: None };
            let subject = EventSubject::cluster(id, &found.name);
            effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        }
        Ok(())
    }
}
