//! What the hub should know of the cluster: version, kinds, nodes, namespaces, classes (G401 to G408).

use std::collections::BTreeMap;
use std::time::Duration;

use domain::cluster::{ApiResource, ClusterFacts, NamespaceFacts, NodePool, Quota, facts};

use crate::api::{Api, Resource};
use crate::discovery::Discovery;
use crate::error::Error;
use crate::observe::{Cluster, Land, NodeSeen};
use crate::rights::{Known, Rights};

/// How long the first lists may take until the facts are told without them.
const FIRST_LISTS: Duration = Duration::from_secs(10);

/// The facts as they are seen now. What the agent may not read is left out; it only sharpens advice.
///
/// # Errors
/// When the version can't be read.
pub(crate) async fn read(
    api: &Api,
    discovery: &Discovery,
    seen: &Cluster,
    rights: &Rights,
) -> Result<ClusterFacts, Error> {
    let version = api.get("/version").await?;
    let land = &seen.land;
    // Too late is no fault: who is slow is told about when it comes.
    let _ = tokio::time::timeout(FIRST_LISTS, land.settled()).await;
    let kinds = discovery.kinds();
    let rights = rights.known(api, &kinds, &names(seen)).await;
    let denies = |kind: &Resource| rights.as_ref().is_some_and(|known| known.denies(&kind.group, &kind.kind));
    let mut apis: Vec<ApiResource> = kinds
        .iter()
        .map(|resource| ApiResource {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
            denied: denies(resource),
        })
        .collect();
    apis.sort();
    apis.dedup();
    let nodes: Option<Vec<NodeSeen>> =
        land.nodes.all().map(|rows| rows.into_iter().map(|(_, node)| node).collect());
    let count = nodes.as_ref().map(|nodes| u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    let nodes = nodes.unwrap_or_default();
    let (storage_classes, default_storage_class) = classes(land.storage.all());
    let (ingress_classes, default_ingress_class) = classes(land.ingress.all());
    Ok(ClusterFacts {
        kubernetes_version: version["gitVersion"].as_str().unwrap_or_default().to_owned(),
        nodes: count,
        apis,
        storage_classes,
        default_storage_class,
        ingress_classes,
        default_ingress_class,
        provider: most_common(&nodes, |node| &node.provider),
        region: most_common(&nodes, |node| &node.region),
        zones: zones(&nodes),
        node_pools: pools(&nodes),
        rights_known: rights.is_some(),
        namespaces: namespaces(seen, land, rights.as_ref()),
    })
}

/// Names, and the default one.
fn classes(rows: Option<Vec<((String, String), bool)>>) -> (Vec<String>, String) {
    let rows = rows.unwrap_or_default();
    let default = rows.iter().find(|(_, is_default)| *is_default).map(|((_, name), _)| name.clone());
    (rows.into_iter().map(|((_, name), _)| name).collect(), default.unwrap_or_default())
}

/// What most nodes say; of equals the first in the alphabet, so that it does not flap.
fn most_common(nodes: &[NodeSeen], of: impl Fn(&NodeSeen) -> &str) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for said in nodes.iter().map(&of).filter(|said| !said.is_empty()) {
        *counts.entry(said).or_default() += 1;
    }
    let most = counts.into_iter().min_by_key(|(_, count)| std::cmp::Reverse(*count));
    most.map_or("", |(said, _)| said).to_owned()
}

fn zones(nodes: &[NodeSeen]) -> Vec<String> {
    let zones = nodes.iter().map(|node| node.zone.as_str()).filter(|zone| !zone.is_empty());
    zones.collect::<std::collections::BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

fn pools(nodes: &[NodeSeen]) -> Vec<NodePool> {
    let mut pools = BTreeMap::<(&str, &str), NodePool>::new();
    for node in nodes {
        let pool = pools.entry((&node.architecture, &node.os)).or_default();
        pool.nodes += 1;
        if node.takes_pods {
            pool.ready += 1;
            pool.cpu = pool.cpu + node.cpu;
            pool.memory = pool.memory + node.memory;
            pool.largest_cpu = pool.largest_cpu.max(node.cpu);
            pool.largest_memory = pool.largest_memory.max(node.memory);
        }
    }
    let named = pools.into_iter().map(|((architecture, os), pool)| NodePool {
        architecture: architecture.to_owned(),
        os: os.to_owned(),
        ..pool
    });
    let mut pools: Vec<NodePool> = named.collect();
    pools.sort_by_key(|pool| std::cmp::Reverse(pool.nodes));
    pools
}

/// Names of the namespaces that are told.
pub(crate) fn names(seen: &Cluster) -> Vec<String> {
    seen.namespaces().into_iter().take(facts::NAMESPACES_MAX).map(|(name, _)| name).collect()
}

fn namespaces(seen: &Cluster, land: &Land, rights: Option<&Known>) -> Vec<NamespaceFacts> {
    let mut quotas = BTreeMap::<String, Vec<Quota>>::new();
    for ((namespace, _), quota) in land.quotas.all().unwrap_or_default() {
        quotas.entry(namespace).or_default().push(quota);
    }
    let mut pulling = BTreeMap::<String, Vec<String>>::new();
    let accounts = land.pulling.all();
    let known = accounts.is_some();
    for ((namespace, name), ()) in accounts.unwrap_or_default() {
        pulling.entry(namespace).or_default().push(name);
    }
    seen.namespaces()
        .into_iter()
        .take(facts::NAMESPACES_MAX)
        .map(|(name, pod_security)| NamespaceFacts {
            quotas: quotas.remove(&name).unwrap_or_default(),
            granted: rights.and_then(|known| known.granted(&name)),
            pull_accounts: known
                .then(|| pulling.remove(&name).unwrap_or_default())
                .filter(|told| told.len() <= facts::PULL_ACCOUNTS_MAX),
            name,
            pod_security,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use domain::quantity::Quantity;

    use super::*;

    #[test]
    fn s4_7_a_cluster_is_where_most_of_its_nodes_are() {
        let node = |region: &str, zone: &str| NodeSeen {
            provider: "aws".into(),
            region: region.into(),
            zone: zone.into(),
            ..NodeSeen::default()
        };
        let nodes = [node("", ""), node("us-east-1", "c"), node("eu-west-1", "b"), node("eu-west-1", "a")];
        assert_eq!(most_common(&nodes, |node| &node.region), "eu-west-1");
        assert_eq!(most_common(&nodes, |node| &node.provider), "aws");
        assert_eq!(most_common(&nodes[..1], |node| &node.region), "");
        assert_eq!(zones(&nodes), ["a", "b", "c"]);
    }

    #[test]
    fn nodes_are_added_up_by_architecture_and_only_those_that_take_pods_offer_room() {
        let node = |architecture: &str, takes_pods, cpu| NodeSeen {
            architecture: architecture.into(),
            os: "linux".into(),
            takes_pods,
            cpu: Quantity::whole(cpu),
            memory: Quantity::whole(cpu * 4),
            ..NodeSeen::default()
        };
        let pools = pools(&[
            node("arm64", true, 2),
            node("amd64", true, 4),
            node("amd64", true, 8),
            node("amd64", false, 64),
        ]);
        let [amd, arm] = &pools[..] else { panic!("{pools:?}") };
        assert_eq!((&*amd.architecture, amd.nodes, amd.ready), ("amd64", 3, 2));
        assert_eq!(
            (amd.cpu, amd.largest_cpu, amd.largest_memory),
            (Quantity::whole(12), Quantity::whole(8), Quantity::whole(32))
        );
        assert_eq!((&*arm.architecture, arm.nodes), ("arm64", 1));
    }
}
