//! Helm's own record of a release: a Secret for every revision, which `helm list`, `helm history` and `helm get` read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::time::Timestamp;
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

/// A Helm release that the hub requests from the agent of a cluster; answered once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseRequest {
    /// Namespace of the release.
    pub namespace: String,
    /// Name of the release.
    pub name: String,
    /// When it was requested; distinguishes repeated requests for the same release.
    pub requested_at: Timestamp,
}

/// What a cluster has of a requested release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "camelCase")]
pub enum HelmReleaseReading {
    /// Its newest deployed revision, or the newest one if none is deployed.
    Found(InstalledHelmRelease),
    /// There is no revision of it.
    Missing,
    /// The release can't be read: the agent has no right to, or its record is damaged or too large.
    Unreadable {
        /// The reason, as a sentence.
        message: String,
    },
}

/// The record of a revision of an installed release. The values may contain secrets, so they are not in its debug output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstalledHelmRelease {
    /// Number of the revision.
    pub revision: u32,
    /// Status as Helm writes it, such as `deployed`.
    pub status: String,
    /// The chart.
    pub chart: HelmChart,
    /// The values without the defaults of the chart, as `helm get values` prints them.
    pub values: Value,
}

impl std::fmt::Debug for InstalledHelmRelease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { revision, status, chart, .. } = self;
        let mut shown = f.debug_struct("InstalledHelmRelease");
        shown
            .field("revision", revision)
            .field("status", status)
            .field("chart", chart)
            .finish_non_exhaustive()
    }
}

/// An installed release for a user who considers to adopt it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseDetails {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Name of the release.
    pub name: String,
    /// Number of its revision.
    pub revision: u32,
    /// Status as Helm writes it, such as `deployed`.
    pub status: String,
    /// Name of its chart.
    pub chart_name: String,
    /// Version of its chart.
    pub chart_version: String,
    /// Its values without the defaults of the chart, as YAML; empty without any.
    pub values: String,
    /// The charts of the project with this name and version, such as `acme/web`. Registries have no list of their charts, so those in one
    /// are included only if the version is stored.
    pub charts: Vec<String>,
}

impl std::fmt::Debug for HelmReleaseDetails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HelmReleaseDetails({}/{}/{})", self.cluster, self.namespace, self.name)
    }
}

/// The adoption of an installed release by a new workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseAdoption {
    /// Name of the workload; empty for the name of the release.
    #[serde(default)]
    pub workload: String,
    /// The chart, such as `acme/web`; empty if the project has exactly one with the name and the version.
    #[serde(default)]
    pub chart: String,
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
