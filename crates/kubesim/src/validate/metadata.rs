//! Validation of names, labels and annotations.

use serde_json::Value;

use crate::kinds::ResourceKind;
use crate::object::{map_at, name};
use crate::status::StatusCause;

const SUBDOMAIN_DETAIL: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_DETAIL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035_DETAIL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE_DETAIL: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_KEY_DETAIL: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

pub(super) fn check_metadata(kind: &ResourceKind, object: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let name = name(object);
    if let Some(detail) = check_name(kind, name) {
        causes.push(StatusCause::invalid("metadata.name", &name.into(), &detail));
    }
    for (key, value) in map_at(object, "metadata.labels").into_iter().flatten() {
        if !is_qualified_name(key) {
            causes.push(StatusCause::invalid("metadata.labels", &key.as_str().into(), LABEL_KEY_DETAIL));
        }
        let text = value.as_str().unwrap_or("");
        if text.len() > 63 {
            causes.push(StatusCause::invalid("metadata.labels", value, "must be no more than 63 bytes"));
        } else if !text.is_empty() && !is_name_segment(text) {
            causes.push(StatusCause::invalid("metadata.labels", value, LABEL_VALUE_DETAIL));
        }
    }
    let annotations = map_at(object, "metadata.annotations");
    for key in
        annotations.into_iter().flat_map(|m| m.keys()).filter(|k| !is_qualified_name(&k.to_lowercase()))
    {
        causes.push(StatusCause::invalid("metadata.annotations", &key.as_str().into(), LABEL_KEY_DETAIL));
    }
    let size: usize =
        annotations.into_iter().flatten().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum();
    if size > 256 * 1024 {
        causes.push(StatusCause {
            reason: "FieldValueTooLong",
            message: "Too long: may not be more than 262144 bytes".into(),
            field: "metadata.annotations".into(),
        });
    }
    causes
}

fn check_name(kind: &ResourceKind, name: &str) -> Option<String> {
    if kind.group == "rbac.authorization.k8s.io"
        || kind.is_kind("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return check_path_segment(name);
    }
    let (limit, good, detail): (usize, fn(&str) -> bool, &str) = match &*kind.kind {
        "Service" if !kind.is_custom => (63, is_rfc1035_label, LABEL_1035_DETAIL),
        "Namespace" | "StatefulSet" if !kind.is_custom => (63, is_rfc1123_label, LABEL_DETAIL),
        _ => (253, is_subdomain, SUBDOMAIN_DETAIL),
    };
    if name.len() > limit {
        return Some(format!("must be no more than {limit} bytes"));
    }
    (!good(name)).then(|| detail.to_owned())
}

/// Why a name can't stand in a path; such kinds have no other rule.
fn check_path_segment(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("name or generateName is required".to_owned());
    }
    if matches!(name, "." | "..") {
        return Some(format!("may not be '{name}'"));
    }
    let illegal = ['/', '%'].into_iter().find(|illegal| name.contains(*illegal))?;
    Some(format!("may not contain '{illegal}'"))
}

/// RFC 1123 label.
pub(crate) fn is_rfc1123_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let edge = |c: u8| c != b'-';
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(f), Some(l)) if edge(*f) && edge(*l))
        && bytes.iter().all(|c| inner(*c))
}

fn is_rfc1035_label(text: &str) -> bool {
    is_rfc1123_label(text) && text.as_bytes()[0].is_ascii_lowercase()
}

fn is_subdomain(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(is_rfc1123_label)
}

fn is_name_segment(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    matches!((bytes.first(), bytes.last()), (Some(f), Some(l)) if f.is_ascii_alphanumeric() && l.is_ascii_alphanumeric())
        && bytes.iter().all(|c| inner(*c))
}

fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name_segment(name) && name.len() <= 63,
        None => is_name_segment(key) && key.len() <= 63,
    }
}
