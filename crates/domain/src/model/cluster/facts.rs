//! Facts that an agent reports about the nodes and namespaces of its cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kubernetes::quantity::Quantity;

/// Most namespaces stored per cluster; guard rails ignore the rest.
pub const MAX_NAMESPACES: usize = 2_000;

/// Most service accounts with pull secrets reported per namespace; a namespace with more reports none.
pub const MAX_PULL_ACCOUNTS: usize = 100;

/// Most Helm releases reported per namespace; a namespace with more reports none.
pub const MAX_HELM_RELEASES: usize = 500;

/// Nodes of one architecture and operating system. Capacity covers only schedulable nodes: ready and not cordoned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// Architecture, such as `amd64`.
    pub architecture: String,
    /// Operating system, such as `linux`.
    pub os: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of schedulable nodes.
    pub ready: u32,
    /// Allocatable cores of all schedulable nodes.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub cpu: Quantity,
    /// Allocatable bytes of memory of all schedulable nodes.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub memory: Quantity,
    /// Allocatable cores of the largest node: a pod that requests more fits on no node.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub largest_cpu: Quantity,
    /// Allocatable bytes of memory of the largest node.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub largest_memory: Quantity,
}

/// What the schedulable nodes of a cluster offer. How much of it is used is not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocatable {
    /// Number of these nodes.
    pub schedulable: u32,
    /// Their allocatable cores.
    pub cpu: Quantity,
    /// Their allocatable bytes of memory.
    pub memory: Quantity,
}

impl Allocatable {
    /// The sum of some pools.
    pub fn sum(pools: &[NodePool]) -> Self {
        Self {
            schedulable: pools.iter().map(|pool| pool.ready).sum(),
            cpu: pools.iter().map(|pool| pool.cpu).sum(),
            memory: pools.iter().map(|pool| pool.memory).sum(),
        }
    }
}

/// Facts of a namespace that guard rails use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamespaceFacts {
    /// Its name.
    pub name: String,
    /// The pod security level that it enforces: `privileged`, `baseline` or `restricted`; empty when none is set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_security: String,
    /// Its resource quotas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// Names of its service accounts that have pull secrets; `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_accounts: Option<Vec<String>>,
    /// Kinds that the agent may write here without cluster-wide permission, as [`qualified_kind`]; `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Vec<String>>,
    /// Its Helm releases by name; `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm_releases: Option<Vec<HelmReleaseFacts>>,
}

/// A release of Helm in a namespace of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseFacts {
    /// Its name.
    pub name: String,
    /// Its newest revision.
    pub revision: u32,
    /// Helm's status of this revision: `deployed`, `failed`, `pending-upgrade` …
    pub status: String,
    /// The workload that recorded this revision; empty if Helm or another tool did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
}

/// A kind with its group, as in `ClusterRole.rbac.authorization.k8s.io`.
pub fn qualified_kind(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// A resource quota.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// Limits by resource, such as `requests.cpu` or `pods`.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, String>))]
    pub hard: BTreeMap<String, Quantity>,
    /// Current use by resource.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, String>))]
    pub used: BTreeMap<String, Quantity>,
}

impl Quota {
    /// The remainder of each resource; negative when the limit was lowered below the current use.
    pub fn remaining(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.hard.iter().map(|(resource, hard)| {
            (resource.as_str(), *hard - self.used.get(resource).copied().unwrap_or_default())
        })
    }
}

/// The minor version in `v1.33.4`, `1.27+` or `v1.30.0-gke.100`; `None` for anything else.
pub fn parse_minor_version(version: &str) -> Option<u32> {
    let rest = version.trim().trim_start_matches('v').strip_prefix("1.")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_versions_with_vendor_suffixes_are_parsed() {
        for (text, expected) in [
            ("v1.33.4", Some(33)),
            ("1.27+", Some(27)),
            ("v1.30.0-gke.100", Some(30)),
            ("", None),
            ("v2.0", None),
        ] {
            assert_eq!(parse_minor_version(text), expected, "{text}");
        }
    }

    #[test]
    fn the_remainder_of_a_quota_is_its_limit_minus_its_use() {
        let q = |text| Quantity::parse(text).unwrap();
        let quota = Quota {
            name: "web".into(),
            hard: [("pods".to_owned(), q("10")), ("requests.cpu".to_owned(), q("2"))].into(),
            used: [("requests.cpu".to_owned(), q("800m"))].into(),
        };
        assert_eq!(quota.remaining().collect::<Vec<_>>(), [("pods", q("10")), ("requests.cpu", q("1200m"))]);
    }

    #[test]
    fn what_the_nodes_offer_is_the_sum_of_their_pools() {
        let q = |text| Quantity::parse(text).unwrap();
        let pool =
            |ready, cpu, memory| NodePool { ready, cpu: q(cpu), memory: q(memory), ..NodePool::default() };
        let all = Allocatable::sum(&[pool(1, "4", "8Gi"), pool(2, "500m", "1Gi")]);
        assert_eq!(all, Allocatable { schedulable: 3, cpu: q("4500m"), memory: q("9Gi") });
        assert_eq!(Allocatable::sum(&[]), Allocatable::default());
    }
}
