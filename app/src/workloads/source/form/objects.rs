//! The paths of the form's fields in Kubernetes objects, and the objects that the form adds. Pure.

use domain::workload::SourceFile;
use domain::yaml_edit;
use serde_json::{Value, json};

/// The location of an object: the key of its file and the index of the document in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectLocation {
    /// Key of the file.
    pub file: u32,
    /// Index of the document.
    pub document: usize,
}

/// A parsed document.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceObject {
    /// Its location.
    pub location: ObjectLocation,
    /// Its content.
    pub value: Value,
}

/// The kinds that run pods.
pub const WORKLOAD_KINDS: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"];

/// Parses the objects of the files; `None` if a document is invalid.
pub fn parse_objects(files: &[(u32, SourceFile)]) -> Option<Vec<SourceObject>> {
    let mut objects = Vec::new();
    for (key, file) in files {
        for (document, value) in yaml_edit::parse_documents(&file.text).into_iter().enumerate() {
            objects.push(SourceObject { location: ObjectLocation { file: *key, document }, value: value? });
        }
    }
    Some(objects)
}

/// The kind of an object.
pub fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// Whether the object runs pods.
pub fn is_workload(object: &Value) -> bool {
    WORKLOAD_KINDS.contains(&kind(object))
}

/// The container that the address of the page names, to edit its image; the default names none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedContainer {
    /// Its object as `Kind/name`; empty for any.
    pub object: String,
    /// Its name.
    pub container: String,
}

impl NamedContainer {
    /// Its index in the list at a JSON pointer of an object; `None` if it is not there.
    pub fn find_index(&self, object: &Value, list: &str) -> Option<usize> {
        let is_object = || self.object == format!("{}/{}", kind(object), name(object));
        if self.container.is_empty() || !(self.object.is_empty() || is_object()) {
            return None;
        }
        let containers = object.pointer(list)?.as_array()?;
        containers.iter().position(|one| one["name"] == self.container.as_str())
    }
}

/// JSON pointer of the pod spec, by kind.
pub fn pod_path(kind: &str) -> &'static str {
    match kind {
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    }
}

/// The labels of the pods of an object.
pub fn pod_labels(object: &Value) -> Option<&serde_json::Map<String, Value>> {
    let path = match kind(object) {
        "CronJob" => "/spec/jobTemplate/spec/template/metadata/labels",
        _ => "/spec/template/metadata/labels",
    };
    object.pointer(path)?.as_object()
}

/// Whether the Service selects the pods of the workload object.
pub fn selects_pods_of(service: &Value, workload: &Value) -> bool {
    let selector = service.pointer("/spec/selector").and_then(Value::as_object);
    let (Some(selector), Some(labels)) = (selector, pod_labels(workload)) else { return false };
    kind(service) == "Service"
        && !selector.is_empty()
        && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Whether the Ingress has a backend with this Service name.
pub fn has_backend(ingress: &Value, service: &str) -> bool {
    let rules = ingress.pointer("/spec/rules").and_then(Value::as_array);
    let backends =
        rules.into_iter().flatten().filter_map(|rule| rule.pointer("/http/paths")?.as_array()).flatten();
    let mut names = backends.filter_map(|path| path.pointer("/backend/service/name")?.as_str());
    kind(ingress) == "Ingress" && names.any(|name| name == service)
}

/// Whether the HorizontalPodAutoscaler targets the workload object.
pub fn targets_workload(scaler: &Value, workload: &Value) -> bool {
    let target =
        |field: &str| scaler.pointer(&format!("/spec/scaleTargetRef/{field}")).and_then(Value::as_str);
    kind(scaler) == "HorizontalPodAutoscaler"
        && target("kind") == Some(kind(workload))
        && target("name") == Some(name(workload))
}

/// Creates a Service with the selector and the ports of a workload object. Port 80 targets the first container port; the
/// others have the number of their container port.
pub fn create_service(workload: &Value) -> Value {
    let labels = workload.pointer("/spec/selector/matchLabels").cloned();
    let selector =
        labels.or_else(|| pod_labels(workload).cloned().map(Value::Object)).unwrap_or_else(|| json!({}));
    let name = name(workload);
    let containers =
        workload.pointer(&format!("{}/containers", pod_path(kind(workload)))).and_then(Value::as_array);
    let all =
        containers.into_iter().flatten().filter_map(|container| container.get("ports")?.as_array()).flatten();
    let ports: Vec<Value> = all.enumerate().map(|(n, port)| service_port(n, port)).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": selector},
        "spec": {"selector": selector, "ports": ports},
    })
}

fn service_port(n: usize, port: &Value) -> Value {
    let number = port.get("containerPort").cloned().unwrap_or_default();
    let outside = if n == 0 { json!(80) } else { number.clone() };
    let name = port.get("name").cloned();
    let mut new =
        json!({"name": name.clone().unwrap_or_else(|| json!(format!("port-{n}"))), "port": outside});
    new["targetPort"] = name.unwrap_or(number);
    if let Some(protocol) = port.get("protocol").filter(|protocol| *protocol != "TCP") {
        new["protocol"] = protocol.clone();
    }
    new
}

