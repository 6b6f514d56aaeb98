//! Accepts an agent: its cluster is registered, or the existing cluster gets a new agent.

use domain::ClusterId;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, ClusterKind, ConfirmedFacts, PendingFact};
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::join::{Registration, RegistrationState};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// How a registration is accepted.
pub(super) struct Acceptance<'a> {
    /// The user, or the join token that accepts automatically.
    pub by: &'a str,
    /// Whether a user has seen the facts of the registration. Otherwise they stay unconfirmed.
    pub confirms_facts: bool,
}

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
        actor.authorize(UserAction::JoinCluster)?;
        let mut tx = self.write_as(actor, UserAction::JoinCluster).await?;
        let found = store::registration::get_pending(&mut tx, name).await?;
        let matches = |found: &Registration| fingerprint.is_none_or(|key| key == found.fingerprint);
        let found = found.filter(matches).ok_or_else(|| Error::not_found("pending agent", name))?;
        let mut effects = CommitEffects::default();
        let acceptance = Acceptance { by: &actor.name, confirms_facts: true };
        let cluster = self.accept_registration(&mut tx, found, acceptance, &mut effects).await?;
        self.commit(tx, effects.with_response(actor, 200, &cluster)).await?;
        Ok(cluster)
    }

    /// Accepts a registration; revokes the certificates of the cluster's earlier agents.
    pub(super) async fn accept_registration(
        &self,
        tx: &mut Tx,
        registration: Registration,
        Acceptance { by, confirms_facts }: Acceptance<'_>,
        effects: &mut CommitEffects,
    ) -> Result<Cluster, Error> {
        let now = self.clock().now();
        let mut cluster = match store::cluster::get_by_name(tx, &registration.name).await? {
            Some(found) if found.kind != ClusterKind::Agent => {
                return Err(Error::AlreadyExists(format!(
                    "Cluster {} is served by the server itself.",
                    found.name
                )));
            }
            Some(found) => {
                store::registration::reject_by_cluster(tx, found.id).await?;
                // Whatever position its earlier agent has reported. It locks the heartbeat, before the certificates.
                let begun = store::cluster::begin_incarnation(tx, found.id).await?;
                begun.ok_or_else(|| Error::not_found("cluster", found.name.as_str()))?;
                store::certificate::revoke_by_cluster(tx, found.id, now).await?;
                effects.changed_clusters.push(found.id);
                found
            }
            None => self.insert_cluster(tx, &registration, effects).await?,
        };
        store::certificate::record_acceptance(tx, cluster.id, by, now).await?;
        let facts = if confirms_facts && registration.facts.is_reported() {
            self.confirm_registered_facts(tx, &mut cluster, &registration, effects).await?
        } else {
            Vec::new()
        };
        let accepted = Registration {
            state: RegistrationState::Accepted,
            decided_by: Some(by.to_owned()),
            cluster: Some(cluster.id),
            ..registration
        };
        store::registration::record_decision(tx, &accepted, now).await?;
        let detail = EventDetail::JoinAccepted { fingerprint: accepted.fingerprint, facts };
        let subject = EventSubject::cluster(cluster.id, &cluster.name);
        effects.events.push(NewEvent::from_detail(detail, by, subject, now));
        Ok(cluster)
    }

    /// Confirms the facts of a registration; returns those that differ from the confirmed ones.
    async fn confirm_registered_facts(
        &self,
        tx: &mut Tx,
        cluster: &mut Cluster,
        registration: &Registration,
        effects: &mut CommitEffects,
    ) -> Result<Vec<PendingFact>, Error> {
        let reported = Cluster { facts: registration.facts.clone(), ..cluster.clone() };
        cluster.confirmed_facts = ConfirmedFacts::from_reported(&registration.facts);
        store::cluster::set_confirmed_facts(tx, cluster.id, &cluster.confirmed_facts).await?;
        store::queue::PLACER.mark_all(tx, self.clock().now()).await?;
        effects.wake_placer = true;
        Ok(reported.pending_facts())
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
