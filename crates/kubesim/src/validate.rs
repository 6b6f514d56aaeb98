//! The main checks of the real server, with its wording and the field each cause points at.

mod immutable;
pub(crate) mod metadata;
mod pod;

use serde_json::{Map, Value};

use crate::kinds::Kind;
use crate::object::{at, int, list, map, text};
use crate::schema::{Node, Ty};
use crate::status::Cause;

/// Kinds whose description requires fields that the server itself does not.
const LENIENT: [&str; 7] =
    ["EndpointSlice", "PriorityClass", "ControllerRevision", "Event", "Endpoints", "Scale", "Node"];

/// Every objection to a new object.
pub(crate) fn create(kind: &Kind, object: &Value, ty: Ty<'_>) -> Vec<Cause> {
    let mut causes = metadata::check(kind, object);
    body(kind, object, ty, &mut causes);
    causes
}

/// Every objection to replacing `old` by `new`.
pub(crate) fn update(kind: &Kind, old: &Value, new: &Value, ty: Ty<'_>) -> Vec<Cause> {
    let mut causes = metadata::check(kind, new);
    immutable::check(kind, old, new, &mut causes);
    if causes.is_empty() {
        body(kind, new, ty, &mut causes);
    }
    causes
}

fn body(kind: &Kind, object: &Value, ty: Ty<'_>, causes: &mut Vec<Cause>) {
    if !LENIENT.contains(&&*kind.kind) || kind.custom {
        required(object, ty, String::new(), causes);
    }
    if kind.custom {
        return;
    }
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => workload(object, causes),
        ("batch", "Job") => {
            pod::check(object, "spec.template.spec", Some(&["OnFailure", "Never"]), causes);
        }
        ("batch", "CronJob") => {
            let path = "spec.jobTemplate.spec.template.spec";
            pod::check(object, path, Some(&["OnFailure", "Never"]), causes);
            if let Some(schedule) = at(object, "spec.schedule")
                && crate::clockwork::cronjob::Schedule::parse(schedule.as_str().unwrap_or("")).is_none()
            {
                let detail = "expected exactly 5 fields, found something else";
                causes.push(Cause::invalid("spec.schedule", schedule, detail));
            }
        }
        ("", "Pod") => pod::check(object, "spec", None, causes),
        ("", "Service") => service(object, causes),
        ("", "ConfigMap" | "Secret") => keys(object, causes),
        ("autoscaling", "HorizontalPodAutoscaler") => scaler(object, causes),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object, causes),
        _ => {}
    }
}

/// Fields the description requires and that are missing; status is the controllers' business.
fn required(value: &Value, ty: Ty<'_>, path: String, causes: &mut Vec<Cause>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (ty.node(), value) {
        (Node::Struct { fields, .. }, Value::Object(map)) => {
            for (key, field) in fields {
                let found = map.get(&**key);
                if found.is_none() && field.required {
                    causes.push(Cause::required(join(key), ""));
                }
                if let Some(found) = found
                    && !(path.is_empty() && matches!(&**key, "status" | "metadata"))
                {
                    required(found, ty.sibling(field.node), join(key), causes);
                }
            }
        }
        (Node::Map { .. }, Value::Object(map)) => {
            for (key, value) in map {
                required(value, ty.elem(), format!("{path}[{key}]"), causes);
            }
        }
        (Node::List { .. }, Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                required(item, ty.elem(), format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

fn workload(object: &Value, causes: &mut Vec<Cause>) {
    pod::check(object, "spec.template.spec", Some(&["Always"]), causes);
    if let Some(replicas) = int(object, "spec.replicas").filter(|r| *r < 0) {
        causes.push(Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0"));
    }
    let Some(selector) = at(object, "spec.selector") else { return };
    let empty = Map::new();
    if map(selector, "matchLabels").is_none_or(Map::is_empty) && list(selector, "matchExpressions").is_empty()
    {
        causes.push(Cause::invalid("spec.selector", selector, "empty selector is invalid for deployment"));
        return;
    }
    let labels = map(object, "spec.template.metadata.labels").unwrap_or(&empty);
    if !crate::selector::LabelSelector::of(selector).matches(labels) {
        let shown = Value::Object(labels.clone());
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", &shown, detail));
    }
}

fn service(object: &Value, causes: &mut Vec<Cause>) {
    let kind = text(object, "spec.type");
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !TYPES.contains(&kind) {
        causes.push(Cause::unsupported("spec.type", &kind.into(), &TYPES));
    }
    let ports = list(object, "spec.ports");
    if ports.is_empty() && kind != "ExternalName" && text(object, "spec.clusterIP") != "None" {
        causes.push(Cause::required("spec.ports", ""));
    }
    if kind == "ExternalName" && text(object, "spec.externalName").is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    }
    let mut seen = std::collections::HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        if ports.len() > 1 && text(port, "name").is_empty() {
            causes.push(Cause::required(format!("spec.ports[{index}].name"), ""));
        }
        if int(port, "port").is_some_and(|p| !(1..=65535).contains(&p)) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(format!("spec.ports[{index}].port"), &port["port"], detail));
        }
        if let Some(number) = int(port, "nodePort").filter(|p| *p != 0 && !(30000..=32767).contains(p)) {
            let detail = "provided port is not in the valid range. The range of valid ports is 30000-32767";
            causes.push(Cause::invalid(format!("spec.ports[{index}].nodePort"), &number.into(), detail));
        }
        let name = text(port, "name");
        if !name.is_empty() && !seen.insert(name) {
            causes.push(Cause::duplicate(format!("spec.ports[{index}].name"), &name.into()));
        }
    }
}

fn keys(object: &Value, causes: &mut Vec<Cause>) {
    for field in ["data", "binaryData"] {
        for key in map(object, field).into_iter().flat_map(Map::keys) {
            let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if key.is_empty() || key.len() > 253 || !key.chars().all(good) {
                let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                    (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(Cause::invalid(format!("{field}[{key}]"), &key.as_str().into(), detail));
            }
        }
    }
}

fn scaler(object: &Value, causes: &mut Vec<Cause>) {
    let (min, max) = (int(object, "spec.minReplicas").unwrap_or(1), int(object, "spec.maxReplicas"));
    let Some(max) = max else { return };
    if max < 1 {
        causes.push(Cause::invalid("spec.maxReplicas", &max.into(), "must be greater than 0"));
    } else if max < min {
        let detail = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &max.into(), detail));
    }
}

fn definition(object: &Value, causes: &mut Vec<Cause>) {
    let wanted = format!("{}.{}", text(object, "spec.names.plural"), text(object, "spec.group"));
    let name = crate::object::name(object);
    if name != wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &name.into(), detail));
    }
    let versions = list(object, "spec.versions");
    if versions.iter().filter(|v| crate::object::flag(v, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &versions.to_vec().into(), detail));
    }
    for (index, version) in versions.iter().enumerate() {
        if at(version, "schema.openAPIV3Schema").is_none() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(field, "schemas are required"));
        }
    }
}
