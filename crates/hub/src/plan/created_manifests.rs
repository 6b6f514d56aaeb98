//! The manifests of the objects that a plan creates, for its review.

use std::collections::BTreeMap;

use domain::Digest;
use domain::bundle::Bundle;
use domain::object::{ObjectRef, object_ref};
use domain::plan::{ClusterPlanGroup, CreatedManifest, Plan, PlannedAction, RenderedManifests};
use serde_json::Value;

use crate::{Error, Hub};

/// Most bytes of one manifest.
const MAX_MANIFEST_BYTES: usize = 16 * 1024;
/// Most bytes of all manifests of one request.
const MAX_TOTAL_BYTES: usize = 128 * 1024;

impl Hub {
    /// The manifests of the new objects of these groups of a plan, in the order of the groups: as rendered for the first cluster of
    /// each group. The groups beyond the limit of a request have no texts.
    pub async fn list_created_manifests(
        &self,
        plan: &Plan,
        groups: &[ClusterPlanGroup],
    ) -> Result<Vec<Vec<CreatedManifest>>, Error> {
        let mut tx = self.read().await?;
        let mut bundles: BTreeMap<Digest, Option<Bundle>> = BTreeMap::new();
        let mut remaining = MAX_TOTAL_BYTES;
        let mut manifests = Vec::with_capacity(groups.len());
        for group in groups {
            let created = list_created(plan, group);
            let target = plan.targets.iter().find(|target| Some(&target.name) == group.clusters.first());
            let digest = target.and_then(|target| target.bundle.as_ref()).filter(|_| !created.is_empty());
            if let Some(digest) = digest.filter(|digest| !bundles.contains_key(*digest)) {
                let bytes = store::artifact::get(&mut tx, digest).await?;
                let bundle = bytes.and_then(|bytes| Bundle::from_bytes(&bytes).ok());
                bundles.insert(digest.clone(), bundle);
            }
            let bundle = digest.and_then(|digest| bundles.get(digest)?.as_ref());
            let shown = bundle.map(|bundle| RenderedManifests::new("", None, bundle).objects);
            manifests.push(find_manifests(created, &shown.unwrap_or_default(), &mut remaining));
        }
        Ok(manifests)
    }
}

/// The objects that the clusters of a group create.
fn list_created(plan: &Plan, group: &ClusterPlanGroup) -> Vec<ObjectRef> {
    let changes = group.cluster_plan.as_ref().and_then(|digest| plan.cluster_plans.get(digest));
    let objects = changes.map_or(&[][..], |changes| &changes.objects);
    let created = objects.iter().filter(|change| change.action == PlannedAction::Create);
    created.map(|change| change.object.clone()).collect()
}

/// The YAML of each of these objects, while it fits.
fn find_manifests(created: Vec<ObjectRef>, shown: &[Value], remaining: &mut usize) -> Vec<CreatedManifest> {
    let manifest = |object: ObjectRef| {
        let found = shown.iter().find(|one| object_ref(one).is_same_object(&object));
        let yaml = found.and_then(|found| serde_saphyr::to_string(found).ok());
        let yaml = yaml.filter(|yaml| yaml.len() <= MAX_MANIFEST_BYTES.min(*remaining));
        *remaining -= yaml.as_ref().map_or(0, String::len);
        CreatedManifest { object, yaml }
    };
    created.into_iter().map(manifest).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manifests_are_shown_while_they_fit() {
        let object = |name: &str, size: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "x".repeat(size)}});
        let shown = [object("small", 10), object("large", MAX_MANIFEST_BYTES), object("last", 500)];
        let created: Vec<ObjectRef> = shown.iter().map(object_ref).collect();
        let mut remaining = 700;
        let found = find_manifests(created.clone(), &shown, &mut remaining);
        let has_text: Vec<bool> = found.iter().map(|one| one.yaml.is_some()).collect();
        assert_eq!(has_text, [true, false, true]);
        let again = find_manifests(created, &shown, &mut remaining);
        assert_eq!(
            again.iter().filter(|one| one.yaml.is_some()).count(),
            0,
            "the limit is that of a request"
        );
    }
}
