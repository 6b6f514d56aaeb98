//! What can be done with objects, one verb a file, beneath HTTP and above the store.

pub(crate) mod apply;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod settle;
pub(crate) mod subresource;
pub(crate) mod update;

use std::sync::Arc;

use serde_json::Value;

use crate::cluster::Sim;
use crate::decode;
use crate::kinds::{Kind, Version};
use crate::object::{self, text};
use crate::status::{Answer, Refusal};
use crate::store::{self, Stored};

/// Tries of a write that others keep overtaking.
const TRIES: usize = 64;

/// Largest object the store takes, as etcd's request limit.
const MAX_OBJECT: usize = 1_572_864;

/// What a request is about.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub kind: Arc<Kind>,
    pub version: usize,
    /// "" for cluster-wide kinds.
    pub namespace: String,
    pub name: String,
}

impl Target {
    pub(crate) fn version(&self) -> &Version {
        &self.kind.versions[self.version]
    }

    pub(crate) fn key(&self) -> String {
        store::key(&self.namespace, &self.name)
    }

    pub(crate) fn get(&self, sim: &Sim) -> Answer<Arc<Stored>> {
        sim.store.get(self.kind.id, &self.key()).ok_or_else(|| Refusal::not_found(&self.kind, &self.name))
    }
}

/// How unknown fields are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// How a write is done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Write<'a> {
    pub manager: &'a str,
    /// "" or `status`, `scale`.
    pub subresource: &'a str,
    pub dry_run: bool,
    pub validation: FieldValidation,
    /// Written by the cluster's own controllers: neither admission nor validation looks at it.
    pub system: bool,
}

/// A write's result.
#[derive(Debug)]
pub(crate) struct Done {
    pub object: Arc<Stored>,
    pub created: bool,
    pub warnings: Vec<String>,
}

/// Checks a sent object against the path it was sent to and brings it into its kind's shape. Answers the warnings.
pub(crate) fn intake(target: &Target, value: &mut Value, validation: FieldValidation) -> Answer<Vec<String>> {
    let version = target.version();
    let (sent_version, sent_kind) = (text(value, "apiVersion"), text(value, "kind"));
    if !sent_version.is_empty() && sent_version != version.api_version {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({})",
            version.api_version
        )));
    }
    if !sent_kind.is_empty() && sent_kind != target.kind.kind {
        return Err(Refusal::bad_request(format!(
            "{sent_kind} in version \"{}\" cannot be handled as a {}: no kind \"{sent_kind}\" is registered here",
            version.name, target.kind.kind
        )));
    }
    if !value.is_object() {
        return Err(Refusal::bad_request("the object provided is unrecognized (must be a JSON object)"));
    }
    value["apiVersion"] = version.api_version.clone().into();
    value["kind"] = target.kind.kind.clone().into();
    if !value["metadata"].is_object() {
        value["metadata"] = Value::Object(Default::default());
    }
    let warnings = shape(target, value, validation)?;
    let sent = object::namespace(value);
    if !sent.is_empty() && sent != target.namespace {
        return Err(Refusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if target.kind.namespaced {
        object::put(value, "metadata.namespace", target.namespace.clone());
    }
    Ok(warnings)
}

/// Prunes, checks types, fills in a custom resource's defaults.
pub(crate) fn shape(target: &Target, value: &mut Value, validation: FieldValidation) -> Answer<Vec<String>> {
    let version = target.version();
    let findings = decode::conform(value, version.ty());
    if !findings.mistyped.is_empty() {
        if target.kind.custom {
            let causes: Vec<_> = findings.mistyped.iter().map(decode::Mistyped::cause).collect();
            return Err(Refusal::invalid(&target.kind, object::name(value), &causes));
        }
        return Err(findings.mistyped[0].refuse(&target.kind.kind, &version.name));
    }
    if target.kind.custom {
        decode::schema_defaults(value, version.ty());
    }
    let unknown: Vec<String> =
        findings.unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            let name = &target.kind.kind;
            let head = if target.kind.custom {
                "strict decoding error".to_owned()
            } else {
                format!(
                    "{name} in version \"{}\" cannot be handled as a {name}: strict decoding error",
                    version.name
                )
            };
            Err(Refusal::bad_request(format!("{head}: {}", unknown.join(", "))))
        }
        FieldValidation::Warn => Ok(unknown),
        _ => Ok(Vec::new()),
    }
}
