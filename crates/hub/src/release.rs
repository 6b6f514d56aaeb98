//! Queries on releases.

use std::collections::BTreeMap;

use domain::ReleaseId;
use domain::bundle::Bundle;
use domain::json_path::JsonPath;
use domain::object::{ObjectRef, object_ref};
use domain::page::{ListQuery, Page};
use domain::plan::HIDDEN_VALUE;
use domain::release::{DesiredFieldValue, DesiredValues, ReleaseDetails, ReleaseView, SyncStatus};
use domain::secret_text;
use serde_json::Value;
use store::Tx;

use crate::cluster::load_cluster;
use crate::operation::find_healthy_revision;
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

    /// The number of drifted fields of those of these releases that drift; the others, and those whose report can't be read, are not in it.
    pub async fn count_drifted_fields(
        &self,
        releases: &[ReleaseView],
    ) -> Result<BTreeMap<ReleaseId, u32>, Error> {
        let drifted = releases.iter().filter(|view| view.release.sync() == SyncStatus::Drifted);
        let ids: Vec<ReleaseId> = drifted.map(|view| view.release.id()).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut tx = self.read().await?;
        Ok(store::release::count_drifted_fields(&mut tx, &ids).await?)
    }

    /// One release with its resources, the desired values of its drifted fields, and the revision to roll back to.
    pub async fn get_release_details(&self, workload: &str, cluster: &str) -> Result<ReleaseDetails, Error> {
        let view = self.get_release(workload, cluster).await?;
        let mut tx = self.read().await?;
        let head = self.load_workload_head(&mut tx, workload).await?;
        let healthy_revision = match head.published {
            Some(published) => find_healthy_revision(&mut tx, head.id, published).await?,
            None => None,
        };
        let desired_values = load_desired_values(&mut tx, &view).await?;
        Ok(ReleaseDetails { view, healthy_revision, desired_values })
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

/// The values of the desired bundle for the drifted fields, if it is not the one that is released to the cluster.
async fn load_desired_values(tx: &mut Tx, view: &ReleaseView) -> Result<DesiredValues, Error> {
    let drifted: Vec<(&ObjectRef, &str)> = view
        .resources
        .iter()
        .flat_map(|resource| resource.drifted.iter().map(|path| (&resource.object, path.as_str())))
        .collect();
    let Some(desired) = view.release.desired().filter(|_| !drifted.is_empty()) else {
        return Ok(DesiredValues::AsApplied);
    };
    if view.release.released() == Some(desired) {
        return Ok(DesiredValues::AsApplied);
    }
    // The bytes of a bundle can be evicted; they are rendered again when its wave starts.
    let Some(bytes) = store::artifact::get(tx, desired).await? else { return Ok(DesiredValues::Unreadable) };
    let Ok(bundle) = Bundle::from_bytes(&bytes) else { return Ok(DesiredValues::Unreadable) };
    let value = |(object, path): (&ObjectRef, &str)| DesiredFieldValue {
        object: object.clone(),
        path: path.to_owned(),
        value: find_desired_value(&bundle, object, path),
    };
    Ok(DesiredValues::Other(drifted.into_iter().map(value).collect()))
}

/// The value of a field of a bundle; that of a Secret is hidden.
fn find_desired_value(bundle: &Bundle, object: &ObjectRef, path: &str) -> Option<Value> {
    let manifest = bundle.objects.iter().find(|one| object_ref(one).is_same_object(object))?;
    let mut value = (*path.parse::<JsonPath>().ok()?.select_values(manifest).first()?).clone();
    if object.kind == "Secret" {
        return Some(HIDDEN_VALUE.into());
    }
    secret_text::hide_field(secret_text::contains_secret(manifest), path, &mut value);
    Some(value)
}
