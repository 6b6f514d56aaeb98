//! A kind from a CustomResourceDefinition.

use std::sync::Arc;

use serde_json::Value;

use super::{KindVersion, ResourceKind, ScalePaths, UnchangedField};
use crate::object::{array_at, bool_at, map_at, str_at, value_at};
use crate::schema;

fn string_list(value: &Value, path: &str) -> Vec<String> {
    array_at(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The kind of a definition, without an id; `None` if no version is served.
pub(crate) fn kind_from_definition(definition: &Value) -> Option<ResourceKind> {
    let group = str_at(definition, "spec.group").to_owned();
    let all = array_at(definition, "spec.versions");
    let mut served: Vec<&Value> = all.iter().filter(|v| bool_at(v, "served")).collect();
    served.sort_by_key(|v| std::cmp::Reverse(version_priority(str_at(v, "name"))));
    let stored = served.iter().position(|v| bool_at(v, "storage")).unwrap_or(0);
    let versions: Vec<KindVersion> = served.iter().map(|v| version_from_definition(&group, v)).collect();
    if versions.is_empty() {
        return None;
    }
    let mut subresources = Vec::new();
    if versions.iter().any(|v| v.has_status) {
        subresources.push("status".to_owned());
    }
    if versions.iter().any(|v| v.scale_paths.is_some()) {
        subresources.push("scale".to_owned());
    }
    let kind = str_at(definition, "spec.names.kind").to_owned();
    let singular = str_at(definition, "spec.names.singular");
    let singular = if singular.is_empty() { kind.to_lowercase() } else { singular.to_owned() };
    Some(ResourceKind {
        id: 0,
        singular,
        plural: str_at(definition, "spec.names.plural").to_owned(),
        short_names: string_list(definition, "spec.names.shortNames"),
        categories: string_list(definition, "spec.names.categories"),
        namespaced: str_at(definition, "spec.scope") != "Cluster",
        versions,
        storage_index: stored,
        subresources,
        is_custom: true,
        kind,
        group,
    })
}

fn version_from_definition(group: &str, version: &Value) -> KindVersion {
    let name = str_at(version, "name").to_owned();
    let open_api = value_at(version, "schema.openAPIV3Schema").unwrap_or(&Value::Null);
    let (schema, root) = schema::custom::build_schema(open_api);
    let mut unchanged_fields = Vec::new();
    find_unchanged_fields(open_api, "", &mut unchanged_fields);
    let path = |key: &str| {
        let path = str_at(version, key).trim_start_matches('.');
        (!path.is_empty()).then(|| path.to_owned())
    };
    let scale = value_at(version, "subresources.scale").map(|_| ScalePaths {
        spec_replicas: path("subresources.scale.specReplicasPath").unwrap_or_else(|| "spec.replicas".into()),
        status_replicas: path("subresources.scale.statusReplicasPath")
            .unwrap_or_else(|| "status.replicas".into()),
        label_selector: path("subresources.scale.labelSelectorPath"),
    });
    KindVersion {
        api_version: format!("{group}/{name}"),
        name,
        schema: Arc::new(schema),
        root,
        has_status: value_at(version, "subresources.status").is_some(),
        scale_paths: scale,
        printer_columns: array_at(version, "additionalPrinterColumns").to_vec(),
        unchanged_fields,
    }
}

/// The fields below `path` with the rule `self == oldSelf`, outside of lists and maps.
fn find_unchanged_fields(schema: &Value, path: &str, found: &mut Vec<UnchangedField>) {
    const RULE: &str = "self == oldSelf";
    for (name, field) in map_at(schema, "properties").into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let rules = array_at(field, "x-kubernetes-validations").iter();
        for rule in rules.filter(|rule| str_at(rule, "rule") == RULE) {
            let message = match str_at(rule, "message") {
                "" => format!("failed rule: {RULE}"),
                message => message.to_owned(),
            };
            let type_name = str_at(field, "type").to_owned();
            found.push(UnchangedField { path: path.clone(), type_name, message });
        }
        find_unchanged_fields(field, &path, found);
    }
}

/// Kubernetes' order of versions: stable before beta before alpha, then the higher number.
pub(crate) fn version_priority(name: &str) -> (u8, u32, u32) {
    let Some(rest) = name.strip_prefix('v') else { return (0, 0, 0) };
    let split = |stage: &str| {
        let (major, minor) = rest.split_once(stage)?;
        Some((major.parse().ok()?, minor.parse().unwrap_or(0)))
    };
    if let Ok(major) = rest.parse() {
        (3, major, 0)
    } else if let Some((major, minor)) = split("beta") {
        (2, major, minor)
    } else if let Some((major, minor)) = split("alpha") {
        (1, major, minor)
    } else {
        (0, 0, 0)
    }
}
