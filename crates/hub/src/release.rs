//! Questions about releases.

use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;

use crate::{Error, Hub};

impl Hub {
    /// One page of a workload's releases, worst first; without resources.
    pub async fn release_list(&self, workload: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        let mut tx = self.read().await?;
        let found = self.load_workload(&mut tx, workload).await?;
        let page = store::release::of_workload(&mut tx, found.id, query).await?;
        Ok(page
            .map(|(release, cluster, region)| ReleaseView::new(release, found.name.clone(), cluster, region)))
    }

    /// One release with its resources.
    pub async fn release_view(&self, workload: &str, cluster: &str) -> Result<ReleaseView, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, workload).await?;
        let found = store::cluster::by_name(&mut tx, cluster).await?;
        let on = found.ok_or_else(|| Error::not_found("cluster", cluster))?;
        let release = store::release::by_workload_cluster(&mut tx, workload.id, on.id).await?;
        let release = release
            .ok_or_else(|| Error::not_found("release", format!("{} on {}", workload.name, on.name)))?;
        let resources = store::release::resources(&mut tx, release.id).await?;
        let region = on.region().to_owned();
        Ok(ReleaseView::new(release, workload.name, on.name, region).with_resources(resources))
    }
}
