//! The first filter: any predicate matches.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::{FactKey, FactTerm};
use super::filter_result::{GroupMembership, NameList, ObservedFact, ObservedLabel};
use super::remedy::{find_fact_changes, find_label_changes};
use super::{
    ClusterGroup, FilterObservation, FilterRequirement, FilterResult, Placement, PlacementFilter, Predicate,
    Remedy, RequiredChange, saturating_u32,
};
use crate::kubernetes::labels::{LabelSelector, LabelTerm};
use crate::model::cluster::Cluster;

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
        // The first of equals: the written order decides.
        let mut nearest: Option<(usize, Option<Vec<RequiredChange>>)> = None;
        for (index, changes) in alternatives.enumerate() {
            let away = distance(&changes);
            if nearest.as_ref().is_none_or(|(_, best)| away < distance(best)) {
                nearest = Some((index, changes));
            }
            if away == 0 {
                break;
            }
        }
        let Some((index, changes)) = nearest else {
            return (no_predicates_result(), 1);
        };
        let predicate = &predicates[index];
        let away = distance(&changes);
        let expected = FilterRequirement::Predicate {
            names: NameList::new(&predicate.names),
            groups: NameList::new(&predicate.groups),
            labels: predicate.label_selector.clone(),
            facts: predicate.field_selector.clone(),
            position: saturating_u32(index + 1),
            of: saturating_u32(predicates.len()),
        };
        let passed = away == 0;
        let remedy = changes.map_or(Remedy::ChangeSelector, |changes| Remedy::Change { changes });
        let result = FilterResult {
            filter: PlacementFilter::Predicate,
            passed,
            expected,
            actual: self.observe_cluster(predicate, cluster),
            remedy: (!passed).then_some(remedy),
        };
        (result, away)
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

    /// What the parts of the predicate are about.
    fn observe_cluster(&self, predicate: &Predicate, cluster: &Cluster) -> FilterObservation {
        let member = predicate.groups.iter().find(|group| self.is_member(group, cluster));
        let membership = match member {
            Some(group) => GroupMembership::Member { group: group.clone() },
            None => GroupMembership::NotMember { groups: saturating_u32(predicate.groups.len()) },
        };
        let keys: Vec<&str> = predicate.label_selector.terms.iter().map(LabelTerm::key).collect();
        let labels = unique_in_order(keys)
            .into_iter()
            .map(|key| ObservedLabel { key: key.to_owned(), value: cluster.labels.get(key).cloned() });
        let facts: Vec<FactKey> = predicate.field_selector.terms.iter().map(FactTerm::fact).collect();
        let facts = unique_in_order(facts).into_iter().map(|fact| ObservedFact {
            fact,
            values: fact.values(cluster).into_iter().map(str::to_owned).collect(),
        });
        let has_name = !predicate.names.is_empty() || predicate.is_everything();
        FilterObservation::Cluster {
            name: has_name.then(|| cluster.name.clone()),
            membership: (!predicate.groups.is_empty()).then_some(membership),
            labels: labels.collect(),
            facts: facts.collect(),
        }
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
        expected: FilterRequirement::AnyPredicate,
        actual: FilterObservation::NoPredicate,
        remedy: Some(Remedy::AddPredicate),
    }
}
