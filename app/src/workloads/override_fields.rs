//! The fields of a source that commonly differ per cluster: replicas, images, environment, resources, storage classes,
//! hosts. Each is addressed by name, so that it stays the same field when somebody puts a container in front.

use domain::overrides::ObjectSelector;
use domain::path::{Path, Segment};
use serde_json::Value;

/// Fields that are proposed of one source, at most.
const FIELDS_MAX: usize = 300;
/// Longest value that is edited in one line, in bytes.
const LINE_MAX: usize = 200;

/// One field of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Position of the object in the source.
    pub position: u32,
    /// The object.
    pub object: ObjectSelector,
    /// The field in it.
    pub path: String,
    /// What the source says; `None` if it says nothing.
    pub base: Option<Value>,
    /// Whether its value is a number where the source says nothing.
    pub is_number: bool,
}

impl Field {
    /// What tells the field from all others, in a form.
    pub fn key(&self) -> String {
        key(&self.object, &self.path)
    }
}

/// What tells a field from all others.
pub fn key(object: &ObjectSelector, path: &str) -> String {
    format!("{}|{}|{}|{path}", object.kind, object.namespace, object.name)
}

/// The object and the path that a key tells.
pub fn of_key(key: &str) -> Option<(ObjectSelector, String)> {
    let mut parts = key.splitn(4, '|').map(str::to_owned);
    let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some((ObjectSelector { kind, name, namespace }, parts.next()?))
}

/// The fields of these objects, in their order; nothing of Secrets.
pub fn fields(objects: &[Value]) -> Vec<Field> {
    let mut found = Vec::new();
    for (position, object) in (0_u32..).zip(objects) {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let selector = ObjectSelector {
            kind: text("/kind"),
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
        };
        let mut found_here = Here { object, selector, position, found: &mut found };
        found_here.kind();
    }
    found.truncate(FIELDS_MAX);
    found
}

struct Here<'a> {
    object: &'a Value,
    selector: ObjectSelector,
    position: u32,
    found: &'a mut Vec<Field>,
}

impl Here<'_> {
    fn kind(&mut self) {
        let kind = self.selector.kind.clone();
        let spec = Path::default().key("spec");
        if matches!(&*kind, "Deployment" | "StatefulSet" | "ReplicaSet") {
            self.add(spec.key("replicas"), true);
        }
        match &*kind {
            "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet" | "Job" => {
                self.pod(&spec.key("template").key("spec"));
            }
            "CronJob" => {
                self.add(spec.key("schedule"), false);
                self.pod(&spec.key("jobTemplate").key("spec").key("template").key("spec"));
            }
            "Pod" => self.pod(&spec),
            "PersistentVolumeClaim" => self.claim(&spec),
            "HorizontalPodAutoscaler" => {
                self.add(spec.key("minReplicas"), true);
                self.add(spec.key("maxReplicas"), true);
            }
            "Service" => self.add(spec.key("type"), false),
            "Ingress" => self.ingress(&spec),
            "ConfigMap" => self.lines(&Path::default().key("data")),
            _ => {}
        }
        if kind == "StatefulSet" {
            let claims = spec.key("volumeClaimTemplates");
            for at in 0..self.items(&claims).len() {
                self.claim(&claims.key(&at.to_string()).key("spec"));
            }
        }
    }

    fn items(&self, path: &Path) -> Vec<Value> {
        path.get(self.object).and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn add(&mut self, path: Path, is_number: bool) {
        let base = path.get(self.object).cloned();
        // A field that holds more than one line is no matter of a form.
        let fits = match &base {
            Some(Value::String(text)) => text.len() <= LINE_MAX && !text.contains('\n'),
            Some(value) => !value.is_object() && !value.is_array(),
            None => true,
        };
        if fits {
            let (object, position) = (self.selector.clone(), self.position);
            self.found.push(Field { position, object, path: path.to_string(), base, is_number });
        }
    }

    fn pod(&mut self, pod: &Path) {
        for list in ["initContainers", "containers"] {
            let list = pod.key(list);
            for container in self.items(&list) {
                if let Some(name) = container["name"].as_str() {
                    self.container(&list.with(Segment::named(name)), &container);
                }
            }
        }
    }

    fn container(&mut self, at: &Path, container: &Value) {
        self.add(at.key("image"), false);
        for variable in container["env"].as_array().into_iter().flatten() {
            if let (Some(name), true) = (variable["name"].as_str(), variable.get("valueFrom").is_none()) {
                self.add(at.key("env").with(Segment::named(name)).key("value"), false);
            }
        }
        for side in ["requests", "limits"] {
            for resource in ["cpu", "memory"] {
                self.add(at.key("resources").key(side).key(resource), false);
            }
        }
    }

    fn claim(&mut self, spec: &Path) {
        self.add(spec.key("storageClassName"), false);
        self.add(spec.key("resources").key("requests").key("storage"), false);
    }

    fn ingress(&mut self, spec: &Path) {
        self.add(spec.key("ingressClassName"), false);
        for at in 0..self.items(&spec.key("rules")).len() {
            self.add(spec.key("rules").key(&at.to_string()).key("host"), false);
        }
    }

    fn lines(&mut self, data: &Path) {
        let keys: Vec<String> = match data.get(self.object) {
            Some(Value::Object(map)) => map.keys().cloned().collect(),
            _ => Vec::new(),
        };
        for key in keys {
            self.add(data.key(&key), false);
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
        let told: Vec<String> = fields(&objects)
            .iter()
            .map(|field| {
                format!("{} {} = {}", field.object, field.path, field.base.clone().unwrap_or_default())
            })
            .collect();
        assert_eq!(
            told,
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
        assert_eq!(of_key(&key(&object, "/data/a|b")), Some((object, "/data/a|b".to_owned())));
        assert_eq!(of_key("nonsense"), None);
    }
}
