//! What is known of fields by their names: how lists merge, which values are quantities, what the server drops.
//!
//! These are the merge keys of the published API types. An object of an unknown kind is judged by the same names,
//! because kinds that hold pods spell them the same way.

use serde_json::Value;

use crate::path::Segment;

/// A field that tells a list's items apart, and what a missing one stands for.
type Key = (&'static str, Option<&'static str>);

/// Where a value stands, as far as its meaning hangs on that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// The field that holds it; of a list's item, the list's field.
    pub field: &'a str,
    /// The field that holds that one; empty at the top.
    pub parent: &'a str,
    /// Number of fields above it; 1 for `spec`.
    pub depth: usize,
}

impl<'a> Spot<'a> {
    /// The object itself.
    pub fn top(kind: &'a str) -> Self {
        Self { kind, field: "", parent: "", depth: 0 }
    }

    /// A field of a value here.
    pub fn child(self, field: &'a str) -> Self {
        Self { kind: self.kind, field, parent: self.field, depth: self.depth + 1 }
    }

    /// Whether the cluster keeps this field for itself: never wanted, never compared.
    pub fn is_the_clusters(self) -> bool {
        match (self.depth, self.parent) {
            (1, _) => self.field == "status",
            (2, "metadata") => matches!(
                self.field,
                "managedFields" | "resourceVersion" | "uid" | "generation" | "creationTimestamp" | "selfLink"
            ),
            _ => false,
        }
    }

    /// Whether this is a map of texts that mean nothing here: no rule looks inside.
    pub fn is_texts(self) -> bool {
        (self.depth == 1 && matches!(self.field, "data" | "stringData" | "binaryData" | "parameters"))
            || matches!(self.field, "labels" | "annotations" | "matchLabels" | "nodeSelector")
    }

    /// Whether a map here is applied as a whole, so that a key somebody added would go.
    pub fn is_atomic_map(self) -> bool {
        matches!(self.field, "matchLabels" | "nodeSelector")
            || (self.field == "selector"
                && self.parent == "spec"
                && matches!(self.kind, "Service" | "ReplicationController"))
    }

    /// Whether a scalar here is a quantity.
    pub fn is_quantity(self) -> bool {
        let maps = ["limits", "requests", "capacity", "hard", "overhead"];
        let range_maps = ["default", "defaultRequest", "min", "max", "maxLimitRequestRatio"];
        maps.contains(&self.parent)
            || (self.kind == "LimitRange" && range_maps.contains(&self.parent))
            || matches!(self.field, "storage" | "sizeLimit" | "divisor" | "averageValue")
            || (self.kind == "HorizontalPodAutoscaler" && self.parent == "target" && self.field == "value")
    }

    /// Whether the API server forgets this scalar when it is zero, false or empty. Fields that the server keeps (most
    /// are, as `allowPrivilegeEscalation: false`) are not here: that one is missing is a difference.
    pub fn is_dropped_when_zero(self, value: &Value) -> bool {
        match value {
            Value::String(text) if text.is_empty() && self.field == "value" => {
                matches!(self.parent, "env" | "tolerations")
            }
            Value::String(text) if text.is_empty() => matches!(
                self.field,
                "subPath"
                    | "namespace"
                    | "medium"
                    | "apiGroup"
                    | "workingDir"
                    | "hostname"
                    | "subdomain"
                    | "nodeName"
                    | "priorityClassName"
                    | "generateName"
                    | "prefix"
            ),
            Value::Bool(false) => matches!(
                self.field,
                "hostNetwork"
                    | "hostPID"
                    | "hostIPC"
                    | "stdin"
                    | "stdinOnce"
                    | "tty"
                    | "readOnly"
                    | "paused"
                    | "publishNotReadyAddresses"
                    | "unschedulable"
            ),
            Value::Number(number) if number.as_i64() == Some(0) => {
                matches!(self.field, "minReadySeconds" | "hostPort" | "initialDelaySeconds")
            }
            _ => false,
        }
    }

    /// Whether this wanted scalar leaves the choice to the server.
    pub fn is_left_to_the_server(self, value: &Value) -> bool {
        match self.field {
            "nodePort" => value.as_i64() == Some(0),
            "clusterIP" => value.as_str() == Some(""),
            _ => false,
        }
    }

    /// Whether an empty map here says something, so that one that is missing is a difference.
    pub fn means_something_empty(self) -> bool {
        matches!(self.field, "emptyDir" | "podSelector" | "namespaceSelector")
    }

    /// Whether a list here is a set: what others added stays.
    pub fn is_set(self) -> bool {
        self.parent == "metadata" && self.field == "finalizers"
    }

    /// The fields that tell the items of a list here apart; none if the list is applied as a whole.
    pub fn keys(self, items: &[Value]) -> &'static [Key] {
        let has = |key: &str| items.iter().all(|item| item.get(key).is_some());
        match self.field {
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "imagePullSecrets"
            | "resourceClaims"
            | "webhooks" => &[("name", None)],
            "secrets" if self.kind == "ServiceAccount" => &[("name", None)],
            // Ports of network policies and endpoints are applied as a whole.
            "ports" if matches!(self.kind, "NetworkPolicy" | "Endpoints" | "EndpointSlice") => &[],
            "ports" if has("containerPort") => &[("containerPort", None), ("protocol", Some("TCP"))],
            "ports" if has("port") => &[("port", None), ("protocol", Some("TCP"))],
            "volumeMounts" => &[("mountPath", None)],
            "volumeDevices" => &[("devicePath", None)],
            "hostAliases" => &[("ip", None)],
            "conditions" => &[("type", None)],
            "topologySpreadConstraints" => &[("topologyKey", None), ("whenUnsatisfiable", None)],
            "ownerReferences" => &[("uid", None)],
            _ => &[],
        }
    }
}

/// Items of a list with what tells them apart; `None` if the list has no keys, or an item lacks one, or two share one.
pub(super) fn by_key<'v>(items: &'v [Value], keys: &[Key]) -> Option<Vec<(Vec<String>, &'v Value)>> {
    if keys.is_empty() {
        return None;
    }
    let mut found: Vec<(Vec<String>, &Value)> = Vec::with_capacity(items.len());
    for item in items {
        let parts: Option<Vec<String>> = keys
            .iter()
            .map(|(key, default)| match item.get(key).and_then(crate::path::scalar) {
                Some(text) => Some(text.into_owned()),
                None => default.map(str::to_owned),
            })
            .collect();
        found.push((parts?, item));
    }
    let mut unique: Vec<&Vec<String>> = found.iter().map(|(key, _)| key).collect();
    unique.sort();
    unique.dedup();
    (unique.len() == found.len()).then_some(found)
}

/// The segment that names an item by the key fields it has.
pub(super) fn segment(item: &Value, keys: &[Key]) -> Segment {
    let has = keys.iter().filter_map(|(key, _)| {
        let text = item.get(key).and_then(crate::path::scalar)?;
        Some(((*key).to_owned(), text.into_owned()))
    });
    Segment::Item(has.collect())
}
