//! The first step: does any predicate hold?

use super::remedy::{Change, listed, relabel, sentence};
use super::{ClusterGroup, Placement, Predicate, Step, StepResult};
use crate::cluster::Cluster;
use crate::labels::Term;

/// What a cluster is away from a predicate that no change of the cluster can satisfy; farther than any other.
const HOPELESS: u32 = 1_000;

/// The first predicate that holds, or the nearest miss; and the number of things that would have to change.
pub(super) fn step(placement: &Placement, cluster: &Cluster, groups: &[ClusterGroup]) -> (StepResult, u32) {
    let misses = placement.predicates.iter().map(|predicate| missing(predicate, cluster, groups));
    let distance = |changes: &Option<Vec<Change>>| {
        changes.as_ref().map_or(HOPELESS, |changes| u32::try_from(changes.len()).unwrap_or(HOPELESS))
    };
    // `min_by_key` keeps the first of equals: the order written decides.
    let nearest = misses.enumerate().min_by_key(|(_, changes)| distance(changes));
    let Some((at, changes)) = nearest else {
        return (nothing_asked(), 1);
    };
    let predicate = &placement.predicates[at];
    let away = distance(&changes);
    let mut asked = asked(predicate);
    if placement.predicates.len() > 1 {
        asked = format!("{asked} (predicate {} of {})", at + 1, placement.predicates.len());
    }
    let remedy = match &changes {
        Some(changes) => sentence(changes),
        None => "change the placement: no labels can satisfy this selector".to_owned(),
    };
    let seen = seen(predicate, cluster, groups);
    (StepResult { step: Step::Predicate, passed: away == 0, asked, seen, remedy }, away)
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

/// What would have to change for the predicate to hold; `None` if nothing would help.
pub(super) fn missing(
    predicate: &Predicate,
    cluster: &Cluster,
    groups: &[ClusterGroup],
) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    if !predicate.names.is_empty() && !predicate.names.contains(&cluster.name) {
        changes.push(Change::AddName { cluster: cluster.name.clone() });
    }
    let terms: Vec<&Term> = predicate.label_selector.terms.iter().collect();
    if predicate.groups.is_empty() {
        changes.extend(relabel(&terms, &cluster.labels)?);
    } else {
        let ways = predicate.groups.iter().flat_map(|group| ways_in(group, &terms, cluster, groups));
        changes.extend(ways.min_by_key(Vec::len)?);
    }
    Some(changes)
}

fn is_member(group: &str, cluster: &Cluster, groups: &[ClusterGroup]) -> bool {
    groups.iter().any(|known| known.name == group && known.contains(cluster))
}

/// The ways to be a member of a group and satisfy the terms too. Membership of a dynamic group hangs on labels, and
/// those may be the very ones that the terms want changed.
fn ways_in(group: &str, terms: &[&Term], cluster: &Cluster, groups: &[ClusterGroup]) -> Vec<Vec<Change>> {
    let join = |change: Change| {
        let labels = relabel(terms, &cluster.labels)?;
        Some(std::iter::once(change).chain(labels).collect())
    };
    let known: Vec<&ClusterGroup> = groups.iter().filter(|known| known.name == group).collect();
    if known.is_empty() {
        return join(Change::MakeGroup { group: group.to_owned() }).into_iter().collect();
    }
    let way = |known: &&ClusterGroup| match &known.selector {
        _ if known.members.contains(&cluster.name) => relabel(terms, &cluster.labels),
        Some(selector) => {
            let all: Vec<&Term> = selector.terms.iter().chain(terms.iter().copied()).collect();
            relabel(&all, &cluster.labels)
        }
        None => join(Change::JoinGroup { group: group.to_owned() }),
    };
    known.iter().filter_map(way).collect()
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
    if parts.is_empty() { "any cluster".to_owned() } else { parts.join(", ") }
}

fn seen(predicate: &Predicate, cluster: &Cluster, groups: &[ClusterGroup]) -> String {
    let mut parts = Vec::new();
    if !predicate.names.is_empty() || (predicate.groups.is_empty() && predicate.label_selector.is_empty()) {
        parts.push(cluster.name.clone());
    }
    if !predicate.groups.is_empty() {
        let member = predicate.groups.iter().find(|group| is_member(group, cluster, groups));
        parts.push(match member {
            Some(group) => format!("in {group}"),
            None if predicate.groups.len() == 1 => "not in it".to_owned(),
            None => "in none of them".to_owned(),
        });
    }
    let mut keys: Vec<&str> = Vec::new();
    for key in predicate.label_selector.terms.iter().map(Term::key) {
        if !keys.contains(&key) {
            keys.push(key);
            parts.push(match cluster.labels.get(key) {
                Some(value) => format!("{key}={value}"),
                None => format!("no label {key}"),
            });
        }
    }
    parts.join(", ")
}
