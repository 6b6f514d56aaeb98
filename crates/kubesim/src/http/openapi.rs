//! `/openapi/v3` and `/openapi/v2`: the types and the paths, made from the same description everything else uses.
//!
//! Enough for `kubectl explain`, and for `kubectl apply` to leave validation to the server.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::kinds::{Kind, Served};
use crate::schema::{ListKind, Node, NodeId, Scalar, Ty};

fn path_of(api_version: &str) -> String {
    if api_version.contains('/') { format!("apis/{api_version}") } else { format!("api/{api_version}") }
}

/// The list of documents.
pub(super) fn index(served: &Served) -> Value {
    let mut paths = Map::new();
    for kind in &served.kinds {
        for version in &kind.versions {
            let path = path_of(&version.api_version);
            let hash = if kind.custom { hash(served, &version.api_version) } else { "v1.33".to_owned() };
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// Another one whenever the document is another one: who has read it need not read it again.
fn hash(served: &Served, api_version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    document(served, api_version).map(|document| document.to_string()).hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}

/// The document of one group and version.
pub(super) fn document(served: &Served, api_version: &str) -> Option<Value> {
    let mut writer = Writer { schemas: Map::new(), prefix: "#/components/schemas/" };
    let mut paths = Map::new();
    for kind in &served.kinds {
        let Some(version) = kind.versions.iter().find(|v| v.api_version == api_version) else { continue };
        let name = writer.root(kind, version.ty(), api_version);
        let base = format!("/{}", path_of(api_version));
        let base = if kind.namespaced { format!("{base}/namespaces/{{namespace}}") } else { base };
        let operations = operations(kind, api_version, &format!("{}{name}", writer.prefix));
        let (list, one) = operations;
        paths.insert(format!("{base}/{}", kind.plural), list);
        paths.insert(format!("{base}/{}/{{name}}", kind.plural), one);
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.33"},
        "paths": paths, "components": {"schemas": writer.schemas},
    }))
}

/// The older document in the only form kubectl asks for it: `swagger`, `info` and nothing else. kubectl falls back to
/// it for kinds that `/openapi/v3` does not know, and finds here that it does not know them either.
pub(super) const V2_PROTOBUF: &[u8] = b"\x0a\x032.0\x12\x13\x0a\x0aKubernetes\x12\x05v1.33\x42\x00\x4a\x00";

/// Its media type.
pub(super) const V2_PROTOBUF_MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The older document, with every type in it.
pub(super) fn v2(served: &Served) -> Value {
    let mut writer = Writer { schemas: Map::new(), prefix: "#/definitions/" };
    for kind in &served.kinds {
        for version in &kind.versions {
            writer.root(kind, version.ty(), &version.api_version);
        }
    }
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.33"}, "paths": {},
        "definitions": writer.schemas,
    })
}

fn gvk(kind: &Kind, api_version: &str) -> Value {
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    json!({"group": kind.group, "version": version, "kind": kind.kind})
}

fn operations(kind: &Kind, api_version: &str, schema: &str) -> (Value, Value) {
    let gvk = gvk(kind, api_version);
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let writes: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"].map(parameter).to_vec();
    let answer =
        json!({"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": schema}}}}});
    let operation = |action: &str, parameters: &[Value]| {
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk, "parameters": parameters,
            "responses": answer,
        })
    };
    let list = json!({"get": operation("list", &[]), "post": operation("post", &writes)});
    let one = json!({
        "get": operation("get", &[]), "put": operation("put", &writes), "patch": operation("patch", &writes),
        "delete": operation("delete", &writes[..1]),
    });
    (list, one)
}

struct Writer {
    schemas: Map<String, Value>,
    prefix: &'static str,
}

impl Writer {
    fn root(&mut self, kind: &Kind, ty: Ty<'_>, api_version: &str) -> String {
        let name = self.named(ty).unwrap_or_else(|| {
            let version = api_version.rsplit('/').next().unwrap_or("");
            let name = format!("{}.{version}.{}", reversed(&kind.group), kind.kind);
            let body = self.structure(ty, &mut BTreeSet::new());
            self.schemas.insert(name.clone(), body);
            name
        });
        self.schemas[&name]["x-kubernetes-group-version-kind"] = json!([gvk(kind, api_version)]);
        name
    }

