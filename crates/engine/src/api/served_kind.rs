//! URL paths of kinds and objects in the Kubernetes API.

use std::fmt::Write as _;

use super::percent_encoding::encode_segment;

/// One kind as served by the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServedKind {
    pub group: String,
    pub version: String,
    pub kind: String,
    /// Plural name in URLs.
    pub plural: String,
    pub namespaced: bool,
    /// Whether it has the status subresource.
    pub has_status: bool,
}

impl ServedKind {
    /// A kind with a known plural and scope, and a status.
    pub(crate) fn new(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            has_status: true,
        }
    }

    /// URL path of the collection: in one namespace, or in all if `namespace` is empty.
    pub(crate) fn collection_path(&self, namespace: &str) -> String {
        let mut url = match self.group.as_str() {
            "" => format!("/api/{}", encode_segment(&self.version)),
            group => format!("/apis/{}/{}", encode_segment(group), encode_segment(&self.version)),
        };
        if self.namespaced && !namespace.is_empty() {
            let _ = write!(url, "/namespaces/{}", encode_segment(namespace));
        }
        let _ = write!(url, "/{}", encode_segment(&self.plural));
        url
    }

    /// URL path of one object.
    pub(crate) fn object_path(&self, namespace: &str, name: &str) -> String {
        // Without a namespace the path would be invalid; kubectl uses `default` too.
        let namespace = if self.namespaced && namespace.is_empty() { "default" } else { namespace };
        format!("{}/{}", self.collection_path(namespace), encode_segment(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_version_namespace_and_name() {
        let pods = ServedKind::new("", "v1", "Pod", "pods", true);
        assert_eq!(pods.collection_path(""), "/api/v1/pods");
        assert_eq!(pods.object_path("web", "a"), "/api/v1/namespaces/web/pods/a");
        let roles = ServedKind::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        assert_eq!(roles.object_path("web", "a:b"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b");
    }

    #[test]
    fn a_name_cannot_change_the_path() {
        let pods = ServedKind::new("", "v1", "Pod", "pods", true);
        assert_eq!(pods.object_path("web", "../x?y"), "/api/v1/namespaces/web/pods/..%2Fx%3Fy");
        assert_eq!(pods.object_path("..", "."), "/api/v1/namespaces/%2E%2E/pods/%2E");
    }
}
