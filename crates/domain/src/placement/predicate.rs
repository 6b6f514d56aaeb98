//! The first filter: any predicate matches.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::{FactKey, FactTerm};
use super::remedy::{RequiredChange, describe_changes, find_fact_changes, find_label_changes, format_list};
use super::{ClusterGroup, FilterResult, Placement, PlacementFilter, Predicate};
use crate::cluster::Cluster;
use crate::labels::{LabelSelector, LabelTerm};

/// Number of changes for a predicate that no change of the cluster can satisfy; larger than any other.
const UNSATISFIABLE: u32 = 1_000;

/// The policy with indexed names and groups, for the evaluation of ten thousand clusters.
pub(super) struct PreparedPlacement<'a> {
    pub placement: &'a Placement,
    pub excluded: BTreeSet<&'a str>,
    names: Vec<BTreeSet<&'a str>>,
    groups: BTreeMap<&'a str, Vec<PreparedGroup<'a>>>,
}

struct PreparedGroup<'a> {
    members: BTreeSet<&'a str>,
    selector: Option<&'a LabelSelector>,
}

impl PreparedGroup<'_> {
    fn contains(&self, cluster: &Cluster) -> bool {
        self.members.contains(cluster.name.as_str())
            || self.selector.is_some_and(|selector| selector.matches(&cluster.labels))
    }
}

fn name_set(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}

impl<'a> PreparedPlacement<'a> {
    pub fn new(placement: &'a Placement, groups: &'a [ClusterGroup]) -> Self {
        let mut known: BTreeMap<&str, Vec<PreparedGroup<'_>>> = BTreeMap::new();
        for group in groups {
            let prepared =
                PreparedGroup { members: name_set(&group.members), selector: group.selector.as_ref() };
            known.entry(&group.name).or_default().push(prepared);
        }
        Self {
            placement,
            excluded: name_set(&placement.exclude),
            names: placement.predicates.iter().map(|predicate| name_set(&predicate.names)).collect(),
            groups: known,
        }
    }

    /// The result for the first predicate that matches, else for the one that needs the fewest changes; and their number.
    pub fn evaluate_predicates(&self, cluster: &Cluster) -> (FilterResult, u32) {
        let predicates = &self.placement.predicates;
        let alternatives = (0..predicates.len()).map(|index| self.needed_changes(index, cluster));
        let distance = |changes: &Option<Vec<RequiredChange>>| {
            changes
                .as_ref()
                .map_or(UNSATISFIABLE, |changes| u32::try_from(changes.len()).unwrap_or(UNSATISFIABLE))
        };
        // `min_by_key` returns the first of equals: the written order decides.
        let nearest = alternatives.enumerate().min_by_key(|(_, changes)| distance(changes));
        let Some((index, changes)) = nearest else {
            return (no_predicates_result(), 1);
        };
        let predicate = &predicates[index];
        let away = distance(&changes);
        let mut expected = describe_expected(predicate);
        if predicates.len() > 1 {
            expected = format!("{expected} (predicate {} of {})", index + 1, predicates.len());
        }
        let remedy = match &changes {
            Some(changes) => describe_changes(changes),
            None => "change the placement: no labels can satisfy this selector".to_owned(),
        };
        let actual = self.describe_actual(predicate, cluster);
        (
            FilterResult { filter: PlacementFilter::Predicate, passed: away == 0, expected, actual, remedy },
            away,
        )
    }

    /// The changes needed for the predicate at this position to match; `None` if no change of the cluster suffices.
    pub fn needed_changes(&self, index: usize, cluster: &Cluster) -> Option<Vec<RequiredChange>> {
        let predicate = &self.placement.predicates[index];
        let mut changes = Vec::new();
        if !predicate.names.is_empty() && !self.names[index].contains(cluster.name.as_str()) {
            changes.push(RequiredChange::AddName { cluster: cluster.name.clone() });
        }
        let terms: Vec<&LabelTerm> = predicate.label_selector.terms.iter().collect();
        if predicate.groups.is_empty() {
            changes.extend(find_label_changes(&terms, &cluster.labels)?);
        } else {
            let alternatives =
                predicate.groups.iter().flat_map(|group| self.membership_changes(group, &terms, cluster));
            changes.extend(alternatives.min_by_key(Vec::len)?);
        }
        if !predicate.field_selector.is_empty() {
            // The region can come from a label, possibly one that is changed here.
            let facts = find_fact_changes(&predicate.field_selector, &with_label_changes(cluster, &changes));
            changes.extend(facts);
        }
        Some(changes)
    }

