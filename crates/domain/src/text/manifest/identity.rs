//! The required fields of every object: `apiVersion`, `kind` and `metadata.name` (G109).

use serde_json::Value;

use super::explain::truncate_text;
use super::foreign;
use super::location::LocatedValue;
use crate::kubernetes::name;
use crate::kubernetes::object::ObjectRef;
use crate::text::finding::Finding;
use crate::text::source_file::SourceFile;

/// Why a map is not an object that can be applied; `None` when it is one.
pub(super) fn check(located: &LocatedValue, file: &SourceFile) -> Option<Finding> {
    let (finding, pointer) = find_problem(&located.value, file)?;
    let position = located.tree.position_of(pointer).unwrap_or(located.tree.position);
    Some(finding.with_path(pointer).with_location(Some(position.in_file(&file.name))))
}

fn find_problem(value: &Value, file: &SourceFile) -> Option<(Finding, &'static str)> {
    foreign::check_map(value, file)
        .map(|finding| (finding, ""))
        .or_else(|| missing_fields(value))
        .or_else(|| non_text_field(value))
        .or_else(|| templated_field(value))
        .or_else(|| malformed_type(value))
}

/// One finding for all missing fields.
fn missing_fields(value: &Value) -> Option<(Finding, &'static str)> {
    let absent = |pointer: &str| {
        matches!(value.pointer(pointer), None | Some(Value::Null))
            || value.pointer(pointer) == Some(&"".into())
    };
    let mut fields: Vec<&str> = Vec::new();
    for (pointer, field) in
        [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")]
    {
        if absent(pointer) {
            fields.push(field);
        }
    }
    if fields == ["metadata.name"] && value.pointer("/metadata/generateName").is_some() {
        return Some((generate_name_finding(value), "/metadata/generateName"));
    }
    if fields.is_empty() {
        return None;
    }
    let message = format!(
        "{} has no {}, so a cluster cannot identify it.",
        describe_object(value),
        fields.join(" and no ")
    );
    let hint = match fields[0] {
        "apiVersion" => {
            "Add it, such as \"apiVersion: apps/v1\" for a Deployment or \"apiVersion: v1\" for a Service."
        }
        "kind" => "Add it, such as \"kind: Deployment\".",
        _ => "Add a name under metadata, such as \"name: web\".",
    };
    Some((Finding::error("G109", message, hint), ""))
}

fn generate_name_finding(value: &Value) -> Finding {
    Finding::error(
        "G109",
        format!(
            "{} has metadata.generateName instead of a name: every apply would create another object, and none could be found again.",
            describe_object(value)
        ),
        "Write metadata.name.",
    )
}

/// A field that YAML does not parse as text, such as `name: 123`.
fn non_text_field(value: &Value) -> Option<(Finding, &'static str)> {
    let fields = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
    let wrong =
        |pointer: &&str| value.pointer(pointer).is_some_and(|found| !found.is_string() && !found.is_null());
    let pointer = fields.into_iter().find(wrong)?;
    let found = truncate_text(&value.pointer(pointer).map(Value::to_string).unwrap_or_default());
    let message =
        format!("{} must be text; YAML reads {found} as something else.", pointer[1..].replace('/', "."));
    Some((Finding::error("G109", message, "Put the value in quotes."), pointer))
}

fn templated_field(value: &Value) -> Option<(Finding, &'static str)> {
    let pointer =
        ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"].into_iter().find(|pointer| {
            let text = value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            // Flotilla's own expressions begin with "$" and are allowed in metadata only.
            let own_allowed = pointer.starts_with("/metadata");
            text.match_indices("{{").any(|(at, _)| !(own_allowed && text[..at].ends_with('$')))
        })?;
    let message = format!(
        "{} holds a template expression; this is a Helm template, not an object.",
        pointer[1..].replace('/', ".")
    );
    Some((Finding::error("G109", message, foreign::TEMPLATE_HINT), pointer))
}

/// An `apiVersion` or a `kind` that no API server can serve. Both become parts of request paths.
fn malformed_type(value: &Value) -> Option<(Finding, &'static str)> {
    let text = |field: &str| value[field].as_str().unwrap_or_default();
    let (group, version) = ObjectRef::split_api_version(text("apiVersion"));
    let has_group = text("apiVersion").contains('/');
    let (pointer, hint) = if !name::is_label(version) || (has_group && !name::is_subdomain(group)) {
        (
            "/apiVersion",
            "Write group/version, such as \"apps/v1\", or the version alone for the core group, such as \"v1\".",
        )
    } else if !name::is_label(&text("kind").to_ascii_lowercase()) {
        ("/kind", "Write the name of the kind, such as \"Deployment\": at most 63 letters, digits and \"-\".")
    } else {
        return None;
    };
    let found = truncate_text(text(&pointer[1..]));
    Some((Finding::error("G109", format!("{found:?} is no valid {}.", &pointer[1..]), hint), pointer))
}

/// The object in a message, by the fields that it has.
fn describe_object(value: &Value) -> String {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).filter(|name| !name.is_empty());
    match (value["kind"].as_str(), name) {
        (Some(kind), Some(name)) => truncate_text(&format!("{kind} {name}")),
        (Some(kind), None) => truncate_text(&format!("This {kind}")),
        (None, Some(name)) => format!("The object {:?}", truncate_text(name)),
        (None, None) => "This document".to_owned(),
    }
}
