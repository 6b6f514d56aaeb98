//! Which kinds are namespaced.
//!
//! In order: the definitions in the bundle, the facts of the cluster, the table of Kubernetes' own cluster-scoped kinds.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::cluster::ClusterFacts;

/// Kubernetes' own cluster-scoped kinds, as `group/kind`, sorted.
const CLUSTER_SCOPED: &[&str] = &[
    "/ComponentStatus",
    "/Namespace",
    "/Node",
    "/PersistentVolume",
    "admissionregistration.k8s.io/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/CustomResourceDefinition",
    "apiregistration.k8s.io/APIService",
    "authentication.k8s.io/SelfSubjectReview",
    "authentication.k8s.io/TokenReview",
    "authorization.k8s.io/SelfSubjectAccessReview",
    "authorization.k8s.io/SelfSubjectRulesReview",
    "authorization.k8s.io/SubjectAccessReview",
    "certificates.k8s.io/CertificateSigningRequest",
    "certificates.k8s.io/ClusterTrustBundle",
    "extensions/PodSecurityPolicy",
    "flowcontrol.apiserver.k8s.io/FlowSchema",
    "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
    "internal.apiserver.k8s.io/StorageVersion",
    "networking.k8s.io/IPAddress",
    "networking.k8s.io/IngressClass",
    "networking.k8s.io/ServiceCIDR",
    "node.k8s.io/RuntimeClass",
    "policy/PodSecurityPolicy",
    "rbac.authorization.k8s.io/ClusterRole",
    "rbac.authorization.k8s.io/ClusterRoleBinding",
    "resource.k8s.io/DeviceClass",
    "resource.k8s.io/ResourceSlice",
    "scheduling.k8s.io/PriorityClass",
    "storage.k8s.io/CSIDriver",
    "storage.k8s.io/CSINode",
    "storage.k8s.io/StorageClass",
    "storage.k8s.io/VolumeAttachment",
    "storage.k8s.io/VolumeAttributesClass",
    "storagemigration.k8s.io/StorageVersionMigration",
];

/// The known scopes of kinds.
pub(crate) struct KindScopes {
    namespaced: HashMap<(String, String), bool>,
}

impl KindScopes {
    /// Collects scopes from the definitions among `objects` and from facts of a cluster, of which the last ones take precedence.
    pub(crate) fn from_objects<'a>(
        objects: impl Iterator<Item = &'a Value>,
        facts: &[&ClusterFacts],
    ) -> Self {
        let mut namespaced = HashMap::new();
        for api in facts.iter().flat_map(|facts| &facts.apis) {
            namespaced.insert((api.group.clone(), api.kind.clone()), api.namespaced);
        }
        for object in objects {
            if let Some((kind, is_namespaced)) = definition_scope(object) {
                namespaced.insert(kind, is_namespaced);
            }
        }
        Self { namespaced }
    }

    /// Whether objects of this kind are namespaced; unknown kinds are assumed to be.
    pub(crate) fn is_namespaced(&self, group: &str, kind: &str) -> bool {
        let key = (group.to_owned(), kind.to_owned());
        self.namespaced
            .get(&key)
            .copied()
            .unwrap_or_else(|| CLUSTER_SCOPED.binary_search(&format!("{group}/{kind}").as_str()).is_err())
    }
}

/// The group and kind that a `CustomResourceDefinition` defines, and whether the kind is namespaced.
fn definition_scope(object: &Value) -> Option<((String, String), bool)> {
    if object["kind"] != "CustomResourceDefinition" {
        return None;
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = (text("/spec/group")?.to_owned(), text("/spec/names/kind")?.to_owned());
    Some((kind, text("/spec/scope")? == "Namespaced"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::cluster::ApiResource;

    #[test]
    fn the_table_is_sorted_for_binary_search() {
        assert!(CLUSTER_SCOPED.is_sorted());
    }

    #[test]
    fn the_scope_is_read_from_the_bundle_the_cluster_or_the_table() {
        let crd = json!({"kind": "CustomResourceDefinition",
            "spec": {"group": "example.org", "names": {"kind": "Planet"}, "scope": "Cluster"}});
        let api = |kind: &str, namespaced| ApiResource {
            group: "example.org".into(),
            version: "v1".into(),
            kind: kind.into(),
            namespaced,
            denied: false,
        };
        let facts = ClusterFacts { apis: vec![api("Moon", false)], ..ClusterFacts::default() };
        let scopes = KindScopes::from_objects([crd].iter(), &[&facts]);
        for (group, kind, namespaced) in [
            ("example.org", "Planet", false),
            ("example.org", "Moon", false),
            ("example.org", "Comet", true),
            ("", "Namespace", false),
            ("", "Pod", true),
            ("rbac.authorization.k8s.io", "ClusterRole", false),
        ] {
            assert_eq!(scopes.is_namespaced(group, kind), namespaced, "{kind}");
        }
    }
}
