//! Confirms the facts that a cluster reports.

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, ConfirmedFacts, format_pending_facts};
use domain::event::EventDetail;

use super::ClusterChange;
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
        actor.authorize(UserAction::JoinCluster)?;
        let tx = self.write_as(actor, UserAction::JoinCluster).await?;
        let change = ClusterChange::begin(tx, name, if_match).await?;
        let mut cluster = change.before.clone();
        if !facts.has_same_identity(&ConfirmedFacts::from_reported(&cluster.facts)) {
            return Err(not_reported_error(&cluster));
        }
        if facts == cluster.confirmed_facts {
            return Ok(cluster);
        }
        let detail = EventDetail::FactsConfirmed { facts: cluster.pending_facts() };
        cluster.confirmed_facts = facts;
        change.commit(self, actor, cluster, detail).await
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
