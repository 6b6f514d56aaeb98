//! The reported facts that rendering depends on.
//!
//! A revision is rendered for a cluster with the facts of its first rendering there, until the next publish: an upgrade of the
//! cluster or a new kind changes nothing that was published.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{ApiResource, ClusterFacts, NodePool};
use crate::text::name_list::join_first;

/// Most kinds that a description of changes names.
const MAX_NAMED_KINDS: usize = 3;

/// The facts of a cluster that charts and templates read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderFacts {
    /// Version of the API server.
    kubernetes_version: String,
    /// The default storage class; empty when there is none.
    #[serde(default)]
    default_storage_class: String,
    /// The default ingress class; empty when there is none.
    #[serde(default)]
    default_ingress_class: String,
    /// Architectures of the nodes, the most common first.
    #[serde(default)]
    architectures: Vec<String>,
    /// Every kind that the API serves, without permissions.
    #[serde(default)]
    apis: Vec<ApiResource>,
}

impl RenderFacts {
    /// Those of these facts that rendering depends on. Nodes and permissions are left out; the location is rendered from
    /// confirmed facts.
    pub fn from_reported(facts: &ClusterFacts) -> Self {
        Self {
            kubernetes_version: facts.kubernetes_version.clone(),
            default_storage_class: facts.default_storage_class.clone(),
            default_ingress_class: facts.default_ingress_class.clone(),
            architectures: facts.architectures(),
            apis: facts.apis.iter().map(|api| ApiResource { denied: false, ..api.clone() }).collect(),
        }
    }

    /// Facts that render as these ones.
    pub fn into_facts(self) -> ClusterFacts {
        let pool = |architecture| NodePool { architecture, ..NodePool::default() };
        ClusterFacts {
            kubernetes_version: self.kubernetes_version,
            default_storage_class: self.default_storage_class,
            default_ingress_class: self.default_ingress_class,
            node_pools: self.architectures.into_iter().map(pool).collect(),
            apis: self.apis,
            ..ClusterFacts::default()
        }
    }

    /// The bytes that are stored under their digest.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Serialization of a struct of texts does not fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The facts of stored bytes; `None` if they can't be read.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// What changed from these facts to `now`, such as `Kubernetes v1.33.4 → v1.33.5`; empty if nothing did.
    pub fn describe_changes(&self, now: &Self) -> String {
        let text = |name: &str, before: &str, after: &str| {
            (before != after).then(|| format!("{name} {} → {}", or_none(before), or_none(after)))
        };
        let parts = [
            text("Kubernetes", &self.kubernetes_version, &now.kubernetes_version),
            text("default storage class", &self.default_storage_class, &now.default_storage_class),
            text("default ingress class", &self.default_ingress_class, &now.default_ingress_class),
            text("architectures", &self.architectures.join(" "), &now.architectures.join(" ")),
            describe_kinds("new", &now.kinds_without(self)),
            describe_kinds("no longer served", &self.kinds_without(now)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The kinds that `other` does not serve.
    fn kinds_without(&self, other: &Self) -> Vec<String> {
        let served: HashSet<&ApiResource> = other.apis.iter().collect();
        let missing = self.apis.iter().filter(|api| !served.contains(api));
        let name = |api: &ApiResource| match api.group.as_str() {
            "" => format!("{} {}", api.version, api.kind),
            group => format!("{group}/{} {}", api.version, api.kind),
        };
        missing.map(name).collect()
    }
}

const fn or_none(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

/// `new: example.com/v1 Widget and 2 more`.
fn describe_kinds(what: &str, kinds: &[String]) -> Option<String> {
    (!kinds.is_empty()).then(|| format!("{what}: {}", join_first(kinds, MAX_NAMED_KINDS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(kind: &str) -> ApiResource {
        ApiResource {
            group: "example.com".into(),
            version: "v1".into(),
            kind: kind.into(),
            namespaced: true,
            denied: false,
        }
    }

    fn facts(version: &str, kinds: &[&str]) -> ClusterFacts {
        let pool = |architecture: &str| NodePool { architecture: architecture.into(), ..NodePool::default() };
        ClusterFacts {
            kubernetes_version: version.into(),
            node_pools: vec![pool("amd64"), pool("arm64"), pool("amd64")],
            apis: kinds.iter().copied().map(api).collect(),
            default_storage_class: "fast".into(),
            ..ClusterFacts::default()
        }
    }

    #[test]
    fn stored_facts_render_as_the_reported_ones() {
        let reported = facts("v1.33.4", &["Widget"]);
        let stored = RenderFacts::from_reported(&reported).to_bytes();
        let read = RenderFacts::from_bytes(&stored).unwrap().into_facts();
        assert!(read.has_same_render_inputs(&reported));
        assert_eq!(read.architectures(), ["amd64", "arm64"]);
        assert_eq!(RenderFacts::from_bytes(b"{"), None);
    }

    #[test]
    fn permissions_and_nodes_do_not_change_the_facts_of_a_rendering() {
        let before = facts("v1.33.4", &["Widget"]);
        let mut after = ClusterFacts { nodes: Some(7), ..before.clone() };
        after.apis[0].denied = true;
        let bytes = |facts: &ClusterFacts| RenderFacts::from_reported(facts).to_bytes();
        assert_eq!(bytes(&before), bytes(&after));
    }

    #[test]
    fn changes_are_named_with_the_values_before_and_after_and_the_first_kinds() {
        let render = |version: &str, kinds: &[&str]| RenderFacts::from_reported(&facts(version, kinds));
        let before = render("v1.33.4", &["Widget"]);
        assert_eq!(before.describe_changes(&before), "");
        assert_eq!(before.describe_changes(&render("v1.33.5", &["Widget"])), "Kubernetes v1.33.4 → v1.33.5");
        let after = RenderFacts {
            default_storage_class: String::new(),
            ..render("v1.33.4", &["Anvil", "Bolt", "Cog", "Dial"])
        };
        assert_eq!(
            before.describe_changes(&after),
            "default storage class fast → none, new: example.com/v1 Anvil, example.com/v1 Bolt, example.com/v1 Cog and 1 \
             more, no longer served: example.com/v1 Widget"
        );
    }
}
