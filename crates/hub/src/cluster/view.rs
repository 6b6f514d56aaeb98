//! Lists of clusters, one cluster, and what runs on it.

use std::collections::HashMap;

use domain::ClusterId;
use domain::cluster::{Cluster, ClusterSummary};
use domain::join;
use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;
use domain::rollup::Counts;

use crate::{Error, Hub};

impl Hub {
    /// One page of clusters, by name.
    pub async fn cluster_list(&self, query: &ListQuery) -> Result<Page<ClusterSummary>, Error> {
        let mut tx = self.read().await?;
        let page = store::cluster::list(&mut tx, query).await?;
        let ids: Vec<ClusterId> = page.items.iter().map(|cluster| cluster.id).collect();
        let counts: HashMap<ClusterId, Counts> =
            store::release::counts_by_cluster(&mut tx, &ids).await?.into_iter().collect();
        let joinings = store::identity::joinings(&mut tx, &ids).await?;
        Ok(page.map(|mut cluster| {
            cluster.facts.apis.clear();
            let counts = counts.get(&cluster.id).cloned().unwrap_or_default();
            let conditions = join::conditions(&cluster, joinings.get(&cluster.id));
            ClusterSummary { cluster, counts, conditions }
        }))
    }

    /// One cluster with its facts and counts.
    pub async fn cluster_view(&self, name: &str) -> Result<ClusterSummary, Error> {
        let mut tx = self.read().await?;
        let found = load(&mut tx, name).await?;
        let with_facts = store::cluster::all_with_facts(&mut tx, &[found.id]).await?.pop();
        let counts = store::release::counts_by_cluster(&mut tx, &[found.id]).await?;
        let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
        let joinings = store::identity::joinings(&mut tx, &[found.id]).await?;
        let conditions = join::conditions(&found, joinings.get(&found.id));
        Ok(ClusterSummary { cluster: with_facts.unwrap_or(found), counts, conditions })
    }

    /// One page of the releases on a cluster, worst first; without resources.
    pub async fn cluster_releases(&self, name: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        let mut tx = self.read().await?;
        let cluster = load(&mut tx, name).await?;
        let page = store::release::of_cluster(&mut tx, cluster.id, query).await?;
        let region = cluster.region().to_owned();
        Ok(page.map(|(release, workload)| {
            ReleaseView::new(release, workload, cluster.name.clone(), region.clone())
        }))
    }
}

async fn load(tx: &mut store::Tx, name: &str) -> Result<Cluster, Error> {
    store::cluster::by_name(tx, name).await?.ok_or_else(|| Error::not_found("cluster", name))
}
