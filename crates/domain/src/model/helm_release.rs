//! Helm's own record of a release: a Secret for every revision, which `helm list`, `helm history` and `helm get` read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::object::ObjectRef;
use crate::model::chart_object::annotation;

/// Type of the Secrets.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";
/// Begin of the names of the Secrets.
const SECRET_NAME_PREFIX: &str = "sh.helm.release.v1.";
/// Annotations with which Helm marks the objects of a release.
const RELEASE_NAME_ANNOTATION: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE_ANNOTATION: &str = "meta.helm.sh/release-namespace";

/// What the record of a release says beside its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmRelease {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its chart.
    pub chart: HelmChart,
    /// The values without the defaults of the chart.
    pub values: Value,
}

/// A chart as a release names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChart {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Version of the application in it; may be empty.
    pub app_version: String,
    /// What it is; may be empty.
    pub description: String,
}

impl HelmRelease {
    /// Name of the Secret of a revision.
    pub fn secret_name(&self, revision: u32) -> String {
        format!("{SECRET_NAME_PREFIX}{}.v{revision}", self.name)
    }

    /// Whether this object is the Secret of a revision.
    pub fn is_revision(&self, object: &ObjectRef) -> bool {
        let revision = object.name.strip_prefix(SECRET_NAME_PREFIX).and_then(|rest| {
            let number = rest.strip_prefix(&self.name)?.strip_prefix(".v")?;
            number.parse::<u32>().ok()
        });
        object.kind == "Secret" && object.namespace == self.namespace && revision.is_some()
    }

    /// Whether Helm has marked this object as part of the release.
    pub fn owns(&self, object: &Value) -> bool {
        annotation(object, RELEASE_NAME_ANNOTATION) == self.name
            && annotation(object, RELEASE_NAMESPACE_ANNOTATION) == self.namespace
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kubernetes::object::object_ref;

    fn release() -> HelmRelease {
        let chart = HelmChart {
            name: "web".into(),
            version: "1.0.0".into(),
            app_version: String::new(),
            description: String::new(),
        };
        HelmRelease { name: "web".into(), namespace: "shop".into(), chart, values: json!({}) }
    }

    #[test]
    fn only_secrets_of_this_release_are_its_revisions() {
        let is_revision = |namespace: &str, name: &str| {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}});
            release().is_revision(&object_ref(&secret))
        };
        assert!(is_revision("shop", &release().secret_name(12)));
        for (namespace, name) in [
            ("other", "sh.helm.release.v1.web.v1"),
            ("shop", "sh.helm.release.v1.web-2.v1"),
            ("shop", "sh.helm.release.v1.web.vx"),
            ("shop", "web"),
        ] {
            assert!(!is_revision(namespace, name), "{namespace}/{name}");
        }
    }

    #[test]
    fn an_object_is_owned_if_both_annotations_name_the_release() {
        let object = |name: &str, namespace: &str| {
            json!({"metadata": {"annotations": {
                "meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}}})
        };
        assert!(release().owns(&object("web", "shop")));
        assert!(!release().owns(&object("web", "other")) && !release().owns(&object("api", "shop")));
        assert!(!release().owns(&json!({"metadata": {"name": "web"}})));
    }
}
