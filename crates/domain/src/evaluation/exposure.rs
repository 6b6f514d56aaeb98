//! Exposures: the routes and node ports through which a workload is reached from outside of a cluster, and the name of its
//! Helm release. Each belongs to at most one workload per cluster (G303, G305, G105).
//!
//! They are compared as in Kubernetes: a node port is one number whatever its protocol, a prefix with a trailing slash
//! equals the one without, and of two paths of which one is longer, or one is exact, each matches its own requests.

use serde_json::{Value, json};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::name;
use crate::kubernetes::object::object_ref;
use crate::model::workload::WorkloadSpec;
use crate::text::template;

/// Most exposures stored per workload and cluster; further ones are not compared.
pub const MAX_EXPOSURES: usize = 200;

/// What is exposed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExposurePoint {
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
    /// The name of a Helm release, which is used once per namespace.
    HelmRelease {
        /// The namespace of the workload.
        namespace: String,
        /// The name.
        name: String,
    },
}

/// One route or node port that an object exposes on its cluster, or the release of its workload.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exposure {
    /// What it is.
    pub point: ExposurePoint,
    /// The ingress class as written; empty where none is named, of node ports and of releases.
    pub class: String,
}

impl Exposure {
    /// The key that two conflicting exposures share: a digest, so bounded in length.
    pub fn conflict_key(&self) -> Digest {
        let parts = match &self.point {
            ExposurePoint::Route { host, path, path_type } => json!(["route", host, path, path_type]),
            ExposurePoint::NodePort(number) => json!(["node port", number]),
            ExposurePoint::HelmRelease { namespace, name } => json!(["helm release", namespace, name]),
        };
        Digest::compute(parts.to_string().as_bytes())
    }

    /// Whether an exposure with the same key and class `other` has the same controller, for this default class.
    pub fn shares_class(&self, other: &str, default: &str) -> bool {
        let on_cluster = |class| if str::is_empty(class) { default.to_owned() } else { class.to_owned() };
        on_cluster(&self.class) == on_cluster(other)
    }
}

/// The release of a workload whose source is a chart, on each of its clusters; `None` for any other source.
pub fn release_exposure(spec: &WorkloadSpec, workload: &str) -> Option<Exposure> {
    let name = spec.source.helm_source()?.release_name_or(workload).to_owned();
    let point = ExposurePoint::HelmRelease { namespace: spec.namespace.clone(), name };
    Some(Exposure { point, class: String::new() })
}

/// The exposures of an object, each with the JSON pointer of its field. Empty for an object with unrendered templates.
pub fn object_exposures(object: &Value) -> Vec<(String, Exposure)> {
    if template::is_templated(object) {
        return Vec::new();
    }
    let name = object_ref(object);
    match (&*name.group, &*name.version, &*name.kind) {
        ("networking.k8s.io", "v1", "Ingress") => ingress_exposures(object),
        ("", _, "Service") => service_exposures(object),
        _ => Vec::new(),
    }
}

/// The exposures of all objects of a bundle, sorted and deduplicated; at most [`MAX_EXPOSURES`].
pub fn collect_exposures(objects: &[Value]) -> Vec<Exposure> {
    let mut all: Vec<Exposure> =
        objects.iter().flat_map(object_exposures).map(|(_, exposure)| exposure).collect();
    all.sort();
    all.dedup();
    all.truncate(MAX_EXPOSURES);
    // Those of many clusters are in memory at once.
    all.shrink_to_fit();
    all
}

fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn ingress_exposures(ingress: &Value) -> Vec<(String, Exposure)> {
    let annotation =
        |key: &str| ingress.pointer(&format!("/metadata/annotations/{key}")).and_then(Value::as_str);
    let named = ingress.pointer("/spec/ingressClassName").and_then(Value::as_str);
    let class = named.or_else(|| annotation("kubernetes.io~1ingress.class")).unwrap_or_default();
    // A canary shares the requests of its main ingress, and a class with an invalid name exists on no cluster.
    if annotation("nginx.ingress.kubernetes.io~1canary") == Some("true")
        || !(class.is_empty() || name::is_subdomain(class))
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, rule) in items(ingress, "/spec/rules").enumerate() {
        let host = rule["host"].as_str().unwrap_or_default();
        for (n, route) in items(rule, "/http/paths").enumerate() {
            let point = ExposurePoint::Route {
                host: host.to_owned(),
                path: comparable_path(route).to_owned(),
                path_type: route["pathType"].as_str().unwrap_or_default().to_owned(),
            };
            let pointer = format!("/spec/rules/{at}/http/paths/{n}/path");
            found.push((pointer, Exposure { point, class: class.to_owned() }));
        }
    }
    found
}

