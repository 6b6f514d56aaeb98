//! The changes between two revisions, for the history.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ClusterPlan, FieldChange};
use crate::evaluation::secret_content::ChartMarks;
use crate::model::bundle::Bundle;
use crate::model::overrides::Override;
use crate::model::policy::Policies;
use crate::model::workload::{Revision, Source, WorkloadSpec};
use crate::text::finding::Finding;
use crate::text::manifest::yaml_value;

/// A revision and its changes against another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevisionView {
    /// The revision.
    pub revision: Revision,
    /// Number of the revision that it is compared with; `None` for the first, which is compared with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<u32>,
    /// The cluster that both are rendered for; empty for the manifests without overrides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster: String,
    /// Changes of its objects; `None` if one of the two can't be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ClusterPlan>,
    /// Why there are no changes of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Other parts that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_parts: Vec<ChangedPart>,
}

/// A part of a spec that differs between two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedPart {
    /// `source` (chart or commit), `values`, `placement`, `overrides`, `rollout`, `policies` or `namespace`.
    pub part: String,
    /// The changed lines with three lines around them, as a unified diff.
    pub diff: String,
}

/// A part of a spec as text, before it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecPart {
    /// Name of the part.
    pub part: &'static str,
    /// Its text.
    pub text: String,
}

/// The parts of a spec beside its manifests, as text. Values keep their comments; the others are written as YAML.
pub fn list_spec_parts(spec: &WorkloadSpec) -> Vec<SpecPart> {
    let yaml = |part: &'static str, value: serde_json::Result<serde_json::Value>| SpecPart {
        part,
        text: value.map(|value| yaml_value::write(&value)).unwrap_or_default(),
    };
    let release_name = |name: &str| match name {
        "" => String::new(),
        name => format!("releaseName: {name}\n"),
    };
    let (source, values) = match &spec.source {
        Source::Chart(chart) => {
            let name = format!("chart: {}\nversion: {}\n", chart.chart, chart.version);
            (name + &release_name(&chart.release_name), chart.values.clone())
        }
        Source::Git(git) | Source::Oci(git) => {
            let commit = git.pinned.as_ref().map(|pinned| format!("commit: {}\n", pinned.commit));
            let address =
                format!("repository: {}\nref: {}\npath: {}\n", git.repository, git.reference, git.path);
            (address + &commit.unwrap_or_default() + &release_name(&git.release_name), git.values.clone())
        }
        Source::Yaml { .. } => (String::new(), String::new()),
    };
    vec![
        SpecPart { part: "source", text: source },
        SpecPart { part: "values", text: values },
        SpecPart { part: "namespace", text: format!("{}\n", spec.namespace) },
        yaml("dependsOn", serde_json::to_value(&spec.depends_on)),
        yaml("placement", serde_json::to_value(&spec.placement)),
        yaml("overrides", serde_json::to_value(&spec.overrides)),
        yaml("rollout", serde_json::to_value(&spec.rollout)),
        yaml("policies", serde_json::to_value(&spec.policies)),
    ]
}

/// The files and parts of a spec that differ from another one, in words: `deploy.yaml`, `new.yaml added`, `placement`.
pub fn list_changed_names(before: &WorkloadSpec, after: &WorkloadSpec) -> Vec<String> {
    let files = |spec: &WorkloadSpec| match &spec.source {
        Source::Yaml { files } => files.clone(),
        _ => Vec::new(),
    };
    let (old, new) = (files(before), files(after));
    let mut changed = Vec::new();
    for file in &new {
        match old.iter().find(|other| other.name == file.name) {
            None => changed.push(format!("{} added", file.name)),
            Some(other) if other.text != file.text => changed.push(file.name.clone()),
            Some(_) => {}
        }
    }
    let removed = old.iter().filter(|file| !new.iter().any(|other| other.name == file.name));
    changed.extend(removed.map(|file| format!("{} removed", file.name)));
    let parts = list_spec_parts(before).into_iter().zip(list_spec_parts(after));
    changed.extend(parts.filter(|(one, other)| one.text != other.text).map(|(_, part)| part.part.to_owned()));
    changed
}

/// The settings that differ between two specs, with the value `before` as the live one: everything but the source, by field. Lists are
/// compared as a whole, overrides by their names.
pub fn diff_settings(before: &WorkloadSpec, after: &WorkloadSpec, marks: &ChartMarks) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    diff_values("", Some(&settings_value(before)), Some(&settings_value(after)), &mut changes);
    // A secret that is changed is listed, and hidden in both.
    let hide = |spec: &WorkloadSpec| settings_value(&spec.with_marked_secrets(marks.get(&spec.source)));
    let (before, after) = (hide(before), hide(after));
    for change in &mut changes {
        change.live = before.pointer(&change.path).cloned();
        change.desired = after.pointer(&change.path).cloned();
    }
    changes
}

