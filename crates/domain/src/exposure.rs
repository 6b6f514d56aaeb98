//! Exposures: where the objects of a workload are reached from outside of a cluster, which a cluster gives to one alone
//! (G303, G305).
//!
//! What is said here is what Kubernetes says: a node port is one number whatever its protocol, a path with a slash at its
//! end is the same prefix as without, and of two paths of which one is longer, or one is exact, each has its own requests.

use serde_json::{Value, json};

use crate::bundle::object_ref;
use crate::digest::Digest;
use crate::{name, template};

/// Exposures kept of one workload on one cluster; what is beyond is not compared.
pub const EXPOSURES_MAX: usize = 200;

/// What is exposed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// A path of an ingress.
    Route {
        /// The host; empty for any.
        host: String,
        /// The path, as it is compared.
        path: String,
        /// `Exact`, `Prefix` or `ImplementationSpecific`.
        path_type: String,
    },
    /// A port of every node.
    NodePort(i64),
}

/// One thing that an object takes for itself on its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exposure {
    /// What it is.
    pub point: Point,
    /// The ingress class as written; empty where none is named, and of node ports.
    pub class: String,
}

impl Exposure {
    /// What is the same of two that may be in each other's way; short, whatever people wrote.
    pub fn key(&self) -> Digest {
        let parts = match &self.point {
            Point::Route { host, path, path_type } => json!(["route", host, path, path_type]),
            Point::NodePort(number) => json!(["node port", number]),
        };
        Digest::of(parts.to_string().as_bytes())
    }

    /// Whether one with the same key and this class is served by the same controller, on a cluster with this default.
    pub fn shares_class(&self, other: &str, default: &str) -> bool {
        let on_cluster = |class| if str::is_empty(class) { default.to_owned() } else { class.to_owned() };
        on_cluster(&self.class) == on_cluster(other)
    }
}

/// What an object exposes, each with the JSON pointer of the field that says so. Nothing of an object whose templates are
/// not filled in.
pub fn of_object(object: &Value) -> Vec<(String, Exposure)> {
    if template::is_templated(object) {
        return Vec::new();
    }
    let name = object_ref(object);
    match (&*name.group, &*name.version, &*name.kind) {
        ("networking.k8s.io", "v1", "Ingress") => routes(object),
        ("", _, "Service") => node_ports(object),
        _ => Vec::new(),
    }
}

/// What all objects of a bundle expose, sorted, each once; at most [`EXPOSURES_MAX`].
pub fn of_objects(objects: &[Value]) -> Vec<Exposure> {
    let mut all: Vec<Exposure> = objects.iter().flat_map(of_object).map(|(_, exposure)| exposure).collect();
    all.sort();
    all.dedup();
    all.truncate(EXPOSURES_MAX);
    all
}

fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn routes(ingress: &Value) -> Vec<(String, Exposure)> {
    let annotation =
        |key: &str| ingress.pointer(&format!("/metadata/annotations/{key}")).and_then(Value::as_str);
    let named = ingress.pointer("/spec/ingressClassName").and_then(Value::as_str);
    let class = named.or_else(|| annotation("kubernetes.io~1ingress.class")).unwrap_or_default();
    // A canary takes a part of what its twin gets, and a class with such a name exists nowhere.
    if annotation("nginx.ingress.kubernetes.io~1canary") == Some("true")
        || !(class.is_empty() || name::is_subdomain(class))
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, rule) in items(ingress, "/spec/rules").enumerate() {
        let host = rule["host"].as_str().unwrap_or_default();
        for (n, route) in items(rule, "/http/paths").enumerate() {
            let point = Point::Route {
                host: host.to_owned(),
                path: compared(route).to_owned(),
                path_type: route["pathType"].as_str().unwrap_or_default().to_owned(),
            };
            let pointer = format!("/spec/rules/{at}/http/paths/{n}/path");
            found.push((pointer, Exposure { point, class: class.to_owned() }));
        }
    }
    found
}

