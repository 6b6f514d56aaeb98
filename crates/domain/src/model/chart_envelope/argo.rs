//! `Application` of Argo CD: a chart of a repository, or a folder in Git.

use serde_json::{Map, Value, json};

use super::address::{OCI_SCHEME, read_version};
use super::object_reader::{ObjectReader, Reasons};
use super::values::{
    ValueItem, check_text, find_set_notation, parse_set_key, parse_set_value, set_items, with_line_end,
    write_map,
};
use super::{ChartAddress, UnwrappedChart, refuse};
use crate::text::finding::Finding;

const IN_FOLDER: &str =
    "Options of kustomize are read from the kustomization in the folder only: write them there.";
const VALUES_FILES: &str =
    "Values are not read from files of a repository: write them in the values of the workload.";
const CLUSTER_FACTS: &str = "The facts of each cluster are used.";
const CONTROLLER: &str = "It is an option of the controller of Argo CD.";
/// Paths of an item of `sources` begin with `/spec/sources/*`, and are listed as those of `source`.
const REASONS: &Reasons = &[
    ("/spec/project", "It is a project of Argo CD."),
    ("/spec/destination", "The placement of the workload selects its clusters."),
    ("/spec/revisionHistoryLimit", "Revisions are deleted by their age."),
    ("/spec/info", "It is shown by Argo CD only."),
    ("/spec/syncPolicy/retry", "A cluster that fails is retried without a limit."),
    (
        "/spec/syncPolicy/managedNamespaceMetadata",
        "Labels of the namespace need a manifest of it in another workload.",
    ),
    ("/spec/syncPolicy/automated", "A new revision is delivered by a publish."),
    ("/spec/source/helm/valueFiles", VALUES_FILES),
    ("/spec/sources/*/helm/valueFiles", VALUES_FILES),
    ("/spec/source/helm/fileParameters", VALUES_FILES),
    ("/spec/sources/*/helm/fileParameters", VALUES_FILES),
    ("/spec/source/helm/ignoreMissingValueFiles", VALUES_FILES),
    ("/spec/sources/*/helm/ignoreMissingValueFiles", VALUES_FILES),
    ("/spec/source/helm/passCredentials", "Credentials belong to the repository of charts."),
    ("/spec/sources/*/helm/passCredentials", "Credentials belong to the repository of charts."),
    ("/spec/source/helm/kubeVersion", CLUSTER_FACTS),
    ("/spec/sources/*/helm/kubeVersion", CLUSTER_FACTS),
    ("/spec/source/helm/apiVersions", CLUSTER_FACTS),
    ("/spec/sources/*/helm/apiVersions", CLUSTER_FACTS),
    ("/spec/source/helm/values", "The valuesObject of the same source replaces them."),
    ("/spec/sources/*/helm/values", "The valuesObject of the same source replaces them."),
    ("/spec/source/kustomize", IN_FOLDER),
    ("/spec/sources/*/kustomize", IN_FOLDER),
    (
        "/spec/source/directory",
        "All files of the folder that are manifests are read, and those of its folders.",
    ),
    (
        "/spec/sources/*/directory",
        "All files of the folder that are manifests are read, and those of its folders.",
    ),
    ("/spec/sources/*/ref", "Values are not read from another source."),
    ("/spec/sourceHydrator", "A workload has one source."),
    ("/operation", CONTROLLER),
];

pub(super) fn read(object: &Value) -> Result<UnwrappedChart, Box<Finding>> {
    let mut reader = ObjectReader::new(object);
    let label = reader.describe();
    let source = choose_source(&mut reader)?;
    let address = read_address(&mut reader, &source)?;
    let at = |field: &str| format!("{source}/helm/{field}");
    let named = reader.text(&at("releaseName"));
    let release_name = if named.is_empty() { reader.text("/metadata/name") } else { named }.to_owned();
    let (own, destination) = (reader.text(&at("namespace")), reader.text("/spec/destination/namespace"));
    let namespace = if own.is_empty() { destination } else { own }.to_owned();
    let values = read_values(&mut reader, &source, &label)?;
    let mut policies = read_policies(&mut reader);
    for name in ["skipCrds", "skipSchemaValidation"] {
        if let Some(skip) = reader.flag(&at(name)) {
            policies.insert(name.to_owned(), skip.into());
        }
    }
    // Hooks for tests never run, and the version of Helm is that of the server.
    reader.value(&at("skipTests"));
    reader.value(&at("version"));
    let not_carried = reader.list_not_carried(REASONS);
    Ok(UnwrappedChart { object: label, address, release_name, namespace, values, policies, not_carried })
}

