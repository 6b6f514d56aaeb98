//! Paths of the API: which URL a kind, a namespace and a name make.

use std::fmt::Write as _;

/// One kind as the API serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    /// The plural in URLs.
    pub plural: String,
    pub namespaced: bool,
}

impl Resource {
    /// A kind every cluster serves.
    pub(crate) fn known(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
        }
    }

    /// The URL of all its objects, or of those in one namespace.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let mut url = match self.group.as_str() {
            "" => format!("/api/{}", encoded(&self.version)),
            group => format!("/apis/{}/{}", encoded(group), encoded(&self.version)),
        };
        if self.namespaced && !namespace.is_empty() {
            let _ = write!(url, "/namespaces/{}", encoded(namespace));
        }
        let _ = write!(url, "/{}", encoded(&self.plural));
        url
    }

    /// The URL of one object.
    pub(crate) fn object(&self, namespace: &str, name: &str) -> String {
        // A namespaced object without a namespace would have the URL of nothing; `default` is what kubectl takes.
        let namespace = if self.namespaced && namespace.is_empty() { "default" } else { namespace };
        format!("{}/{}", self.collection(namespace), encoded(name))
    }
}

/// Names come from people: nothing in them may leave its place in the path.
fn encoded(text: &str) -> String {
    if text == "." || text == ".." {
        return text.replace('.', "%2E");
    }
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(byte as char)
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_namespaces_and_names_make_the_urls_of_the_api() {
        let pods = Resource::known("", "v1", "Pod", "pods", true);
        assert_eq!(pods.collection(""), "/api/v1/pods");
        assert_eq!(pods.object("web", "a"), "/api/v1/namespaces/web/pods/a");
        let roles = Resource::known("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        assert_eq!(roles.object("web", "a:b"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b");
    }

    #[test]
    fn a_name_cannot_leave_its_place_in_the_path() {
        let pods = Resource::known("", "v1", "Pod", "pods", true);
        assert_eq!(pods.object("web", "../x?y"), "/api/v1/namespaces/web/pods/..%2Fx%3Fy");
        assert_eq!(pods.object("..", "."), "/api/v1/namespaces/%2E%2E/pods/%2E");
    }
}
