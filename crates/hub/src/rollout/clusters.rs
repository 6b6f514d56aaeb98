//! The clusters of a rollout, and its report.

use domain::page::{ListQuery, MAX_LIMIT, Page};
use domain::rollout::{MAX_REPORT_CLUSTERS, Rollout, RolloutCluster, RolloutClusterQuery, RolloutReport};
use source::client_shares::VALUES_OF_USERS;
use source::requester::current_turn;
use store::Tx;

use crate::{Error, Hub};

/// Most bytes of one cluster in a report and in its text.
const CLUSTER_BYTES: u64 = 4096;

impl Hub {
    /// The rollout of a revision, by default of the published one, and one page of its clusters, by wave and name.
    ///
    /// # Errors
    /// There is no such workload, revision or wave, or the revision has no rollout.
    pub async fn list_rollout_clusters(
        &self,
        name: &str,
        query: &RolloutClusterQuery,
    ) -> Result<(Rollout, Page<RolloutCluster>), Error> {
        let mut tx = self.read().await?;
        let rollout = self.load_named_rollout(&mut tx, name, query.revision).await?;
        let wave = match query.wave.as_deref().filter(|wave| !wave.is_empty()) {
            Some(wave) => {
                let at = rollout.waves.iter().position(|one| one.name == wave);
                let at = at.and_then(|at| u32::try_from(at).ok());
                Some(at.ok_or_else(|| Error::not_found("wave", wave))?)
            }
            None => None,
        };
        let page = store::rollout::list_clusters(&mut tx, &rollout, wave, &query.list).await?;
        Ok((rollout, page))
    }

    /// Writes the report of the rollout of a revision, by default of the published one, with its clusters, at most
    /// [`MAX_REPORT_CLUSTERS`]. The memory of the report is reserved in the share of the user before it is read, until `write` has
    /// returned.
    ///
    /// # Errors
    /// As [`Self::list_rollout_clusters`]; others use the memory.
    pub async fn report_rollout<T: Send>(
        &self,
        name: &str,
        revision: Option<u32>,
        write: impl FnOnce(&RolloutReport) -> T + Send,
    ) -> Result<T, Error> {
        let mut tx = self.read().await?;
        let rollout = self.load_named_rollout(&mut tx, name, revision).await?;
        let one = ListQuery { limit: Some(1), ..ListQuery::default() };
        let total = store::rollout::list_clusters(&mut tx, &rollout, None, &one).await?.total;
        drop(tx);
        let most = u32::try_from(MAX_REPORT_CLUSTERS).unwrap_or(u32::MAX);
        let needed = u64::from(total.min(most)) * CLUSTER_BYTES;
        let memory = VALUES_OF_USERS.reserve(current_turn(), needed).await?;
        let report = self.load_report(name, revision).await?;
        let written = write(&report);
        drop((report, memory));
        Ok(written)
    }

    /// The report, from one read transaction.
    async fn load_report(&self, name: &str, revision: Option<u32>) -> Result<RolloutReport, Error> {
        let mut tx = self.read().await?;
        let rollout = self.load_named_rollout(&mut tx, name, revision).await?;
        let mut clusters: Vec<RolloutCluster> = Vec::new();
        let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
        let total = loop {
            let page = store::rollout::list_clusters(&mut tx, &rollout, None, &query).await?;
            let left = MAX_REPORT_CLUSTERS.saturating_sub(clusters.len());
            clusters.extend(page.items.into_iter().take(left));
            query.cursor = page.next;
            if query.cursor.is_none() || clusters.len() >= MAX_REPORT_CLUSTERS {
                break page.total;
            }
        };
        let now = self.clock().now();
        let listed = u32::try_from(clusters.len()).unwrap_or(u32::MAX);
        Ok(RolloutReport {
            workload: name.to_owned(),
            generated_at: now,
            summary: rollout.message(now),
            rollout,
            clusters,
            omitted: total.saturating_sub(listed),
        })
    }

    async fn load_named_rollout(
        &self,
        tx: &mut Tx,
        name: &str,
        revision: Option<u32>,
    ) -> Result<Rollout, Error> {
        let found = self.find_named_rollout(tx, name, revision).await?;
        found.ok_or_else(|| Error::not_found("rollout of workload", name))
    }
}
