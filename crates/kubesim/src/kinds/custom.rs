//! A kind from a CustomResourceDefinition.

use std::sync::Arc;

use serde_json::Value;

use super::{Kind, Scale, Version};
use crate::object::{at, flag, list, text};
use crate::schema;

fn words(value: &Value, path: &str) -> Vec<String> {
    list(value, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The kind a definition describes, without an id; none if it serves no version.
pub(crate) fn kind(definition: &Value) -> Option<Kind> {
    let group = text(definition, "spec.group").to_owned();
    let all = list(definition, "spec.versions");
    let mut served: Vec<&Value> = all.iter().filter(|v| flag(v, "served")).collect();
    served.sort_by_key(|v| std::cmp::Reverse(priority(text(v, "name"))));
    let stored = served.iter().position(|v| flag(v, "storage")).unwrap_or(0);
    let versions: Vec<Version> = served.iter().map(|v| version(&group, v)).collect();
    if versions.is_empty() {
        return None;
    }
    let mut subresources = Vec::new();
    if versions.iter().any(|v| v.status) {
        subresources.push("status".to_owned());
    }
    if versions.iter().any(|v| v.scale.is_some()) {
        subresources.push("scale".to_owned());
    }
    let kind = text(definition, "spec.names.kind").to_owned();
    let singular = text(definition, "spec.names.singular");
    let singular = if singular.is_empty() { kind.to_lowercase() } else { singular.to_owned() };
    Some(Kind {
        id: 0,
        singular,
        plural: text(definition, "spec.names.plural").to_owned(),
        short: words(definition, "spec.names.shortNames"),
        categories: words(definition, "spec.names.categories"),
        namespaced: text(definition, "spec.scope") != "Cluster",
        versions,
        stored,
        subresources,
        custom: true,
        kind,
        group,
    })
}

fn version(group: &str, version: &Value) -> Version {
    let name = text(version, "name").to_owned();
    let open_api = at(version, "schema.openAPIV3Schema").unwrap_or(&Value::Null);
    let (schema, root) = schema::custom::build(open_api);
    let path = |key: &str| {
        let path = text(version, key).trim_start_matches('.');
        (!path.is_empty()).then(|| path.to_owned())
    };
    let scale = at(version, "subresources.scale").map(|_| Scale {
        spec: path("subresources.scale.specReplicasPath").unwrap_or_else(|| "spec.replicas".into()),
        status: path("subresources.scale.statusReplicasPath").unwrap_or_else(|| "status.replicas".into()),
        selector: path("subresources.scale.labelSelectorPath"),
    });
    Version {
        api_version: format!("{group}/{name}"),
        name,
        schema: Arc::new(schema),
        root,
        status: at(version, "subresources.status").is_some(),
        scale,
        columns: list(version, "additionalPrinterColumns").to_vec(),
    }
}

/// Kubernetes' order of versions: stable before beta before alpha, then the higher number.
pub(crate) fn priority(name: &str) -> (u8, u32, u32) {
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