/// Creates an Ingress for a Service.
pub fn create_ingress(service: &Value) -> Value {
    let port = service.pointer("/spec/ports/0");
    let port = match port.and_then(|port| port.get("name")) {
        Some(name) => json!({"name": name}),
        None => {
            json!({"number": port.and_then(|port| port.get("port")).cloned().unwrap_or_else(|| json!(80))})
        }
    };
    let backend = json!({"service": {"name": name(service), "port": port}});
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name(service)},
        "spec": {"rules": [{"host": "", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
    })
}

/// Creates a HorizontalPodAutoscaler for a workload object.
pub fn create_autoscaler(workload: &Value) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": kind(workload), "name": name(workload)});
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name(workload)},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5, "metrics": [cpu]},
    })
}

/// Converts an object to another kind with the same pod template.
pub fn convert_kind(object: &Value, to: &str) -> Value {
    let from = kind(object);
    let template_path = pod_path(from).trim_end_matches("/spec");
    let mut template = object.pointer(template_path).cloned().unwrap_or_else(|| json!({}));
    let labels = pod_labels(object).cloned().map_or_else(|| json!({"app": name(object)}), Value::Object);
    template["metadata"]["labels"] = labels.clone();
    let restart = if matches!(to, "Job" | "CronJob") { Some(json!("OnFailure")) } else { None };
    if let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) {
        match restart {
            Some(restart) => drop(pod.insert("restartPolicy".to_owned(), restart)),
            None => drop(pod.shift_remove("restartPolicy")),
        }
    }
    let replicas = object.pointer("/spec/replicas").cloned().unwrap_or_else(|| json!(1));
    let selector = json!({"matchLabels": labels});
    let (group, spec) = match to {
        "StatefulSet" => (
            "apps/v1",
            json!({"serviceName": name(object), "replicas": replicas, "selector": selector, "template": template}),
        ),
        "DaemonSet" => ("apps/v1", json!({"selector": selector, "template": template})),
        "Job" => ("batch/v1", json!({"backoffLimit": 3, "template": template})),
        "CronJob" => {
            let job = json!({"spec": {"backoffLimit": 3, "template": template}});
            ("batch/v1", json!({"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid", "jobTemplate": job}))
        }
        _ => ("apps/v1", json!({"replicas": replicas, "selector": selector, "template": template})),
    };
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"apiVersion": group, "kind": to, "metadata": metadata, "spec": spec})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> Value {
        let mut web = crate::workloads::source::starter::starter_deployment("web");
        web["spec"]["template"]["spec"]["containers"][0]["ports"] =
            json!([{"name": "http", "containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}]);
        web
    }

    #[test]
    fn a_service_from_the_form_selects_the_pods_and_targets_their_ports() {
        let service = create_service(&web());
        assert!(selects_pods_of(&service, &web()));
        assert_eq!(
            service["spec"]["ports"],
            json!([
                {"name": "http", "port": 80, "targetPort": "http"},
                {"name": "port-1", "port": 53, "targetPort": 53, "protocol": "UDP"},
            ])
        );
        assert!(
            has_backend(&create_ingress(&service), "web") && !has_backend(&create_ingress(&service), "other")
        );
        assert!(targets_workload(&create_autoscaler(&web()), &web()));
        assert!(
            !selects_pods_of(&json!({"kind": "Service", "spec": {"selector": {}}}), &web()),
            "an empty selector selects no pods"
        );
    }

    #[test]
    fn s0_14_the_objects_of_the_form_pass_the_guard_rails_once_they_have_an_image() {
        for kind in WORKLOAD_KINDS {
            let mut object = web();
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("reg.example/web:1.2");
            let object = convert_kind(&object, kind);
            let text = [object.clone(), create_service(&object), create_autoscaler(&web())]
                .iter()
                .take(if kind == "Deployment" { 3 } else { 2 })
                .fold(String::new(), |text, object| yaml_edit::add_document(&text, object));
            let files = [SourceFile { name: "deploy.yaml".into(), text }];
            let errors: Vec<_> = crate::workloads::source::fields::check_files(
                domain::schema::kubernetes_schema(),
                "web",
                "web",
                &files,
            )
            .into_iter()
            .filter(domain::Finding::is_blocking)
            .collect();
            assert!(errors.is_empty(), "{kind}: {errors:?}");
        }
    }

    #[test]
    fn converting_a_kind_and_back_keeps_the_pod_template() {
        for kind in WORKLOAD_KINDS {
            assert_eq!(
                convert_kind(&convert_kind(&web(), kind), "Deployment")["spec"]["template"],
                web()["spec"]["template"],
                "{kind}"
            );
        }
    }
}
