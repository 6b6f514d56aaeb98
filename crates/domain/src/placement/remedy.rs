//! Remedies: the smallest change that would let a cluster pass (E-3).
//!
//! They are kept as data until the last moment, so that "nearest first" can count them and a test can carry them out
//! and see that they are true.

use std::fmt;

use super::fact::{Comparison, Fact, FactSelector, FactTerm, Version};
use crate::cluster::Cluster;
use crate::labels::{Labels, Term};

/// One thing that would have to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Give the cluster this label; `or` lists the other values that would do.
    SetLabel { key: String, value: String, or: Vec<String> },
    /// Give the cluster this label with any value but these.
    SetOther { key: String, but: Vec<String> },
    /// Take the label away, or change its value to something else.
    Avoid { key: String, value: String },
    /// Take the label away.
    RemoveLabel { key: String },
    /// Make the cluster a member of a group.
    JoinGroup { group: String },
    /// Make a group, with the cluster as its member: there is none of that name.
    MakeGroup { group: String },
    /// Name the cluster in the policy.
    AddName { cluster: String },
    /// Ask for less: these terms on one fact go. Nobody can move a cluster to another provider.
    DropFact { terms: Vec<FactTerm> },
    /// Bring the cluster to this version of Kubernetes or a newer one.
    Upgrade { version: Version },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetLabel { key, value, or } if or.is_empty() => write!(f, "set the label {key}={value}"),
            Self::SetLabel { key, value, or } => {
                write!(f, "set the label {key}={value} (or {})", listed(or, "or"))
            }
            Self::SetOther { key, but } if but.is_empty() => write!(f, "add the label {key}, with any value"),
            Self::SetOther { key, but } => {
                write!(f, "set the label {key} to anything but {}", listed(but, "or"))
            }
            Self::Avoid { key, value } => write!(f, "change or remove the label {key}={value}"),
            Self::RemoveLabel { key } => write!(f, "remove the label {key}"),
            Self::JoinGroup { group } => write!(f, "add it to the group {group}"),
            Self::MakeGroup { group } => {
                write!(f, "make the group {group}, which does not exist, and add it")
            }
            Self::AddName { cluster } => write!(f, "add {cluster} to the names in the placement"),
            Self::DropFact { terms } => {
                let texts: Vec<String> = terms.iter().map(FactTerm::to_string).collect();
                write!(f, "take {} out of the placement", listed(&texts, "and"))
            }
            Self::Upgrade { version } => write!(f, "upgrade it to Kubernetes {version} or newer"),
        }
    }
}

/// All changes in one sentence without its full stop.
pub(super) fn sentence(changes: &[Change]) -> String {
    let texts: Vec<String> = changes.iter().map(Change::to_string).collect();
    texts.join(" and ")
}

/// How many names a message lists before it only counts the rest.
const LISTED: usize = 5;

/// `a, b or c`, and no more than a handful: a policy may name a thousand clusters.
pub(super) fn listed<S: AsRef<str>>(all: &[S], word: &str) -> String {
    let shown: Vec<&str> = all.iter().take(LISTED).map(AsRef::as_ref).collect();
    match (all.len().saturating_sub(LISTED), shown.split_last()) {
        (_, None) => String::new(),
        (0, Some((last, []))) => (*last).to_owned(),
        (0, Some((last, first))) => format!("{} {word} {last}", first.join(", ")),
        (more, Some(_)) => format!("{} {word} {more} more", shown.join(", ")),
    }
}

/// The fewest label changes after which all terms hold; `None` if no labels can satisfy them together.
pub(super) fn relabel(terms: &[&Term], labels: &Labels) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for key in terms.iter().map(|term| term.key()) {
        if !seen.contains(&key) {
            seen.push(key);
            let of_key: Vec<&Term> = terms.iter().copied().filter(|term| term.key() == key).collect();
            changes.extend(relabel_key(key, &of_key, labels)?);
        }
    }
    Some(changes)
}

/// One change for every fact that does not hold.
pub(super) fn other_facts(selector: &FactSelector, cluster: &Cluster) -> Vec<Change> {
    let change = |fact: Fact| {
        let terms: Vec<FactTerm> =
            selector.terms.iter().filter(|term| term.fact() == fact).cloned().collect();
        if terms.iter().all(|term| term.matches(cluster)) {
            return None;
        }
        Some(match &terms[..] {
            [FactTerm::Version(Comparison::AtLeast, version)] if !fact.values(cluster).is_empty() => {
                Change::Upgrade { version: version.clone() }
            }
            _ => Change::DropFact { terms },
        })
    };
    Fact::ALL.into_iter().filter_map(change).collect()
}

fn relabel_key(key: &str, terms: &[&Term], labels: &Labels) -> Option<Option<Change>> {
    if terms.iter().all(|term| term.matches(labels)) {
        return Some(None);
    }
    let key = key.to_owned();
    let mut fitting = fitting_values(&key, terms);
    if terms.iter().any(|term| matches!(term, Term::In(..))) {
        if fitting.is_empty() {
            return None;
        }
        let value = fitting.remove(0);
        return Some(Some(Change::SetLabel { key, value, or: fitting }));
    }
    let may_be_absent = terms.iter().all(|term| term.matches(&Labels::new()));
    let must_be_absent = terms.iter().any(|term| matches!(term, Term::Absent(_)));
    Some(Some(match (must_be_absent, may_be_absent) {
        (true, true) => Change::RemoveLabel { key },
        (true, false) => return None,
        (false, true) => Change::Avoid { value: labels.get(&key).cloned().unwrap_or_default(), key },
        (false, false) => Change::SetOther { but: refused_values(terms), key },
    }))
}

/// The values that the terms name and that satisfy all of them, in the order written.
fn fitting_values(key: &str, terms: &[&Term]) -> Vec<String> {
    let mut fitting = Vec::new();
    for value in
        terms.iter().filter_map(|term| if let Term::In(_, values) = term { Some(values) } else { None })
    {
        for value in value {
            let labels = Labels::from([(key.to_owned(), value.clone())]);
            if terms.iter().all(|term| term.matches(&labels)) && !fitting.contains(value) {
                fitting.push(value.clone());
            }
        }
    }
    fitting
}

fn refused_values(terms: &[&Term]) -> Vec<String> {
    let lists =
        terms.iter().filter_map(|term| if let Term::NotIn(_, values) = term { Some(values) } else { None });
    lists.flatten().cloned().collect()
}
