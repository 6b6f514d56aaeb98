//! A spec with its secrets hidden, for those who read it and do not edit it.

use serde_json::Value;

use super::WorkloadSpec;
use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::model::overrides::{Override, Patch, PatchOp};
use crate::model::source::Source;
use crate::text::secret_text::{
    HIDDEN_VALUE, hide_annotation, hide_field, hide_secrets, hide_values, is_annotation_path,
    may_contain_secret,
};
use crate::text::secret_values::SecretMarks;
use crate::text::yaml_edit::EditBudget;

impl WorkloadSpec {
    /// The spec with the values of Secrets in its manifests and overrides hidden, and those values of charts whose name or format is that of
    /// a secret.
    #[must_use]
    pub fn with_hidden_secrets(&self) -> Self {
        self.with_marked_secrets(&SecretMarks::Names)
    }

    /// The same, where these marks say which values of the chart are secrets.
    #[must_use]
    pub fn with_marked_secrets(&self, marks: &SecretMarks) -> Self {
        let mut shown = self.clone();
        shown.hide_secrets(marks);
        shown
    }

    /// The same in place: a spec may be large.
    pub fn hide_secrets(&mut self, marks: &SecretMarks) {
        let mut budget = EditBudget::default();
        match &mut self.source {
            Source::Yaml { files } => {
                for file in files.iter_mut().filter(|file| may_contain_secret(&file.text)) {
                    file.text = hide_secrets(&file.text, &mut budget);
                }
            }
            Source::Chart(chart) => chart.values = marks.hide_within(&chart.values, &mut budget),
            Source::Git(source) | Source::Oci(source) => {
                source.values = marks.hide_within(&source.values, &mut budget);
            }
        }
        self.overrides.iter_mut().for_each(|over| over.hide_secrets(marks, &mut budget));
    }
}

impl Override {
    /// Hides what it sets in Secrets, and the values of the chart that are secrets. The budget is that of all overrides of a workload.
    pub fn hide_secrets(&mut self, marks: &SecretMarks, budget: &mut EditBudget) {
        self.values = marks.hide_within(&self.values, budget);
        for patch in &mut self.patches {
            if may_change_secret(patch) {
                hide_patch(patch);
            }
            hide_contained(&mut patch.op);
        }
    }
}

/// Hides the values of Secrets that stand in what is set, such as in a template of a Secret. Without a kind it may be set in any object.
fn hide_contained(op: &mut PatchOp) {
    match op {
        PatchOp::Merge { value } => *value = hide_values(value),
        PatchOp::Set { path, value } => {
            hide_field(path.contains("stringData"), path, value);
            *value = hide_values(value);
        }
        PatchOp::Remove { .. } => {}
    }
}

fn hide_patch(patch: &mut Patch) {
    match &mut patch.op {
        PatchOp::Merge { value } => hide_object(value),
        PatchOp::Set { path, value } => {
            let segments = path.parse::<FieldPath>().map(|path| path.0);
            match segments.as_deref() {
                Ok([]) => hide_object(value),
                Ok([PathSegment::Key(field), ..]) if !is_data(field) && !is_annotation_path(path) => {
                    hide_annotation(value);
                }
                // Also a path that can't be read: a draft may have one.
                Ok(_) | Err(_) => hide_scalars(value),
            }
        }
        PatchOp::Remove { .. } => {}
    }
}

/// Hides the values of a Secret in what is merged into it.
fn hide_object(value: &mut Value) {
    if !value.is_object() {
        return hide_scalars(value);
    }
    for field in ["data", "stringData"] {
        value.get_mut(field).into_iter().for_each(hide_scalars);
    }
    hide_annotation(value);
}

fn is_data(field: &str) -> bool {
    matches!(field, "data" | "stringData")
}

/// Whether a patch selects Secrets; without a kind it selects objects of every kind.
fn may_change_secret(patch: &Patch) -> bool {
    matches!(patch.object.kind.as_str(), "" | "Secret")
}

fn hide_scalars(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| hide_scalars(field)),
        Value::Array(items) => items.iter_mut().for_each(hide_scalars),
        Value::Null => {}
        other => *other = HIDDEN_VALUE.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chart::ChartSource;
    use crate::text::source_file::SourceFile;

    #[test]
    fn values_of_secrets_are_hidden_in_manifests_and_overrides() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}\n".to_owned();
        let source = Source::Yaml { files: vec![SourceFile { name: "a.yaml".to_owned(), text }] };
        let changed: Override = serde_json::from_value(json!({
            "id": crate::OverrideId::from_parts(1, 1), "name": "eu", "patches": [
                { "object": { "kind": "Secret" }, "op": "merge", "value": { "stringData": { "password": "hunter2" } } },
                { "object": {}, "op": "set", "path": "/data/password", "value": "hunter2" },
                { "object": { "kind": "ConfigMap" }, "op": "set", "path": "/data/colour", "value": "blue" },
                { "object": { "kind": "Template" }, "op": "set", "path": "/spec/template",
                  "value": { "apiVersion": "v1", "kind": "Secret", "data": { "password": "hunter2" } } },
                { "object": { "kind": "Template" }, "op": "set", "path": "/spec/template/stringData/password", "value": "hunter2" },
                { "object": {}, "op": "merge", "value": { "spec": { "kind": "Secret", "data": { "password": "hunter2" } } } },
                { "object": {}, "op": "set", "path": "/spec/template", "value": { "stringData": { "password": "hunter2" } } },
            ]
        }))
        .unwrap();
        let spec = WorkloadSpec { source, overrides: vec![changed], ..WorkloadSpec::default() };
        let shown = serde_json::to_string(&spec.with_hidden_secrets()).unwrap();
        assert!(!shown.contains("hunter2") && shown.contains("blue"), "{shown}");
        assert_eq!(shown.matches(HIDDEN_VALUE).count(), 7);
    }

    #[test]
    fn secrets_among_the_values_of_a_chart_are_hidden_also_in_overrides() {
        let text = "password: hunter2\nreplicas: 2\n".to_owned();
        let chart = ChartSource { values: text.clone(), ..ChartSource::default() };
        let changed: Override = serde_json::from_value(json!({
            "id": crate::OverrideId::from_parts(1, 1), "name": "eu", "values": text, "patches": [
                { "object": { "kind": "Secret" }, "op": "set", "path": "/metadata/annotations",
                  "value": { "kubectl.kubernetes.io/last-applied-configuration": "hunter2", "a": "b" } },
            ]
        }))
        .unwrap();
        let spec = WorkloadSpec {
            source: Source::Chart(chart),
            overrides: vec![changed],
            ..WorkloadSpec::default()
        };
        let shown = serde_json::to_string(&spec.with_hidden_secrets()).unwrap();
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!((shown.matches("replicas: 2").count(), shown.matches(HIDDEN_VALUE).count()), (2, 3));
        let all = serde_json::to_string(&spec.with_marked_secrets(&SecretMarks::Unknown)).unwrap();
        assert!(!all.contains("replicas: 2"), "{all}");
    }
}
