//! Registers a cluster (S0-16).

use domain::ClusterId;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, check_labels};
use domain::event::{EventKind, NewEvent};
use domain::name_check;

use super::NewCluster;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Registers a cluster, or returns the one with this name. Published workloads are placed again: it may match.
    pub async fn register_cluster(&self, actor: &Actor, new: NewCluster) -> Result<Cluster, Error> {
        actor.authorize(UserAction::JoinCluster)?;
        let mut findings = check_labels(&new.labels);
        findings.extend(name_check::check_label("Cluster name", &new.name));
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let now = self.clock().now();
        let mut tx = self.write_as(actor, UserAction::JoinCluster).await?;
        if let Some(found) = store::cluster::get_by_name(&mut tx, &new.name).await? {
            return Ok(found);
        }
        let cluster = Cluster {
            labels: new.labels,
            lease_seconds: new.lease_seconds,
            ..Cluster::new(self.ids().generate(ClusterId::from_parts), new.name, new.kind, now)
        };
        store::cluster::insert(&mut tx, &cluster).await?;
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        let message = format!("Cluster {} was registered.", cluster.name);
        let event = NewEvent::new(EventKind::ClusterRegistered, &actor.name, message)
            .with_cluster(cluster.id, &cluster.name);
        let effects = CommitEffects::with_event_for_placer(event).with_response(actor, 201, &cluster);
        self.commit(tx, effects).await?;
        Ok(cluster)
    }
}
