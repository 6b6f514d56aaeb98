//! How lists are merged, and which items of two lists are the same.
//!
//! The managed fields of the live object decide: they follow the schema of the cluster. Only where they say nothing (two
//! manifests are compared, or nobody owns an item of the list) the names of the fields do.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::field_position::FieldPosition;
use crate::kubernetes::field_path::{PathSegment, SELF_FIELD, scalar_text};
use crate::kubernetes::managed_fields::ListMergeType;

/// A field that identifies a list's items, and its default.
pub(super) type MergeKey = (String, Option<&'static str>);

/// Most pairs of items of two lists that are compared because items lack a key: more can't be told apart.
const MAX_COMPARED: usize = 4_000_000;

/// How a list is merged with what other managers have in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListMerge {
    /// Replaced as a whole.
    Replace,
    /// Item by item; an item is its own identity.
    ByValue,
    /// Item by item, identified by these fields.
    ByKeys(Vec<MergeKey>),
}

impl FieldPosition<'_> {
    /// How a list here is merged: by the owners of its live items, else by the names of the fields.
    pub fn list_merge(&self, items: &[Value], live: &[Value]) -> ListMerge {
        let context = self.context;
        // A list without items is owned as a whole, whatever its type.
        match self.owners.list_type().filter(|_| !live.is_empty()) {
            Some(ListMergeType::Atomic) => ListMerge::Replace,
            Some(ListMergeType::Set) => ListMerge::ByValue,
            Some(ListMergeType::Map(keys)) => {
                let default = |key: &str| {
                    let known = context.merge_keys(items).iter().find(|(name, _)| *name == key);
                    known.and_then(|(_, default)| *default)
                };
                let with_default = |key: String| {
                    let default = default(&key);
                    (key, default)
                };
                ListMerge::ByKeys(keys.into_iter().map(with_default).collect())
            }
            None if context.parent == "metadata" && context.field == "finalizers" => ListMerge::ByValue,
            None => match context.merge_keys(items) {
                [] => ListMerge::Replace,
                keys => ListMerge::ByKeys(
                    keys.iter().map(|(key, default)| ((*key).to_owned(), *default)).collect(),
                ),
            },
        }
    }
}

/// The texts of the fields that identify an item; `None` for one that it does not have and that has no default.
fn key_texts(item: &Value, keys: &[MergeKey]) -> Vec<Option<String>> {
    let text = |(key, default): &MergeKey| match item.get(key).and_then(scalar_text) {
        Some(text) => Some(text.into_owned()),
        None => default.map(str::to_owned),
    };
    keys.iter().map(text).collect()
}

/// Items of a list with their keys; `None` if an item lacks one, or two items share one.
pub(super) fn index_by_merge_keys<'v>(
    items: &'v [Value],
    keys: &[MergeKey],
) -> Option<Vec<(Vec<String>, &'v Value)>> {
    let mut found: Vec<(Vec<String>, &Value)> = Vec::with_capacity(items.len());
    for item in items {
        let parts: Option<Vec<String>> = key_texts(item, keys).into_iter().collect();
        found.push((parts?, item));
    }
    let mut unique: Vec<&Vec<String>> = found.iter().map(|(key, _)| key).collect();
    unique.sort();
    unique.dedup();
    (unique.len() == found.len()).then_some(found)
}

/// Every desired item with the live one of the same keys. A key that a desired item does not have is defaulted by the server:
/// any live item with the other keys is it. `None` if the items of a list cannot be told apart.
pub(super) fn match_items<'v>(
    desired: &'v [Value],
    live: &'v [Value],
    keys: &[MergeKey],
) -> Option<Vec<(&'v Value, Option<&'v Value>)>> {
    let live = index_by_merge_keys(live, keys)?;
    let by_key: HashMap<&[String], &Value> = live.iter().map(|(key, item)| (key.as_slice(), *item)).collect();
    let mut matched: Vec<(&Value, Option<&Value>)> = Vec::with_capacity(desired.len());
    let mut known: HashSet<Vec<Option<String>>> = HashSet::with_capacity(desired.len());
    let mut taken: HashSet<*const Value> = HashSet::with_capacity(desired.len());
    let mut compared = 0_usize;
    for item in desired {
        let parts = key_texts(item, keys);
        if parts.iter().all(Option::is_none) || known.contains(&parts) {
            return None;
        }
        let is_free = |other: &Value| !taken.contains(&std::ptr::from_ref(other));
        let complete: Option<Vec<String>> = parts.iter().cloned().collect();
        let found = if let Some(key) = complete {
            by_key.get(key.as_slice()).copied().filter(|other| is_free(other))
        } else {
            compared = compared.saturating_add(live.len());
            if compared > MAX_COMPARED {
                return None;
            }
            let is_same = |key: &[String]| {
                parts.iter().zip(key).all(|(part, text)| part.as_ref().is_none_or(|part| part == text))
            };
            let found = live.iter().find(|(key, other)| is_same(key) && is_free(other));
            found.map(|(_, other)| *other)
        };
        taken.extend(found.map(std::ptr::from_ref));
        matched.push((item, found));
        known.insert(parts);
    }
    Some(matched)
}

/// The path segment that names an item by the key fields it has.
pub(super) fn item_segment(item: &Value, keys: &[MergeKey]) -> PathSegment {
    let has = keys.iter().filter_map(|(key, _)| {
        let text = item.get(key).and_then(scalar_text)?;
        Some((key.clone(), text.into_owned()))
    });
    PathSegment::Item(has.collect())
}

/// The path segment that names an item of a set; `None` if it is no scalar.
pub(super) fn value_segment(item: &Value) -> Option<PathSegment> {
    Some(PathSegment::Item(vec![(SELF_FIELD.to_owned(), scalar_text(item)?.into_owned())]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn p19_long_lists_are_matched_by_their_keys_and_items_without_one_up_to_a_limit() {
        let keys: Vec<MergeKey> = vec![("a".to_owned(), None), ("b".to_owned(), None)];
        let live: Vec<Value> = (0..30_000).rev().map(|n| json!({"a": n, "b": 1})).collect();
        let complete: Vec<Value> = (0..30_000).map(|n| json!({"a": n, "b": n % 2})).collect();
        let matched = match_items(&complete, &live, &keys).unwrap();
        let numbers = |n: usize| (matched[n].0["a"].as_u64(), matched[n].1.map(|live| live["a"].as_u64()));
        assert_eq!((numbers(2), numbers(3)), ((Some(2), None), (Some(3), Some(Some(3)))));

        let partial: Vec<Value> = (0..3).map(|_| json!({"b": 1})).collect();
        assert_eq!(match_items(&partial, &live[..3], &keys), None, "two items are the same");
        let partial = [json!({"b": 1}), json!({"a": 29_999})];
        let matched = match_items(&partial, &live, &keys).unwrap();
        assert_eq!((matched[0].1, matched[1].1), (Some(&live[0]), None), "an item is matched once");
        let many: Vec<Value> = (0..200).map(|n| json!({"a": n})).collect();
        assert_eq!(match_items(&many, &live, &keys), None);
    }
}
