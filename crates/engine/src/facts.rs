//! The cluster facts reported to the hub: version, kinds, nodes, namespaces, classes (G401 to G408).

use std::collections::BTreeMap;
use std::time::Duration;

use domain::cluster::{ApiResource, ClusterFacts, HelmReleaseFacts, NamespaceFacts, NodePool, Quota, facts};

use crate::api::{ApiClient, ServedKind};
use crate::discovery::Discovery;
use crate::error::Error;
use crate::observe::{ClusterResources, ClusterState, HelmRevision, NodeSummary, list_nodes};
use crate::options::Options;
use crate::permissions::{PermissionCache, Permissions};

/// Time limit for the first lists; after it the facts are reported without them.
const FIRST_LISTS_TIMEOUT: Duration = Duration::from_secs(10);

/// The current facts. Resources that the agent may not read are omitted; they only refine findings.
///
/// # Errors
/// The version can't be read.
pub(crate) async fn read(
    api: &ApiClient,
    discovery: &Discovery,
    cluster_state: &ClusterState,
    rights: &PermissionCache,
) -> Result<ClusterFacts, Error> {
    let version = api.get("/version").await?;
    let land = &cluster_state.resources;
    // A list that arrives later signals changed facts, so a timeout is not an error.
    let _ = tokio::time::timeout(FIRST_LISTS_TIMEOUT, land.wait_for_responses()).await;
    let kinds = discovery.kinds();
    let rights = rights.get_or_read(api, &kinds, &namespace_names(cluster_state)).await;
    let denies =
        |kind: &ServedKind| rights.as_ref().is_some_and(|known| known.is_denied(&kind.group, &kind.kind));
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
    let nodes: Option<Vec<NodeSummary>> =
        land.nodes.rows().map(|rows| rows.into_iter().map(|(_, node)| node).collect());
    let (storage_classes, default_storage_class) = class_names(
        land.storage_classes
            .rows()
            .map(|rows| rows.into_iter().map(|(key, class)| (key, class.is_default)).collect()),
    );
    let (ingress_classes, default_ingress_class) = class_names(land.ingress_classes.rows());
    Ok(ClusterFacts {
        kubernetes_version: version["gitVersion"].as_str().unwrap_or_default().to_owned(),
        apis,
        storage_classes,
        default_storage_class,
        ingress_classes,
        default_ingress_class,
        permissions_known: rights.is_some(),
        namespaces: namespace_facts(cluster_state, land, rights.as_ref()),
        ..node_facts(nodes)
    })
}

/// The version and the nodes of a cluster, for the user who decides whether it may join. What can't be read is omitted.
pub async fn read_registration_facts(client: kube::Client, options: &Options) -> ClusterFacts {
    let api = ApiClient::new(client, options);
    let version = match api.get("/version").await {
        Ok(version) => version["gitVersion"].as_str().unwrap_or_default().to_owned(),
        Err(error) => {
            tracing::warn!(%error, "the registration contains no facts of the cluster: its version can't be read");
            return ClusterFacts::default();
        }
    };
    let nodes = list_nodes(&api).await;
    let nodes = nodes.inspect_err(|error| {
        tracing::warn!(%error, "the registration does not contain the location of the cluster: its nodes can't be listed");
    });
    ClusterFacts { kubernetes_version: version, ..node_facts(nodes.ok()) }
}

/// The facts that follow from the nodes; `None` when they could not be listed.
fn node_facts(nodes: Option<Vec<NodeSummary>>) -> ClusterFacts {
    let count = nodes.as_ref().map(|nodes| u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    let nodes = nodes.unwrap_or_default();
    ClusterFacts {
        nodes: count,
        provider: most_common(&nodes, |node| &node.provider),
        region: most_common(&nodes, |node| &node.region),
        zones: zones(&nodes),
        node_pools: node_pools(&nodes),
        ..ClusterFacts::default()
    }
}

/// Names, and the default one.
fn class_names(rows: Option<Vec<((String, String), bool)>>) -> (Vec<String>, String) {
    let rows = rows.unwrap_or_default();
    let default = rows.iter().find(|(_, is_default)| *is_default).map(|((_, name), _)| name.clone());
    (rows.into_iter().map(|((_, name), _)| name).collect(), default.unwrap_or_default())
}

/// The most frequent non-empty value over the nodes; of equally frequent ones the first in alphabetical order, so that
/// the result is stable.
fn most_common(nodes: &[NodeSummary], value_of: impl Fn(&NodeSummary) -> &str) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for value in nodes.iter().map(&value_of).filter(|value| !value.is_empty()) {
        *counts.entry(value).or_default() += 1;
    }
    let most = counts.into_iter().min_by_key(|(_, count)| std::cmp::Reverse(*count));
    most.map_or("", |(value, _)| value).to_owned()
}

