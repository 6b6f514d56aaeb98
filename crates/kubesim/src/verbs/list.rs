//! GET of a collection: selectors, pages, versions.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Target;
use crate::cluster::Sim;
use crate::object::{int, text};
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Answer, Refusal};
use crate::store::{Change, Stored};

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
    pub limit: usize,
    pub token: String,
    pub version: Option<u64>,
    pub exact: bool,
}

impl Query {
    pub(crate) fn selects(&self, value: &Value) -> bool {
        self.labels.selects(value) && self.fields.selects(value)
    }
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    pub items: Vec<Arc<Stored>>,
    pub rv: u64,
    pub token: Option<String>,
    pub remaining: Option<usize>,
}

/// Lists a kind in one namespace, or in all if the target names none.
///
/// # Errors
/// 410 for a version or page that is too old, 504 for one in the future.
pub(crate) fn list(sim: &Sim, target: &Target, query: &Query) -> Answer<Page> {
    let namespace = (!target.namespace.is_empty()).then_some(&*target.namespace);
    let (start, at) = match &*query.token {
        "" => (None, query.version.filter(|_| query.exact)),
        token => read(token).map(|(start, rv)| (Some(start), Some(rv)))?,
    };
    let (objects, rv) = match at {
        Some(rv) => (past(sim, target, namespace, rv)?, rv),
        None => sim.store.list(target.kind.id, namespace),
    };
    if let Some(asked) = query.version.filter(|v| *v > rv) {
        return Err(Refusal::too_large_version(asked, rv));
    }
    let after = |o: &&Arc<Stored>| start.as_deref().is_none_or(|s| *key(o) > *s);
    let mut items: Vec<Arc<Stored>> =
        objects.iter().filter(after).filter(|o| query.selects(&o.value)).cloned().collect();
    let (mut token, mut remaining) = (None, None);
    if query.limit > 0 && items.len() > query.limit {
        remaining = Some(items.len() - query.limit);
        items.truncate(query.limit);
        token = items.last().map(|last| write(&key(last), rv));
    }
    let items = items.iter().map(|o| crate::convert::outward(&target.kind, target.version, o)).collect();
    Ok(Page { items, rv, token, remaining })
}

fn key(stored: &Stored) -> String {
    crate::store::key(crate::object::namespace(&stored.value), crate::object::name(&stored.value))
}

fn write(start: &str, rv: u64) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": rv, "start": start}).to_string();
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token)
}

fn read(token: &str) -> Answer<(String, u64)> {
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(token).ok();
    let value: Option<Value> = bytes.and_then(|b| serde_json::from_slice(&b).ok());
    let parsed =
        value.and_then(|v| Some((text(&v, "start").to_owned(), u64::try_from(int(&v, "rv")?).ok()?)));
    parsed.ok_or_else(|| Refusal::bad_request("continue key is not valid"))
}

/// The collection as it was at a version: today's, with what happened since undone.
fn past(sim: &Sim, target: &Target, namespace: Option<&str>, rv: u64) -> Answer<Vec<Arc<Stored>>> {
    let state = sim.store.lock();
    let changes: Result<Vec<Arc<Change>>, u64> = match state.peek(target.kind.id) {
        Some(bucket) => bucket.history.after(rv),
        None => Ok(Vec::new()),
    };
    let oldest = state.floor;
    let changes = changes.map_err(|dropped| gone(rv, dropped))?;
    if rv < oldest {
        return Err(gone(rv, oldest));
    }
    let mut objects: std::collections::BTreeMap<String, Arc<Stored>> =
        state.list(target.kind.id, namespace).into_iter().map(|o| (key(&o), o)).collect();
    for change in changes.iter().rev() {
        let inside = namespace.is_none_or(|ns| change.key.split('/').next() == Some(ns));
        match &change.old {
            Some(old) if inside => drop(objects.insert(change.key.clone(), old.clone())),
            _ => drop(objects.remove(&change.key)),
        }
    }
    Ok(objects.into_values().collect())
}

fn gone(rv: u64, oldest: u64) -> Refusal {
    let mut refusal = Refusal::expired(rv, oldest);
    refusal.message =
        "The provided continue parameter is too old to display a consistent list result. You can start \
        a new list without the continue parameter."
            .into();
    refusal
}
