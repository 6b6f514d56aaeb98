//! The files of a kustomization: its folder, and every folder of the same commit that it refers to. Nothing is fetched or executed:
//! what kustomize would fetch or execute refuses the kustomization, with the file named.

use std::collections::{BTreeMap, HashSet};

use domain::manifest::yaml_value;
use serde_json::Value;

use super::error::{GitError, GitErrorKind, shorten};
use super::tree::{EntryUse, FileTree, MAX_TOTAL_BYTES, PathContent, join};

/// The names of the file that makes a folder a kustomization.
pub(super) const KUSTOMIZATION_FILES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// Fields whose entries are folders or files.
const REFERENCES: [&str; 7] =
    ["resources", "bases", "components", "crds", "generators", "transformers", "validators"];
/// Fields whose entries are files.
const FILES: [&str; 2] = ["patchesStrategicMerge", "configurations"];
/// Fields whose entries have a file as their `path`.
const FILES_BY_PATH: [&str; 3] = ["patches", "patchesJson6902", "replacements"];
/// Fields whose entries have lists of files.
const GENERATORS: [&str; 2] = ["configMapGenerator", "secretGenerator"];
/// Fields that fetch charts.
const REFUSED: [&str; 2] = ["helmCharts", "helmChartInflationGenerator"];
/// Hosts that kustomize knows without a scheme.
const KNOWN_HOSTS: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "dev.azure.com"];
/// Most values of one of them: some 13 MiB of memory while it is read.
const MAX_VALUES: usize = 20_000;
/// Most folders that refer to each other.
const MAX_FOLDERS: usize = 200;

/// The files of the kustomization at `path`, by their path in the repository.
pub(super) fn read_kustomization(
    tree: &impl FileTree,
    path: &str,
) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let mut files = BTreeMap::new();
    let mut visited = HashSet::new();
    let mut pending = vec![path.to_owned()];
    while let Some(place) = pending.pop() {
        if !visited.insert(place.clone()) {
            continue;
        }
        if visited.len() > MAX_FOLDERS {
            let reason =
                format!("is one more than the {MAX_FOLDERS} places that a kustomization may refer to");
            return Err(GitError::rejected(&place, &reason, "Use fewer bases."));
        }
        match tree.find_path(&place)? {
            PathContent::File { id, .. } => drop(files.insert(place.clone(), tree.read_file(&id, &place)?)),
            PathContent::Folder(id) => {
                let read = tree.read_folder(&id, &place, |_, _| EntryUse::Read)?;
                pending.extend(list_references(&place, &read)?);
                files.extend(read.into_iter().map(|(below, bytes)| (join(&place, &below), bytes)));
            }
        }
        if files.values().map(Vec::len).sum::<usize>() > MAX_TOTAL_BYTES {
            let reason = format!("exceeds the limit of {MAX_TOTAL_BYTES} bytes of all files");
            return Err(GitError::rejected(&place, &reason, "Use smaller bases."));
        }
    }
    Ok(files)
}

