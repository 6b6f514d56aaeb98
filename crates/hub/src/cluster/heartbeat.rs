//! Heartbeats: renew a cluster's lease and mark its releases as reachable.

use domain::ClusterId;
use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventSubject, NewEvent};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Error, Hub};

impl Hub {
    /// Renews the lease of this cluster.
    pub async fn record_heartbeat(&self, cluster: ClusterId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mut effects = CommitEffects::default();
        self.renew_lease(&mut tx, cluster, &mut effects).await?;
        self.commit(tx, effects).await
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
            store::release::set_connectivity_by_cluster(tx, id, Connectivity::Online, now).await?;
            effects.all_rollouts_dirty = true;
            let Some(found) = store::cluster::get_by_id(tx, id).await? else { continue };
            let detail =
                EventDetail::Connectivity { from: before, to: Connectivity::Online, last_seen: None };
            let subject = EventSubject::cluster(id, &found.name);
            effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        }
        Ok(())
    }
}