/// The path of the only source with objects. Others only have files of values; they are named.
fn choose_source(reader: &mut ObjectReader<'_>) -> Result<String, Box<Finding>> {
    let sources = reader.items("/spec/sources");
    if sources.is_empty() {
        return Ok("/spec/source".to_owned());
    }
    let has = |source: &Value, field: &str| source[field].as_str().is_some_and(|text| !text.is_empty());
    let is_of_values = |source: &Value| has(source, "ref") && !has(source, "chart") && !has(source, "path");
    let mut chosen = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let path = format!("/spec/sources/{at}");
        if is_of_values(source) {
            reader.leave(&path, VALUES_FILES);
        } else {
            chosen.push(path);
        }
    }
    if reader.peek("/spec/source").is_some() {
        reader.leave("/spec/source", "Argo CD uses sources if there are both.");
    }
    match chosen.as_slice() {
        [only] => Ok(only.clone()),
        several => {
            let message =
                format!("The object has {} sources with objects, and a workload has one.", several.len());
            Err(refuse(message, "Move each into a workload of its own."))
        }
    }
}

fn read_address(reader: &mut ObjectReader<'_>, source: &str) -> Result<ChartAddress, Box<Finding>> {
    let (url_path, revision_path) = (format!("{source}/repoURL"), format!("{source}/targetRevision"));
    let url = reader.text(&url_path).to_owned();
    if url.is_empty() {
        return Err(refuse("The source of the object has no repoURL.", "Set it in the object."));
    }
    if reader.peek(&format!("{source}/plugin")).is_some() {
        let message = "A plugin of Argo CD renders the source, which is not possible here.";
        return Err(refuse(message, "Write the rendered manifests as the files of the workload."));
    }
    let chart = reader.text(&format!("{source}/chart")).to_owned();
    if chart.is_empty() {
        let reference = match reader.text(&revision_path) {
            "HEAD" => String::new(),
            reference => reference.to_owned(),
        };
        let path = reader.text(&format!("{source}/path")).trim_start_matches("./").trim_matches('/');
        let path = if path == "." { String::new() } else { path.to_owned() };
        return Ok(ChartAddress::Path { repository: url, reference, path });
    }
    // Argo CD writes registries without a scheme.
    let url = if url.contains("://") { url } else { format!("{OCI_SCHEME}{url}") };
    // The name of a chart in a registry may have folders, which belong to the URL of its repository.
    let (url, chart) = match chart.rsplit_once('/') {
        Some((folders, name)) => (format!("{}/{folders}", url.trim_end_matches('/')), name.to_owned()),
        None => (url, chart),
    };
    let version = read_version(reader, &revision_path);
    Ok(ChartAddress::Repository { url, chart, version })
}

