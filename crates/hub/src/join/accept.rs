//! A person accepts an agent: its cluster is registered, or the cluster that is there gets a new agent.

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterKind};
use domain::event::{EventKind, NewEvent};
use domain::join::{Registration, RegistrationState};
use store::Tx;

use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Registrations that wait for a person, and those that were refused; oldest first.
    pub async fn registration_list(&self) -> Result<Vec<Registration>, Error> {
        let mut tx = self.read().await?;
        Ok(store::registration::open(&mut tx).await?)
    }

    /// Accepts the agent that waits under this name. Published workloads are placed anew: the cluster may match.
    ///
    /// `fingerprint` is the key that the person saw, if they compared it: another one is refused.
    pub async fn cluster_accept(
        &self,
        actor: &Actor,
        name: &str,
        fingerprint: Option<&str>,
    ) -> Result<Cluster, Error> {
        let mut tx = self.write().await?;
        let found = store::registration::pending(&mut tx, name).await?;
        let seen = |found: &Registration| fingerprint.is_none_or(|seen| seen == found.fingerprint);
        let found = found.filter(seen).ok_or_else(|| Error::not_found("waiting agent", name))?;
        let mut done = Done::default();
        let cluster = self.let_in(&mut tx, found, &actor.name, &mut done).await?;
        self.commit(tx, done).await?;
        Ok(cluster)
    }

    /// Lets a registration in. The agents that the cluster had before are no longer let in.
    pub(super) async fn let_in(
        &self,
        tx: &mut Tx,
        registration: Registration,
        by: &str,
        done: &mut Done,
    ) -> Result<Cluster, Error> {
        let now = self.clock().now();
        let cluster = match store::cluster::by_name(tx, &registration.name).await? {
            Some(found) if found.kind != ClusterKind::Agent => {
                return Err(Error::Exists(format!("Cluster {} is served by the server itself.", found.name)));
            }
            Some(found) => {
                store::registration::reject_of_cluster(tx, found.id).await?;
                store::identity::revoke_of_cluster(tx, found.id, now).await?;
                done.wants_of.push(found.id);
                found
            }
            None => self.new_cluster(tx, &registration, done).await?,
        };
        store::identity::accepted(tx, cluster.id, by, now).await?;
        let decided = Registration {
            state: RegistrationState::Accepted,
            decided_by: Some(by.to_owned()),
            cluster: Some(cluster.id),
            ..registration
        };
        store::registration::decide(tx, &decided, now).await?;
        let message =
            format!("Cluster {} was accepted; its agent's key is {}.", cluster.name, decided.fingerprint);
        let event = NewEvent::new(EventKind::ClusterAccepted, by, message).cluster(cluster.id, &cluster.name);
        done.events.push(event);
        Ok(cluster)
    }

    async fn new_cluster(
        &self,
        tx: &mut Tx,
        registration: &Registration,
        done: &mut Done,
    ) -> Result<Cluster, Error> {
        let now = self.clock().now();
        let cluster = Cluster {
            labels: registration.labels.clone(),
            ..Cluster::new(
                self.ids().make(ClusterId::from_parts),
                registration.name.clone(),
                ClusterKind::Agent,
                now,
            )
        };
        store::cluster::insert(tx, &cluster).await?;
        store::queue::PLACER.mark_everything(tx, now).await?;
        done.dirty = true;
        Ok(cluster)
    }
}
