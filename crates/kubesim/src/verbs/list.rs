//! GET of a collection: selectors, pages, versions.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::{Value, json};

use super::ResourcePath;
use crate::cluster::SimState;
use crate::object::{i64_at, str_at};
use crate::selector::{FieldSelector, LabelRequirements};
use crate::status::{ApiResult, StatusError};
use crate::store::{ObjectChange, StoredObject};

/// Options of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub labels: LabelRequirements,
    pub fields: FieldSelector,
    pub limit: usize,
    pub continue_token: String,
    pub resource_version: Option<u64>,
    pub exact_version: bool,
}

impl ListOptions {
    pub(crate) fn selects(&self, value: &Value) -> bool {
        self.labels.selects(value) && self.fields.selects(value)
    }
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct ListPage {
    pub items: Vec<Arc<StoredObject>>,
    pub rv: u64,
    pub continue_token: Option<String>,
    pub remaining: Option<usize>,
}

/// Lists a kind in one namespace, or in all if the target has none.
///
/// # Errors
/// 410 for a version or page that is too old, 504 for one in the future.
pub(crate) fn list_objects(
    sim: &SimState,
    target: &ResourcePath,
    query: &ListOptions,
) -> ApiResult<ListPage> {
    let namespace = (!target.namespace.is_empty()).then_some(&*target.namespace);
    let (start, at) = match &*query.continue_token {
        "" => (None, query.resource_version.filter(|_| query.exact_version)),
        token => decode_token(token).map(|(start, rv)| (Some(start), Some(rv)))?,
    };
    let (objects, rv) = match at {
        Some(rv) => (list_at_version(sim, target, namespace, rv)?, rv),
        None => sim.store.list(target.kind.id, namespace),
    };
    if let Some(requested) = query.resource_version.filter(|v| *v > rv) {
        return Err(StatusError::version_too_large(requested, rv));
    }
    let after = |o: &&Arc<StoredObject>| start.as_deref().is_none_or(|s| *key_of_object(o) > *s);
    let mut items: Vec<Arc<StoredObject>> =
        objects.iter().filter(after).filter(|o| query.selects(&o.value)).cloned().collect();
    let (mut token, mut remaining) = (None, None);
    if query.limit > 0 && items.len() > query.limit {
        remaining = Some(items.len() - query.limit);
        items.truncate(query.limit);
        token = items.last().map(|last| encode_token(&key_of_object(last), rv));
    }
    let items =
        items.iter().map(|o| crate::convert::convert_from_storage(&target.kind, target.version, o)).collect();
    Ok(ListPage { items, rv, continue_token: token, remaining })
}

fn key_of_object(stored: &StoredObject) -> String {
    crate::store::object_key(crate::object::namespace(&stored.value), crate::object::name(&stored.value))
}

fn encode_token(start: &str, rv: u64) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": rv, "start": start}).to_string();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token)
}

fn decode_token(token: &str) -> ApiResult<(String, u64)> {
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token).ok();
    let value: Option<Value> = bytes.and_then(|b| serde_json::from_slice(&b).ok());
    let parsed =
        value.and_then(|v| Some((str_at(&v, "start").to_owned(), u64::try_from(i64_at(&v, "rv")?).ok()?)));
    parsed.ok_or_else(|| StatusError::bad_request("continue key is not valid"))
}

/// The collection at an earlier version: the current one with later changes reverted.
fn list_at_version(
    sim: &SimState,
    target: &ResourcePath,
    namespace: Option<&str>,
    rv: u64,
) -> ApiResult<Vec<Arc<StoredObject>>> {
    let state = sim.store.lock();
    let changes: Result<Vec<Arc<ObjectChange>>, u64> = match state.kind_store(target.kind.id) {
        Some(bucket) => bucket.history.changes_after(rv),
        None => Ok(Vec::new()),
    };
    let oldest = state.compacted_version;
    let changes = changes.map_err(|dropped| continue_expired(rv, dropped))?;
    if rv < oldest {
        return Err(continue_expired(rv, oldest));
    }
    let mut objects: std::collections::BTreeMap<String, Arc<StoredObject>> =
        state.list(target.kind.id, namespace).into_iter().map(|o| (key_of_object(&o), o)).collect();
    for change in changes.iter().rev() {
        let inside = namespace.is_none_or(|ns| change.key.split('/').next() == Some(ns));
        match &change.old {
            Some(old) if inside => drop(objects.insert(change.key.clone(), old.clone())),
            _ => drop(objects.remove(&change.key)),
        }
    }
    Ok(objects.into_values().collect())
}

fn continue_expired(rv: u64, oldest: u64) -> StatusError {
    let mut refusal = StatusError::expired(rv, oldest);
    refusal.message =
        "The provided continue parameter is too old to display a consistent list result. You can start \
        a new list without the continue parameter."
            .into();
    refusal
}
