//! API versions that Kubernetes removed or added, by minor version (G402). The facts of a cluster take precedence over
//! these tables.

use super::rule_context::RuleContext;
use crate::text::finding::{Finding, Fix};
use crate::text::manifest::Manifest;

/// The code of the findings about removed and later API versions.
pub const REMOVED_API_VERSION: &str = "G402";

/// A removed version of some kinds, or of all kinds of a group.
pub(super) struct RemovedVersion {
    group: &'static str,
    version: &'static str,
    /// The kinds; empty for every kind of the group version.
    kinds: &'static [&'static str],
    /// The minor version of Kubernetes 1 that removed it.
    pub removed: u32,
    /// The replacement, as a hint.
    pub replacement: &'static str,
}

const fn removed_version(
    removed: u32,
    group: &'static str,
    version: &'static str,
    kinds: &'static [&'static str],
    instead: &'static str,
) -> RemovedVersion {
    RemovedVersion { group, version, kinds, removed, replacement: instead }
}

const WORKLOADS: &str = "Use apps/v1; spec.selector is required there.";
const INGRESS: &str =
    "Use networking.k8s.io/v1: a backend is service.name and service.port, and pathType is required.";
const V1: &str = "Use v1 of the same group.";

const REMOVED: &[RemovedVersion] = &[
    removed_version(16, "extensions", "v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], WORKLOADS),
    removed_version(16, "apps", "v1beta1", &[], WORKLOADS),
    removed_version(16, "apps", "v1beta2", &[], WORKLOADS),
    removed_version(16, "extensions", "v1beta1", &["NetworkPolicy"], "Use networking.k8s.io/v1."),
    removed_version(
        16,
        "extensions",
        "v1beta1",
        &["PodSecurityPolicy"],
        "There is no replacement; use Pod Security Admission labels on the namespace.",
    ),
    removed_version(22, "extensions", "v1beta1", &["Ingress"], INGRESS),
    removed_version(22, "networking.k8s.io", "v1beta1", &["Ingress", "IngressClass"], INGRESS),
    removed_version(
        22,
        "admissionregistration.k8s.io",
        "v1beta1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        V1,
    ),
    removed_version(
        22,
        "apiextensions.k8s.io",
        "v1beta1",
        &[],
        "Use apiextensions.k8s.io/v1; every version needs a schema there.",
    ),
    removed_version(22, "apiregistration.k8s.io", "v1beta1", &[], V1),
    removed_version(22, "authentication.k8s.io", "v1beta1", &["TokenReview"], V1),
    removed_version(22, "authorization.k8s.io", "v1beta1", &[], V1),
    removed_version(
        22,
        "certificates.k8s.io",
        "v1beta1",
        &["CertificateSigningRequest"],
        "Use certificates.k8s.io/v1; signerName is required there.",
    ),
    removed_version(22, "coordination.k8s.io", "v1beta1", &["Lease"], V1),
    removed_version(22, "rbac.authorization.k8s.io", "v1beta1", &[], V1),
    removed_version(22, "scheduling.k8s.io", "v1beta1", &["PriorityClass"], V1),
    removed_version(
        22,
        "storage.k8s.io",
        "v1beta1",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
        V1,
    ),
    removed_version(25, "batch", "v1beta1", &["CronJob"], "Use batch/v1 (same fields)."),
    removed_version(25, "discovery.k8s.io", "v1beta1", &["EndpointSlice"], V1),
    removed_version(25, "events.k8s.io", "v1beta1", &["Event"], V1),
    removed_version(
        25,
        "autoscaling",
        "v2beta1",
        &["HorizontalPodAutoscaler"],
        "Use autoscaling/v2; a metric's target has a type there.",
    ),
    removed_version(
        25,
        "policy",
        "v1beta1",
        &["PodDisruptionBudget"],
        "Use policy/v1 (same fields; an empty selector means every pod there).",
    ),
    removed_version(
        25,
        "policy",
        "v1beta1",
        &["PodSecurityPolicy"],
        "There is no replacement; use Pod Security Admission labels on the namespace.",
    ),
    removed_version(25, "node.k8s.io", "v1beta1", &["RuntimeClass"], V1),
    removed_version(
        26,
        "autoscaling",
        "v2beta2",
        &["HorizontalPodAutoscaler"],
        "Use autoscaling/v2 (same fields).",
    ),
    removed_version(26, "flowcontrol.apiserver.k8s.io", "v1beta1", &[], V1),
    removed_version(27, "storage.k8s.io", "v1beta1", &["CSIStorageCapacity"], V1),
    removed_version(29, "flowcontrol.apiserver.k8s.io", "v1beta2", &[], V1),
    removed_version(32, "flowcontrol.apiserver.k8s.io", "v1beta3", &[], V1),
];

/// Group, version, kind, and the minor version of Kubernetes 1 that first served it.
const ADDED: &[(&str, &str, &str, u32)] = &[
    ("autoscaling", "v2", "HorizontalPodAutoscaler", 23),
    ("batch", "v1", "CronJob", 21),
    ("networking.k8s.io", "v1", "Ingress", 19),
    ("networking.k8s.io", "v1", "IngressClass", 19),
    ("policy", "v1", "PodDisruptionBudget", 21),
];

/// Removed versions with a replacement that has the same fields and defaults: group, version, kinds, and the new
/// `apiVersion`.
const RENAMED: &[(&str, &str, &[&str], &str)] = &[
    ("apps", "v1beta2", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"], "apps/v1"),
    ("autoscaling", "v2beta2", &["HorizontalPodAutoscaler"], "autoscaling/v2"),
    ("batch", "v1beta1", &["CronJob"], "batch/v1"),
    ("coordination.k8s.io", "v1beta1", &["Lease"], "coordination.k8s.io/v1"),
    ("extensions", "v1beta1", &["NetworkPolicy"], "networking.k8s.io/v1"),
    ("networking.k8s.io", "v1beta1", &["IngressClass"], "networking.k8s.io/v1"),
    ("node.k8s.io", "v1beta1", &["RuntimeClass"], "node.k8s.io/v1"),
    ("policy", "v1beta1", &["PodDisruptionBudget"], "policy/v1"),
    (
        "rbac.authorization.k8s.io",
        "v1beta1",
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
        "rbac.authorization.k8s.io/v1",
    ),
    ("scheduling.k8s.io", "v1beta1", &["PriorityClass"], "scheduling.k8s.io/v1"),
    (
        "storage.k8s.io",
        "v1beta1",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
        "storage.k8s.io/v1",
    ),
    ("storage.k8s.io", "v1beta1", &["CSIStorageCapacity"], "storage.k8s.io/v1"),
];

/// The fix that replaces the `apiVersion`, if nothing else has to change.
pub(super) fn api_version_fix(manifest: &Manifest) -> Option<Fix> {
    let name = manifest.object_ref();
    let is_same = |(group, version, kinds, _): &&(&str, &str, &[&str], &str)| {
        (*group, *version) == (&*name.group, &*name.version) && kinds.contains(&&*name.kind)
    };
    let (.., api_version) = RENAMED.iter().find(is_same)?;
    // An empty selector selects no pod in v1beta1 and every pod in v1.
    let selector = manifest.object.pointer("/spec/selector").and_then(serde_json::Value::as_object);
    let has_selector = selector.is_some_and(|selector| !selector.is_empty());
    if name.kind == "PodDisruptionBudget" && !has_selector {
        return None;
    }
    manifest.replacement_edit("/apiVersion", &name.api_version(), api_version).map(Fix::replacement)
}

/// G402 without cluster facts: kinds that newer clusters do not serve. A note, because the target may be older.
pub(super) fn versions(context: &RuleContext<'_>) -> Vec<Finding> {
    let findings = context.objects.iter().filter_map(|object| {
        let name = &object.name;
        let removal = find_removal(&name.group, &name.version, &name.kind)?;
        let message = format!(
            "{} {} was removed in Kubernetes 1.{}; newer clusters reject {}.",
            name.api_version(),
            name.kind,
            removal.removed,
            object.display_name
        );
        Some(
            object
                .note(REMOVED_API_VERSION, "/apiVersion", message, removal.replacement)
                .with_fix(api_version_fix(object.manifest)),
        )
    });
    findings.collect()
}

/// The removal of this kind, if it was removed.
pub(super) fn find_removal(group: &str, version: &str, kind: &str) -> Option<&'static RemovedVersion> {
    REMOVED.iter().find(|removal| {
        (removal.group, removal.version) == (group, version)
            && (removal.kinds.is_empty() || removal.kinds.contains(&kind))
    })
}

/// The minor version of Kubernetes 1 that first served this kind; `None` if the table does not contain it.
pub(super) fn added_in(group: &str, version: &str, kind: &str) -> Option<u32> {
    ADDED.iter().find(|(g, v, k, _)| (*g, *v, *k) == (group, version, kind)).map(|added| added.3)
}
