//! What an agent found out about the machines and the namespaces of its cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Namespaces that a hub keeps of one cluster; the rest is not looked at by guard rails.
pub const NAMESPACES_MAX: usize = 2_000;

/// Service accounts with pull secrets that are told of one namespace; of a namespace with more, none are.
pub const PULL_ACCOUNTS_MAX: usize = 100;

/// Nodes of one architecture and operating system, added up. Only nodes that take pods count: ready and not cordoned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// Architecture, such as `amd64`.
    pub architecture: String,
    /// Operating system, such as `linux`.
    pub os: String,
    /// How many there are.
    pub nodes: u32,
    /// How many of them take pods.
    pub ready: u32,
    /// Cores that pods can have on all that take pods.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub cpu: Quantity,
    /// Bytes that pods can have on all that take pods.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub memory: Quantity,
    /// Cores of the largest node: a pod that asks for more fits nowhere.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub largest_cpu: Quantity,
    /// Bytes of the largest node.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub largest_memory: Quantity,
}

/// A namespace as guard rails see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NamespaceFacts {
    /// Its name.
    pub name: String,
    /// The pod security level that it enforces: `privileged`, `baseline` or `restricted`; empty when it says nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pod_security: String,
    /// What may be used in it, and what is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// Its service accounts that bring pull secrets along, by name; `None` when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_accounts: Option<Vec<String>>,
    /// What the agent may write here of what it may not write everywhere, as [`kind_name`]; `None` when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Vec<String>>,
}

/// A kind with its group, as in `ClusterRole.rbac.authorization.k8s.io`.
pub fn kind_name(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// A resource quota.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// Its name.
    pub name: String,
    /// What may be used, by resource, such as `requests.cpu` or `pods`.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, String>))]
    pub hard: BTreeMap<String, Quantity>,
    /// What is used.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, String>))]
    pub used: BTreeMap<String, Quantity>,
}

impl Quota {
    /// What is left of each resource; less than nothing when the quota was lowered below what is used.
    pub fn left(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.hard.iter().map(|(resource, hard)| {
            (resource.as_str(), *hard - self.used.get(resource).copied().unwrap_or_default())
        })
    }
}

/// The minor version in `v1.33.4`, `1.27+` or `v1.30.0-gke.100`; `None` for anything else.
pub fn minor_version(version: &str) -> Option<u32> {
    let rest = version.trim().trim_start_matches('v').strip_prefix("1.")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_clusters_are_read_whatever_their_vendor_adds() {
        for (text, expected) in [
            ("v1.33.4", Some(33)),
            ("1.27+", Some(27)),
            ("v1.30.0-gke.100", Some(30)),
            ("", None),
            ("v2.0", None),
        ] {
            assert_eq!(minor_version(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_left_of_a_quota_is_what_is_not_used() {
        let q = |text| Quantity::parse(text).unwrap();
        let quota = Quota {
            name: "web".into(),
            hard: [("pods".to_owned(), q("10")), ("requests.cpu".to_owned(), q("2"))].into(),
            used: [("requests.cpu".to_owned(), q("800m"))].into(),
        };
        assert_eq!(quota.left().collect::<Vec<_>>(), [("pods", q("10")), ("requests.cpu", q("1200m"))]);
    }
}