/// The path as it is compared: a prefix without its trailing slash.
fn comparable_path(route: &Value) -> &str {
    let path = route["path"].as_str().unwrap_or("/");
    if route["pathType"] != "Prefix" {
        return path;
    }
    let short = path.trim_end_matches('/');
    if short.is_empty() { "/" } else { short }
}

fn service_exposures(service: &Value) -> Vec<(String, Exposure)> {
    let mut found = Vec::new();
    for (at, port) in items(service, "/spec/ports").enumerate() {
        if let Some(number) = port["nodePort"].as_i64().filter(|number| *number != 0) {
            let exposure = Exposure { point: ExposurePoint::NodePort(number), class: String::new() };
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
        collect_exposures(&[object]).remove(0)
    }

    #[test]
    fn g305_two_routes_are_equal_only_if_they_match_the_same_requests() {
        let shop = route("shop.example.com", "/api", "Prefix");
        assert_eq!(shop.conflict_key(), route("shop.example.com", "/api/", "Prefix").conflict_key());
        assert_eq!(route("", "/", "Prefix").conflict_key(), route("", "", "Prefix").conflict_key());
        for other in [
            route("shop.example.com", "/", "Prefix"),
            route("shop.example.com", "/api", "Exact"),
            route("*.example.com", "/api", "Prefix"),
            route("", "/api", "Prefix"),
        ] {
            assert_ne!(shop.conflict_key(), other.conflict_key(), "{other:?}");
        }
        let exact = |path| route("shop.example.com", path, "Exact").conflict_key();
        assert_ne!(exact("/api"), exact("/api/"));
        assert_ne!(
            route("a", "/b\",\"c", "Exact").conflict_key(),
            route("a\",\"/b", "c", "Exact").conflict_key()
        );
    }

    #[test]
    fn g305_an_ingress_without_a_class_has_the_default_class_of_its_cluster() {
        let plain = route("shop.example.com", "/", "Prefix");
        assert!(plain.shares_class("nginx", "nginx") && plain.shares_class("", ""));
        assert!(!plain.shares_class("nginx", "") && !plain.shares_class("internal", "nginx"));
        let rules = json!([{"http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}]);
        let named = collect_exposures(&[ingress(json!({"ingressClassName": "internal", "rules": rules}))]);
        assert_eq!(named[0].class, "internal");
        let mut old = ingress(json!({"rules": rules}));
        old["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "nginx"});
        assert_eq!(collect_exposures(&[old])[0].class, "nginx");
    }

    #[test]
    fn canaries_invalid_classes_templates_and_node_port_zero_are_no_exposures() {
        let rules = json!([{"host": "a", "http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}]);
        let mut canary = ingress(json!({"rules": rules}));
        canary["metadata"]["annotations"] = json!({"nginx.ingress.kubernetes.io/canary": "true"});
        let odd = ingress(json!({"ingressClassName": "no\u{0}name", "rules": rules}));
        let open = ingress(json!({"rules": [{"host": "${{ cluster.name }}", "http": {"paths": [{}]}}]}));
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "nodePort": 0}]}});
        assert_eq!(collect_exposures(&[canary, odd, open, service, json!(null), json!({"kind": 5})]), []);
    }

    #[test]
    fn g303_a_node_port_is_a_number_and_the_exposures_of_a_workload_are_limited() {
        let ports: Vec<Value> =
            (0..300).map(|n| json!({"port": n, "nodePort": 30_000 + n, "protocol": "UDP"})).collect();
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": ports}});
        let found = object_exposures(&service);
        assert_eq!(found[1].0, "/spec/ports/1/nodePort");
        assert_eq!(found[1].1, Exposure { point: ExposurePoint::NodePort(30_001), class: String::new() });
        assert_eq!(collect_exposures(&[service.clone(), service]).len(), MAX_EXPOSURES);
    }
}
