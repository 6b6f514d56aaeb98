//! The fields of the form as a browser without script sends them. The server enters those that a person changed into the
//! text; with script the form changes the text itself, and nothing of this is sent.

use std::fmt::Write as _;

use leptos::prelude::*;

use super::objects::{ObjectLocation, is_workload, kind, pod_path};
use super::source_text::SourceText;
use crate::components::escape_html;

/// How the text of a field becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A text; an emptied field is removed.
    Text,
    /// A number, if it is one; an emptied field is removed.
    Number,
    /// A text that may be empty.
    Value,
    /// A list, one item per line; an emptied field is removed.
    Lines,
}

impl InputKind {
    const fn as_char(self) -> char {
        match self {
            Self::Text => 't',
            Self::Number => 'n',
            Self::Value => 'v',
            Self::Lines => 'l',
        }
    }
}

/// The name of a field: its kind, its file, its document and its JSON pointer.
pub fn input_name(kind: InputKind, at: ObjectLocation, path: &str) -> String {
    format!("form[inputs][{}{}.{}{path}]", kind.as_char(), at.file, at.document)
}

/// What only a browser without script shows and sends: the text that the fields were rendered from, and for each container
/// a port and a variable to fill in. It is one string, because a browser with script does not parse it.
pub fn scriptless_fields(text: SourceText) -> AnyView {
    // Only the server renders for browsers without script.
    let html = if cfg!(feature = "ssr") { untrack(|| render_fields(text)) } else { String::new() };
    view! { <noscript inner_html=html></noscript> }.into_any()
}

fn render_fields(text: SourceText) -> String {
    let mut html = String::new();
    for (key, source) in text.texts() {
        let _ = write!(
            html,
            "<input type=\"hidden\" name=\"form[rendered][{key}]\" value=\"{}\">",
            escape_html(&source)
        );
    }
    for object in text.objects().iter().filter(|object| is_workload(&object.value)) {
        let list = format!("{}/containers", pod_path(kind(&object.value)));
        for n in 0..text.count(object.location, &list) {
            push_spare_rows(&mut html, text, object.location, &format!("{list}/{n}"));
        }
    }
    html
}

fn push_spare_rows(html: &mut String, text: SourceText, at: ObjectLocation, container: &str) {
    let name = text.scalar(at, &format!("{container}/name"));
    let ports = format!("{container}/ports/{}", text.count(at, &format!("{container}/ports")));
    let variables = format!("{container}/env/{}", text.count(at, &format!("{container}/env")));
    html.push_str("<div class=\"fields pt-3\">");
    let mut field = |label: &str, kind: InputKind, path: String| {
        let label = escape_html(&format!("{label} of {name}"));
        let input = escape_html(&input_name(kind, at, &path));
        let _ = write!(
            html,
            "<div class=\"field\"><label><span class=\"field-label\">{label}</span><input class=\"input input-mono\" name=\"{input}\" autocomplete=\"off\"></label></div>"
        );
    };
    field("Another port", InputKind::Number, format!("{ports}/containerPort"));
    field("Another variable", InputKind::Text, format!("{variables}/name"));
    field("Value of the variable", InputKind::Text, format!("{variables}/value"));
    html.push_str("<p class=\"meta\">Without script, one port and one variable are added with each save. Everything else is changed in the YAML.</p></div>");
}

#[cfg(feature = "ssr")]
pub use reading::apply_inputs;

#[cfg(feature = "ssr")]
mod reading {
    use std::collections::BTreeMap;

    use domain::Finding;
    use domain::workload::SourceFile;
    use domain::yaml_edit::{self, EditBudget, EditError};
    use serde_json::{Value, json};

    use super::super::source_text::remove_field;
    use crate::errors::{AppError, AppResult};

