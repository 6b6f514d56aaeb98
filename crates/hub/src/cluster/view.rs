//! Queries on clusters: list, one cluster, its releases.

use std::collections::HashMap;

use domain::cluster::{Cluster, ClusterSummary, Connectivity};
use domain::join;
use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;
use domain::rollup::ReleaseCounts;
use domain::{ClusterId, Timestamp};

use super::{ClusterDetails, load_cluster};
use crate::join::load_cluster_agent;
use crate::{Error, Hub};

/// Most groups of a cluster that its details name.
const MAX_GROUPS: usize = 50;

impl Hub {
    /// One page of clusters, by name.
    pub async fn list_clusters(&self, query: &ListQuery) -> Result<Page<ClusterSummary>, Error> {
        let mut tx = self.read().await?;
        let page = store::cluster::list(&mut tx, query).await?;
        let mut page = load_summaries(&mut tx, page).await?;
        self.add_unknown_kinds(&mut tx, &mut page.items).await?;
        Ok(page)
    }

    /// One page of clusters: those that do not report first, then those with failing releases, then by name. Only those with this
    /// connectivity, if one is given.
    pub async fn list_clusters_worst_first(
        &self,
        query: &ListQuery,
        connectivity: Option<Connectivity>,
    ) -> Result<Page<ClusterSummary>, Error> {
        let mut tx = self.read().await?;
        let page = store::cluster::list_worst_first(&mut tx, query, connectivity).await?;
        let mut page = load_summaries(&mut tx, page).await?;
        self.add_unknown_kinds(&mut tx, &mut page.items).await?;
        Ok(page)
    }

    /// One cluster with its facts and counts.
    pub async fn get_cluster(&self, name: &str) -> Result<ClusterSummary, Error> {
        let mut tx = self.read().await?;
        let found = load_cluster(&mut tx, name).await?;
        let mut summary = load_summary(&mut tx, found, self.clock().now()).await?;
        self.add_unknown_kinds(&mut tx, std::slice::from_mut(&mut summary)).await?;
        Ok(summary)
    }

    /// One cluster, one page of the releases on it, its pending removals and its groups, from one read transaction.
    pub async fn get_cluster_details(&self, name: &str, query: &ListQuery) -> Result<ClusterDetails, Error> {
        let mut tx = self.read().await?;
        let found = load_cluster(&mut tx, name).await?;
        let releases = load_releases(&mut tx, &found, query).await?;
        let pending_removals = store::pending_removal::list_by_cluster(&mut tx, found.id).await?;
        let groups = store::group::list_memberships(&mut tx).await?;
        let mut groups: Vec<String> =
            groups.into_iter().filter(|one| one.contains(&found)).map(|one| one.name).collect();
        let groups_total = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        groups.truncate(MAX_GROUPS);
        let mut summary = load_summary(&mut tx, found, self.clock().now()).await?;
        self.add_unknown_kinds(&mut tx, std::slice::from_mut(&mut summary)).await?;
        Ok(ClusterDetails { summary, releases, pending_removals, groups, groups_total })
    }

    /// One page of the releases on a cluster, worst first; without resources.
    pub async fn list_cluster_releases(
        &self,
        name: &str,
        query: &ListQuery,
    ) -> Result<Page<ReleaseView>, Error> {
        let mut tx = self.read().await?;
        let cluster = load_cluster(&mut tx, name).await?;
        load_releases(&mut tx, &cluster, query).await
    }
}

async fn load_summaries(tx: &mut store::Tx, page: Page<Cluster>) -> Result<Page<ClusterSummary>, Error> {
    let ids: Vec<ClusterId> = page.items.iter().map(|cluster| cluster.id).collect();
    let counts: HashMap<ClusterId, ReleaseCounts> =
        store::release::counts_by_cluster(tx, &ids).await?.into_iter().collect();
    let joinings = store::certificate::list_join_statuses(tx, &ids).await?;
    let mut suspensions = store::suspension::list_of_clusters(tx, &ids).await?;
    Ok(page.map(|mut cluster| {
        cluster.facts.apis.clear();
        let counts = counts.get(&cluster.id).cloned().unwrap_or_default();
        let conditions = join::cluster_conditions(&cluster, joinings.get(&cluster.id));
        let pending_facts = cluster.pending_facts();
        let suspension = suspensions.remove(&cluster.id);
        ClusterSummary { cluster, counts, conditions, pending_facts, agent: None, suspension }
    }))
}

async fn load_summary(tx: &mut store::Tx, found: Cluster, now: Timestamp) -> Result<ClusterSummary, Error> {
    let with_facts = store::cluster::get_many_with_facts(tx, &[found.id]).await?.pop();
    let counts = store::release::counts_by_cluster(tx, &[found.id]).await?;
    let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
    let joining = store::certificate::list_join_statuses(tx, &[found.id]).await?.remove(&found.id);
    let conditions = join::cluster_conditions(&found, joining.as_ref());
    let pending_facts = found.pending_facts();
    let agent = match joining {
        Some(joining) => Some(load_cluster_agent(tx, &found, joining, now).await?),
        None => None,
    };
    let suspension = store::suspension::list_of_clusters(tx, &[found.id]).await?.remove(&found.id);
    let cluster = with_facts.unwrap_or(found);
    Ok(ClusterSummary { cluster, counts, conditions, pending_facts, agent, suspension })
}

async fn load_releases(
    tx: &mut store::Tx,
    cluster: &Cluster,
    query: &ListQuery,
) -> Result<Page<ReleaseView>, Error> {
    let page = store::release::list_by_cluster(tx, cluster.id, query).await?;
    let region = cluster.region();
    Ok(page.map(|(release, workload)| {
        ReleaseView::new(release, workload, cluster.name.clone(), region.to_owned())
    }))
}
