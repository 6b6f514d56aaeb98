//! Revokes the certificates of a cluster: its agent is disconnected, its workloads keep running.

use domain::Severity;
use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::cluster::ClusterKind;
use domain::event::{EventKind, NewEvent};

use crate::cluster::load_cluster;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Revokes every certificate of a cluster. Its agent needs a new join token and acceptance to return.
    pub async fn revoke_cluster(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::RemoveCluster)?;
        let now = self.clock().now();
        let mut tx = self.write_as(actor, UserAction::RemoveCluster).await?;
        let cluster = load_cluster(&mut tx, name).await?;
        if cluster.kind != ClusterKind::Agent {
            let why = format!("Cluster {name} has no agent of its own: the server serves it.");
            return Err(Error::FailedPrecondition(ActionUnavailable(why)));
        }
        // Registrations, heartbeat, certificates: the order of an acceptance and of a deletion of the cluster.
        store::registration::reject_by_cluster(&mut tx, cluster.id).await?;
        if store::cluster::get_report_position(&mut tx, cluster.id).await?.is_none() {
            // Another request has deleted it.
            return Err(Error::not_found("cluster", name));
        }
        store::certificate::revoke_by_cluster(&mut tx, cluster.id, now).await?;
        store::certificate::record_revocation(&mut tx, cluster.id, now).await?;
        let message = format!("The certificates of cluster {name} were revoked; its agent is disconnected.");
        let event = NewEvent::new(EventKind::ClusterRevoked, &actor.name, message)
            .with_cluster(cluster.id, name)
            .with_severity(Severity::Warning);
        // Wakes long-lived requests of this cluster's agent: they check the certificate again and end.
        let effects = CommitEffects {
            events: vec![event],
            changed_clusters: vec![cluster.id],
            ..CommitEffects::default()
        };
        self.commit(tx, effects.with_empty_response(actor, 204)).await
    }
}
