//! References to Kubernetes objects.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The API groups of Kubernetes itself with a dot in their name. No workload brings a kind of them.
const BUILT_IN_GROUPS: [&str; 18] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Group, version, kind, namespace and name of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// The `apiVersion` field: `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Splits an `apiVersion` field into group and version.
    pub fn split_api_version(api_version: &str) -> (&str, &str) {
        api_version.split_once('/').unwrap_or(("", api_version))
    }

    /// Whether it is a Kubernetes Job.
    pub fn is_job(&self) -> bool {
        self.is_kind("batch", "Job")
    }

    /// Whether it is of this group and kind, in any version; the group of the core API is empty.
    pub fn is_kind(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether both refer to the same object, whatever their API versions.
    pub fn is_same_object(&self, other: &Self) -> bool {
        (&self.group, &self.kind, &self.namespace, &self.name)
            == (&other.group, &other.kind, &other.namespace, &other.name)
    }
}

/// `Kind namespace/name`, the form every message uses.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// Whether an API group is one of Kubernetes itself. Definitions have others, and so have further API servers.
pub fn is_built_in_group(group: &str) -> bool {
    !group.contains('.') || BUILT_IN_GROUPS.contains(&group)
}

/// The reference of an object; missing parts are empty.
pub fn object_ref(object: &Value) -> ObjectRef {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = ObjectRef::split_api_version(text("/apiVersion"));
    ObjectRef {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: text("/kind").to_owned(),
        namespace: text("/metadata/namespace").to_owned(),
        name: text("/metadata/name").to_owned(),
    }
}
