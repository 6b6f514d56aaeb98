//! Secrets in clear text (G219), and values of Secrets that were hidden (G124). Findings contain the name of the field and never its
//! value.

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::model::source::Source;
use crate::text::finding::{Finding, SourceLocation};
use crate::text::secret_name::{has_high_entropy, has_secret_format, looks_like_secret};
use crate::text::secret_text::{HIDDEN_VALUE, find_hidden_value, has_hidden_text};
use crate::text::source_file::SourceFile;

/// G219: literals in variables, arguments and ConfigMaps that look like secrets.
pub(super) fn clear_text(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        for (at, variable) in items(container.value.get("env")).iter().enumerate() {
            let name = variable["name"].as_str().unwrap_or_default();
            let value = variable["value"].as_str().unwrap_or_default();
            if looks_like_secret(name, value) || has_high_entropy(value) {
                let path = format!("{}/env/{at}", container.path);
                findings.push(secret_finding(pod.owner, &path, &format!("Env {}", quote(name))));
            }
        }
        for field in ["command", "args"] {
            for (at, argument) in items(container.value.get(field)).iter().enumerate() {
                if argument.as_str().is_some_and(is_secret_argument) {
                    let path = format!("{}/{field}/{at}", container.path);
                    findings.push(secret_finding(
                        pod.owner,
                        &path,
                        &format!("An argument of container {}", quote(container.name)),
                    ));
                }
            }
        }
    }
    findings.extend(context.objects_of_kind("", "ConfigMap").flat_map(check_config_map));
    findings
}

/// G124: values of Secrets that are the placeholder by which they are shown, also of Secrets in objects of other kinds, and files of which
/// nothing else is shown.
pub(super) fn hidden_values(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = hidden_files(&context.spec.source);
    for object in context.objects_of_kind("", "Secret") {
        for field in ["data", "stringData"] {
            let values = object.get(&format!("/{field}")).and_then(Value::as_object).into_iter().flatten();
            for (key, _) in values.filter(|(_, value)| *value == HIDDEN_VALUE) {
                let path = format!("/{field}/{}", escape_pointer_token(key));
                let message = format!("Key {} has the placeholder {HIDDEN_VALUE} as its value.", quote(key));
                findings.push(object.error("G124", &path, message, "Enter the value."));
            }
        }
    }
    for object in context.objects.iter().filter(|object| !object.is_kind("", "Secret")) {
        if let Some(path) = find_hidden_value(&object.manifest.object) {
            let message = format!("Field {path} has the placeholder {HIDDEN_VALUE} as its value.");
            findings.push(object.error("G124", &path, message, "Enter the value."));
        }
    }
    findings
}

fn hidden_files(source: &Source) -> Vec<Finding> {
    let Source::Yaml { files } = source else { return Vec::new() };
    let hidden = |file: &SourceFile| {
        let message =
            format!("File {} has the text that is shown instead of a hidden one.", quote(&file.name));
        let location = SourceLocation { file: file.name.clone(), line: 1, column: 1 };
        Finding::error("G124", message, "Enter the text.").with_location(Some(location))
    };
    files.iter().filter(|file| has_hidden_text(&file.text)).map(hidden).collect()
}

fn check_config_map(object: &RuleObject<'_>) -> Vec<Finding> {
    let data = object.get("/data").and_then(Value::as_object).into_iter().flatten();
    let telling =
        data.filter(|(key, value)| value.as_str().is_some_and(|value| looks_like_secret(key, value)));
    telling
        .map(|(key, _)| {
            let path = format!("/data/{}", escape_pointer_token(key));
            secret_finding(object, &path, &format!("Key {}", quote(key)))
        })
        .collect()
}

fn secret_finding(object: &RuleObject<'_>, path: &str, what: &str) -> Finding {
    let message =
        format!("{what} looks like a secret in clear text; anyone who may read this workload will see it.");
    object.warning("G219", path, message, "Move it to a Secret and use secretKeyRef or a mounted volume.")
}

/// Whether an argument such as `--password=…` contains a secret.
fn is_secret_argument(argument: &str) -> bool {
    let flag = argument.strip_prefix("--").and_then(|flag| flag.split_once('='));
    has_secret_format(argument) || flag.is_some_and(|(name, value)| looks_like_secret(name, value))
}
