//! The first step: does any predicate hold?

use std::collections::{BTreeMap, BTreeSet};

use super::fact::{Fact, FactTerm};
use super::remedy::{Change, listed, other_facts, relabel, sentence};
use super::{ClusterGroup, Placement, Predicate, Step, StepResult};
use crate::cluster::Cluster;
use crate::labels::{Selector, Term};

/// What a cluster is away from a predicate that no change of the cluster can satisfy; farther than any other.
const HOPELESS: u32 = 1_000;

/// The policy, prepared to be asked of ten thousand clusters: what names are in is looked up and not searched.
pub(super) struct Asked<'a> {
    pub placement: &'a Placement,
    pub excluded: BTreeSet<&'a str>,
    names: Vec<BTreeSet<&'a str>>,
    groups: BTreeMap<&'a str, Vec<Group<'a>>>,
}

struct Group<'a> {
    members: BTreeSet<&'a str>,
    selector: Option<&'a Selector>,
}

impl Group<'_> {
    fn contains(&self, cluster: &Cluster) -> bool {
        self.members.contains(cluster.name.as_str())
            || self.selector.is_some_and(|selector| selector.matches(&cluster.labels))
    }
}

fn set(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}

impl<'a> Asked<'a> {
    pub fn new(placement: &'a Placement, groups: &'a [ClusterGroup]) -> Self {
        let mut known: BTreeMap<&str, Vec<Group<'_>>> = BTreeMap::new();
        for group in groups {
            let prepared = Group { members: set(&group.members), selector: group.selector.as_ref() };
            known.entry(&group.name).or_default().push(prepared);
        }
        Self {
            placement,
            excluded: set(&placement.exclude),
            names: placement.predicates.iter().map(|predicate| set(&predicate.names)).collect(),
            groups: known,
        }
    }

    /// The first predicate that holds, or the nearest miss; and the number of things that would have to change.
    pub fn step(&self, cluster: &Cluster) -> (StepResult, u32) {
        let predicates = &self.placement.predicates;
        let misses = (0..predicates.len()).map(|at| self.missing(at, cluster));
        let distance = |changes: &Option<Vec<Change>>| {
            changes.as_ref().map_or(HOPELESS, |changes| u32::try_from(changes.len()).unwrap_or(HOPELESS))
        };
        // `min_by_key` keeps the first of equals: the order written decides.
        let nearest = misses.enumerate().min_by_key(|(_, changes)| distance(changes));
        let Some((at, changes)) = nearest else {
            return (nothing_asked(), 1);
        };
        let predicate = &predicates[at];
        let away = distance(&changes);
        let mut asked = asked(predicate);
        if predicates.len() > 1 {
            asked = format!("{asked} (predicate {} of {})", at + 1, predicates.len());
        }
        let remedy = match &changes {
            Some(changes) => sentence(changes),
            None => "change the placement: no labels can satisfy this selector".to_owned(),
        };
        let seen = self.seen(predicate, cluster);
        (StepResult { step: Step::Predicate, passed: away == 0, asked, seen, remedy }, away)
    }

    /// What would have to change for the predicate at this position to hold; `None` if nothing would help.
    pub fn missing(&self, at: usize, cluster: &Cluster) -> Option<Vec<Change>> {
        let predicate = &self.placement.predicates[at];
        let mut changes = Vec::new();
        if !predicate.names.is_empty() && !self.names[at].contains(cluster.name.as_str()) {
            changes.push(Change::AddName { cluster: cluster.name.clone() });
        }
        let terms: Vec<&Term> = predicate.label_selector.terms.iter().collect();
        if predicate.groups.is_empty() {
            changes.extend(relabel(&terms, &cluster.labels)?);
        } else {
            let ways = predicate.groups.iter().flat_map(|group| self.ways_in(group, &terms, cluster));
            changes.extend(ways.min_by_key(Vec::len)?);
        }
        if !predicate.field_selector.is_empty() {
            // A region can be told by a label, and that may be the very one that is to change.
            let facts = other_facts(&predicate.field_selector, &relabelled(cluster, &changes));
            changes.extend(facts);
        }
        Some(changes)
    }

