//! The main validations of the real server, with its wording and the field of each cause.

mod immutable;
pub(crate) mod metadata;
mod pod;
mod rbac;

use serde_json::{Map, Value};

use crate::kinds::ResourceKind;
use crate::object::{array_at, i64_at, map_at, str_at, value_at};
use crate::schema::{SchemaNode, TypeRef};
use crate::status::StatusCause;

/// Kinds whose OpenAPI description requires fields that the server does not require.
const KINDS_WITHOUT_REQUIRED_CHECK: [&str; 7] =
    ["EndpointSlice", "PriorityClass", "ControllerRevision", "Event", "Endpoints", "Scale", "Node"];

/// All violations of a new object.
pub(crate) fn validate_create(kind: &ResourceKind, object: &Value, ty: TypeRef<'_>) -> Vec<StatusCause> {
    let mut causes = metadata::check_metadata(kind, object);
    check_body(kind, object, ty, &mut causes);
    causes
}

/// All violations of replacing `old` by `new`.
pub(crate) fn validate_update(
    kind: &ResourceKind,
    old: &Value,
    new: &Value,
    ty: TypeRef<'_>,
) -> Vec<StatusCause> {
    let mut causes = metadata::check_metadata(kind, new);
    immutable::check_immutable(kind, old, new, &mut causes);
    if causes.is_empty() {
        check_body(kind, new, ty, &mut causes);
    }
    causes
}

fn check_body(kind: &ResourceKind, object: &Value, ty: TypeRef<'_>, causes: &mut Vec<StatusCause>) {
    if !KINDS_WITHOUT_REQUIRED_CHECK.contains(&&*kind.kind) || kind.is_custom {
        check_required(object, ty, String::new(), causes);
    }
    if kind.is_custom {
        return;
    }
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet") => check_workload(object, causes),
        ("batch", "Job") => {
            pod::check_pod_spec(object, "spec.template.spec", Some(&["OnFailure", "Never"]), causes);
        }
        ("batch", "CronJob") => check_cron_job(object, causes),
        ("policy", "PodDisruptionBudget") => check_budget(object, causes),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            rbac::check_role(object, kind.kind == "Role", causes);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            rbac::check_binding(object, kind.kind == "RoleBinding", causes);
        }
        ("", "Pod") => pod::check_pod_spec(object, "spec", None, causes),
        ("", "Service") => check_service(object, causes),
        ("", "ConfigMap" | "Secret") => check_keys(object, causes),
        ("scheduling.k8s.io", "PriorityClass") => check_priority_class(object, causes),
        ("autoscaling", "HorizontalPodAutoscaler") => check_autoscaler(object, causes),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => check_definition(object, causes),
        _ => {}
    }
}

/// Required fields that are missing; status is not checked, because controllers write it.
fn check_required(value: &Value, ty: TypeRef<'_>, path: String, causes: &mut Vec<StatusCause>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (ty.node(), value) {
        (SchemaNode::Struct { fields, .. }, Value::Object(map)) => {
            for (key, field) in fields {
                let found = map.get(&**key);
                if found.is_none() && field.required {
                    causes.push(StatusCause::required(join(key), ""));
                }
                if let Some(found) = found
                    && !(path.is_empty() && matches!(&**key, "status" | "metadata"))
                {
                    check_required(found, ty.sibling(field.node), join(key), causes);
                }
            }
        }
        (SchemaNode::Map { .. }, Value::Object(map)) => {
            for (key, value) in map {
                check_required(value, ty.elem(), format!("{path}[{key}]"), causes);
            }
        }
        (SchemaNode::List { .. }, Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                check_required(item, ty.elem(), format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

fn check_workload(object: &Value, causes: &mut Vec<StatusCause>) {
    let strategy = "spec.strategy.rollingUpdate";
    if str_at(object, "spec.strategy.type") == "Recreate" && value_at(object, strategy).is_some() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        causes.push(StatusCause::forbidden(strategy, detail));
    }
    pod::check_pod_spec(object, "spec.template.spec", Some(&["Always"]), causes);
    if let Some(replicas) = i64_at(object, "spec.replicas").filter(|r| *r < 0) {
        causes.push(StatusCause::invalid(
            "spec.replicas",
            &replicas.into(),
            "must be greater than or equal to 0",
        ));
    }
    let Some(selector) = value_at(object, "spec.selector") else { return };
    let empty = Map::new();
    if map_at(selector, "matchLabels").is_none_or(Map::is_empty)
        && array_at(selector, "matchExpressions").is_empty()
    {
        causes.push(StatusCause::invalid(
            "spec.selector",
            selector,
            "empty selector is invalid for deployment",
        ));
        return;
    }
    let labels = map_at(object, "spec.template.metadata.labels").unwrap_or(&empty);
    if !crate::selector::LabelRequirements::from_value(selector).matches(labels) {
        let shown = Value::Object(labels.clone());
        let detail = "`selector` does not match template `labels`";
        causes.push(StatusCause::invalid("spec.template.metadata.labels", &shown, detail));
    }
}

fn check_cron_job(object: &Value, causes: &mut Vec<StatusCause>) {
    let path = "spec.jobTemplate.spec.template.spec";
    pod::check_pod_spec(object, path, Some(&["OnFailure", "Never"]), causes);
    if let Some(schedule) = value_at(object, "spec.schedule")
        && crate::controllers::cronjob::CronSchedule::parse(schedule.as_str().unwrap_or("")).is_none()
    {
        let detail = "expected exactly 5 fields, found something else";
        causes.push(StatusCause::invalid("spec.schedule", schedule, detail));
    }
    const POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];
    let policy = str_at(object, "spec.concurrencyPolicy");
    if !POLICIES.contains(&policy) {
        causes.push(StatusCause::unsupported("spec.concurrencyPolicy", &policy.into(), &POLICIES));
    }
}

fn check_budget(object: &Value, causes: &mut Vec<StatusCause>) {
    let fields = ["spec.minAvailable", "spec.maxUnavailable"];
    if fields.iter().all(|field| value_at(object, field).is_some()) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        causes.push(StatusCause::invalid("spec", &object["spec"], detail));
    }
    for field in fields {
        let Some(value) = value_at(object, field) else { continue };
        let percent = value.as_str().map(|text| text.strip_suffix('%').and_then(|n| n.parse::<u32>().ok()));
        let detail = match percent {
            Some(None) => "a valid percent string must be a numeric string followed by an ending '%'",
            Some(Some(101..)) => "must not be greater than 100%",
            None if value.as_i64().is_some_and(|number| number < 0) => "must be greater than or equal to 0",
            _ => continue,
        };
        causes.push(StatusCause::invalid(field, value, detail));
    }
}

