//! Tables, as `kubectl get` prints them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::{self, at, flag, int, list, map, text};
use crate::verbs::Target;

struct Column {
    name: &'static str,
    kind: &'static str,
    priority: u8,
    cell: fn(&Value) -> Value,
}

const fn column(name: &'static str, kind: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column { name, kind, priority: 0, cell }
}

const fn wide(name: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column { name, kind: "string", priority: 1, cell }
}

/// A `Table` of the objects; a watch sends the columns only once.
pub(super) fn table(target: &Target, rows: &[&Value], metadata: Value, columns: bool) -> Value {
    let custom = &target.version().columns;
    let built = built_in(target);
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
            "name": column["name"], "type": column["type"], "format": text(column, "format"),
            "priority": int(column, "priority").unwrap_or(0), "description": text(column, "description"),
        }));
    }
    let has_age = built.iter().any(|c| c.name == "Age") || custom.iter().any(|c| text(c, "name") == "Age");
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
                cells.push(age(row));
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

fn built_in(target: &Target) -> Vec<Column> {
    if target.kind.custom {
        return Vec::new();
    }
    match &*target.kind.kind {
        "Deployment" => vec![
            column("Ready", "string", |o| ratio(o, "status.readyReplicas", "spec.replicas")),
            column("Up-to-date", "integer", |o| number(o, "status.updatedReplicas")),
            column("Available", "integer", |o| number(o, "status.availableReplicas")),
            column("Age", "string", age),
            wide("Containers", |o| containers(o, "name")),
            wide("Images", |o| containers(o, "image")),
        ],
        "StatefulSet" => vec![
            column("Ready", "string", |o| ratio(o, "status.readyReplicas", "spec.replicas")),
            column("Age", "string", age),
            wide("Images", |o| containers(o, "image")),
        ],
        "ReplicaSet" => vec![
            column("Desired", "integer", |o| number(o, "spec.replicas")),
            column("Current", "integer", |o| number(o, "status.replicas")),
            column("Ready", "integer", |o| number(o, "status.readyReplicas")),
        ],
        "DaemonSet" => vec![
            column("Desired", "integer", |o| number(o, "status.desiredNumberScheduled")),
            column("Current", "integer", |o| number(o, "status.currentNumberScheduled")),
            column("Ready", "integer", |o| number(o, "status.numberReady")),
            column("Up-to-date", "integer", |o| number(o, "status.updatedNumberScheduled")),
            column("Available", "integer", |o| number(o, "status.numberAvailable")),
        ],
        "Pod" => vec![
            column("Ready", "string", pod_ready),
            column("Status", "string", pod_status),
            column("Restarts", "integer", restarts),
            column("Age", "string", age),
            wide("IP", |o| shown(text(o, "status.podIP"), "<none>")),
            wide("Node", |o| shown(text(o, "spec.nodeName"), "<none>")),
        ],
        "Service" => vec![
            column("Type", "string", |o| text(o, "spec.type").into()),
            column("Cluster-IP", "string", |o| shown(text(o, "spec.clusterIP"), "None")),
            column("External-IP", "string", external),
            column("Port(s)", "string", ports),
        ],
        "Job" => vec![
            column("Status", "string", job_status),
            column("Completions", "string", |o| ratio(o, "status.succeeded", "spec.completions")),
        ],
        "Namespace" => vec![column("Status", "string", |o| text(o, "status.phase").into())],
        "Node" => vec![
            column("Status", "string", |_| "Ready".into()),
            column("Roles", "string", |_| "<none>".into()),
            column("Age", "string", age),
            column("Version", "string", |o| text(o, "status.nodeInfo.kubeletVersion").into()),
        ],
        "PersistentVolumeClaim" => vec![
            column("Status", "string", |o| text(o, "status.phase").into()),
            column("Volume", "string", |o| text(o, "spec.volumeName").into()),
            column("Capacity", "string", |o| text(o, "status.capacity.storage").into()),
        ],
        "ConfigMap" | "Secret" => {
            vec![column("Data", "integer", |o| map(o, "data").map_or(0, Map::len).into())]
        }
        _ => Vec::new(),
    }
}

fn custom_cell(column: &Value, row: &Value) -> Value {
    let path = text(column, "jsonPath").trim_start_matches('.');
    match at(row, path) {
        Some(Value::String(time)) if text(column, "type") == "date" => since(time),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn shown(text: &str, empty: &str) -> Value {
    if text.is_empty() { empty.into() } else { text.into() }
}

fn number(object: &Value, path: &str) -> Value {
    int(object, path).unwrap_or(0).into()
}

fn ratio(object: &Value, part: &str, whole: &str) -> Value {
    format!("{}/{}", int(object, part).unwrap_or(0), int(object, whole).unwrap_or(0)).into()
}

fn age(object: &Value) -> Value {
    since(text(object, "metadata.creationTimestamp"))
}

/// Time since then in the two largest units.
fn since(time: &str) -> Value {
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

fn containers(object: &Value, field: &str) -> Value {
    let all = list(object, "spec.template.spec.containers").iter().map(|c| text(c, field));
    all.collect::<Vec<_>>().join(",").into()
}

fn pod_ready(pod: &Value) -> Value {
    let statuses = list(pod, "status.containerStatuses");
    let ready = statuses.iter().filter(|s| flag(s, "ready")).count();
    format!("{ready}/{}", list(pod, "spec.containers").len()).into()
}

fn pod_status(pod: &Value) -> Value {
    if object::deleting(pod) {
        return "Terminating".into();
    }
    let unfinished = |s: &&Value| int(s, "state.terminated.exitCode") != Some(0);
    let init = list(pod, "status.initContainerStatuses").iter().filter(unfinished);
    for status in init.chain(list(pod, "status.containerStatuses")) {
        let waiting = text(status, "state.waiting.reason");
        if !waiting.is_empty() && waiting != "PodInitializing" {
            return waiting.into();
        }
        let terminated = text(status, "state.terminated.reason");
        if !terminated.is_empty() {
            return terminated.into();
        }
    }
    text(pod, "status.phase").into()
}

fn restarts(pod: &Value) -> Value {
    let statuses = list(pod, "status.containerStatuses");
    statuses.iter().filter_map(|s| int(s, "restartCount")).sum::<i64>().to_string().into()
}

fn external(service: &Value) -> Value {
    let ingress = list(service, "status.loadBalancer.ingress");
    let all: Vec<&str> = ingress.iter().map(|i| text(i, "ip")).filter(|i| !i.is_empty()).collect();
    match text(service, "spec.type") {
        "LoadBalancer" if all.is_empty() => "<pending>".into(),
        "LoadBalancer" => all.join(",").into(),
        "ExternalName" => text(service, "spec.externalName").into(),
        _ => "<none>".into(),
    }
}

fn ports(service: &Value) -> Value {
    let shown = |port: &Value| {
        let (number, protocol) = (int(port, "port").unwrap_or(0), text(port, "protocol"));
        match int(port, "nodePort") {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    };
    let all: Vec<String> = list(service, "spec.ports").iter().map(shown).collect();
    shown_list(all)
}

fn shown_list(all: Vec<String>) -> Value {
    if all.is_empty() { "<none>".into() } else { all.join(",").into() }
}

fn job_status(job: &Value) -> Value {
    for (condition, word) in [("Complete", "Complete"), ("Failed", "Failed"), ("Suspended", "Suspended")] {
        if object::condition(job, condition).is_some_and(|c| text(c, "status") == "True") {
            return word.into();
        }
    }
    "Running".into()
}
