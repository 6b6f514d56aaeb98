//! A cluster is heard from: its lease is renewed, and if it was silent, its releases are live again.

use domain::ClusterId;
use domain::cluster::Reach;
use domain::event::{EventKind, NewEvent};
use store::Tx;

use crate::hub::Done;
use crate::{Error, Hub};

impl Hub {
    /// The agent of this cluster was heard from: its lease is renewed.
    pub async fn cluster_heartbeat(&self, cluster: ClusterId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mut done = Done::default();
        self.heard_from(&mut tx, cluster, &mut done).await?;
        self.commit(tx, done).await
    }

    /// Renews the lease inside a transaction; tells of a cluster that was silent before.
    pub(crate) async fn heard_from(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        done: &mut Done,
    ) -> Result<(), Error> {
        let now = self.clock().now();
        for (id, before) in store::cluster::touch(tx, &[cluster], now).await? {
            store::release::reach_of_cluster(tx, id, Reach::Online, now).await?;
            done.every_rollout |= before == Reach::Offline;
            let Some(found) = store::cluster::by_id(tx, id).await? else { continue };
            let word = if before == Reach::Offline { "online" } else { "online again" };
            let message = format!("Cluster {} is {word}.", found.name);
            done.events
                .push(NewEvent::new(EventKind::ClusterReach, "flotilla", message).cluster(id, &found.name));
        }
        Ok(())
    }
}
