//! Queries on releases.

use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;

use crate::cluster::load_cluster;
use crate::{Error, Hub};

impl Hub {
    /// One page of a workload's releases, worst first; without resources.
    pub async fn list_releases(&self, workload: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload_head(&mut tx, workload).await?;
        let page = store::release::list_by_workload(&mut tx, found.id, query).await?;
        Ok(page
            .map(|(release, cluster, region)| ReleaseView::new(release, found.name.clone(), cluster, region)))
    }

    /// One release with its resources.
    pub async fn get_release(&self, workload: &str, cluster: &str) -> Result<ReleaseView, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, workload).await?;
        let cluster = load_cluster(&mut tx, cluster).await?;
        let release = store::release::get_by_workload_and_cluster(&mut tx, workload.id, cluster.id).await?;
        let release = release
            .ok_or_else(|| Error::not_found("release", format!("{} on {}", workload.name, cluster.name)))?;
        let resources = store::release::get_resources(&mut tx, release.id()).await?;
        let region = cluster.region().to_owned();
        Ok(ReleaseView::new(release, workload.name, cluster.name, region).with_resources(resources))
    }
}
