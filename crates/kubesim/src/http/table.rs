//! Tables, as `kubectl get` prints them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{self, array_at, bool_at, i64_at, map_at, str_at, value_at};
use crate::verbs::ResourcePath;

struct TableColumn {
    name: &'static str,
    kind: &'static str,
    priority: u8,
    cell: fn(&Value) -> Value,
}

const fn column(name: &'static str, kind: &'static str, cell: fn(&Value) -> Value) -> TableColumn {
    TableColumn { name, kind, priority: 0, cell }
}

const fn wide_column(name: &'static str, cell: fn(&Value) -> Value) -> TableColumn {
    TableColumn { name, kind: "string", priority: 1, cell }
}

/// A `Table` of the objects; a watch sends the column definitions only once.
pub(super) fn build_table(target: &ResourcePath, rows: &[&Value], metadata: Value, columns: bool) -> Value {
    let custom = &target.version().printer_columns;
    let built = builtin_columns(target);
    let mut definitions = vec![json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "Name must be unique within a namespace.",
    })];
    for column in &built {
        definitions.push(json!({
            "name": column.name, "type": column.kind, "format": "", "priority": column.priority, "description": "",
        }));
    }
    for column in custom {
        definitions.push(json!({
            "name": column["name"], "type": column["type"], "format": str_at(column, "format"),
            "priority": i64_at(column, "priority").unwrap_or(0), "description": str_at(column, "description"),
        }));
    }
    let has_age = built.iter().any(|c| c.name == "Age") || custom.iter().any(|c| str_at(c, "name") == "Age");
    if !has_age {
        definitions
            .push(json!({"name": "Age", "type": "string", "format": "", "priority": 0, "description": ""}));
    }
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![Value::from(object::name(row))];
            cells.extend(built.iter().map(|c| (c.cell)(row)));
            cells.extend(custom.iter().map(|c| custom_cell(c, row)));
            if !has_age {
                cells.push(age_cell(row));
            }
            json!({"cells": cells, "object": {
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": row.get("metadata").cloned().unwrap_or_default(),
            }})
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": if columns { Value::from(definitions) } else { Value::Null }, "rows": rows,
    })
}

fn builtin_columns(target: &ResourcePath) -> Vec<TableColumn> {
    if target.kind.is_custom {
        return Vec::new();
    }
    match &*target.kind.kind {
        "Deployment" => vec![
            column("Ready", "string", |o| ratio_cell(o, "status.readyReplicas", "spec.replicas")),
            column("Up-to-date", "integer", |o| int_cell(o, "status.updatedReplicas")),
            column("Available", "integer", |o| int_cell(o, "status.availableReplicas")),
            column("Age", "string", age_cell),
            wide_column("Containers", |o| container_fields(o, "name")),
            wide_column("Images", |o| container_fields(o, "image")),
        ],
        "StatefulSet" => vec![
            column("Ready", "string", |o| ratio_cell(o, "status.readyReplicas", "spec.replicas")),
            column("Age", "string", age_cell),
            wide_column("Images", |o| container_fields(o, "image")),
        ],
        "ReplicaSet" => vec![
            column("Desired", "integer", |o| int_cell(o, "spec.replicas")),
            column("Current", "integer", |o| int_cell(o, "status.replicas")),
            column("Ready", "integer", |o| int_cell(o, "status.readyReplicas")),
        ],
        "DaemonSet" => vec![
            column("Desired", "integer", |o| int_cell(o, "status.desiredNumberScheduled")),
            column("Current", "integer", |o| int_cell(o, "status.currentNumberScheduled")),
            column("Ready", "integer", |o| int_cell(o, "status.numberReady")),
            column("Up-to-date", "integer", |o| int_cell(o, "status.updatedNumberScheduled")),
            column("Available", "integer", |o| int_cell(o, "status.numberAvailable")),
        ],
        "Pod" => vec![
            column("Ready", "string", pod_ready),
            column("Status", "string", pod_status),
            column("Restarts", "integer", restart_count),
            column("Age", "string", age_cell),
            wide_column("IP", |o| text_or(str_at(o, "status.podIP"), "<none>")),
            wide_column("Node", |o| text_or(str_at(o, "spec.nodeName"), "<none>")),
        ],
        "Service" => vec![
            column("Type", "string", |o| str_at(o, "spec.type").into()),
            column("Cluster-IP", "string", |o| text_or(str_at(o, "spec.clusterIP"), "None")),
            column("External-IP", "string", external_ips),
            column("Port(s)", "string", service_ports),
        ],
        "Job" => vec![
            column("Status", "string", job_status),
            column("Completions", "string", |o| ratio_cell(o, "status.succeeded", "spec.completions")),
        ],
        "Namespace" => vec![column("Status", "string", |o| str_at(o, "status.phase").into())],
        "Node" => vec![
            column("Status", "string", |_| "Ready".into()),
            column("Roles", "string", |_| "<none>".into()),
            column("Age", "string", age_cell),
            column("Version", "string", |o| str_at(o, "status.nodeInfo.kubeletVersion").into()),
        ],
        "PersistentVolumeClaim" => vec![
            column("Status", "string", |o| str_at(o, "status.phase").into()),
            column("Volume", "string", |o| str_at(o, "spec.volumeName").into()),
            column("Capacity", "string", |o| str_at(o, "status.capacity.storage").into()),
        ],
        "ConfigMap" | "Secret" => {
            vec![column("Data", "integer", |o| map_at(o, "data").map_or(0, Map::len).into())]
        }
        _ => Vec::new(),
    }
}

