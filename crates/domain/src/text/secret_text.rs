//! The values of Secrets, hidden in what is displayed: in objects, and in the text of manifests.

use serde_json::Value;

use crate::kubernetes::field_path::{FieldPath, escape_pointer_token};
use crate::text::finding::Finding;
use crate::text::yaml_edit;

/// Placeholder for a value that must not be shown.
pub const HIDDEN_VALUE: &str = "(hidden)";

/// A value is the placeholder.
const HIDDEN_VALUE_CODE: &str = "G124";

/// The annotation in which `kubectl apply` stores the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is shown of a text in which a Secret may stand and can't be found.
const HIDDEN_TEXT: &str = "# (hidden: this text can't be read and may contain a Secret)\n";

/// Whether the object's `data` must not be shown.
pub fn is_secret_object(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// The JSON pointer of a value that is the placeholder; `None` if there is none.
pub fn find_hidden_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (text == HIDDEN_VALUE).then(String::new),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| {
            find_hidden_value(field).map(|below| format!("/{}{below}", escape_pointer_token(key)))
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| find_hidden_value(item).map(|below| format!("/{at}{below}"))),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// G124: a value of these is the placeholder. `what` begins the sentence.
pub fn check_hidden_value(what: &str, values: &Value) -> Option<Finding> {
    let path = find_hidden_value(values)?;
    let message = format!("{what} have the placeholder {HIDDEN_VALUE} at {path}.");
    Some(Finding::error(HIDDEN_VALUE_CODE, message, "Enter the value."))
}

/// The object with its values replaced by [`HIDDEN_VALUE`], also those in its annotations.
pub fn hide_values(object: &Value) -> Value {
    let mut shown = object.clone();
    for field in ["data", "stringData"] {
        let values = shown.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
        values.for_each(|(_, value)| *value = HIDDEN_VALUE.into());
    }
    hide_annotation(&mut shown);
    shown
}

/// Hides the annotation with the whole object, wherever it stands in a value.
pub fn hide_annotation(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if name == LAST_APPLIED {
                    *field = HIDDEN_VALUE.into();
                } else {
                    hide_annotation(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_annotation),
        _ => {}
    }
}

/// Whether a path leads to the annotation with the whole object.
pub fn is_annotation_path(path: &str) -> bool {
    path.contains("last-applied-configuration")
}

/// Whether a text of manifests may contain a Secret. Without the word, and without an escape that could stand for a part of it, it does not.
pub fn may_contain_secret(text: &str) -> bool {
    text.contains("Secret") || text.contains('\\')
}

/// The text of manifests with the values of Secrets replaced by [`HIDDEN_VALUE`], and otherwise as it is. A text in which a Secret may
/// stand that can't be hidden is replaced as a whole.
pub fn hide_secrets(text: &str) -> String {
    if !may_contain_secret(text) {
        return text.to_owned();
    }
    let documents = yaml_edit::parse_documents(text);
    if documents.iter().any(Option::is_none) {
        return HIDDEN_TEXT.to_owned();
    }
    let mut shown = text.to_owned();
    for (number, document) in documents.iter().enumerate() {
        let mut paths = Vec::new();
        if let Some(document) = document {
            collect_paths(document, &FieldPath::default(), false, &mut paths);
        }
        for path in &paths {
            match yaml_edit::set(&shown, number, path, &HIDDEN_VALUE.into()) {
                Ok(text) => shown = text,
                Err(_) => return HIDDEN_TEXT.to_owned(),
            }
        }
    }
    shown
}

/// The paths of the values of Secrets in a document, also of those in a list or in another object.
fn collect_paths(value: &Value, path: &FieldPath, is_in_secret: bool, paths: &mut Vec<FieldPath>) {
    let is_secret = is_secret_object(value);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = path.with_key(name);
                match field {
                    Value::Object(entries) if is_secret && matches!(name.as_str(), "data" | "stringData") => {
                        paths.extend(entries.keys().map(|key| path.with_key(key)));
                    }
                    _ if is_secret && matches!(name.as_str(), "data" | "stringData") => paths.push(path),
                    _ if (is_secret || is_in_secret) && name == LAST_APPLIED => paths.push(path),
                    field => collect_paths(field, &path, is_secret || is_in_secret, paths),
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect_paths(item, &path.with_key(&number.to_string()), is_in_secret, paths);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_values_of_secrets_are_hidden_in_a_text() {
        let text = "# comment\napiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '{\"p\":1}'\n\
            stringData:\n  password: hunter2 # why\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  data: {a: aHVudGVyMg==}\n\
            ---\napiVersion: v1\nkind: ConfigMap\ndata:\n  password: visible\n";
        let shown = hide_secrets(text);
        assert!(
            !shown.contains("hunter2") && !shown.contains("aHVudGVy") && !shown.contains("\"p\""),
            "{shown}"
        );
        assert_eq!(shown.matches(HIDDEN_VALUE).count(), 3, "{shown}");
        assert!(shown.starts_with("# comment\n") && shown.contains("password: visible"), "{shown}");
        assert_eq!(hide_secrets("a: 1\n---\nb: [2]\n"), "a: 1\n---\nb: [2]\n");
    }

    #[test]
    fn a_text_that_cannot_be_read_is_hidden_as_a_whole() {
        let text = "kind: Secret\nstringData:\n  password: hunter2\n bad: [\n";
        assert!(!hide_secrets(text).contains("hunter2"));
    }

    #[test]
    fn values_behind_anchors_and_in_block_scalars_are_hidden() {
        for text in [
            "apiVersion: v1\nkind: Secret\nstringData:\n  password: |\n    hunter2\n    more\n",
            "apiVersion: v1\nkind: Secret\nx: &p hunter2\nstringData:\n  password: *p\n",
            "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringData\":{\"password\":\"hunter2\"}}",
            "apiVersion: v1\nkind: Secret\nstringData: hunter2\n",
        ] {
            assert!(!hide_secrets(text).contains("hunter2"), "{text}: {}", hide_secrets(text));
        }
    }
}
