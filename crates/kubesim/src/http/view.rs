//! Objects and lists in the form that was asked for.

use bytes::Bytes;
use serde_json::{Value, json};

use super::request::Form;
use super::table;
use crate::store::Stored;
use crate::verbs::Target;
use crate::verbs::list::Page;

/// One object.
pub(crate) fn one(target: &Target, form: Form, stored: &Stored) -> Bytes {
    match form {
        Form::Whole => stored.json(),
        Form::Metadata => Bytes::from(metadata(&stored.value).to_string()),
        Form::Table => Bytes::from(table::table(target, &[&stored.value], json!({}), true).to_string()),
    }
}

/// An object inside a watch event: a table there repeats its columns only in the first one.
pub(crate) fn event(target: &Target, form: Form, stored: &Stored, first: bool) -> Bytes {
    match form {
        Form::Table => {
            let metadata = json!({"resourceVersion": stored.rv.to_string()});
            Bytes::from(table::table(target, &[&stored.value], metadata, first).to_string())
        }
        _ => one(target, form, stored),
    }
}

fn metadata(value: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": value.get("metadata").cloned().unwrap_or_default(),
    })
}

/// A page of a list.
pub(crate) fn page(target: &Target, form: Form, page: &Page) -> Bytes {
    let mut head = json!({"resourceVersion": page.rv.to_string()});
    if let Some(token) = &page.token {
        head["continue"] = token.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        head["remainingItemCount"] = remaining.into();
    }
    match form {
        Form::Table => {
            let rows: Vec<&Value> = page.items.iter().map(|o| &o.value).collect();
            Bytes::from(table::table(target, &rows, head, true).to_string())
        }
        Form::Whole => {
            let head = format!(
                "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{head},\"items\":[",
                target.kind.kind,
                target.version().api_version
            );
            list(head, page.items.iter().map(|o| o.json()))
        }
        Form::Metadata => {
            let head = format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\
                 \"metadata\":{head},\"items\":["
            );
            list(head, page.items.iter().map(|o| Bytes::from(metadata(&o.value).to_string())))
        }
    }
}

fn list(head: String, items: impl Iterator<Item = Bytes>) -> Bytes {
    let mut out = head.into_bytes();
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.extend_from_slice(b"]}");
    Bytes::from(out)
}
