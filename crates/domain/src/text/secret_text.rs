//! The values of Secrets, hidden in what is displayed: in objects, and in the text of manifests.
//!
//! A Secret is found wherever it stands: alone, in a list of any kind, in an object of another kind (`ManifestWork`, and resources that
//! contain manifests), and as a manifest in a text, such as in a ConfigMap. The items of a list are read by the rule of the manifest parser,
//! and more carefully: in a `SecretList` everything counts as a Secret, also what the parser rejects.

use serde_json::Value;

use crate::kubernetes::field_path::{FieldPath, PathSegment, escape_pointer_token};
use crate::text::finding::Finding;
use crate::text::manifest::envelope::item_kind;
use crate::text::yaml_edit::{self, EditBudget};

/// Placeholder for a value that must not be shown.
pub const HIDDEN_VALUE: &str = "(hidden)";

/// A value is the placeholder.
const HIDDEN_VALUE_CODE: &str = "G124";

/// The annotation in which `kubectl apply` stores the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is shown of a text in which a Secret may stand and can't be found.
const HIDDEN_TEXT: &str = "# (hidden: this text can't be read and may contain a Secret)\n";

/// Whether a text has what is shown instead of one that can't be read.
pub fn has_hidden_text(text: &str) -> bool {
    text.contains(HIDDEN_TEXT.trim_end())
}

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

/// Whether a text of a value is a placeholder or has one in it, as a manifest whose values are hidden has.
pub fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(HIDDEN_VALUE) || has_hidden_text(text),
        Value::Object(fields) => fields.values().any(has_placeholder),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// G124: a value of these is the placeholder. `what` begins the sentence.
pub fn check_hidden_value(what: &str, values: &Value) -> Option<Finding> {
    let path = find_hidden_value(values)?;
    let message = format!("{what} have the placeholder {HIDDEN_VALUE} at {path}.");
    Some(Finding::error(HIDDEN_VALUE_CODE, message, "Enter the value."))
}

/// The object with the values of Secrets replaced by [`HIDDEN_VALUE`]: its own, those of Secrets in it, and those in their annotations.
pub fn hide_values(object: &Value) -> Value {
    let mut shown = object.clone();
    hide_in_place(&mut shown, SecretScope::default());
    shown
}

/// Hides what a field of an object has of Secrets. `contains_secret` is whether the object does: then the field may be a part of one, so that
/// its path decides too.
pub fn hide_field(contains_secret: bool, path: &str, value: &mut Value) {
    if contains_secret && is_value_path(path) {
        *value = HIDDEN_VALUE.into();
    } else {
        hide_in_place(value, SecretScope { is_list: contains_secret, ..SecretScope::default() });
    }
}

/// Whether a path may lead to a value of a Secret, or into one, in an object that contains one.
pub fn is_value_path(path: &str) -> bool {
    let mut words = path.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "data" | "stringData")) || is_annotation_path(path)
}

/// Whether an object is a Secret with values, or has one in it.
pub fn contains_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let scope = SecretScope::default().enter(value);
            scope.is_list
                || fields.iter().any(|(name, field)| scope.hides(name, field) || contains_secret(field))
        }
        Value::Array(items) => items.iter().any(contains_secret),
        Value::String(text) => is_secret_manifest(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Which Secrets a value stands in.
#[derive(Debug, Clone, Copy, Default)]
struct SecretScope {
    /// The value is a Secret, or counts as one.
    is_secret: bool,
    /// It is a list of Secrets, or in one.
    is_list: bool,
    /// It is in a Secret, or is one.
    is_inside: bool,
}

impl SecretScope {
    /// The scope of the fields of a map.
    fn enter(self, map: &Value) -> Self {
        let kind = map["kind"].as_str().unwrap_or_default().trim();
        let is_list = self.is_list || is_list_of_secrets(kind);
        // Whatever its version: one that is wrong makes a value no less a secret.
        let is_secret = is_list || kind == "Secret";
        Self { is_secret, is_list, is_inside: self.is_inside || is_secret }
    }

    /// Whether this field of the map is hidden with all that it has.
    fn hides(self, name: &str, field: &Value) -> bool {
        let is_hidden = match name {
            // Only Secrets, what Secrets are created from, and schemas of these have such a field.
            "stringData" => self.is_secret || !is_schema(field),
            "data" => self.is_secret,
            // The items of a list of Secrets that are not what the parser reads.
            "items" => self.is_list && !is_list_of_maps(field),
            LAST_APPLIED => self.is_inside,
            _ => false,
        };
        is_hidden && !field.is_null()
    }
}

/// Whether this is the schema of a field and not its value: texts by key.
fn is_schema(field: &Value) -> bool {
    let Value::Object(entries) = field else { return false };
    field["type"] == "object" || entries.values().any(|entry| entry.is_object() || entry.is_array())
}

fn is_list_of_secrets(kind: &str) -> bool {
    item_kind(kind).is_some_and(|item| item == "Secret" || is_list_of_secrets(item))
}

fn is_list_of_maps(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_object))
}

