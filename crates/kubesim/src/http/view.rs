//! Serializes objects and lists in the requested form.

use bytes::Bytes;
use serde_json::{Value, json};

use super::request::ResponseForm;
use super::table;
use crate::store::StoredObject;
use crate::verbs::ResourcePath;
use crate::verbs::list::ListPage;

/// One object.
pub(crate) fn object_body(target: &ResourcePath, form: ResponseForm, stored: &StoredObject) -> Bytes {
    match form {
        ResponseForm::Full => stored.json(),
        ResponseForm::Metadata => Bytes::from(partial_metadata(&stored.value).to_string()),
        ResponseForm::Table => {
            Bytes::from(table::build_table(target, &[&stored.value], json!({}), true).to_string())
        }
    }
}

/// An object of a watch event; in table form only the first event has column definitions.
pub(crate) fn event_body(
    target: &ResourcePath,
    form: ResponseForm,
    stored: &StoredObject,
    first: bool,
) -> Bytes {
    match form {
        ResponseForm::Table => {
            let metadata = json!({"resourceVersion": stored.rv.to_string()});
            Bytes::from(table::build_table(target, &[&stored.value], metadata, first).to_string())
        }
        _ => object_body(target, form, stored),
    }
}

fn partial_metadata(value: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": value.get("metadata").cloned().unwrap_or_default(),
    })
}

/// A page of a list.
pub(crate) fn list_body(target: &ResourcePath, form: ResponseForm, page: &ListPage) -> Bytes {
    let mut head = json!({"resourceVersion": page.rv.to_string()});
    if let Some(token) = &page.continue_token {
        head["continue"] = token.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        head["remainingItemCount"] = remaining.into();
    }
    match form {
        ResponseForm::Table => {
            let rows: Vec<&Value> = page.items.iter().map(|o| &o.value).collect();
            Bytes::from(table::build_table(target, &rows, head, true).to_string())
        }
        ResponseForm::Full => {
            let head = format!(
                "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{head},\"items\":[",
                target.kind.kind,
                target.version().api_version
            );
            join_items(head, page.items.iter().map(|o| o.json()))
        }
        ResponseForm::Metadata => {
            let head = format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\
                 \"metadata\":{head},\"items\":["
            );
            join_items(head, page.items.iter().map(|o| Bytes::from(partial_metadata(&o.value).to_string())))
        }
    }
}

fn join_items(head: String, items: impl Iterator<Item = Bytes>) -> Bytes {
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
