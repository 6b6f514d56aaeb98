//! What the hub should know of the cluster: version, kinds, nodes, classes.

use domain::cluster::{ApiResource, ClusterFacts};
use serde_json::Value;

use crate::api::Api;
use crate::discovery::Discovery;
use crate::error::Error;

/// Reads the facts. Nodes and classes that the agent may not list are left out; they only sharpen advice.
///
/// # Errors
/// When version or kinds can't be read.
pub(crate) async fn read(api: &Api, discovery: &Discovery) -> Result<ClusterFacts, Error> {
    let (version, kinds, nodes, storage, ingress) = futures::join!(
        api.get("/version"),
        discovery.refresh(),
        api.get("/api/v1/nodes?limit=1"),
        api.get("/apis/storage.k8s.io/v1/storageclasses?limit=500"),
        api.get("/apis/networking.k8s.io/v1/ingressclasses?limit=500"),
    );
    let mut apis: Vec<ApiResource> = kinds?
        .iter()
        .map(|resource| ApiResource {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
        })
        .collect();
    apis.sort();
    apis.dedup();
    Ok(ClusterFacts {
        kubernetes_version: version?["gitVersion"].as_str().unwrap_or_default().to_owned(),
        nodes: nodes.ok().and_then(|list| count(&list)),
        apis,
        storage_classes: storage.map(|list| names(&list)).unwrap_or_default(),
        ingress_classes: ingress.map(|list| names(&list)).unwrap_or_default(),
    })
}

/// The size of a list of which one page was read.
fn count(list: &Value) -> Option<u32> {
    let page = list["items"].as_array()?.len() as u64;
    let rest = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or(0);
    u32::try_from(page + rest).ok()
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let mut names: Vec<String> =
        items.iter().filter_map(|item| item.pointer("/metadata/name")?.as_str().map(str::to_owned)).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_are_counted_from_one_page() {
        let list = json!({"metadata": {"remainingItemCount": 41}, "items": [{}]});
        assert_eq!(count(&list), Some(42));
        assert_eq!(count(&json!({})), None);
    }
}