/// Whether a text is or contains the manifest of a Secret with values, as YAML or JSON. It is not parsed: such a text may be a script or a
/// template too. What only refers to a Secret, such as a resource with values from one, has no `data`.
fn is_secret_manifest(text: &str) -> bool {
    if !text.contains("Secret") {
        return false;
    }
    let behind = |(at, word): (usize, &str)| text[at + word.len()..].trim_start_matches(is_filler);
    let is_values = |found: (usize, &str)| {
        // Also the path to a value, in a patch.
        !text[..found.0].ends_with("meta") && behind(found).starts_with([':', '/'])
    };
    let has_values = text.contains("stringData") || text.match_indices("data").any(is_values);
    let mut kinds = text.match_indices("kind").filter_map(|found| {
        let kind = behind(found).strip_prefix(':')?.trim_start_matches(is_filler);
        kind.split(|c: char| !c.is_ascii_alphanumeric()).next()
    });
    kinds.any(|kind| is_list_of_secrets(kind) || has_values && kind == "Secret")
}

/// What may stand between a key, its colon and its value, also where the text is one of a text.
const fn is_filler(c: char) -> bool {
    matches!(c, ' ' | '\t' | '"' | '\'' | '\\')
}

fn hide_in_place(value: &mut Value, scope: SecretScope) {
    let inner = if value.is_object() { scope.enter(value) } else { scope };
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !inner.hides(name, field) {
                    hide_in_place(field, inner);
                } else if let Value::Object(entries) = field {
                    entries.iter_mut().for_each(|(_, value)| *value = HIDDEN_VALUE.into());
                } else {
                    *field = HIDDEN_VALUE.into();
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in_place(item, scope)),
        Value::String(text) if is_secret_manifest(text) => *value = HIDDEN_VALUE.into(),
        _ => {}
    }
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

/// Whether a text of manifests may contain a Secret. Without these words it does not, unless an escape or a tag, such as `!!binary`, stands
/// for a part of one.
pub fn may_contain_secret(text: &str) -> bool {
    ["Secret", "stringData", "\\", "!!", "!<", "%TAG"].iter().any(|part| text.contains(*part))
}

/// The text of manifests with the values of Secrets replaced by [`HIDDEN_VALUE`], and otherwise as it is. A text in which a Secret may
/// stand that can't be hidden is replaced as a whole. One with more values than the budget has edits for is written again, without comments.
pub fn hide_secrets(text: &str, budget: &mut EditBudget) -> String {
    if !may_contain_secret(text) {
        return text.to_owned();
    }
    let parsed = yaml_edit::parse_documents(text);
    let count = parsed.len();
    let documents: Vec<Value> = parsed.into_iter().flatten().collect();
    if documents.len() < count {
        return HIDDEN_TEXT.to_owned();
    }
    // Counted first: each path has a copy of all keys that lead to its value.
    let hidden: usize = documents.iter().map(|document| count_hidden(document, SecretScope::default())).sum();
    if !budget.charge(text.len(), hidden) {
        return write_hidden(documents);
    }
    let mut shown = text.to_owned();
    for (number, document) in documents.iter().enumerate() {
        let mut paths = Vec::new();
        collect_paths(document, &mut FieldPath::default(), SecretScope::default(), &mut paths);
        for path in &paths {
            match yaml_edit::set(&shown, number, path, &HIDDEN_VALUE.into()) {
                Ok(text) => shown = text,
                Err(_) => return HIDDEN_TEXT.to_owned(),
            }
        }
    }
    shown
}

/// The documents as a text, with the values of Secrets hidden.
fn write_hidden(documents: Vec<Value>) -> String {
    let texts = documents.into_iter().map(|mut document| {
        hide_in_place(&mut document, SecretScope::default());
        yaml_edit::add_document("", &document)
    });
    texts.collect::<Vec<_>>().join("---\n")
}