fn check_service(object: &Value, causes: &mut Vec<StatusCause>) {
    let kind = str_at(object, "spec.type");
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !TYPES.contains(&kind) {
        causes.push(StatusCause::unsupported("spec.type", &kind.into(), &TYPES));
    }
    let ports = array_at(object, "spec.ports");
    if ports.is_empty() && kind != "ExternalName" && str_at(object, "spec.clusterIP") != "None" {
        causes.push(StatusCause::required("spec.ports", ""));
    }
    if kind == "ExternalName" && str_at(object, "spec.externalName").is_empty() {
        causes.push(StatusCause::required("spec.externalName", ""));
    }
    let mut seen = std::collections::HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        if ports.len() > 1 && str_at(port, "name").is_empty() {
            causes.push(StatusCause::required(format!("spec.ports[{index}].name"), ""));
        }
        if i64_at(port, "port").is_some_and(|p| !(1..=65535).contains(&p)) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(StatusCause::invalid(format!("spec.ports[{index}].port"), &port["port"], detail));
        }
        if let Some(number) = i64_at(port, "nodePort").filter(|p| *p != 0 && !(30000..=32767).contains(p)) {
            let detail = "provided port is not in the valid range. The range of valid ports is 30000-32767";
            causes.push(StatusCause::invalid(
                format!("spec.ports[{index}].nodePort"),
                &number.into(),
                detail,
            ));
        }
        let name = str_at(port, "name");
        if !name.is_empty() && !seen.insert(name) {
            causes.push(StatusCause::duplicate(format!("spec.ports[{index}].name"), &name.into()));
        }
    }
}

fn check_keys(object: &Value, causes: &mut Vec<StatusCause>) {
    for field in ["data", "binaryData"] {
        for key in map_at(object, field).into_iter().flat_map(Map::keys) {
            let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if key.is_empty() || key.len() > 253 || !key.chars().all(good) {
                let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                    (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(StatusCause::invalid(format!("{field}[{key}]"), &key.as_str().into(), detail));
            }
        }
    }
}

fn check_autoscaler(object: &Value, causes: &mut Vec<StatusCause>) {
    let (min, max) = (i64_at(object, "spec.minReplicas").unwrap_or(1), i64_at(object, "spec.maxReplicas"));
    let Some(max) = max else { return };
    if max < 1 {
        causes.push(StatusCause::invalid("spec.maxReplicas", &max.into(), "must be greater than 0"));
    } else if max < min {
        let detail = "must be greater than or equal to `minReplicas`";
        causes.push(StatusCause::invalid("spec.maxReplicas", &max.into(), detail));
    }
}

/// Names of the system are those of its own classes, with their values.
fn check_priority_class(object: &Value, causes: &mut Vec<StatusCause>) {
    const SYSTEM: [(&str, i64); 2] =
        [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];
    const HIGHEST: i64 = 1_000_000_000;
    let (name, value) = (crate::object::name(object), i64_at(object, "value").unwrap_or(0));
    if name.starts_with("system-") {
        if !SYSTEM.contains(&(name, value)) || crate::object::bool_at(object, "globalDefault") {
            let detail = "priority class names with 'system-' prefix are reserved for system use only";
            causes.push(StatusCause::forbidden("metadata.name", detail));
        }
    } else if value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        causes.push(StatusCause::forbidden("value", &detail));
    }
}

fn check_definition(object: &Value, causes: &mut Vec<StatusCause>) {
    let expected = format!("{}.{}", str_at(object, "spec.names.plural"), str_at(object, "spec.group"));
    let name = crate::object::name(object);
    if name != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(StatusCause::invalid("metadata.name", &name.into(), detail));
    }
    let versions = array_at(object, "spec.versions");
    if versions.iter().filter(|v| crate::object::bool_at(v, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(StatusCause::invalid("spec.versions", &versions.to_vec().into(), detail));
    }
    for (index, version) in versions.iter().enumerate() {
        if value_at(version, "schema.openAPIV3Schema").is_none() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(StatusCause::required(field, "schemas are required"));
        }
    }
}
