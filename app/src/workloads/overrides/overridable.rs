//! The fields of a source that commonly differ per cluster: replicas, images, environment, resources, storage classes,
//! hosts. List items are addressed by name, so that a path stays valid when a container is inserted before another.

use domain::field_path::{FieldPath, PathSegment};
use domain::overrides::ObjectSelector;
use serde_json::Value;

/// Most fields that are offered for one source.
const FIELDS_MAX: usize = 300;
/// Longest value that is offered in a one-line field, in bytes.
const LINE_MAX: usize = 200;

/// A field of an object of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverridableField {
    /// Index of the object in the source.
    pub object_index: u32,
    /// The object.
    pub object: ObjectSelector,
    /// The path of the field in the object.
    pub path: String,
    /// Its value in the source; `None` if it is not set.
    pub base: Option<Value>,
    /// Whether its value is a number, for fields that the source does not set.
    pub is_number: bool,
}

impl OverridableField {
    /// The unique key of the field in a form.
    pub fn key(&self) -> String {
        field_key(&self.object, &self.path)
    }
}

/// The unique key of a field: `kind|namespace|name|path`.
pub fn field_key(object: &ObjectSelector, path: &str) -> String {
    format!("{}|{}|{}|{path}", object.kind, object.namespace, object.name)
}

/// Parses a key into object and path.
pub fn parse_field_key(key: &str) -> Option<(ObjectSelector, String)> {
    let mut parts = key.splitn(4, '|').map(str::to_owned);
    let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some((ObjectSelector { kind, name, namespace }, parts.next()?))
}

/// Collects the fields of `objects`, in their order; none of Secrets, at most [`FIELDS_MAX`].
pub fn list_fields(objects: &[Value]) -> Vec<OverridableField> {
    let mut found = Vec::new();
    for (position, object) in (0_u32..).zip(objects) {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let selector = ObjectSelector {
            kind: text("/kind"),
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
        };
        let mut found_here = FieldCollector { object, selector, position, found: &mut found };
        found_here.collect();
    }
    found.truncate(FIELDS_MAX);
    found
}

struct FieldCollector<'a> {
    object: &'a Value,
    selector: ObjectSelector,
    position: u32,
    found: &'a mut Vec<OverridableField>,
}

