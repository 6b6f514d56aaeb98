//! The operations on objects, one file per verb; called by the HTTP layer and the controllers.

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod prepare;
pub(crate) mod subresource;
pub(crate) mod update;

use std::sync::Arc;

use serde_json::Value;

use crate::cluster::SimState;
use crate::decode;
use crate::kinds::{KindVersion, ResourceKind};
use crate::object::{self, str_at};
use crate::status::{ApiResult, StatusError};
use crate::store::{self, StoredObject};

/// Maximum tries of a write that conflicts with concurrent writes.
const MAX_TRIES: usize = 64;

/// Maximum size of a stored object in bytes; etcd's request limit.
const MAX_OBJECT_BYTES: usize = 1_572_864;

/// The kind, version, namespace and name that a request addresses.
#[derive(Clone, Debug)]
pub(crate) struct ResourcePath {
    pub kind: Arc<ResourceKind>,
    pub version: usize,
    /// "" for cluster-scoped kinds.
    pub namespace: String,
    pub name: String,
}

impl ResourcePath {
    pub(crate) fn version(&self) -> &KindVersion {
        &self.kind.versions[self.version]
    }

    pub(crate) fn key(&self) -> String {
        store::object_key(&self.namespace, &self.name)
    }

    pub(crate) fn get(&self, sim: &SimState) -> ApiResult<Arc<StoredObject>> {
        sim.store.get(self.kind.id, &self.key()).ok_or_else(|| StatusError::not_found(&self.kind, &self.name))
    }
}

/// The handling of unknown fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// Options of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteOptions<'a> {
    pub manager: &'a str,
    /// "" or `status`, `scale`.
    pub subresource: &'a str,
    pub dry_run: bool,
    pub field_validation: FieldValidation,
    /// Written by the cluster's own controllers: skips admission and validation (created pods excepted).
    pub by_system: bool,
}

/// The result of a write.
#[derive(Debug)]
pub(crate) struct WriteResult {
    pub object: Arc<StoredObject>,
    pub created: bool,
    pub warnings: Vec<String>,
}

/// Checks a sent object against its request path and conforms it to its kind. Returns the warnings.
pub(crate) fn prepare_object(
    target: &ResourcePath,
    value: &mut Value,
    validation: FieldValidation,
) -> ApiResult<Vec<String>> {
    let version = target.version();
    let (sent_version, sent_kind) = (str_at(value, "apiVersion"), str_at(value, "kind"));
    if !sent_version.is_empty() && sent_version != version.api_version {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({})",
            version.api_version
        )));
    }
    if !sent_kind.is_empty() && sent_kind != target.kind.kind {
        return Err(StatusError::bad_request(format!(
            "{sent_kind} in version \"{}\" cannot be handled as a {}: no kind \"{sent_kind}\" is registered here",
            version.name, target.kind.kind
        )));
    }
    if !value.is_object() {
        return Err(StatusError::bad_request("the object provided is unrecognized (must be a JSON object)"));
    }
    value["apiVersion"] = version.api_version.clone().into();
    value["kind"] = target.kind.kind.clone().into();
    if !value["metadata"].is_object() {
        value["metadata"] = Value::Object(Default::default());
    }
    let warnings = prune_and_default(target, value, validation)?;
    let sent = object::namespace(value);
    if !sent.is_empty() && sent != target.namespace {
        return Err(StatusError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if target.kind.namespaced {
        object::set_value(value, "metadata.namespace", target.namespace.clone());
    }
    Ok(warnings)
}

/// Prunes unknown fields, checks types, fills in a custom resource's defaults. Returns the warnings.
pub(crate) fn prune_and_default(
    target: &ResourcePath,
    value: &mut Value,
    validation: FieldValidation,
) -> ApiResult<Vec<String>> {
    let version = target.version();
    let findings = decode::conform_to_schema(value, version.ty());
    if !findings.type_mismatches.is_empty() {
        if target.kind.is_custom {
            let causes: Vec<_> =
                findings.type_mismatches.iter().map(decode::TypeMismatch::status_cause).collect();
            return Err(StatusError::invalid(&target.kind, object::name(value), &causes));
        }
        return Err(findings.type_mismatches[0].decode_error(&target.kind.kind, &version.name));
    }
    if target.kind.is_custom {
        decode::apply_schema_defaults(value, version.ty());
    }
    let unknown: Vec<String> =
        findings.unknown_fields.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            let name = &target.kind.kind;
            let head = if target.kind.is_custom {
                "strict decoding error".to_owned()
            } else {
                format!(
                    "{name} in version \"{}\" cannot be handled as a {name}: strict decoding error",
                    version.name
                )
            };
            Err(StatusError::bad_request(format!("{head}: {}", unknown.join(", "))))
        }
        FieldValidation::Warn => Ok(unknown),
        _ => Ok(Vec::new()),
    }
}
