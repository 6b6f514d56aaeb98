//! Accepts an agent: its cluster is registered, or the existing cluster gets a new agent.

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterKind, ConfirmedFacts};
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::join::{Registration, RegistrationState};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Pending and rejected registrations; oldest first.
    pub async fn list_registrations(&self) -> Result<Vec<Registration>, Error> {
        let mut tx = self.read().await?;
        Ok(store::registration::list_not_accepted(&mut tx).await?)
    }

    /// Accepts the pending agent with this name, and confirms the facts of its registration. Published workloads are placed
    /// again: the cluster may match.
    ///
    /// `fingerprint` is the key fingerprint that the person compared, if they did: with another key nothing is accepted.
    pub async fn accept_cluster(
        &self,
        actor: &Actor,
        name: &str,
        fingerprint: Option<&str>,
    ) -> Result<Cluster, Error> {
        let mut tx = self.write().await?;
        let found = store::registration::get_pending(&mut tx, name).await?;
        let matches = |found: &Registration| fingerprint.is_none_or(|key| key == found.fingerprint);
        let found = found.filter(matches).ok_or_else(|| Error::not_found("pending agent", name))?;
        let mut effects = CommitEffects::default();
        let confirmed = ConfirmedFacts::from_reported(&found.facts);
        let has_facts = found.facts.is_reported();
        let mut cluster = self.accept_registration(&mut tx, found, &actor.name, &mut effects).await?;
        // Facts that no user has seen, such as those of an automatic acceptance, stay unconfirmed.
        if has_facts {
            store::cluster::set_confirmed_facts(&mut tx, cluster.id, &confirmed).await?;
            store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
            effects.wake_placer = true;
            cluster.confirmed_facts = confirmed;
        }
        self.commit(tx, effects).await?;
        Ok(cluster)
    }

    /// Accepts a registration; revokes the certificates of the cluster's earlier agents.
    pub(super) async fn accept_registration(
        &self,
        tx: &mut Tx,
        registration: Registration,
        by: &str,
        effects: &mut CommitEffects,
    ) -> Result<Cluster, Error> {
        let now = self.clock().now();
        let cluster = match store::cluster::get_by_name(tx, &registration.name).await? {
            Some(found) if found.kind != ClusterKind::Agent => {
                return Err(Error::AlreadyExists(format!(
                    "Cluster {} is served by the server itself.",
                    found.name
                )));
            }
            Some(found) => {
                store::registration::reject_by_cluster(tx, found.id).await?;
                store::certificate::revoke_by_cluster(tx, found.id, now).await?;
                // Whatever position its earlier agent has reported.
                store::cluster::begin_incarnation(tx, found.id).await?;
                effects.changed_clusters.push(found.id);
                found
            }
            None => self.insert_cluster(tx, &registration, effects).await?,
        };
        store::certificate::record_acceptance(tx, cluster.id, by, now).await?;
        let accepted = Registration {
            state: RegistrationState::Accepted,
            decided_by: Some(by.to_owned()),
            cluster: Some(cluster.id),
            ..registration
        };
        store::registration::record_decision(tx, &accepted, now).await?;
        let detail = EventDetail::JoinAccepted { fingerprint: accepted.fingerprint };
        let subject = EventSubject::cluster(cluster.id, &cluster.name);
        effects.events.push(NewEvent::from_detail(detail, by, subject, now));
        Ok(cluster)
    }

    async fn insert_cluster(
        &self,
        tx: &mut Tx,
        registration: &Registration,
        effects: &mut CommitEffects,
    ) -> Result<Cluster, Error> {
        let now = self.clock().now();
        let cluster = Cluster {
            labels: registration.labels.clone(),
            ..Cluster::new(
                self.ids().generate(ClusterId::from_parts),
                registration.name.clone(),
                ClusterKind::Agent,
                now,
            )
        };
        store::cluster::insert(tx, &cluster).await?;
        store::queue::PLACER.mark_all(tx, now).await?;
        effects.wake_placer = true;
        Ok(cluster)
    }
}
