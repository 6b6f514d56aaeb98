//! Discovery documents: `/version_document`, `/api`, `/apis` and below, plain and aggregated.

use serde_json::{Value, json};

use crate::kinds::custom::version_priority;
use crate::kinds::{KindCatalog, ResourceKind};

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// `/version_document`.
pub(super) fn version_document(git: &str) -> Value {
    let numbers: Vec<&str> = git.trim_start_matches('v').split('.').collect();
    json!({
        "major": numbers.first().unwrap_or(&"1"), "minor": numbers.get(1).unwrap_or(&"33"),
        "gitVersion": git, "gitCommit": "0000000000000000000000000000000000000000", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.24.0", "compiler": "gc", "platform": "linux/amd64",
    })
}

/// `/`.
pub(super) fn root_document(served: &KindCatalog) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in all_groups(served) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|v| format!("/apis/{group}/{v}")));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    json!({"paths": paths})
}

/// `/api`.
pub(super) fn core_versions_document() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

/// Named groups with their versions, preferred first.
fn all_groups(served: &KindCatalog) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for kind in served.kinds.iter().filter(|k| !k.group.is_empty()) {
        let at = groups.iter().position(|(g, _)| *g == kind.group).unwrap_or_else(|| {
            groups.push((kind.group.clone(), Vec::new()));
            groups.len() - 1
        });
        for version in &kind.versions {
            if !groups[at].1.contains(&version.name) {
                groups[at].1.push(version.name.clone());
            }
        }
    }
    for (_, versions) in &mut groups {
        versions.sort_by_key(|v| std::cmp::Reverse(version_priority(v)));
    }
    groups
}

fn group_body(group: &str, versions: &[String]) -> Value {
    let entry = |v: &String| json!({"groupVersion": format!("{group}/{v}"), "version": v});
    json!({
        "name": group, "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

/// `/apis`.
pub(super) fn groups_document(served: &KindCatalog) -> Value {
    let groups: Vec<Value> = all_groups(served).iter().map(|(g, v)| group_body(g, v)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/{group_document}`.
pub(super) fn group_document(served: &KindCatalog, name: &str) -> Option<Value> {
    let (group, versions) = all_groups(served).into_iter().find(|(g, _)| g == name)?;
    let mut body = group_body(&group, &versions);
    body["kind"] = "APIGroup".into();
    body["apiVersion"] = "v1".into();
    Some(body)
}

fn kinds_in_version<'k>(served: &'k KindCatalog, api_version: &str) -> Vec<(&'k ResourceKind, usize)> {
    let kinds = served.kinds.iter();
    kinds
        .filter_map(|k| Some((&**k, k.versions.iter().position(|v| v.api_version == api_version)?)))
        .collect()
}

/// API version and kind of a subresource, "" for those of its parent, and its verbs.
fn subresource_discovery(name: &str) -> (&'static str, &'static str, Vec<&'static str>) {
    match name {
        "scale" => ("autoscaling/v1", "Scale", vec!["get", "patch", "update"]),
        "eviction" => ("policy/v1", "Eviction", vec!["create"]),
        "binding" => ("v1", "Binding", vec!["create"]),
        "log" => ("", "", vec!["get"]),
        "finalize" => ("", "", vec!["update"]),
        _ => ("", "", vec!["get", "patch", "update"]),
    }
}

/// Whether the version of the kind has the subresource.
fn has_subresource(kind: &ResourceKind, version: usize, sub: &str) -> bool {
    match sub {
        "status" => kind.versions[version].has_status,
        "scale" => kind.versions[version].scale_paths.is_some(),
        _ => true,
    }
}

/// `/api/v1`, `/apis/{group_document}/{version_document}`.
pub(super) fn resources_document(served: &KindCatalog, api_version: &str) -> Option<Value> {
    let kinds = kinds_in_version(served, api_version);
    if kinds.is_empty() {
        return None;
    }
    let mut resources = Vec::new();
    for (kind, version) in kinds {
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
            "verbs": VERBS,
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = kind.short_names.clone().into();
        }
        if !kind.categories.is_empty() {
            resource["categories"] = kind.categories.clone().into();
        }
        resources.push(resource);
        for sub in kind.subresources.iter().filter(|s| has_subresource(kind, version, s)) {
            let (sub_version, sub_kind, verbs) = subresource_discovery(sub);
            let mut resource = json!({
                "name": format!("{}/{sub}", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "kind": if sub_kind.is_empty() { &kind.kind } else { sub_kind }, "verbs": verbs,
            });
            if let Some((group, version)) = sub_version.split_once('/') {
                resource["group"] = group.into();
                resource["version"] = version.into();
            }
            resources.push(resource);
        }
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
    }))
}

/// `APIGroupDiscoveryList`: everything below `/api` or `/apis` in one document.
pub(super) fn aggregated_document(served: &KindCatalog, core: bool, version: &str) -> Value {
    let groups = if core { vec![(String::new(), vec!["v1".to_owned()])] } else { all_groups(served) };
    let items: Vec<Value> = groups
        .iter()
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let api = if core { version.clone() } else { format!("{group}/{version}") };
                    let kinds = kinds_in_version(served, &api);
                    let resources: Vec<Value> = kinds.iter().map(|(k, v)| aggregated_kind(k, *v)).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if core { json!({"creationTimestamp": null}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {},
        "items": items,
    })
}

fn aggregated_kind(kind: &ResourceKind, version: usize) -> Value {
    let api_version = &kind.versions[version].name;
    let gvk =
        |group: &str, version: &str, name: &str| json!({"group": group, "version": version, "kind": name});
    let own = gvk(&kind.group, api_version, &kind.kind);
    let mut out = json!({
        "resource": kind.plural, "responseKind": own, "singularResource": kind.singular, "verbs": VERBS,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
    });
    if !kind.short_names.is_empty() {
        out["shortNames"] = kind.short_names.clone().into();
    }
    if !kind.categories.is_empty() {
        out["categories"] = kind.categories.clone().into();
    }
    let subresources: Vec<Value> = kind
        .subresources
        .iter()
        .filter(|s| has_subresource(kind, version, s))
        .map(|sub| {
            let (sub_version, sub_kind, verbs) = subresource_discovery(sub);
            let response = match sub_version.split_once('/') {
                Some((group, version)) => gvk(group, version, sub_kind),
                None if sub_kind.is_empty() => own.clone(),
                None => gvk("", sub_version, sub_kind),
            };
            json!({"subresource": sub, "responseKind": response, "verbs": verbs})
        })
        .collect();
    if !subresources.is_empty() {
        out["subresources"] = subresources.into();
    }
    out
}
