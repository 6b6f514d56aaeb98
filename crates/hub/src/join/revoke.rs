//! The certificates of a cluster are revoked; its agent is cut off at once, what runs there keeps running.

use domain::Severity;
use domain::can::WhyNot;
use domain::cluster::ClusterKind;
use domain::event::{EventKind, NewEvent};

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Revokes every certificate of a cluster. Its agent needs a new join token, and a person's word, to come back.
    pub async fn cluster_revoke(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let found = store::cluster::by_name(&mut tx, name).await?;
        let cluster = found.ok_or_else(|| Error::not_found("cluster", name))?;
        if cluster.kind != ClusterKind::Agent {
            let why = format!("Cluster {name} has no agent of its own: the server serves it.");
            return Err(Error::NotNow(WhyNot(why)));
        }
        store::identity::revoke_of_cluster(&mut tx, cluster.id, now).await?;
        store::identity::revoked(&mut tx, cluster.id, now).await?;
        store::registration::reject_of_cluster(&mut tx, cluster.id).await?;
        let message = format!("The certificates of cluster {name} were revoked; its agent is cut off.");
        let event = NewEvent::new(EventKind::ClusterRevoked, &actor.name, message)
            .cluster(cluster.id, name)
            .weighing(Severity::Warning);
        // Whoever answers this cluster's agent looks again, and finds that it is let in no more.
        let done = Done { events: vec![event], wants_of: vec![cluster.id], ..Done::default() };
        self.commit(tx, done).await
    }
}
