//! Confirms the facts that a cluster reports.

use domain::actions::ActionUnavailable;
use domain::cluster::{Cluster, ConfirmedFacts, format_pending_facts};
use domain::event::{EventDetail, EventSubject, NewEvent};

use crate::hub::CommitEffects;
use crate::workload::check_if_match;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Confirms facts of a cluster; every published workload is placed again with them.
    ///
    /// # Errors
    /// [`Error::FailedPrecondition`] if the cluster does not report exactly these: the user has seen others. The amounts may
    /// differ, because they are only an upper limit of what scores count.
    pub async fn confirm_cluster_facts(
        &self,
        actor: &Actor,
        name: &str,
        facts: ConfirmedFacts,
        if_match: Option<i64>,
    ) -> Result<Cluster, Error> {
        let mut tx = self.write().await?;
        let found = store::cluster::get_by_name(&mut tx, name).await?;
        let mut cluster = found.ok_or_else(|| Error::not_found("cluster", name))?;
        check_if_match(cluster.revision, if_match)?;
        if !facts.has_same_identity(&ConfirmedFacts::from_reported(&cluster.facts)) {
            return Err(not_reported_error(&cluster));
        }
        if facts == cluster.confirmed_facts {
            return Ok(cluster);
        }
        let (before, pending) = (cluster.revision, cluster.pending_facts());
        cluster.confirmed_facts = facts;
        cluster.revision += 1;
        if !store::cluster::update(&mut tx, &cluster, before).await? {
            return Err(Error::RevisionConflict { current: cluster.revision });
        }
        store::cluster::set_confirmed_facts(&mut tx, cluster.id, &cluster.confirmed_facts).await?;
        let now = self.clock().now();
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        let detail = EventDetail::FactsConfirmed { facts: pending };
        let event =
            NewEvent::from_detail(detail, &actor.name, EventSubject::cluster(cluster.id, &cluster.name), now);
        self.commit(tx, CommitEffects::with_event_for_placer(event)).await?;
        Ok(cluster)
    }
}

fn not_reported_error(cluster: &Cluster) -> Error {
    let pending = cluster.pending_facts();
    let reports =
        if pending.is_empty() { "its confirmed facts".to_owned() } else { format_pending_facts(&pending) };
    Error::FailedPrecondition(ActionUnavailable(format!(
        "Cluster {} does not report the facts to confirm; it reports {reports}. Read it again, and confirm what it reports if \
         that is right.",
        cluster.name
    )))
}