/// The path without what does not count: of prefixes, a slash at the end.
fn compared(route: &Value) -> &str {
    let path = route["path"].as_str().unwrap_or("/");
    if route["pathType"] != "Prefix" {
        return path;
    }
    let short = path.trim_end_matches('/');
    if short.is_empty() { "/" } else { short }
}

fn node_ports(service: &Value) -> Vec<(String, Exposure)> {
    let mut found = Vec::new();
    for (at, port) in items(service, "/spec/ports").enumerate() {
        if let Some(number) = port["nodePort"].as_i64().filter(|number| *number != 0) {
            let exposure = Exposure { point: Point::NodePort(number), class: String::new() };
            found.push((format!("/spec/ports/{at}/nodePort"), exposure));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingress(spec: Value) -> Value {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"}, "spec": spec})
    }

    fn route(host: &str, path: &str, path_type: &str) -> Exposure {
        let rule = json!({"host": host, "http": {"paths": [{"path": path, "pathType": path_type}]}});
        let object = ingress(json!({"rules": [rule]}));
        of_objects(&[object]).remove(0)
    }

    #[test]
    fn g305_two_routes_are_the_same_only_if_no_request_could_tell_them_apart() {
        let shop = route("shop.example.com", "/api", "Prefix");
        assert_eq!(shop.key(), route("shop.example.com", "/api/", "Prefix").key());
        assert_eq!(route("", "/", "Prefix").key(), route("", "", "Prefix").key());
        for other in [
            route("shop.example.com", "/", "Prefix"),
            route("shop.example.com", "/api", "Exact"),
            route("*.example.com", "/api", "Prefix"),
            route("", "/api", "Prefix"),
        ] {
            assert_ne!(shop.key(), other.key(), "{other:?}");
        }
        let exact = |path| route("shop.example.com", path, "Exact").key();
        assert_ne!(exact("/api"), exact("/api/"));
        assert_ne!(route("a", "/b\",\"c", "Exact").key(), route("a\",\"/b", "c", "Exact").key());
    }

    #[test]
    fn g305_an_ingress_without_a_class_has_the_default_one_of_its_cluster() {
        let plain = route("shop.example.com", "/", "Prefix");
        assert!(plain.shares_class("nginx", "nginx") && plain.shares_class("", ""));
        assert!(!plain.shares_class("nginx", "") && !plain.shares_class("internal", "nginx"));
        let rules = json!([{"http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}]);
        let named = of_objects(&[ingress(json!({"ingressClassName": "internal", "rules": rules}))]);
        assert_eq!(named[0].class, "internal");
        let mut old = ingress(json!({"rules": rules}));
        old["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "nginx"});
        assert_eq!(of_objects(&[old])[0].class, "nginx");
    }

    #[test]
    fn what_is_no_exposure_is_none() {
        let rules = json!([{"host": "a", "http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}]);
        let mut canary = ingress(json!({"rules": rules}));
        canary["metadata"]["annotations"] = json!({"nginx.ingress.kubernetes.io/canary": "true"});
        let odd = ingress(json!({"ingressClassName": "no\u{0}name", "rules": rules}));
        let open = ingress(json!({"rules": [{"host": "${{ cluster.name }}", "http": {"paths": [{}]}}]}));
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "nodePort": 0}]}});
        assert_eq!(of_objects(&[canary, odd, open, service, json!(null), json!({"kind": 5})]), []);
    }

    #[test]
    fn g303_a_node_port_is_a_number_and_one_workload_has_so_many() {
        let ports: Vec<Value> =
            (0..300).map(|n| json!({"port": n, "nodePort": 30_000 + n, "protocol": "UDP"})).collect();
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": ports}});
        let found = of_object(&service);
        assert_eq!(found[1].0, "/spec/ports/1/nodePort");
        assert_eq!(found[1].1, Exposure { point: Point::NodePort(30_001), class: String::new() });
        assert_eq!(of_objects(&[service.clone(), service]).len(), EXPOSURES_MAX);
    }
}
