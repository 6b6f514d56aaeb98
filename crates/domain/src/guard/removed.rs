//! Kinds that Kubernetes removed or added, by version (G402). A cluster's own facts come first; this gives the hint.

use super::scene::Scene;
use crate::finding::Finding;
use crate::fix::Fix;
use crate::manifest::Manifest;

/// Versions of one kind, or of all kinds in a group.
pub(super) struct Change {
    group: &'static str,
    version: &'static str,
    /// The kinds; empty for every kind of the group version.
    kinds: &'static [&'static str],
    /// The minor version of Kubernetes 1 that no longer serves it.
    pub removed: u32,
    /// What to write instead.
    pub instead: &'static str,
}

const fn gone(
    removed: u32,
    group: &'static str,
    version: &'static str,
    kinds: &'static [&'static str],
    instead: &'static str,
) -> Change {
    Change { group, version, kinds, removed, instead }
}

const WORKLOADS: &str = "Use apps/v1; spec.selector is required there.";
const INGRESS: &str =
    "Use networking.k8s.io/v1: a backend is service.name and service.port, and pathType is required.";
const V1: &str = "Use v1 of the same group.";

const REMOVED: &[Change] = &[
    gone(16, "extensions", "v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], WORKLOADS),
    gone(16, "apps", "v1beta1", &[], WORKLOADS),
    gone(16, "apps", "v1beta2", &[], WORKLOADS),
    gone(16, "extensions", "v1beta1", &["NetworkPolicy"], "Use networking.k8s.io/v1."),
    gone(
        16,
        "extensions",
        "v1beta1",
        &["PodSecurityPolicy"],
        "There is no replacement; use Pod Security Admission labels on the namespace.",
    ),
    gone(22, "extensions", "v1beta1", &["Ingress"], INGRESS),
    gone(22, "networking.k8s.io", "v1beta1", &["Ingress", "IngressClass"], INGRESS),
    gone(
        22,
        "admissionregistration.k8s.io",
        "v1beta1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        V1,
    ),
    gone(
        22,
        "apiextensions.k8s.io",
        "v1beta1",
        &[],
        "Use apiextensions.k8s.io/v1; every version needs a schema there.",
    ),
    gone(22, "apiregistration.k8s.io", "v1beta1", &[], V1),
    gone(22, "authentication.k8s.io", "v1beta1", &["TokenReview"], V1),
    gone(22, "authorization.k8s.io", "v1beta1", &[], V1),
    gone(
        22,
        "certificates.k8s.io",
        "v1beta1",
        &["CertificateSigningRequest"],
        "Use certificates.k8s.io/v1; signerName is required there.",
    ),
    gone(22, "coordination.k8s.io", "v1beta1", &["Lease"], V1),
    gone(22, "rbac.authorization.k8s.io", "v1beta1", &[], V1),
    gone(22, "scheduling.k8s.io", "v1beta1", &["PriorityClass"], V1),
    gone(22, "storage.k8s.io", "v1beta1", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"], V1),
    gone(25, "batch", "v1beta1", &["CronJob"], "Use batch/v1 (same fields)."),
    gone(25, "discovery.k8s.io", "v1beta1", &["EndpointSlice"], V1),
    gone(25, "events.k8s.io", "v1beta1", &["Event"], V1),
    gone(
        25,
        "autoscaling",
        "v2beta1",
        &["HorizontalPodAutoscaler"],
        "Use autoscaling/v2; a metric's target has a type there.",
    ),
    gone(
        25,
        "policy",
        "v1beta1",
        &["PodDisruptionBudget"],
        "Use policy/v1 (same fields; an empty selector means every pod there).",
    ),
    gone(
        25,
        "policy",
        "v1beta1",
        &["PodSecurityPolicy"],
        "There is no replacement; use Pod Security Admission labels on the namespace.",
    ),
    gone(25, "node.k8s.io", "v1beta1", &["RuntimeClass"], V1),
    gone(26, "autoscaling", "v2beta2", &["HorizontalPodAutoscaler"], "Use autoscaling/v2 (same fields)."),
    gone(26, "flowcontrol.apiserver.k8s.io", "v1beta1", &[], V1),
    gone(27, "storage.k8s.io", "v1beta1", &["CSIStorageCapacity"], V1),
    gone(29, "flowcontrol.apiserver.k8s.io", "v1beta2", &[], V1),
    gone(32, "flowcontrol.apiserver.k8s.io", "v1beta3", &[], V1),
];

/// Group, version, kind, and the minor version of Kubernetes 1 that first served it.
const ADDED: &[(&str, &str, &str, u32)] = &[
    ("autoscaling", "v2", "HorizontalPodAutoscaler", 23),
    ("batch", "v1", "CronJob", 21),
    ("networking.k8s.io", "v1", "Ingress", 19),
    ("networking.k8s.io", "v1", "IngressClass", 19),
    ("policy", "v1", "PodDisruptionBudget", 21),
];

/// What these were replaced by without any change of their fields: group, version, kinds, and the `apiVersion` to write.
/// Kinds whose fields or defaults changed are not among them.
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

/// The fix that writes the `apiVersion` of today, where all else can stay as it is.
pub(super) fn renamed(manifest: &Manifest) -> Option<Fix> {
    let name = manifest.object_ref();
    let same = |(group, version, kinds, _): &&(&str, &str, &[&str], &str)| {
        (*group, *version) == (&*name.group, &*name.version) && kinds.contains(&&*name.kind)
    };
    let (.., today) = RENAMED.iter().find(same)?;
    // An empty selector meant no pod once, and means every pod now.
    let selector = manifest.object.pointer("/spec/selector").and_then(serde_json::Value::as_object);
    let selects = selector.is_some_and(|selector| !selector.is_empty());
    if name.kind == "PodDisruptionBudget" && !selects {
        return None;
    }
    manifest.replaced("/apiVersion", &name.api_version(), today).map(Fix::replace)
}

/// G402 without any cluster: kinds that newer clusters no longer serve. A note, as an older one may be meant.
pub(super) fn versions(scene: &Scene<'_>) -> Vec<Finding> {
    let gone = scene.objects.iter().filter_map(|subject| {
        let name = &subject.name;
        let change = removal(&name.group, &name.version, &name.kind)?;
        let message = format!(
            "{} {} was removed in Kubernetes 1.{}; newer clusters refuse {}.",
            name.api_version(),
            name.kind,
            change.removed,
            subject.shown
        );
        Some(subject.note("G402", "/apiVersion", message, change.instead).mended(renamed(subject.manifest)))
    });
    gone.collect()
}

/// When this kind was removed, and what to use instead.
pub(super) fn removal(group: &str, version: &str, kind: &str) -> Option<&'static Change> {
    REMOVED.iter().find(|change| {
        (change.group, change.version) == (group, version)
            && (change.kinds.is_empty() || change.kinds.contains(&kind))
    })
}

/// The minor version that first served this kind, where old clusters lack it.
pub(super) fn added(group: &str, version: &str, kind: &str) -> Option<u32> {
    ADDED.iter().find(|(g, v, k, _)| (*g, *v, *k) == (group, version, kind)).map(|added| added.3)
}