/// The places in the repository that the kustomization of a folder refers to, beside its own files.
fn list_references(folder: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>, GitError> {
    let found = KUSTOMIZATION_FILES.iter().find_map(|name| Some((*name, files.get(*name)?)));
    let Some((name, bytes)) = found else {
        let hint = "Add one, or correct the reference to the folder.";
        return Err(GitError::rejected(folder, "has no kustomization.yaml", hint));
    };
    let name = join(folder, name);
    let refuse = |reason: &str, hint: &str| Err(GitError::rejected(&name, reason, hint));
    let Ok(text) = std::str::from_utf8(bytes) else { return refuse("is not UTF-8", "Store it as UTF-8.") };
    let value = match yaml_value::read_within(text, MAX_VALUES) {
        Ok(value) => value.unwrap_or_default(),
        Err(finding) => {
            return refuse(
                &format!("is not valid: {}", finding.message.trim_end_matches('.')),
                &finding.hint,
            );
        }
    };
    if let Some(field) = REFUSED.iter().find(|field| !value[**field].is_null()) {
        let hint = "Store the rendered chart in the repository, or use the Helm chart as the source.";
        return refuse(&format!("has the field {field}, which fetches charts: that is not allowed"), hint);
    }
    if let Some(file) = list_files(&value).into_iter().find(|file| file.contains("://")) {
        let hint = "Store it in the repository and name its path.";
        return refuse(&format!("names {:?}, which would be fetched", shorten(file)), hint);
    }
    let mut places = Vec::new();
    for field in REFERENCES {
        for reference in value[field].as_array().into_iter().flatten().filter_map(Value::as_str) {
            // An inline resource is a text of several lines.
            if reference.contains('\n') || files.contains_key(reference.trim_start_matches("./")) {
                continue;
            }
            let shown = shorten(reference);
            if is_remote(reference) {
                let hint = "Store it in the repository and name its path.";
                return refuse(&format!("names {shown:?} in {field}, which would be fetched"), hint);
            }
            match resolve(folder, reference) {
                Some(place) => places.push(place),
                None => {
                    let reason = format!("names {shown:?} in {field}, which is outside of the repository");
                    return Err(GitError {
                        kind: GitErrorKind::RejectedContent,
                        ..GitError::rejected(&name, &reason, "Name a path in the repository.")
                    });
                }
            }
        }
    }
    Ok(places)
}

/// The files that a kustomization names, other than resources.
fn list_files(value: &Value) -> Vec<&str> {
    let entries = |field: &str| value[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut files: Vec<&str> =
        FILES.iter().flat_map(|field| entries(field)).filter_map(Value::as_str).collect();
    // An inline patch has several lines; a URL in it is not a file.
    files.retain(|file| !file.contains('\n'));
    files.extend(
        FILES_BY_PATH.iter().flat_map(|field| entries(field)).filter_map(|entry| entry["path"].as_str()),
    );
    files.extend(value["openapi"]["path"].as_str());
    for generator in GENERATORS.iter().flat_map(|field| entries(field)) {
        let lists = ["files", "envs"].iter().filter_map(|list| generator[*list].as_array());
        files.extend(lists.flatten().filter_map(Value::as_str));
        files.extend(generator["env"].as_str());
    }
    files
}

/// Whether kustomize would fetch a reference.
fn is_remote(reference: &str) -> bool {
    let first = reference.split(['/', ':']).next().unwrap_or_default();
    reference.contains("://")
        || reference.contains("//")
        || reference.contains('?')
        || reference.contains("git::")
        || first.contains('@')
        || KNOWN_HOSTS.iter().any(|host| first.eq_ignore_ascii_case(host))
}

/// A path relative to a folder; `None` if it leaves the repository.
fn resolve(folder: &str, reference: &str) -> Option<String> {
    if reference.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in reference.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<String>, String> {
        let files = [("kustomization.yaml", text), ("web.yaml", "a: 1")];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        list_references("overlays/eu", &files.into()).map_err(|why| why.message)
    }

    #[test]
    fn a_kustomization_refers_to_places_of_its_repository_only() {
        assert_eq!(list("resources: [web.yaml, ./web.yaml, ../../base]\n"), Ok(vec!["base".to_owned()]));
        assert_eq!(
            list("components: [../c]\nbases: [../..]\n"),
            Ok(vec![String::new(), "overlays/c".to_owned()])
        );
        for (text, why) in [
            ("resources: ['https://example.com/a.yaml']\n", "would be fetched"),
            ("bases: ['github.com/acme/base?ref=v1']\n", "would be fetched"),
            ("components: ['git@github.com:acme/base.git']\n", "would be fetched"),
            ("resources: [github.com/acme/base]\n", "would be fetched"),
            ("resources: ['example.com/a//b']\n", "would be fetched"),
            ("resources: ['../../../outside']\n", "outside of the repository"),
            ("resources: [/etc]\n", "outside of the repository"),
            ("helmCharts: [{name: a}]\n", "fetches charts"),
            ("generators: ['https://example.com/plugin.yaml']\n", "would be fetched"),
            ("patches: [{path: 'https://example.com/p.yaml'}]\n", "would be fetched"),
            ("configMapGenerator: [{name: a, files: ['a=https://example.com/p']}]\n", "would be fetched"),
            ("resources: [\n", "overlays/eu/kustomization.yaml"),
        ] {
            let refused = list(text).unwrap_err();
            assert!(
                refused.contains(why) && refused.contains("overlays/eu/kustomization.yaml"),
                "{text}: {refused}"
            );
        }
    }
}
