//! What every object must have: `apiVersion`, `kind` and `metadata.name` (G109).

use serde_json::Value;

use super::explain::clipped;
use super::foreign;
use super::located::Located;
use crate::finding::Finding;
use crate::workload::SourceFile;

/// Why a map is no object that can be applied; `None` when it is one.
pub(super) fn check(located: &Located, file: &SourceFile) -> Option<Finding> {
    let (finding, pointer) = problem(&located.value, file)?;
    let spot = located.tree.spot_of(pointer).unwrap_or(located.tree.spot);
    Some(finding.at(pointer).placed(Some(spot.in_file(&file.name))))
}

fn problem(value: &Value, file: &SourceFile) -> Option<(Finding, &'static str)> {
    foreign::check_map(value, file)
        .map(|finding| (finding, ""))
        .or_else(|| missing(value))
        .or_else(|| no_text(value))
        .or_else(|| template(value))
}

/// One finding for all that is missing.
fn missing(value: &Value) -> Option<(Finding, &'static str)> {
    let absent = |pointer: &str| {
        matches!(value.pointer(pointer), None | Some(Value::Null))
            || value.pointer(pointer) == Some(&"".into())
    };
    let mut gone: Vec<&str> = Vec::new();
    for (pointer, field) in
        [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")]
    {
        if absent(pointer) {
            gone.push(field);
        }
    }
    if gone == ["metadata.name"] && value.pointer("/metadata/generateName").is_some() {
        return Some((generated(value), "/metadata/generateName"));
    }
    if gone.is_empty() {
        return None;
    }
    let message =
        format!("{} has no {}, so no cluster can tell what it is.", shown(value), gone.join(" and no "));
    let hint = match gone[0] {
        "apiVersion" => {
            "Add it, such as \"apiVersion: apps/v1\" for a Deployment or \"apiVersion: v1\" for a Service."
        }
        "kind" => "Add it, such as \"kind: Deployment\".",
        _ => "Add a name under metadata, such as \"name: web\".",
    };
    Some((Finding::error("G109", message, hint), ""))
}

fn generated(value: &Value) -> Finding {
    Finding::error(
        "G109",
        format!(
            "{} has metadata.generateName instead of a name: every apply would make another object, and none could be found again.",
            shown(value)
        ),
        "Write metadata.name.",
    )
}

/// `name: 123` is a number to YAML.
fn no_text(value: &Value) -> Option<(Finding, &'static str)> {
    let fields = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
    let wrong =
        |pointer: &&str| value.pointer(pointer).is_some_and(|found| !found.is_string() && !found.is_null());
    let pointer = fields.into_iter().find(wrong)?;
    let found = clipped(&value.pointer(pointer).map(Value::to_string).unwrap_or_default());
    let message =
        format!("{} must be text; YAML reads {found} as something else.", pointer[1..].replace('/', "."));
    Some((Finding::error("G109", message, "Put the value in quotes."), pointer))
}

fn template(value: &Value) -> Option<(Finding, &'static str)> {
    let pointer =
        ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"].into_iter().find(|pointer| {
            let text = value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            // Ours begin with a "$", and are no secret to who fills them in; a kind is never one.
            let ours = pointer.starts_with("/metadata");
            text.match_indices("{{").any(|(at, _)| !(ours && text[..at].ends_with('$')))
        })?;
    let message = format!(
        "{} holds a template expression; this is a Helm template, not an object.",
        pointer[1..].replace('/', ".")
    );
    Some((Finding::error("G109", message, foreign::TEMPLATE_HINT), pointer))
}

/// What little is known of the object.
fn shown(value: &Value) -> String {
    match (value["kind"].as_str(), value.pointer("/metadata/name").and_then(Value::as_str)) {
        (Some(kind), Some(name)) => clipped(&format!("{kind} {name}")),
        (Some(kind), None) => clipped(&format!("This {kind}")),
        (None, Some(name)) => format!("The object {:?}", clipped(name)),
        (None, None) => "This document".to_owned(),
    }
}