    /// Writes a named type once; its full name.
    fn named(&mut self, ty: Ty<'_>) -> Option<String> {
        let Node::Struct { name, .. } = ty.node() else { return None };
        if name.is_empty() {
            return None;
        }
        let full = full(name);
        if !self.schemas.contains_key(&full) {
            self.schemas.insert(full.clone(), Value::Null);
            let body = self.structure(ty, &mut BTreeSet::new());
            self.schemas.insert(full.clone(), body);
        }
        Some(full)
    }

    fn structure(&mut self, ty: Ty<'_>, path: &mut BTreeSet<NodeId>) -> Value {
        let Node::Struct { fields, preserve, .. } = ty.node() else { return json!({"type": "object"}) };
        let mut keys: Vec<&str> = fields.keys().map(|k| &**k).collect();
        keys.sort_unstable();
        let mut properties = Map::new();
        for key in &keys {
            if let Some(child) = ty.child(key) {
                properties.insert((*key).to_owned(), self.value(child, path));
            }
        }
        let required: Vec<&str> = keys.into_iter().filter(|k| fields[*k].required).collect();
        let mut out = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            out["required"] = required.into();
        }
        if *preserve {
            out["x-kubernetes-preserve-unknown-fields"] = true.into();
        }
        out
    }

    fn value(&mut self, ty: Ty<'_>, path: &mut BTreeSet<NodeId>) -> Value {
        match ty.node() {
            Node::Scalar(scalar) => match scalar {
                Scalar::Text => json!({"type": "string"}),
                Scalar::Time => json!({"type": "string", "format": "date-time"}),
                Scalar::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
                Scalar::Int => json!({"type": "integer", "format": "int64"}),
                Scalar::Number => json!({"type": "number", "format": "double"}),
                Scalar::Bool => json!({"type": "boolean"}),
                Scalar::IntOrText => json!({"type": "string", "format": "int-or-string"}),
            },
            Node::Opaque | Node::Deduced => {
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
            }
            Node::Map { .. } => {
                json!({"type": "object", "additionalProperties": self.value(ty.elem(), path)})
            }
            Node::List { kind, .. } => {
                let mut out = json!({"type": "array", "items": self.value(ty.elem(), path)});
                list_marks(kind, &mut out);
                out
            }
            Node::Struct { .. } => match self.named(ty) {
                Some(name) => json!({"$ref": format!("{}{name}", self.prefix)}),
                None if path.insert(ty.id()) => {
                    let out = self.structure(ty, path);
                    path.remove(&ty.id());
                    out
                }
                None => json!({"type": "object"}),
            },
        }
    }
}

fn list_marks(kind: &ListKind, out: &mut Value) {
    match kind {
        ListKind::Atomic => out["x-kubernetes-list-type"] = "atomic".into(),
        ListKind::Set => {
            out["x-kubernetes-list-type"] = "set".into();
            out["x-kubernetes-patch-strategy"] = "merge".into();
        }
        ListKind::Keyed(keys) => {
            let names: Vec<&str> = keys.iter().map(|(k, _)| &**k).collect();
            out["x-kubernetes-patch-merge-key"] = names[0].into();
            out["x-kubernetes-patch-strategy"] = "merge".into();
            out["x-kubernetes-list-type"] = "map".into();
            out["x-kubernetes-list-map-keys"] = names.into();
        }
    }
}

fn reversed(group: &str) -> String {
    group.split('.').rev().collect::<Vec<_>>().join(".")
}

/// `apps.Deployment` → `io.k8s.api.apps.v1.Deployment`.
fn full(name: &str) -> String {
    let (group, kind) = name.split_once('.').unwrap_or(("", name));
    match group {
        "meta" => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"),
        "apiextensions" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{kind}"),
        "apiregistration" => format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.{kind}"),
        _ => {
            let base = group.trim_end_matches(|c: char| c.is_ascii_digit());
            let version = &group[base.len()..];
            format!("io.k8s.api.{base}.v{}.{kind}", if version.is_empty() { "1" } else { version })
        }
    }
}
