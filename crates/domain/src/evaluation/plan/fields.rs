//! Properties of fields by their names: merge keys of lists, quantities, values that the server drops.
//!
//! The names are those of the published API types. They apply to unknown kinds too, because kinds with pod templates use the
//! same field names.

use serde_json::Value;

/// The field at the top of an object that only controllers write.
pub const STATUS_FIELD: &str = "status";
/// The metadata that only the API server writes.
pub const SERVER_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"];
/// The fields to which the server assigns a value, and the desired value, as JSON, that asks for it.
pub const SERVER_ASSIGNED: [(&str, &str); 2] = [("clusterIP", "\"\""), ("nodePort", "0")];

/// The position of a value, as far as it determines the meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldContext<'a> {
    /// Kind of the object.
    pub kind: &'a str,
    /// The field that contains it; for a list item, the field of the list.
    pub field: &'a str,
    /// The parent of that field; empty at the top.
    pub parent: &'a str,
    /// Number of fields above it; 1 for `spec`.
    pub depth: usize,
}

impl<'a> FieldContext<'a> {
    /// The object itself.
    pub fn root(kind: &'a str) -> Self {
        Self { kind, field: "", parent: "", depth: 0 }
    }

    /// A field of a value here.
    pub fn child(self, field: &'a str) -> Self {
        Self { kind: self.kind, field, parent: self.field, depth: self.depth + 1 }
    }

    /// Whether the API server owns this field: never desired, never compared.
    pub fn is_server_owned(self) -> bool {
        match (self.depth, self.parent) {
            (1, _) => self.field == STATUS_FIELD,
            (2, "metadata") => SERVER_METADATA.contains(&self.field),
            _ => false,
        }
    }

    /// Whether this is a map of opaque strings: no rule applies inside.
    pub fn is_string_map(self) -> bool {
        (self.depth == 1 && matches!(self.field, "data" | "stringData" | "binaryData" | "parameters"))
            || matches!(self.field, "labels" | "annotations" | "matchLabels" | "nodeSelector")
    }

    /// Whether a map here is applied as a whole, so that a key of another manager is removed.
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

    /// Whether the API server drops this scalar when it is zero, false or empty. Fields that the server stores (most, such
    /// as `allowPrivilegeEscalation: false`) are not listed: their absence is a difference.
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

    /// Whether the server assigns a value in place of this desired scalar.
    pub fn is_server_assigned(self, value: &Value) -> bool {
        let is_requested = |request: &str| value.to_string().as_str() == request;
        SERVER_ASSIGNED.iter().any(|&(field, request)| field == self.field && is_requested(request))
    }

    /// Whether an empty map here has a meaning, so that its absence is a difference.
    pub fn is_significant_when_empty(self) -> bool {
        matches!(self.field, "emptyDir" | "podSelector" | "namespaceSelector")
    }

    /// The fields that identify the items of a list here by its name; none if such a list is replaced as a whole.
    pub fn merge_keys(self, items: &[Value]) -> &'static [(&'static str, Option<&'static str>)] {
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
