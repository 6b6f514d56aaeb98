//! Remedies: the smallest change that makes a cluster pass (E-3).
//!
//! They are data until they are displayed, so that clusters can be sorted by their number and tests can apply them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::MAX_NAMES;
use super::fact::{FactKey, FactSelector, FactTerm, KubernetesVersion, VersionComparison};
use crate::kubernetes::labels::{LabelTerm, Labels};
use crate::model::cluster::{Cluster, ConfirmedFacts, Taint};

/// What would make a cluster pass a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Remedy {
    /// Add a predicate to the placement.
    AddPredicate,
    /// All these changes together.
    Change {
        /// The changes.
        changes: Vec<RequiredChange>,
    },
    /// Change the label selector: no labels can satisfy it.
    ChangeSelector,
    /// Remove the cluster from the excluded ones.
    Include {
        /// Its name.
        cluster: String,
    },
    /// Tolerate the taints, or remove them from the cluster.
    Tolerate {
        /// The taints.
        taints: Vec<Taint>,
        /// Name of the cluster.
        cluster: String,
    },
    /// Uncordon the cluster.
    Uncordon {
        /// Its name.
        cluster: String,
    },
    /// Select more clusters.
    RaiseNumber {
        /// The number with which this cluster is selected.
        to: u32,
    },
    /// Allow a larger skew, or add clusters with another value.
    #[serde(rename_all = "camelCase")]
    AllowSkew {
        /// The key of the spread.
        key: String,
        /// The skew with which this cluster is selected.
        skew: u32,
        /// The value with the fewest selected clusters.
        // Decisions that were stored before have the other spelling.
        #[serde(alias = "fewest_value")]
        fewest_value: String,
    },
    /// Give the cluster a value of the key, or make the spread a preference.
    AddSpreadLabel {
        /// The key of the spread.
        key: String,
    },
    /// Loosen a spread.
    LoosenSpread,
    /// Publish again, or accept new members automatically.
    Publish,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddPredicate => f.write_str("select clusters by name, group or label"),
            Self::Change { changes } => {
                let texts: Vec<String> = changes.iter().map(RequiredChange::to_string).collect();
                f.write_str(&texts.join(" and "))
            }
            Self::ChangeSelector => f.write_str("change the placement: no labels can satisfy this selector"),
            Self::Include { cluster } => write!(f, "remove {cluster} from the excluded clusters"),
            Self::Tolerate { taints, cluster } => {
                let texts: Vec<String> = taints.iter().map(Taint::to_string).collect();
                let object = if taints.len() == 1 { "the taint" } else { "these taints" };
                write!(f, "tolerate {}, or remove {object} from {cluster}", format_list(&texts, "and"))
            }
            Self::Uncordon { cluster } => write!(f, "uncordon {cluster}"),
            Self::RaiseNumber { to } => write!(f, "raise the number of clusters to {to}"),
            Self::AllowSkew { key, skew, fewest_value } => {
                write!(f, "allow a skew of {skew} over {key}, or add clusters to {fewest_value}")
            }
            Self::AddSpreadLabel { key } => {
                write!(f, "add the label {key}, or set whenUnsatisfiable to ScheduleAnyway")
            }
            Self::LoosenSpread => f.write_str("loosen the spread"),
            Self::Publish => f.write_str("publish again, or set newMembers to auto"),
        }
    }
}

/// One change needed for a cluster to match a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RequiredChange {
    /// Set this label.
    SetLabel {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
        /// The other values that match.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<String>,
    },
    /// Set this label to any value but these.
    SetOtherValue {
        /// Its key.
        key: String,
        /// The values that do not match.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
    },
    /// Remove the label, or change its value.
    ChangeOrRemoveLabel {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// Remove the label.
    RemoveLabel {
        /// Its key.
        key: String,
    },
    /// Add the cluster to a group.
    JoinGroup {
        /// Its name.
        group: String,
    },
    /// Create the missing group, with the cluster as its member.
    CreateGroup {
        /// Its name.
        group: String,
    },
    /// Add the cluster to the names in the policy.
    AddName {
        /// Its name.
        cluster: String,
    },
    /// Confirm the fact as the cluster reports it.
    ConfirmFact {
        /// The fact.
        fact: FactKey,
        /// Its reported values.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        values: Vec<String>,
    },
    /// Remove these terms on one fact from the policy: a fact such as the provider can't be changed.
    RemoveFactTerms {
        /// The terms.
        terms: FactSelector,
    },
    /// Upgrade the cluster to this version of Kubernetes or a newer one.
    Upgrade {
        /// The version.
        version: KubernetesVersion,
    },
}