/// How many paths [`collect_paths`] finds.
fn count_hidden(value: &Value, scope: SecretScope) -> usize {
    match value {
        Value::Object(fields) => {
            let scope = scope.enter(value);
            let count = |(name, field): (&String, &Value)| match field {
                field if !scope.hides(name, field) => count_hidden(field, scope),
                Value::Object(entries) => entries.len(),
                _ => 1,
            };
            fields.iter().map(count).sum()
        }
        Value::Array(items) => items.iter().map(|item| count_hidden(item, scope)).sum(),
        Value::String(text) => usize::from(is_secret_manifest(text)),
        _ => 0,
    }
}

/// The paths of the values of Secrets in a document, also of those in a list or in another object. `path` leads to `value`.
fn collect_paths(value: &Value, path: &mut FieldPath, scope: SecretScope, paths: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) => {
            let scope = scope.enter(value);
            for (name, field) in fields {
                path.0.push(PathSegment::Key(name.clone()));
                if !scope.hides(name, field) {
                    collect_paths(field, path, scope, paths);
                } else if let Value::Object(entries) = field {
                    paths.extend(entries.keys().map(|key| path.with_key(key)));
                } else {
                    paths.push(path.clone());
                }
                path.0.pop();
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                path.0.push(PathSegment::Key(number.to_string()));
                collect_paths(item, path, scope, paths);
                path.0.pop();
            }
        }
        Value::String(text) if is_secret_manifest(text) => paths.push(path.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hide_secrets(text: &str) -> String {
        super::hide_secrets(text, &mut EditBudget::default())
    }

    #[test]
    fn p19_many_secrets_in_one_text_are_hidden_without_an_edit_or_a_path_for_each() {
        // Each path would have a copy of the long key.
        let entries: String = (0..20_000).map(|n| format!("    k{n}: hunter2\n")).collect();
        let long = "x".repeat(900);
        let text = format!(
            "# note\n{long}:\n  apiVersion: v1\n  kind: Secret\n  stringData:\n{entries}---\nkind: ConfigMap\ndata: {{a: b}}\n"
        );
        let shown = hide_secrets(&text);
        assert!(!shown.contains("hunter2") && !shown.contains("# note"));
        let objects = yaml_edit::parse_documents(&shown);
        assert_eq!(objects.len(), 2);
        let secret = &objects[0].as_ref().unwrap()[long.as_str()];
        assert_eq!(secret["stringData"].as_object().unwrap().len(), 20_000);
        assert_eq!(secret["stringData"]["k19999"], HIDDEN_VALUE);
        assert_eq!(objects[1].as_ref().unwrap()["data"]["a"], "b");
    }

    #[test]
    fn what_is_counted_is_what_is_hidden() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  data: {a: x, b: y}\n  stringData: z\n- kind: ConfigMap\n  data:\n    \
            a: \"kind: Secret\\nstringData: {a: b}\"\n";
        let document = yaml_edit::parse_documents(text).remove(0).unwrap();
        let mut paths = Vec::new();
        collect_paths(&document, &mut FieldPath::default(), SecretScope::default(), &mut paths);
        assert_eq!((count_hidden(&document, SecretScope::default()), paths.len()), (4, 4));
    }

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

    #[test]
    fn values_are_hidden_in_every_list_and_object_that_contains_a_secret() {
        let items = "items:\n- metadata: {name: a}\n  stringData: {password: hunter2}\n";
        let data = "items:\n- metadata: {name: a}\n  data: {password: hunter2}\n";
        for text in [
            format!("apiVersion: v1\nkind: SecretList\n{items}"),
            format!("apiVersion: v1\nkind: SecretList\n{data}"),
            format!("kind: SecretList\n{data}"),
            format!("apiVersion: v1\nkind: SecretList\nmetadata: {{name: a}}\n{data}"),
            "apiVersion: v1\nkind: SecretList\nitems: {a: {password: hunter2}}\n".to_owned(),
            "apiVersion: v1\nkind: SecretList\nitems: [hunter2]\n".to_owned(),
            // An item without an apiVersion is a Secret for the parser, whatever its kind.
            "apiVersion: v1\nkind: SecretList\nitems:\n- kind: ConfigMap\n  data: {password: hunter2}\n".to_owned(),
            "apiVersion: v1\nkind: ConfigMapList\nitems:\n- kind: Secret\n  data: {password: hunter2}\n".to_owned(),
            "apiVersion: v1\nkind: SecretListList\nitems:\n- items:\n  - data: {password: hunter2}\n".to_owned(),
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: SecretList\n  items:\n  - data: {password: hunter2}\n"
                .to_owned(),
            "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nspec:\n  workload:\n    manifests:\n    - apiVersion: v1\n      \
             kind: SecretList\n      items:\n      - data: {password: hunter2}\n"
                .to_owned(),
            "apiVersion: x.test/v1\nkind: Template\nspec:\n  template:\n    apiVersion: v1\n    kind: Secret\n    data: {password: hunter2}\n"
                .to_owned(),
            "apiVersion: x.test/v1\nkind: Template\nspec:\n  template:\n    stringData: {password: hunter2}\n".to_owned(),
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  all.yaml: |\n    apiVersion: v1\n    kind: Secret\n    data: {password: hunter2}\n"
                .to_owned(),
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  all.json: '{\"kind\": \"SecretList\", \"items\": [\"hunter2\"]}'\n".to_owned(),
            "apiVersion: v1\nkind: ConfigMap\ndata: {all.yaml: \"kind: List\\nitems: ['kind: Secret\\\\ndata: {a: hunter2}']\"}\n".to_owned(),
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  patch: |\n    target: {kind: Secret}\n    patch: [{path: /data/a, value: hunter2}]\n"
                .to_owned(),
            "kind: Secret\ndata: {password: hunter2}\n".to_owned(),
            "apiVersion: v1\nkind: !!binary U2VjcmV0\nstringData: {password: hunter2}\n".to_owned(),
        ] {
            assert!(!hide_secrets(&text).contains("hunter2"), "{text}: {}", hide_secrets(&text));
            for object in yaml_edit::parse_documents(&text).into_iter().flatten() {
                assert!(contains_secret(&object), "{text}");
                let shown = hide_values(&object).to_string();
                assert!(!shown.contains("hunter2"), "{text}: {shown}");
            }
        }
    }

    #[test]
    fn what_only_refers_to_a_secret_is_shown() {
        for text in [
            "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: Secret}\n  data: {colour: blue}\n",
            "apiVersion: x.test/v1\nkind: Release\nspec:\n  valuesFrom: [{kind: Secret, name: web}]\n  data: {colour: blue}\n",
            "apiVersion: x.test/v1\nkind: SecretStore\nspec: {provider: {kind: SecretStore, data: {a: b}}}\n",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  note: 'a kind of Secret, and kind: SecretStore'\n",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  release.yaml: |\n    metadata: {name: a}\n    valuesFrom: [{kind: Secret, name: web}]\n",
            "apiVersion: x.test/v1\nkind: Policy\nspec: {message: 'An object with kind: Secret, or its metadata: not here.'}\n",
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nspec: {target: {template: {data: {a: '{{ .b }}'}}}}\n",
            "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nspec: {encryptedData: {a: AgBy}, template: {data: {a: b}}}\n",
            "apiVersion: x.test/v1\nkind: Schema\nproperties: {stringData: {type: object, additionalProperties: {type: string}}}\n",
            "apiVersion: x.test/v1\nkind: Schema\nproperties: {data: {type: string}, stringData: {type: object, nullable: true}}\n",
        ] {
            assert_eq!(hide_secrets(text), text);
            for object in yaml_edit::parse_documents(text).into_iter().flatten() {
                assert!(!contains_secret(&object), "{text}");
                assert_eq!(hide_values(&object), object);
            }
        }
    }

    #[test]
    fn a_part_of_an_object_with_a_secret_is_hidden_by_its_path() {
        let shown = |contains: bool, path: &str, mut value: Value| {
            hide_field(contains, path, &mut value);
            value.to_string()
        };
        let part = || serde_json::json!({"data": {"password": "hunter2"}});
        assert!(!shown(true, "/spec/template/data/password", "hunter2".into()).contains("hunter2"));
        assert!(!shown(true, "/spec/template", part()).contains("hunter2"));
        assert!(shown(false, "/spec/template", part()).contains("hunter2"), "it is no Secret");
        assert!(shown(true, "/spec/replicas", 2.into()).contains('2'));
    }
}
