//! Bundles: the rendered manifests of one revision for one cluster, addressed by their content.
//!
//! The bytes of a bundle are canonical JSON (object keys sorted), so the same manifests give the same digest on every
//! machine and in the browser (P32), and a cluster whose bundle did not change receives no write.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::{ObjectRef, object_ref};

/// Rendered manifests in apply order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// The objects, in the order in which they are applied.
    pub objects: Vec<Value>,
}

/// The bytes are not a bundle.
#[derive(Debug, thiserror::Error)]
#[error("not a bundle: {0}")]
pub struct InvalidBundle(#[from] serde_json::Error);

impl Bundle {
    /// A bundle of these objects, sorted into apply order (stable within one rank).
    pub fn new(mut objects: Vec<Value>) -> Self {
        objects.sort_by_key(|object| apply_rank(object["kind"].as_str().unwrap_or_default()));
        Self { objects }
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        canonical_json(&Value::Array(self.objects.clone()))
    }

    /// Parses the output of [`Bundle::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidBundle> {
        Ok(Self { objects: serde_json::from_slice(bytes)? })
    }

    /// The digest of the canonical bytes.
    pub fn digest(&self) -> Digest {
        Digest::compute(&self.to_bytes())
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
    use serde_json::json;

    use super::*;

    #[test]
    fn p32_the_digest_does_not_depend_on_the_order_of_keys() {
        let a: Value = serde_json::from_str(r#"{"kind":"ConfigMap","data":{"b":"1","a":"2"}}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"data":{"a":"2","b":"1"},"kind":"ConfigMap"}"#).unwrap();
        assert_eq!(Bundle::new(vec![a]).digest(), Bundle::new(vec![b]).digest());
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