impl FieldCollector<'_> {
    fn collect(&mut self) {
        let kind = self.selector.kind.clone();
        let spec = FieldPath::default().with_key("spec");
        if matches!(&*kind, "Deployment" | "StatefulSet" | "ReplicaSet") {
            self.add(spec.with_key("replicas"), true);
        }
        match &*kind {
            "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "Job" => {
                self.collect_pod(&spec.with_key("template").with_key("spec"));
            }
            "CronJob" => {
                self.add(spec.with_key("schedule"), false);
                self.collect_pod(
                    &spec.with_key("jobTemplate").with_key("spec").with_key("template").with_key("spec"),
                );
            }
            "Pod" => self.collect_pod(&spec),
            "PersistentVolumeClaim" => self.collect_claim(&spec),
            "HorizontalPodAutoscaler" => {
                self.add(spec.with_key("minReplicas"), true);
                self.add(spec.with_key("maxReplicas"), true);
            }
            "Service" => self.add(spec.with_key("type"), false),
            "Ingress" => self.collect_ingress(&spec),
            "ConfigMap" => self.collect_config_map(&FieldPath::default().with_key("data")),
            _ => {}
        }
        if kind == "StatefulSet" {
            let claims = spec.with_key("volumeClaimTemplates");
            for at in 0..self.list_items(&claims).len() {
                self.collect_claim(&claims.with_key(&at.to_string()).with_key("spec"));
            }
        }
    }

    fn list_items(&self, path: &FieldPath) -> Vec<Value> {
        path.get(self.object).and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn add(&mut self, path: FieldPath, is_number: bool) {
        let base = path.get(self.object).cloned();
        // Values of several lines do not fit into a one-line field.
        let fits = match &base {
            Some(Value::String(text)) => text.len() <= LINE_MAX && !text.contains('\n'),
            Some(value) => !value.is_object() && !value.is_array(),
            None => true,
        };
        if fits {
            let (object, position) = (self.selector.clone(), self.position);
            self.found.push(OverridableField {
                object_index: position,
                object,
                path: path.to_string(),
                base,
                is_number,
            });
        }
    }

    fn collect_pod(&mut self, pod: &FieldPath) {
        for list in ["initContainers", "containers"] {
            let list = pod.with_key(list);
            for container in self.list_items(&list) {
                if let Some(name) = container["name"].as_str() {
                    self.collect_container(&list.with_segment(PathSegment::item_named(name)), &container);
                }
            }
        }
    }

    fn collect_container(&mut self, at: &FieldPath, container: &Value) {
        self.add(at.with_key("image"), false);
        for variable in container["env"].as_array().into_iter().flatten() {
            if let (Some(name), true) = (variable["name"].as_str(), variable.get("valueFrom").is_none()) {
                self.add(
                    at.with_key("env").with_segment(PathSegment::item_named(name)).with_key("value"),
                    false,
                );
            }
        }
        for side in ["requests", "limits"] {
            for resource in ["cpu", "memory"] {
                self.add(at.with_key("resources").with_key(side).with_key(resource), false);
            }
        }
    }

    fn collect_claim(&mut self, spec: &FieldPath) {
        self.add(spec.with_key("storageClassName"), false);
        self.add(spec.with_key("resources").with_key("requests").with_key("storage"), false);
    }

    fn collect_ingress(&mut self, spec: &FieldPath) {
        self.add(spec.with_key("ingressClassName"), false);
        for at in 0..self.list_items(&spec.with_key("rules")).len() {
            self.add(spec.with_key("rules").with_key(&at.to_string()).with_key("host"), false);
        }
    }

    fn collect_config_map(&mut self, data: &FieldPath) {
        let keys: Vec<String> = match data.get(self.object) {
            Some(Value::Object(map)) => map.keys().cloned().collect(),
            _ => Vec::new(),
        };
        for key in keys {
            self.add(data.with_key(&key), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_of_a_workload_are_addressed_by_name() {
        let objects = [
            json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "template": {"spec": {
                "containers": [{"name": "web", "image": "a:1", "env": [
                    {"name": "LEVEL", "value": "info"}, {"name": "TOKEN", "valueFrom": {}}]}]}}}}),
            json!({"kind": "Ingress", "metadata": {"name": "web"}, "spec": {"rules": [{"host": "shop.example"}]}}),
            json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a/b": "1", "long": "x\ny"}}),
        ];
        let found: Vec<String> = list_fields(&objects)
            .iter()
            .map(|field| {
                format!("{} {} = {}", field.object, field.path, field.base.clone().unwrap_or_default())
            })
            .collect();
        assert_eq!(
            found,
            [
                "Deployment web /spec/replicas = 2",
                "Deployment web /spec/template/spec/containers[name=web]/image = \"a:1\"",
                "Deployment web /spec/template/spec/containers[name=web]/env[name=LEVEL]/value = \"info\"",
                "Deployment web /spec/template/spec/containers[name=web]/resources/requests/cpu = null",
                "Deployment web /spec/template/spec/containers[name=web]/resources/requests/memory = null",
                "Deployment web /spec/template/spec/containers[name=web]/resources/limits/cpu = null",
                "Deployment web /spec/template/spec/containers[name=web]/resources/limits/memory = null",
                "Ingress web /spec/ingressClassName = null",
                "Ingress web /spec/rules/0/host = \"shop.example\"",
                "ConfigMap c /data/a~1b = \"1\"",
            ]
        );
    }

    #[test]
    fn a_key_reads_back_as_object_and_path() {
        let object = ObjectSelector { kind: "ConfigMap".into(), name: "c".into(), namespace: String::new() };
        assert_eq!(parse_field_key(&field_key(&object, "/data/a|b")), Some((object, "/data/a|b".to_owned())));
        assert_eq!(parse_field_key("nonsense"), None);
    }
}
