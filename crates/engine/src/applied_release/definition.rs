//! The CustomResourceDefinition of `AppliedRelease`.

use domain::Digest;
use serde_json::{Value, json};

use super::{GROUP, HASH_ANNOTATION, VERSION};
use crate::api::{ApiClient, ForceConflicts, ServedKind};
use crate::error::Error;

/// Installs or updates the definition. Writes nothing if its hash is current.
///
/// # Errors
/// The definition can't be read or written.
pub(crate) async fn ensure_definition(api: &ApiClient) -> Result<(), Error> {
    let crds = ServedKind::new(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    );
    let path = crds.object_path("", &format!("appliedreleases.{GROUP}"));
    let desired = definition();
    let hash = Digest::compute(desired.to_string().as_bytes());
    match api.get(&path).await {
        Ok(live)
            if live.pointer("/metadata/annotations").is_some_and(|a| a[HASH_ANNOTATION] == hash.as_str()) =>
        {
            Ok(())
        }
        Ok(_) | Err(Error::NotFound(_)) => {
            let mut desired = desired;
            desired["metadata"]["annotations"] = json!({ HASH_ANNOTATION: hash.as_str() });
            api.apply(&path, desired.to_string().into_bytes(), ForceConflicts::Yes, false).await.map(drop)
        }
        Err(error) => Err(error),
    }
}

fn definition() -> Value {
    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("appliedreleases.{GROUP}") },
        "spec": {
            "group": GROUP,
            "names": { "kind": "AppliedRelease", "listKind": "AppliedReleaseList",
                       "plural": "appliedreleases", "singular": "appliedrelease" },
            "scope": "Cluster",
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": [
                    column("State", "string", ".spec.state"),
                    column("Workload", "string", ".spec.workload"),
                    column("Revision", "integer", ".spec.revision"),
                    column("Age", "date", ".metadata.creationTimestamp"),
                    // Shown only with `-o wide`.
                    json!({"name": "Evicting since", "type": "date", "jsonPath": ".spec.evictionStart",
                           "priority": 1}),
                ],
                "schema": { "openAPIV3Schema": schema() },
            }],
        },
    })
}

fn schema() -> Value {
    let text = json!({"type": "string"});
    let entry = json!({"type": "object", "properties": {
        "group": text, "version": text, "kind": text, "resource": text, "namespace": text, "name": text,
        "uid": text, "hash": text, "leftFields": text, "scaled": {"type": "boolean"}, "shared": {"type": "boolean"}, "completed": {"type": "boolean"}, "missing": {"type": "boolean"},
    }});
    let contested = json!({"type": "object", "properties": {
        "group": text, "version": text, "kind": text, "namespace": text, "name": text,
        "fields": {"type": "array", "items": text},
    }});
    json!({
        "type": "object",
        "description": "The objects that Flotilla applied for one workload. Maintained by the Flotilla agent; do not edit.",
        "properties": {
            "spec": {"type": "object", "properties": {
                "releaseId": text,
                "workload": text,
                "revision": {"type": "integer"},
                "generation": {"type": "integer", "format": "int64"},
                "state": text,
                "hubHash": text,
                "agentId": text,
                "specHash": text,
                "evictionStart": {"type": "string", "format": "date-time"},
                "bundle": text,
                "applied": text,
                "resources": {"type": "array", "items": entry},
                "leftFieldsRecorded": {"type": "boolean"},
                "removalHooks": {"type": "array", "items":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "contested": {"type": "object", "properties": {
                    "revision": {"type": "integer"},
                    "syncNonce": {"type": "integer", "format": "int64"},
                    "objects": {"type": "array", "items": contested},
                }},
                "hooks": {"type": "object", "properties": {
                    "bundle": text,
                    "operation": text,
                    "generation": {"type": "integer", "format": "int64"},
                    "succeeded": {"type": "array", "items": text},
                    "finished": {"type": "boolean"},
                    "installed": {"type": "boolean"},
                }},
            }},
        },
    })
}
