//! `/openapi/v3` and `/openapi/v2_document`: types and paths, generated from `schema`.
//!
//! Sufficient for `kubectl explain` and for `kubectl apply` with server-side validation.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::kinds::{KindCatalog, ResourceKind};
use crate::schema::{ListKind, NodeId, Scalar, SchemaNode, TypeRef};

fn path_of(api_version: &str) -> String {
    if api_version.contains('/') { format!("apis/{api_version}") } else { format!("api/{api_version}") }
}

/// The index of documents.
pub(super) fn index_document(served: &KindCatalog) -> Value {
    let mut paths = Map::new();
    for kind in &served.kinds {
        for version in &kind.versions {
            let path = path_of(&version.api_version);
            let hash =
                if kind.is_custom { document_hash(served, &version.api_version) } else { "v1.33".to_owned() };
            let url = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// Changes whenever the document changes, so that clients can cache it.
fn document_hash(served: &KindCatalog, api_version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    group_version_document(served, api_version).map(|document| document.to_string()).hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}

/// The document of one group and version.
pub(super) fn group_version_document(served: &KindCatalog, api_version: &str) -> Option<Value> {
    let mut writer = SchemaWriter { schemas: Map::new(), prefix: "#/components/schemas/" };
    let mut paths = Map::new();
    for kind in &served.kinds {
        let Some(version) = kind.versions.iter().find(|v| v.api_version == api_version) else { continue };
        let name = writer.write_root(kind, version.ty(), api_version);
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

/// The v2 document in protobuf, the only form that kubectl requests: `swagger` and `info` without definitions. kubectl
/// falls back to it for kinds that are not in `/openapi/v3`, and does not find them here either.
pub(super) const V2_PROTOBUF: &[u8] = b"\x0a\x032.0\x12\x13\x0a\x0aKubernetes\x12\x05v1.33\x42\x00\x4a\x00";

/// Media type of [`V2_PROTOBUF`].
pub(super) const V2_PROTOBUF_MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The v2 document, with all types.
pub(super) fn v2_document(served: &KindCatalog) -> Value {
    let mut writer = SchemaWriter { schemas: Map::new(), prefix: "#/definitions/" };
    for kind in &served.kinds {
        for version in &kind.versions {
            writer.write_root(kind, version.ty(), &version.api_version);
        }
    }
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.33"}, "paths": {},
        "definitions": writer.schemas,
    })
}

fn gvk(kind: &ResourceKind, api_version: &str) -> Value {
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    json!({"group": kind.group, "version": version, "kind": kind.kind})
}

fn operations(kind: &ResourceKind, api_version: &str, schema: &str) -> (Value, Value) {
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

struct SchemaWriter {
    schemas: Map<String, Value>,
    prefix: &'static str,
}

impl SchemaWriter {
    fn write_root(&mut self, kind: &ResourceKind, ty: TypeRef<'_>, api_version: &str) -> String {
        let name = self.write_named(ty).unwrap_or_else(|| {
            let version = api_version.rsplit('/').next().unwrap_or("");
            let name = format!("{}.{version}.{}", reverse_group(&kind.group), kind.kind);
            let body = self.write_struct(ty, &mut BTreeSet::new());
            self.schemas.insert(name.clone(), body);
            name
        });
        self.schemas[&name]["x-kubernetes-group-version-kind"] = json!([gvk(kind, api_version)]);
        name
    }

    /// Writes a named type once and returns its full name.
    fn write_named(&mut self, ty: TypeRef<'_>) -> Option<String> {
        let SchemaNode::Struct { name, .. } = ty.node() else { return None };
        if name.is_empty() {
            return None;
        }
        let full = full_type_name(name);
        if !self.schemas.contains_key(&full) {
            self.schemas.insert(full.clone(), Value::Null);
            let body = self.write_struct(ty, &mut BTreeSet::new());
            self.schemas.insert(full.clone(), body);
        }
        Some(full)
    }

    fn write_struct(&mut self, ty: TypeRef<'_>, path: &mut BTreeSet<NodeId>) -> Value {
        let SchemaNode::Struct { fields, preserve, .. } = ty.node() else { return json!({"type": "object"}) };
        let mut keys: Vec<&str> = fields.keys().map(|k| &**k).collect();
        keys.sort_unstable();
        let mut properties = Map::new();
        for key in &keys {
            if let Some(child) = ty.child(key) {
                properties.insert((*key).to_owned(), self.write_value(child, path));
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

    fn write_value(&mut self, ty: TypeRef<'_>, path: &mut BTreeSet<NodeId>) -> Value {
        match ty.node() {
            SchemaNode::Scalar(scalar) => match scalar {
                Scalar::Text => json!({"type": "string"}),
                Scalar::Time => json!({"type": "string", "format": "date-time"}),
                Scalar::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
                Scalar::Int => json!({"type": "integer", "format": "int64"}),
                Scalar::Number => json!({"type": "number", "format": "double"}),
                Scalar::Bool => json!({"type": "boolean"}),
                Scalar::IntOrText => json!({"type": "string", "format": "int-or-string"}),
            },
            SchemaNode::Opaque | SchemaNode::Deduced => {
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
            }
            SchemaNode::Map { .. } => {
                json!({"type": "object", "additionalProperties": self.write_value(ty.elem(), path)})
            }
            SchemaNode::List { kind, .. } => {
                let mut out = json!({"type": "array", "items": self.write_value(ty.elem(), path)});
                set_list_extensions(kind, &mut out);
                out
            }
            SchemaNode::Struct { .. } => match self.write_named(ty) {
                Some(name) => json!({"$ref": format!("{}{name}", self.prefix)}),
                None if path.insert(ty.id()) => {
                    let out = self.write_struct(ty, path);
                    path.remove(&ty.id());
                    out
                }
                None => json!({"type": "object"}),
            },
        }
    }
}

fn set_list_extensions(kind: &ListKind, out: &mut Value) {
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

fn reverse_group(group: &str) -> String {
    group.split('.').rev().collect::<Vec<_>>().join(".")
}

/// `apps.Deployment` → `io.k8s.api.apps.v1.Deployment`.
fn full_type_name(name: &str) -> String {
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