    /// Alternative changes that make the cluster a member of a group and satisfy the terms. A dynamic group selects by
    /// labels, possibly the same ones that the terms require to change.
    fn membership_changes(
        &self,
        group: &str,
        terms: &[&LabelTerm],
        cluster: &Cluster,
    ) -> Vec<Vec<RequiredChange>> {
        let join = |change: RequiredChange| {
            let labels = find_label_changes(terms, &cluster.labels)?;
            Some(std::iter::once(change).chain(labels).collect())
        };
        let Some(known) = self.groups.get(group) else {
            return join(RequiredChange::CreateGroup { group: group.to_owned() }).into_iter().collect();
        };
        let changes = |known: &PreparedGroup<'_>| match known.selector {
            _ if known.members.contains(cluster.name.as_str()) => find_label_changes(terms, &cluster.labels),
            Some(selector) => {
                let all: Vec<&LabelTerm> = selector.terms.iter().chain(terms.iter().copied()).collect();
                find_label_changes(&all, &cluster.labels)
            }
            None => join(RequiredChange::JoinGroup { group: group.to_owned() }),
        };
        known.iter().filter_map(changes).collect()
    }

    fn is_member(&self, group: &str, cluster: &Cluster) -> bool {
        self.groups.get(group).is_some_and(|known| known.iter().any(|known| known.contains(cluster)))
    }

    fn describe_actual(&self, predicate: &Predicate, cluster: &Cluster) -> String {
        let mut parts = Vec::new();
        if !predicate.names.is_empty() || predicate.is_everything() {
            parts.push(cluster.name.clone());
        }
        if !predicate.groups.is_empty() {
            let member = predicate.groups.iter().find(|group| self.is_member(group, cluster));
            parts.push(match member {
                Some(group) => format!("in {group}"),
                None if predicate.groups.len() == 1 => "not a member".to_owned(),
                None => "not a member of any".to_owned(),
            });
        }
        let keys: Vec<&str> = predicate.label_selector.terms.iter().map(LabelTerm::key).collect();
        parts.extend(unique_in_order(keys).into_iter().map(|key| match cluster.labels.get(key) {
            Some(value) => format!("{key}={value}"),
            None => format!("no label {key}"),
        }));
        let facts: Vec<FactKey> = predicate.field_selector.terms.iter().map(FactTerm::fact).collect();
        parts.extend(unique_in_order(facts).into_iter().map(|fact| match &fact.values(cluster)[..] {
            [] => format!("{} unknown", fact.as_str()),
            known => format!("{}={}", fact.as_str(), format_list(known, "and")),
        }));
        parts.join(", ")
    }
}

/// The cluster after its label changes.
fn with_label_changes(cluster: &Cluster, changes: &[RequiredChange]) -> Cluster {
    let mut after = cluster.clone();
    for change in changes {
        match change {
            RequiredChange::SetLabel { key, value, .. } => {
                drop(after.labels.insert(key.clone(), value.clone()))
            }
            RequiredChange::SetOtherValue { key, .. } | RequiredChange::ChangeOrRemoveLabel { key, .. } => {
                after.labels.insert(key.clone(), "other".to_owned());
            }
            RequiredChange::RemoveLabel { key } => drop(after.labels.remove(key)),
            _ => {}
        }
    }
    after
}

fn unique_in_order<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}

fn no_predicates_result() -> FilterResult {
    FilterResult {
        filter: PlacementFilter::Predicate,
        passed: false,
        expected: "a cluster selection".to_owned(),
        actual: "no selection yet".to_owned(),
        remedy: "select clusters by name, group or label".to_owned(),
    }
}

fn describe_expected(predicate: &Predicate) -> String {
    let mut parts = Vec::new();
    match &predicate.names[..] {
        [] => {}
        [name] => parts.push(format!("the cluster {name}")),
        names => parts.push(format!("one of the clusters {}", format_list(names, "or"))),
    }
    match &predicate.groups[..] {
        [] => {}
        [group] => parts.push(format!("in the group {group}")),
        groups => parts.push(format!("in one of the groups {}", format_list(groups, "or"))),
    }
    parts.extend(predicate.label_selector.terms.iter().map(LabelTerm::to_string));
    parts.extend(predicate.field_selector.terms.iter().map(FactTerm::to_string));
    if parts.is_empty() { "any cluster".to_owned() } else { parts.join(", ") }
}