fn custom_cell(column: &Value, row: &Value) -> Value {
    let path = str_at(column, "jsonPath").trim_start_matches('.');
    match value_at(row, path) {
        Some(Value::String(time)) if str_at(column, "type") == "date" => format_age(time),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn text_or(text: &str, empty: &str) -> Value {
    if text.is_empty() { empty.into() } else { text.into() }
}

fn int_cell(object: &Value, path: &str) -> Value {
    i64_at(object, path).unwrap_or(0).into()
}

fn ratio_cell(object: &Value, part: &str, whole: &str) -> Value {
    format!("{}/{}", i64_at(object, part).unwrap_or(0), i64_at(object, whole).unwrap_or(0)).into()
}

fn age_cell(object: &Value) -> Value {
    format_age(str_at(object, "metadata.creationTimestamp"))
}

/// The time since then in the two largest units.
fn format_age(time: &str) -> Value {
    let Ok(then) = time.parse::<Timestamp>() else { return "<unknown>".into() };
    let seconds = Timestamp::now().duration_since(then).as_secs().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..=599 if seconds % 60 > 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 => format!("{hours}h{}m", minutes % 60),
        28_800..172_800 => format!("{hours}h"),
        _ => format!("{days}d"),
    }
    .into()
}

fn container_fields(object: &Value, field: &str) -> Value {
    let all = array_at(object, "spec.template.spec.containers").iter().map(|c| str_at(c, field));
    all.collect::<Vec<_>>().join(",").into()
}

fn pod_ready(pod: &Value) -> Value {
    let statuses = array_at(pod, "status.containerStatuses");
    let ready = statuses.iter().filter(|s| bool_at(s, "ready")).count();
    format!("{ready}/{}", array_at(pod, "spec.containers").len()).into()
}

fn pod_status(pod: &Value) -> Value {
    if object::is_deleting(pod) {
        return "Terminating".into();
    }
    let unfinished = |s: &&Value| i64_at(s, "state.terminated.exitCode") != Some(0);
    let init = array_at(pod, "status.initContainerStatuses").iter().filter(unfinished);
    for status in init.chain(array_at(pod, "status.containerStatuses")) {
        let waiting = str_at(status, "state.waiting.reason");
        if !waiting.is_empty() && waiting != "PodInitializing" {
            return waiting.into();
        }
        let terminated = str_at(status, "state.terminated.reason");
        if !terminated.is_empty() {
            return terminated.into();
        }
    }
    str_at(pod, "status.phase").into()
}

fn restart_count(pod: &Value) -> Value {
    let statuses = array_at(pod, "status.containerStatuses");
    statuses.iter().filter_map(|s| i64_at(s, "restartCount")).sum::<i64>().to_string().into()
}

fn external_ips(service: &Value) -> Value {
    let ingress = array_at(service, "status.loadBalancer.ingress");
    let all: Vec<&str> = ingress.iter().map(|i| str_at(i, "ip")).filter(|i| !i.is_empty()).collect();
    match str_at(service, "spec.type") {
        "LoadBalancer" if all.is_empty() => "<pending>".into(),
        "LoadBalancer" => all.join(",").into(),
        "ExternalName" => str_at(service, "spec.externalName").into(),
        _ => "<none>".into(),
    }
}

fn service_ports(service: &Value) -> Value {
    let shown = |port: &Value| {
        let (number, protocol) = (i64_at(port, "port").unwrap_or(0), str_at(port, "protocol"));
        match i64_at(port, "nodePort") {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    };
    let all: Vec<String> = array_at(service, "spec.ports").iter().map(shown).collect();
    join_or_none(all)
}

fn join_or_none(all: Vec<String>) -> Value {
    if all.is_empty() { "<none>".into() } else { all.join(",").into() }
}

fn job_status(job: &Value) -> Value {
    for (condition, word) in [("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended")] {
        if object::condition(job, condition).is_some_and(|c| str_at(c, "status") == "True") {
            return word.into();
        }
    }
    "Running".into()
}