fn zones(nodes: &[NodeSummary]) -> Vec<String> {
    let zones = nodes.iter().map(|node| node.zone.as_str()).filter(|zone| !zone.is_empty());
    zones.collect::<std::collections::BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

fn node_pools(nodes: &[NodeSummary]) -> Vec<NodePool> {
    let mut pools = BTreeMap::<(&str, &str), NodePool>::new();
    for node in nodes {
        let pool = pools.entry((&node.architecture, &node.os)).or_default();
        pool.nodes += 1;
        if node.is_schedulable {
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

/// Names of the reported namespaces.
pub(crate) fn namespace_names(cluster_state: &ClusterState) -> Vec<String> {
    cluster_state.active_namespaces().into_iter().take(facts::MAX_NAMESPACES).map(|(name, _)| name).collect()
}

fn namespace_facts(
    cluster_state: &ClusterState,
    land: &ClusterResources,
    rights: Option<&Permissions>,
) -> Vec<NamespaceFacts> {
    let mut quotas = BTreeMap::<String, Vec<Quota>>::new();
    for ((namespace, _), quota) in land.quotas.rows().unwrap_or_default() {
        quotas.entry(namespace).or_default().push(quota);
    }
    let mut pulling = BTreeMap::<String, Vec<String>>::new();
    let helm_revisions = land.helm_revisions.rows();
    let are_releases_known = helm_revisions.is_some();
    let mut helm_releases = BTreeMap::<String, Vec<HelmReleaseFacts>>::new();
    for ((namespace, _), revision) in helm_revisions.unwrap_or_default() {
        add_helm_revision(helm_releases.entry(namespace).or_default(), revision);
    }
    let accounts = land.pull_accounts.rows();
    let is_known = accounts.is_some();
    for ((namespace, name), ()) in accounts.unwrap_or_default() {
        pulling.entry(namespace).or_default().push(name);
    }
    cluster_state
        .active_namespaces()
        .into_iter()
        .take(facts::MAX_NAMESPACES)
        .map(|(name, pod_security)| NamespaceFacts {
            quotas: quotas.remove(&name).unwrap_or_default(),
            granted: rights.and_then(|known| known.granted_kinds(&name)),
            pull_accounts: is_known
                .then(|| pulling.remove(&name).unwrap_or_default())
                .filter(|names| names.len() <= facts::MAX_PULL_ACCOUNTS),
            helm_releases: are_releases_known
                .then(|| helm_releases.remove(&name).unwrap_or_default())
                .filter(|releases| releases.len() <= facts::MAX_HELM_RELEASES),
            name,
            pod_security,
        })
        .collect()
}

/// Adds a revision to the releases of its namespace, sorted by name; of a release, the newest one stays.
fn add_helm_revision(releases: &mut Vec<HelmReleaseFacts>, found: HelmRevision) {
    let HelmRevision { release: name, revision, status, workload } = found;
    let facts = HelmReleaseFacts { name, revision, status, workload };
    match releases.binary_search_by(|other| other.name.cmp(&facts.name)) {
        Ok(at) if releases[at].revision < facts.revision => releases[at] = facts,
        Ok(_) => {}
        Err(at) => releases.insert(at, facts),
    }
}

#[cfg(test)]
mod tests {
    use domain::quantity::Quantity;

    use super::*;

    #[test]
    fn s4_7_region_and_provider_are_those_of_most_nodes() {
        let node = |region: &str, zone: &str| NodeSummary {
            provider: "aws".into(),
            region: region.into(),
            zone: zone.into(),
            ..NodeSummary::default()
        };
        let nodes = [node("", ""), node("us-east-1", "c"), node("eu-west-1", "b"), node("eu-west-1", "a")];
        assert_eq!(most_common(&nodes, |node| &node.region), "eu-west-1");
        assert_eq!(most_common(&nodes, |node| &node.provider), "aws");
        assert_eq!(most_common(&nodes[..1], |node| &node.region), "");
        assert_eq!(zones(&nodes), ["a", "b", "c"]);
    }

    #[test]
    fn nodes_are_summed_by_architecture_and_only_schedulable_ones_add_capacity() {
        let node = |architecture: &str, takes_pods, cpu| NodeSummary {
            architecture: architecture.into(),
            os: "linux".into(),
            is_schedulable: takes_pods,
            cpu: Quantity::from_units(cpu),
            memory: Quantity::from_units(cpu * 4),
            ..NodeSummary::default()
        };
        let pools = node_pools(&[
            node("arm64", true, 2),
            node("amd64", true, 4),
            node("amd64", true, 8),
            node("amd64", false, 64),
        ]);
        let [amd, arm] = &pools[..] else { panic!("{pools:?}") };
        assert_eq!((&*amd.architecture, amd.nodes, amd.ready), ("amd64", 3, 2));
        assert_eq!(
            (amd.cpu, amd.largest_cpu, amd.largest_memory),
            (Quantity::from_units(12), Quantity::from_units(8), Quantity::from_units(32))
        );
        assert_eq!((&*arm.architecture, arm.nodes), ("arm64", 1));
    }
}
