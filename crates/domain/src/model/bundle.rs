//! Bundles: the rendered manifests of one revision for one cluster, addressed by their content.
//!
//! The bytes of a bundle are canonical JSON (object keys sorted), so the same manifests give the same digest on every
//! machine and in the browser (P32), and a cluster whose bundle did not change receives no write.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::model::chart_object::is_chart_crd;
use crate::model::helm_release::HelmRelease;

/// Rendered manifests in apply order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Value>,
    /// The hooks of a chart, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Value>,
    /// The record of the Helm release, if one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm_release: Option<HelmRelease>,
}

/// API version of the envelopes in the bytes of a bundle.
const ENVELOPE_API_VERSION: &str = "flotilla.dev/v1alpha1";
/// Kind of the envelope of a hook.
const HOOK_KIND: &str = "ChartHook";
/// Kind of the envelope of the record of a Helm release.
const HELM_RELEASE_KIND: &str = "HelmRelease";

/// Kinds that own pods.
const POD_OWNERS: [&str; 7] =
    ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/// Whether objects of this kind run containers.
pub fn owns_pods(kind: &str) -> bool {
    kind == "Pod" || POD_OWNERS.contains(&kind)
}

/// Whether an object has a kind that is reserved for an envelope.
pub fn is_envelope(object: &Value) -> bool {
    is_envelope_of(object, HOOK_KIND) || is_envelope_of(object, HELM_RELEASE_KIND)
}

/// What the agent of a cluster is too old for, if it reports that no cluster serves the kind of an envelope: a sentence that says
/// what to do.
pub fn explain_unserved_envelope(message: &str) -> Option<String> {
    let kind = format!("({ENVELOPE_API_VERSION})");
    let kind = message.split_once(&kind)?.0.split_whitespace().last()?;
    let part = match kind {
        HOOK_KIND => "hooks of charts",
        HELM_RELEASE_KIND => "records of Helm releases",
        _ => "a part of this bundle",
    };
    Some(format!(
        "The agent of this cluster is of a version that does not know {part} ({kind}). Nothing is applied. Update the agent; it continues then."
    ))
}

fn is_envelope_of(object: &Value, kind: &str) -> bool {
    object["apiVersion"] == ENVELOPE_API_VERSION && object["kind"] == kind
}

/// The bytes are not a bundle.
#[derive(Debug, thiserror::Error)]
#[error("not a bundle: {0}")]
pub struct InvalidBundle(#[from] serde_json::Error);

impl Bundle {
    /// A bundle of these objects, sorted into apply order (stable within one rank).
    pub fn new(mut objects: Vec<Value>) -> Self {
        objects.sort_by_key(|object| apply_rank(object["kind"].as_str().unwrap_or_default()));
        Self { objects, hooks: Vec::new(), helm_release: None }
    }

    /// Whether an object runs containers.
    pub fn has_pods(&self) -> bool {
        self.objects.iter().any(|object| object["kind"].as_str().is_some_and(owns_pods))
    }

    /// The same bundle with these hooks of a chart, in the order in which they run.
    #[must_use]
    pub fn with_hooks(self, hooks: Vec<Value>) -> Self {
        Self { hooks, ..self }
    }

    /// The canonical bytes. Hooks and the record of a Helm release are in envelopes of kinds that no cluster serves: an agent that
    /// does not know them applies nothing of the bundle, instead of all at once.
    pub fn to_bytes(&self) -> Vec<u8> {
        let hook = |hook: &Value| {
            let name = &hook["metadata"]["name"];
            json!({"apiVersion": ENVELOPE_API_VERSION, "kind": HOOK_KIND, "metadata": {"name": name}, "object": hook})
        };
        let helm_release = self.helm_release.iter().map(|release| {
            json!({"apiVersion": ENVELOPE_API_VERSION, "kind": HELM_RELEASE_KIND, "metadata": {"name": release.name},
                "release": release})
        });
        let all = self.objects.iter().cloned().chain(self.hooks.iter().map(hook)).chain(helm_release);
        canonical_json(&Value::Array(all.collect()))
    }

    /// Parses the output of [`Bundle::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidBundle> {
        let mut bundle = Self::default();
        for mut object in serde_json::from_slice::<Vec<Value>>(bytes)? {
            if is_envelope_of(&object, HOOK_KIND) {
                bundle.hooks.push(object["object"].take());
            } else if is_envelope_of(&object, HELM_RELEASE_KIND) {
                bundle.helm_release = Some(serde_json::from_value(object["release"].take())?);
            } else {
                bundle.objects.push(object);
            }
        }
        Ok(bundle)
    }

    /// The digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        Digest::compute(&self.to_bytes())
    }

    /// The reference of each hook, in order.
    pub fn hook_refs(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.hooks.iter().map(object_ref)
    }

    /// The objects from the `crds/` folder of a chart.
    pub fn chart_crds(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.objects.iter().filter(|object| is_chart_crd(object)).map(object_ref)
    }

    /// The reference of each object, in order.
    pub fn object_refs(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.objects.iter().map(object_ref)
    }
}

