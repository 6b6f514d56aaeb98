//! A spec with the values of its Secrets hidden, for those who read it and do not edit it.

use serde_json::Value;

use super::WorkloadSpec;
use crate::model::overrides::{Override, Patch, PatchOp};
use crate::model::source::Source;
use crate::text::secret_text::{HIDDEN_VALUE, hide_secrets};

impl WorkloadSpec {
    /// The spec with the values of Secrets in its manifests and overrides hidden. Values of charts stay: what of them a chart puts into a
    /// Secret is unknown here.
    #[must_use]
    pub fn with_hidden_secrets(&self) -> Self {
        let mut shown = self.clone();
        if let Source::Yaml { files } = &mut shown.source {
            for file in files {
                file.text = hide_secrets(&file.text);
            }
        }
        shown.overrides.iter_mut().for_each(hide_override);
        shown
    }
}

fn hide_override(shown: &mut Override) {
    for patch in shown.patches.iter_mut().filter(|patch| may_change_secret(patch)) {
        match &mut patch.op {
            PatchOp::Merge { value } => {
                for field in ["data", "stringData"] {
                    value.get_mut(field).into_iter().for_each(hide_scalars);
                }
            }
            PatchOp::Set { path, value } if path.starts_with("/data") || path.starts_with("/stringData") => {
                hide_scalars(value);
            }
            PatchOp::Set { .. } | PatchOp::Remove { .. } => {}
        }
    }
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
            ]
        }))
        .unwrap();
        let spec = WorkloadSpec { source, overrides: vec![changed], ..WorkloadSpec::default() };
        let shown = serde_json::to_string(&spec.with_hidden_secrets()).unwrap();
        assert!(!shown.contains("hunter2") && shown.contains("blue"), "{shown}");
        assert_eq!(shown.matches(HIDDEN_VALUE).count(), 3);
    }
}
