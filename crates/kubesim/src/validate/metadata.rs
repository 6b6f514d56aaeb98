//! Names, labels, annotations and finalizers.

use serde_json::Value;

use crate::kinds::Kind;
use crate::object::{map, name};
use crate::status::Cause;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

pub(super) fn check(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = name(object);
    if let Some(detail) = name_fault(kind, name) {
        causes.push(Cause::invalid("metadata.name", &name.into(), &detail));
    }
    for (key, value) in map(object, "metadata.labels").into_iter().flatten() {
        if !qualified(key) {
            causes.push(Cause::invalid("metadata.labels", &key.as_str().into(), KEY));
        }
        let text = value.as_str().unwrap_or("");
        if text.len() > 63 {
            causes.push(Cause::invalid("metadata.labels", value, "must be no more than 63 bytes"));
        } else if !text.is_empty() && !segment(text) {
            causes.push(Cause::invalid("metadata.labels", value, VALUE));
        }
    }
    let annotations = map(object, "metadata.annotations");
    for key in annotations.into_iter().flat_map(|m| m.keys()).filter(|k| !qualified(&k.to_lowercase())) {
        causes.push(Cause::invalid("metadata.annotations", &key.as_str().into(), KEY));
    }
    let size: usize =
        annotations.into_iter().flatten().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum();
    if size > 256 * 1024 {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: "Too long: may not be more than 262144 bytes".into(),
            field: "metadata.annotations".into(),
        });
    }
    causes
}

fn name_fault(kind: &Kind, name: &str) -> Option<String> {
    if kind.group == "rbac.authorization.k8s.io"
        || kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        let bad = name.is_empty() || name == "." || name == ".." || name.contains(['/', '%']);
        return bad.then(|| "may not contain '/' or '%'".to_owned());
    }
    let (limit, good, detail): (usize, fn(&str) -> bool, &str) = match &*kind.kind {
        "Service" if !kind.custom => (63, label_1035, LABEL_1035),
        "Namespace" if !kind.custom => (63, label, LABEL),
        _ => (253, subdomain, SUBDOMAIN),
    };
    if name.len() > limit {
        return Some(format!("must be no more than {limit} bytes"));
    }
    (!good(name)).then(|| detail.to_owned())
}

/// RFC 1123 label.
pub(crate) fn label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let edge = |c: u8| c != b'-';
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(f), Some(l)) if edge(*f) && edge(*l))
        && bytes.iter().all(|c| inner(*c))
}

fn label_1035(text: &str) -> bool {
    label(text) && text.as_bytes()[0].is_ascii_lowercase()
}

fn subdomain(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(label)
}

fn segment(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    matches!((bytes.first(), bytes.last()), (Some(f), Some(l)) if f.is_ascii_alphanumeric() && l.is_ascii_alphanumeric())
        && bytes.iter().all(|c| inner(*c))
}

fn qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => subdomain(prefix) && segment(name) && name.len() <= 63,
        None => segment(key) && key.len() <= 63,
    }
}