    /// The ways to be a member of a group and satisfy the terms too. Membership of a dynamic group hangs on labels, and
    /// those may be the very ones that the terms want changed.
    fn ways_in(&self, group: &str, terms: &[&Term], cluster: &Cluster) -> Vec<Vec<Change>> {
        let join = |change: Change| {
            let labels = relabel(terms, &cluster.labels)?;
            Some(std::iter::once(change).chain(labels).collect())
        };
        let Some(known) = self.groups.get(group) else {
            return join(Change::MakeGroup { group: group.to_owned() }).into_iter().collect();
        };
        let way = |known: &Group<'_>| match known.selector {
            _ if known.members.contains(cluster.name.as_str()) => relabel(terms, &cluster.labels),
            Some(selector) => {
                let all: Vec<&Term> = selector.terms.iter().chain(terms.iter().copied()).collect();
                relabel(&all, &cluster.labels)
            }
            None => join(Change::JoinGroup { group: group.to_owned() }),
        };
        known.iter().filter_map(way).collect()
    }

    fn is_member(&self, group: &str, cluster: &Cluster) -> bool {
        self.groups.get(group).is_some_and(|known| known.iter().any(|known| known.contains(cluster)))
    }

    fn seen(&self, predicate: &Predicate, cluster: &Cluster) -> String {
        let mut parts = Vec::new();
        if !predicate.names.is_empty() || predicate.is_everything() {
            parts.push(cluster.name.clone());
        }
        if !predicate.groups.is_empty() {
            let member = predicate.groups.iter().find(|group| self.is_member(group, cluster));
            parts.push(match member {
                Some(group) => format!("in {group}"),
                None if predicate.groups.len() == 1 => "not in it".to_owned(),
                None => "in none of them".to_owned(),
            });
        }
        let keys: Vec<&str> = predicate.label_selector.terms.iter().map(Term::key).collect();
        parts.extend(once_each(keys).into_iter().map(|key| match cluster.labels.get(key) {
            Some(value) => format!("{key}={value}"),
            None => format!("no label {key}"),
        }));
        let facts: Vec<Fact> = predicate.field_selector.terms.iter().map(FactTerm::fact).collect();
        parts.extend(once_each(facts).into_iter().map(|fact| match &fact.values(cluster)[..] {
            [] => format!("{} not known", fact.name()),
            known => format!("{}={}", fact.name(), listed(known, "and")),
        }));
        parts.join(", ")
    }
}

/// The cluster after the changes of its labels.
fn relabelled(cluster: &Cluster, changes: &[Change]) -> Cluster {
    let mut after = cluster.clone();
    for change in changes {
        match change {
            Change::SetLabel { key, value, .. } => drop(after.labels.insert(key.clone(), value.clone())),
            Change::SetOther { key, .. } | Change::Avoid { key, .. } => {
                after.labels.insert(key.clone(), "other".to_owned());
            }
            Change::RemoveLabel { key } => drop(after.labels.remove(key)),
            _ => {}
        }
    }
    after
}

fn once_each<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn nothing_asked() -> StepResult {
    StepResult {
        step: Step::Predicate,
        passed: false,
        asked: "some choice of clusters".to_owned(),
        seen: "none made yet".to_owned(),
        remedy: "choose clusters by name, group or label".to_owned(),
    }
}

fn asked(predicate: &Predicate) -> String {
    let mut parts = Vec::new();
    match &predicate.names[..] {
        [] => {}
        [name] => parts.push(format!("the cluster {name}")),
        names => parts.push(format!("one of the clusters {}", listed(names, "or"))),
    }
    match &predicate.groups[..] {
        [] => {}
        [group] => parts.push(format!("in the group {group}")),
        groups => parts.push(format!("in one of the groups {}", listed(groups, "or"))),
    }
    parts.extend(predicate.label_selector.terms.iter().map(Term::to_string));
    parts.extend(predicate.field_selector.terms.iter().map(FactTerm::to_string));
    if parts.is_empty() { "any cluster".to_owned() } else { parts.join(", ") }
}