/// The rank of a kind in apply order: dependencies come first (P15). Objects of one rank may be applied concurrently;
/// removal uses the reverse order.
pub fn apply_rank(kind: &str) -> u32 {
    match kind {
        "CustomResourceDefinition" => 0,
        "Namespace" => 1,
        "PriorityClass" | "StorageClass" | "RuntimeClass" | "IngressClass" | "ResourceQuota"
        | "LimitRange" => 2,
        "ServiceAccount" | "ConfigMap" | "Secret" => 3,
        "ClusterRole" | "Role" => 4,
        "ClusterRoleBinding" | "RoleBinding" => 5,
        "PersistentVolume" | "PersistentVolumeClaim" | "NetworkPolicy" => 6,
        "Service" => 7,
        "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "ReplicaSet"
        | "ReplicationController"
        | "Pod"
        | "Job"
        | "CronJob" => 8,
        "Ingress" | "HorizontalPodAutoscaler" | "PodDisruptionBudget" => 10,
        "APIService" | "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => 11,
        _ => 9,
    }
}

/// The value as JSON with sorted keys and no white space.
pub(crate) fn canonical_json(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_canonical(value, &mut bytes);
    bytes
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push(b'{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(Value::String(key.clone()).to_string().as_bytes());
                out.push(b':');
                write_canonical(&map[key], out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        plain => out.extend_from_slice(plain.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p32_the_digest_does_not_depend_on_the_order_of_keys() {
        let a: Value = serde_json::from_str(r#"{"kind":"ConfigMap","data":{"b":"1","a":"2"}}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"data":{"a":"2","b":"1"},"kind":"ConfigMap"}"#).unwrap();
        assert_eq!(Bundle::new(vec![a]).digest(), Bundle::new(vec![b]).digest());
    }

    #[test]
    fn s4_4_an_agent_that_knows_no_hooks_finds_a_kind_that_no_cluster_serves() {
        let object = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
        let bundle = Bundle::new(vec![object("ConfigMap", "a")]).with_hooks(vec![object("Job", "migrate")]);
        let sent: Vec<Value> = serde_json::from_slice(&bundle.to_bytes()).unwrap();
        assert_eq!(
            sent.iter().map(|object| object["kind"].as_str().unwrap()).collect::<Vec<_>>(),
            ["ConfigMap", "ChartHook"]
        );
        assert_eq!(sent[1]["metadata"]["name"], "migrate");
        assert_eq!(Bundle::from_bytes(&bundle.to_bytes()).unwrap(), bundle);
    }

    #[test]
    fn p15_dependencies_are_applied_first() {
        let object = |kind: &str| json!({"kind": kind, "metadata": {"name": "x"}});
        let bundle = Bundle::new(vec![
            object("Deployment"),
            object("Widget"),
            object("Service"),
            object("Namespace"),
            object("ConfigMap"),
        ]);
        let kinds: Vec<_> = bundle.object_refs().map(|object| object.kind).collect();
        assert_eq!(kinds, ["Namespace", "ConfigMap", "Service", "Deployment", "Widget"]);
        let back = Bundle::from_bytes(&bundle.to_bytes()).unwrap();
        assert_eq!(back.digest(), bundle.digest());
    }
}