/// The values: `valuesObject` or `values`, then `parameters`.
fn read_values(reader: &mut ObjectReader<'_>, source: &str, label: &str) -> Result<String, Box<Finding>> {
    let at = |field: &str| format!("{source}/helm/{field}");
    let text = if reader.peek(&at("valuesObject")).is_some_and(Value::is_object) {
        reader.value(&at("valuesObject")).map(write_map).unwrap_or_default()
    } else {
        match reader.value(&at("values")) {
            None => String::new(),
            Some(Value::String(text)) => with_line_end(text),
            Some(_) => {
                return Err(refuse(
                    format!("The values of {label} are not a text."),
                    "Write them as a text.",
                ));
            }
        }
    };
    let what = format!("The values of {label}");
    check_text(&what, &text)?;
    let (mut items, mut texts): (Vec<ValueItem>, Vec<ValueItem>) = (Vec::new(), Vec::new());
    for (number, parameter) in reader.items(&at("parameters")).iter().enumerate() {
        let path = format!("{}/{number}", at("parameters"));
        let (name, value) = (parameter["name"].as_str(), parameter["value"].as_str().unwrap_or_default());
        let Some(keys) = name.and_then(parse_set_key) else {
            reader.leave(&path, "It sets an item of a list: write the whole list in the values.");
            continue;
        };
        let variable =
            value.contains('$').then_some("It may name a variable of Argo CD: write it in the values.");
        if let Some(why) = find_set_notation(value).or(variable) {
            reader.leave(&path, why);
            continue;
        }
        reader.value(&path);
        if parameter["forceString"] == true {
            texts.push((keys, value.into()));
        } else {
            items.push((keys, parse_set_value(value)));
        }
    }
    // Helm sets those of `--set-string` last.
    items.extend(texts);
    let text = set_items(&text, &items);
    check_text(&what, &text)?;
    Ok(text)
}

fn read_policies(reader: &mut ObjectReader<'_>) -> Map<String, Value> {
    let mut policies = Map::new();
    let automated = "/spec/syncPolicy/automated";
    // Switched off, its fields have no effect, and are named.
    let is_off = reader.peek(&format!("{automated}/enabled")).and_then(Value::as_bool) == Some(false);
    if reader.peek(automated).is_some() && !is_off {
        let prune = reader.flag(&format!("{automated}/prune")).unwrap_or_default();
        let self_heal = reader.flag(&format!("{automated}/selfHeal")).unwrap_or_default();
        policies.insert("prune".to_owned(), prune.into());
        policies.insert("drift".to_owned(), if self_heal { "revert" } else { "notify" }.into());
    }
    let mut is_respected = false;
    for at in 0..reader.items("/spec/syncPolicy/syncOptions").len() {
        let path = format!("/spec/syncPolicy/syncOptions/{at}");
        match reader.text(&path) {
            "CreateNamespace=true" => drop(policies.insert("createNamespace".to_owned(), true.into())),
            "CreateNamespace=false" => drop(policies.insert("createNamespace".to_owned(), false.into())),
            "RespectIgnoreDifferences=true" => is_respected = true,
            // What is done in any case.
            "ServerSideApply=true" | "ApplyOutOfSyncOnly=true" | "PruneLast=true" | "FailOnSharedResource=true"
            | "PrunePropagationPolicy=foreground" | "RespectIgnoreDifferences=false" => {}
            _ => reader.name(&path, "It has no equal: objects are validated, applied by server-side apply and pruned in their order."),
        }
    }
    let rules = read_ignore_rules(reader, if is_respected { "onPresence" } else { "onChange" });
    if !rules.is_empty() {
        policies.insert("ignore".to_owned(), rules.into());
    }
    policies
}

fn read_ignore_rules(reader: &mut ObjectReader<'_>, when: &str) -> Vec<Value> {
    let mut rules = Vec::new();
    for at in 0..reader.items("/spec/ignoreDifferences").len() {
        let base = format!("/spec/ignoreDifferences/{at}");
        let mut text = |field: &str| reader.text(&format!("{base}/{field}"));
        let kind = match text("kind") {
            "*" => "",
            kind => kind,
        };
        let object = json!({"kind": kind, "name": text("name"), "namespace": text("namespace")});
        let group = format!("{base}/group");
        if reader.peek(&group).is_some_and(|group| group != "") {
            reader.leave(
                &group,
                "Rules of a workload select objects by kind, name and namespace, of every group.",
            );
        }
        reader.value(&group);
        if let Some(paths) = reader.value(&format!("{base}/jsonPointers")) {
            rules.push(json!({"object": object, "when": when, "paths": paths}));
        }
        for field in ["jqPathExpressions", "managedFieldsManagers"] {
            let path = format!("{base}/{field}");
            if reader.peek(&path).is_some() {
                reader.leave(&path, "Fields are ignored by a JSON pointer or a JSONPath only.");
            }
        }
    }
    rules
}