    const INGRESS_HOST: &str = "/spec/rules/0/host";
    const TLS_HOST: &str = "/spec/tls/0/hosts/0";
    const TLS_SECRET: &str = "/spec/tls/0/secretName";
    /// Most bytes of values that are compared with what was typed: many fields may name one long value.
    const MAX_COMPARED_BYTES: usize = 16 << 20;

    /// One changed field.
    struct ChangedInput<'a> {
        kind: char,
        file: usize,
        document: usize,
        path: &'a str,
        typed: &'a str,
    }

    /// The files with the fields entered that differ from the text that the form was rendered from. Without such a text
    /// the form was sent by a script, and the files are complete.
    pub fn apply_inputs(
        mut files: Vec<SourceFile>,
        rendered: &[String],
        inputs: &BTreeMap<String, String>,
    ) -> AppResult<Vec<SourceFile>> {
        if rendered.is_empty() {
            return Ok(files);
        }
        let mut changed = find_changed(rendered, inputs)?;
        // A removed item shifts those after it, so what is emptied comes last.
        changed.sort_by_key(|input| input.typed.is_empty());
        check_edits(&files, &changed)?;
        for input in changed {
            let Some(file) = files.get_mut(input.file) else { continue };
            file.text = apply_input(&file.text, &input).map_err(|why| reject(&input, &why))?;
        }
        Ok(files)
    }

    fn reject(input: &ChangedInput<'_>, why: &EditError) -> AppError {
        AppError::from_finding(Finding::error(
            "FormField",
            format!("{:?} can't be entered into the YAML at {}: {why}", input.typed, input.path),
            "Go back, and write it into the YAML.",
        ))
    }

    /// The fields that are readable and do not hold what was rendered. Each text that was rendered is parsed once.
    fn find_changed<'a>(
        rendered: &[String],
        inputs: &'a BTreeMap<String, String>,
    ) -> AppResult<Vec<ChangedInput<'a>>> {
        let mut documents: BTreeMap<usize, Vec<Option<Value>>> = BTreeMap::new();
        let mut compared = 0_usize;
        let mut changed = Vec::new();
        for input in inputs.iter().filter_map(|(key, typed)| read_input(key, typed)) {
            let Some(text) = rendered.get(input.file) else { continue };
            let all = documents.entry(input.file).or_insert_with(|| yaml_edit::parse_documents(text));
            let object = all.get(input.document).and_then(Option::as_ref);
            let before = object.and_then(|object| object.pointer(input.path)).map(format_value);
            let before = before.unwrap_or_default();
            compared = compared.saturating_add(before.len());
            if compared > MAX_COMPARED_BYTES {
                return Err(reject_many());
            }
            if !before.lines().eq(input.typed.lines()) {
                changed.push(input);
            }
        }
        Ok(changed)
    }

    /// Rejects more edits than are made one after the other, before the first one.
    fn check_edits(files: &[SourceFile], changed: &[ChangedInput<'_>]) -> AppResult<()> {
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for input in changed {
            let (edits, typed) = counts.entry(input.file).or_default();
            *edits += match input.path {
                // Its maps that are empty then are removed too.
                path if input.typed.is_empty() => path.matches('/').count(),
                // That of the certificate is another one.
                INGRESS_HOST => 2,
                _ => 1,
            };
            *typed += input.typed.len();
        }
        let mut budget = EditBudget::default();
        for (number, (edits, typed)) in counts {
            let length = files.get(number).map_or(0, |file| file.text.len());
            if !budget.charge(length + typed, edits) {
                return Err(reject_many());
            }
        }
        Ok(())
    }

    fn reject_many() -> AppError {
        let message = "More fields were changed than can be entered into a YAML of this length at once.";
        AppError::from_finding(Finding::error("FormField", message, "Go back, and write them into the YAML."))
    }

    /// `None` if the field is not readable.
    fn read_input<'a>(key: &'a str, typed: &'a str) -> Option<ChangedInput<'a>> {
        let kind = key.chars().next()?;
        let start = key.find('/')?;
        let (file, document) = key.get(1..start)?.split_once('.')?;
        let (file, document) = (file.parse::<usize>().ok()?, document.parse::<usize>().ok()?);
        let path = key.get(start..)?;
        let typed = typed.trim_end_matches(['\r', '\n']);
        Some(ChangedInput { kind, file, document, path, typed })
    }

    fn format_value(value: &Value) -> String {
        match value {
            Value::Array(items) => items.iter().map(format_value).collect::<Vec<_>>().join("\n"),
            value => domain::field_path::scalar_text(value).map(|text| text.into_owned()).unwrap_or_default(),
        }
    }

    fn apply_input(text: &str, input: &ChangedInput<'_>) -> Result<String, EditError> {
        let value = match (input.kind, input.typed.parse::<u32>()) {
            ('l', _) => Value::from(input.typed.lines().map(Value::from).collect::<Vec<_>>()),
            ('n', Ok(number)) => Value::from(number),
            _ => Value::from(input.typed),
        };
        if input.path == TLS_SECRET {
            return set_tls_secret(text, input);
        }
        if input.typed.is_empty() && input.kind != 'v' {
            return remove_field(text, input.document, input.path);
        }
        let object = yaml_edit::parse_documents(text).into_iter().nth(input.document);
        let object = object.flatten().ok_or(EditError::InvalidYaml)?;
        // A field of an item that is not there yet appends the item.
        let (item, field) = input.path.rsplit_once('/').unwrap_or_default();
        let (list, index) = item.rsplit_once('/').unwrap_or_default();
        let count = object.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
        let is_list = object.pointer(list).is_none_or(Value::is_array);
        if is_list && index.parse::<usize>().is_ok_and(|index| index >= count) {
            let new = json!({field: value});
            return match object.pointer(list) {
                Some(_) => yaml_edit::set(text, input.document, &parse_path(&format!("{list}/-")), &new),
                None => yaml_edit::set(text, input.document, &parse_path(list), &json!([new])),
            };
        }
        let text = yaml_edit::set(text, input.document, &parse_path(input.path), &value)?;
        if input.path == INGRESS_HOST && object.pointer(TLS_HOST).is_some() {
            return yaml_edit::set(&text, input.document, &parse_path(TLS_HOST), &value);
        }
        Ok(text)
    }

    /// A certificate names the host of the rule; without a Secret the entry is removed.
    fn set_tls_secret(text: &str, input: &ChangedInput<'_>) -> Result<String, EditError> {
        let object = yaml_edit::parse_documents(text).into_iter().nth(input.document);
        let object = object.flatten().ok_or(EditError::InvalidYaml)?;
        if input.typed.is_empty() {
            return remove_field(text, input.document, "/spec/tls/0");
        }
        if object.pointer("/spec/tls/0").is_some() {
            return yaml_edit::set(text, input.document, &parse_path(TLS_SECRET), &Value::from(input.typed));
        }
        let host = object.pointer(INGRESS_HOST).cloned().unwrap_or_else(|| Value::from(""));
        let entry = json!([{"hosts": [host], "secretName": input.typed}]);
        yaml_edit::set(text, input.document, &parse_path("/spec/tls"), &entry)
    }

    fn parse_path(path: &str) -> domain::field_path::FieldPath {
        path.parse().unwrap_or_default()
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use std::collections::BTreeMap;

    use domain::workload::SourceFile;

    use super::*;
    use crate::workloads::source::starter::starter_file;

    const CONTAINER: &str = "/spec/template/spec/containers/0";
    const HERE: ObjectLocation = ObjectLocation { file: 0, document: 0 };

    fn key(kind: InputKind, path: &str) -> String {
        let name = input_name(kind, HERE, &format!("{CONTAINER}/{path}"));
        name.trim_start_matches("form[inputs][").trim_end_matches(']').to_owned()
    }

    fn apply(file: &SourceFile, rendered: &str, inputs: &[(InputKind, &str, &str)]) -> String {
        let inputs: BTreeMap<_, _> =
            inputs.iter().map(|(kind, path, typed)| (key(*kind, path), (*typed).to_owned())).collect();
        let files = apply_inputs(vec![file.clone()], &[rendered.to_owned()], &inputs).unwrap();
        files.into_iter().next().unwrap().text
    }

    #[test]
    fn fields_typed_without_script_reach_the_text() {
        let file = starter_file("web");
        let text = apply(
            &file,
            &file.text,
            &[
                (InputKind::Text, "image", "reg.example/web:1.2"),
                (InputKind::Number, "ports/0/containerPort", "8080"),
                (InputKind::Text, "env/0/name", "LOG_LEVEL"),
                (InputKind::Text, "env/0/value", "debug"),
                (InputKind::Text, "resources/limits/memory", ""),
                (InputKind::Lines, "args", "serve\r\n--quiet"),
            ],
        );
        let object = domain::yaml_edit::parse_documents(&text).remove(0).unwrap();
        let container = object.pointer(CONTAINER).unwrap();
        assert_eq!(container["image"], "reg.example/web:1.2");
        assert_eq!(container["ports"], serde_json::json!([{"containerPort": 8080}]));
        assert_eq!(container["env"], serde_json::json!([{"name": "LOG_LEVEL", "value": "debug"}]));
        assert_eq!(container["args"], serde_json::json!(["serve", "--quiet"]));
        assert_eq!(container["resources"].get("limits"), None);
    }

    #[test]
    fn an_unchanged_field_does_not_undo_what_was_typed_into_the_text() {
        let file = starter_file("web");
        let edited = SourceFile { text: file.text.replace("100m", "250m"), ..file.clone() };
        let inputs = [(InputKind::Text, "resources/requests/cpu", "100m")];
        assert_eq!(apply(&edited, &file.text, &inputs), edited.text);
    }

    #[test]
    fn a_field_that_can_not_be_entered_is_rejected_with_its_text() {
        let file = starter_file("web");
        let broken = SourceFile { text: "kind: [".to_owned(), ..file.clone() };
        let inputs = BTreeMap::from([(key(InputKind::Text, "image"), "reg.example/web:1".to_owned())]);
        let error = apply_inputs(vec![broken], &[file.text], &inputs).unwrap_err();
        assert!(format!("{error:?}").contains("reg.example/web:1"), "{error:?}");
    }

    #[test]
    fn p19_a_form_with_many_fields_is_rejected_before_the_first_edit() {
        let file = SourceFile { name: "a.yaml".to_owned(), text: format!("a: {}\n", "x".repeat(50_000)) };
        let typed = |count: usize| -> BTreeMap<String, String> {
            (0..count).map(|n| (format!("t0.0/k{n}"), "typed".to_owned())).collect()
        };
        let apply = |text: &str, inputs: &BTreeMap<String, String>| {
            apply_inputs(vec![file.clone()], &[text.to_owned()], inputs)
        };
        let edited = apply(&file.text, &typed(3)).unwrap().remove(0).text;
        assert!(edited.ends_with("k0: typed\nk1: typed\nk2: typed\n"), "{}", &edited[50_000..]);
        let error = apply(&file.text, &typed(20_000)).unwrap_err();
        assert!(format!("{error:?}").contains("More fields were changed"), "{error:?}");

        // Different names of one long value, which none of them changes.
        let same = |count: usize| -> BTreeMap<String, String> {
            (0..count).map(|n| (format!("t{}0.0/a", "0".repeat(n)), "x".repeat(50_000))).collect()
        };
        assert_eq!(apply(&file.text, &same(10)).unwrap(), std::slice::from_ref(&file));
        let error = apply(&file.text, &same(400)).unwrap_err();
        assert!(format!("{error:?}").contains("More fields were changed"), "{error:?}");
    }
}