fn settings_value(spec: &WorkloadSpec) -> Value {
    let overrides: serde_json::Map<String, Value> = spec
        .overrides
        .iter()
        .map(|over| {
            let Override { id: _, name, target, priority, values, patches } = over;
            let content =
                json!({"target": target, "priority": priority, "values": values, "patches": patches});
            (name.clone(), content)
        })
        .collect();
    json!({
        "namespace": spec.namespace,
        "addon": spec.addon,
        "dependsOn": spec.depends_on,
        "placement": spec.placement,
        "overrides": overrides,
        "rollout": spec.rollout,
        "policies": spec.policies,
    })
}

fn diff_values(path: &str, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<FieldChange>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                diff_values(&path, old.get(key), new.get(key), changes);
            }
        }
        (before, after) => changes.push(FieldChange {
            path: path.to_owned(),
            desired: after.cloned(),
            live: before.cloned(),
        }),
    }
}

/// The changes of the objects from one bundle to another; everything is created if there is no other.
pub fn compare_bundles(before: Option<&Bundle>, after: &Bundle) -> ClusterPlan {
    ClusterPlan::estimate(before, after, &Policies::default(), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::plan::PlannedAction;
    use crate::model::chart::ChartSource;
    use crate::model::workload::SourceFile;
    use crate::text::manifest;

    fn bundle(text: &str) -> Bundle {
        Bundle::new(manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]).objects())
    }

    #[test]
    fn changed_settings_are_listed_by_field_and_override() {
        let before = WorkloadSpec::default();
        let mut after = before.clone();
        after.policies.prune = !before.policies.prune;
        after.overrides.push(Override {
            id: crate::kubernetes::id::OverrideId::from_parts(1, 1),
            name: "east".into(),
            target: Default::default(),
            priority: 500,
            values: String::new(),
            patches: Vec::new(),
        });
        let changes = diff_settings(&before, &after, &ChartMarks::for_editor());
        let paths: Vec<&str> = changes.iter().map(|change| &*change.path).collect();
        assert_eq!(paths, ["/overrides/east", "/policies/prune"]);
        assert_eq!(changes[1].desired, Some(json!(after.policies.prune)));
        assert_eq!(diff_settings(&after, &after, &ChartMarks::for_editor()), []);
        let mut secret = after.clone();
        secret.overrides[0].values = "password: hunter2\n".into();
        let changes = diff_settings(&after, &secret, &ChartMarks::for_editor());
        assert_eq!(changes[0].path, "/overrides/east/values", "a changed secret is listed: {changes:?}");
        secret.overrides[0].values = "password: other\n".into();
        let hidden = json!("password: \"(hidden)\"\n");
        assert!(
            diff_settings(&after, &secret, &ChartMarks::for_editor())
                .iter()
                .all(|change| change.desired == Some(hidden.clone()))
        );
    }

    #[test]
    fn s1_11_a_revision_lists_its_changes_and_never_the_value_of_a_secret() {
        let secret = |value: &str| {
            bundle(&format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{password: {value}}}\n"
            ))
        };
        let changes = compare_bundles(Some(&secret("first")), &secret("second"));
        assert!(matches!(changes.objects[0].action, PlannedAction::Change { .. }), "{changes:#?}");
        let json = serde_json::to_string(&changes).unwrap();
        assert!(!json.contains("first") && !json.contains("second"), "{json}");
    }

    #[test]
    fn changed_files_and_parts_are_named() {
        let spec = |files: &[(&str, &str)], namespace: &str| WorkloadSpec {
            source: Source::Yaml {
                files: files
                    .iter()
                    .map(|(name, text)| SourceFile { name: (*name).into(), text: (*text).into() })
                    .collect(),
            },
            namespace: namespace.into(),
            ..WorkloadSpec::default()
        };
        let before = spec(&[("a.yaml", "1"), ("b.yaml", "1"), ("c.yaml", "1")], "shop");
        let after = spec(&[("a.yaml", "2"), ("b.yaml", "1"), ("d.yaml", "1")], "store");
        assert_eq!(
            list_changed_names(&before, &after),
            ["a.yaml", "d.yaml added", "c.yaml removed", "namespace"]
        );
        assert_eq!(list_changed_names(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn the_first_revision_creates_everything() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert_eq!(compare_bundles(None, &bundle(text)).counts().create, 1);
    }

    #[test]
    fn the_values_of_a_chart_keep_their_comments_and_other_parts_are_yaml() {
        let chart = ChartSource {
            chart: "local/web".into(),
            version: "1.0.0".into(),
            values: "replicas: 2 # for the peak\n".into(),
            ..ChartSource::default()
        };
        let spec = WorkloadSpec { source: Source::Chart(chart), ..WorkloadSpec::default() };
        let parts = list_spec_parts(&spec);
        let text = |name: &str| parts.iter().find(|part| part.part == name).map(|part| part.text.as_str());
        assert_eq!(text("source"), Some("chart: local/web\nversion: 1.0.0\n"));
        assert_eq!(text("values"), Some("replicas: 2 # for the peak\n"));
        assert!(text("policies").is_some_and(|text| text.contains("prune: true")), "{parts:?}");
    }
}