impl fmt::Display for RequiredChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetLabel { key, value, alternatives: or } if or.is_empty() => {
                write!(f, "set the label {key}={value}")
            }
            Self::SetLabel { key, value, alternatives: or } => {
                write!(f, "set the label {key}={value} (or {})", format_list(or, "or"))
            }
            Self::SetOtherValue { key, except: but } if but.is_empty() => {
                write!(f, "add the label {key}, with any value")
            }
            Self::SetOtherValue { key, except: but } => {
                write!(f, "set the label {key} to anything but {}", format_list(but, "or"))
            }
            Self::ChangeOrRemoveLabel { key, value } => write!(f, "change or remove the label {key}={value}"),
            Self::RemoveLabel { key } => write!(f, "remove the label {key}"),
            Self::JoinGroup { group } => write!(f, "add the cluster to the group {group}"),
            Self::CreateGroup { group } => {
                write!(f, "create the group {group}, which does not exist, and add the cluster")
            }
            Self::AddName { cluster } => write!(f, "add {cluster} to the names in the placement"),
            Self::ConfirmFact { fact, values } => {
                write!(f, "confirm the reported {} {}", fact.as_str(), format_list(values, "and"))
            }
            Self::RemoveFactTerms { terms } => {
                let texts: Vec<String> = terms.terms.iter().map(FactTerm::to_string).collect();
                write!(f, "remove {} from the placement", format_list(&texts, "and"))
            }
            Self::Upgrade { version } => write!(f, "upgrade the cluster to Kubernetes {version} or newer"),
        }
    }
}

/// `a, b and c`, with at most [`MAX_NAMES`] items: a policy may name a thousand clusters.
pub(super) fn format_list<S: AsRef<str>>(items: &[S], conjunction: &str) -> String {
    let shown: Vec<&str> = items.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    match (items.len().saturating_sub(MAX_NAMES), shown.split_last()) {
        (_, None) => String::new(),
        (0, Some((last, []))) => (*last).to_owned(),
        (0, Some((last, first))) => format!("{} {conjunction} {last}", first.join(", ")),
        (more, Some(_)) => format!("{} {conjunction} {more} more", shown.join(", ")),
    }
}

/// The fewest label changes after which all terms hold; `None` if no labels can satisfy them together.
pub(super) fn find_label_changes(terms: &[&LabelTerm], labels: &Labels) -> Option<Vec<RequiredChange>> {
    let mut changes = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    for key in terms.iter().map(|term| term.key()) {
        if !keys.contains(&key) {
            keys.push(key);
            let of_key: Vec<&LabelTerm> = terms.iter().copied().filter(|term| term.key() == key).collect();
            changes.extend(find_label_change(key, &of_key, labels)?);
        }
    }
    Some(changes)
}

/// One change for every fact whose terms do not all match.
pub(super) fn find_fact_changes(selector: &FactSelector, cluster: &Cluster) -> Vec<RequiredChange> {
    let reported =
        || Cluster { confirmed_facts: ConfirmedFacts::from_reported(&cluster.facts), ..cluster.clone() };
    let change = |fact: FactKey| {
        let terms: Vec<FactTerm> =
            selector.terms.iter().filter(|term| term.fact() == fact).cloned().collect();
        if terms.iter().all(|term| term.matches(cluster)) {
            return None;
        }
        let reported = reported();
        if terms.iter().all(|term| term.matches(&reported)) {
            let values = fact.values(&reported).into_iter().map(str::to_owned).collect();
            return Some(RequiredChange::ConfirmFact { fact, values });
        }
        Some(match &terms[..] {
            [FactTerm::Version(VersionComparison::AtLeast, version)] if !fact.values(cluster).is_empty() => {
                RequiredChange::Upgrade { version: version.clone() }
            }
            _ => RequiredChange::RemoveFactTerms { terms: FactSelector { terms } },
        })
    };
    FactKey::ALL.iter().copied().filter_map(change).collect()
}

fn find_label_change(key: &str, terms: &[&LabelTerm], labels: &Labels) -> Option<Option<RequiredChange>> {
    if terms.iter().all(|term| term.matches(labels)) {
        return Some(None);
    }
    let key = key.to_owned();
    let mut fitting = find_matching_values(&key, terms);
    if terms.iter().any(|term| matches!(term, LabelTerm::In(..))) {
        if fitting.is_empty() {
            return None;
        }
        let value = fitting.remove(0);
        return Some(Some(RequiredChange::SetLabel { key, value, alternatives: fitting }));
    }
    let may_be_absent = terms.iter().all(|term| term.matches(&Labels::new()));
    let must_be_absent = terms.iter().any(|term| matches!(term, LabelTerm::DoesNotExist(_)));
    Some(Some(match (must_be_absent, may_be_absent) {
        (true, true) => RequiredChange::RemoveLabel { key },
        (true, false) => return None,
        (false, true) => {
            RequiredChange::ChangeOrRemoveLabel { value: labels.get(&key).cloned().unwrap_or_default(), key }
        }
        (false, false) => RequiredChange::SetOtherValue { except: find_excluded_values(terms), key },
    }))
}

/// The values that the terms name and that satisfy all of them, in the order written.
fn find_matching_values(key: &str, terms: &[&LabelTerm]) -> Vec<String> {
    let mut fitting = Vec::new();
    for value in
        terms.iter().filter_map(|term| if let LabelTerm::In(_, values) = term { Some(values) } else { None })
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

fn find_excluded_values(terms: &[&LabelTerm]) -> Vec<String> {
    let lists = terms
        .iter()
        .filter_map(|term| if let LabelTerm::NotIn(_, values) = term { Some(values) } else { None });
    lists.flatten().cloned().collect()
}
