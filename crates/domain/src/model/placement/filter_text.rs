//! The words of filter results, the same on every surface.

use std::fmt::{self, Display, Formatter};

use super::filter_result::{
    FilterObservation, FilterRequirement, GroupMembership, NameList, ObservedFact, ObservedLabel,
    ObservedTaint, ScorePart, SpreadValue, TaintOutcome,
};
use super::remedy::format_list;
use super::{NewMembers, Spread};
use crate::kubernetes::labels::LabelTerm;

impl NameList {
    /// `a, b or c`, or `a, b, c, d, e or 995 more`.
    fn format(&self, conjunction: &str) -> String {
        match self.more {
            0 => format_list(&self.names, conjunction),
            more => format!("{} {conjunction} {more} more", self.names.join(", ")),
        }
    }
}

impl Display for FilterRequirement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnyPredicate => f.write_str("a cluster selection"),
            Self::Predicate { names, groups, labels, facts, position, of } => {
                let mut parts: Vec<String> =
                    [describe_names(names), describe_groups(groups)].into_iter().flatten().collect();
                parts.extend(labels.terms.iter().map(LabelTerm::to_string));
                parts.extend(facts.terms.iter().map(ToString::to_string));
                let text = if parts.is_empty() { "any cluster".to_owned() } else { parts.join(", ") };
                match of {
                    0 | 1 => f.write_str(&text),
                    of => write!(f, "{text} (predicate {position} of {of})"),
                }
            }
            Self::NotExcluded => f.write_str("not excluded by name"),
            Self::TaintsTolerated => f.write_str("no untolerated taint"),
            Self::Schedulable => f.write_str("schedulable"),
            Self::Scores { scores } => write_joined(
                f,
                scores.iter().map(|score| format!("{} × {}", score.describe(), score.weight)),
                ", ",
            ),
            Self::Spreads { spreads } => write_joined(f, spreads.iter().map(describe_spread), " and "),
            Self::Number { most: None } => f.write_str("all matching clusters"),
            Self::Number { most: Some(most) } => write!(f, "best {most} of the matching clusters"),
            Self::NewMembers { policy: NewMembers::Manual } => f.write_str("newMembers: manual"),
            Self::NewMembers { policy: NewMembers::Auto } => f.write_str("newMembers: auto"),
        }
    }
}

impl Display for FilterObservation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPredicate => f.write_str("no selection yet"),
            Self::Cluster { name, membership, labels, facts } => {
                let parts = name.iter().cloned();
                let parts = parts.chain(membership.iter().map(ToString::to_string));
                let parts = parts.chain(labels.iter().map(ToString::to_string));
                write_joined(f, parts.chain(facts.iter().map(ToString::to_string)), ", ")
            }
            Self::Exclusion { excluded: false } => f.write_str("not excluded"),
            Self::Exclusion { excluded: true } => f.write_str("excluded"),
            Self::Taints { taints } => write_taints(f, taints),
            Self::Scheduling { schedulable: true, .. } => f.write_str("schedulable"),
            Self::Scheduling { deployed: true, .. } => f.write_str("cordoned, but already deployed"),
            Self::Scheduling { .. } => f.write_str("cordoned"),
            Self::Score { points, parts } => {
                write!(f, "{points} of 100: ")?;
                write_joined(f, parts.iter().map(ToString::to_string), ", ")
            }
            Self::Spread { values } => write_joined(f, values.iter().map(ToString::to_string), ", "),
            Self::SpreadExceeded { key, value, count, fewest_value, fewest_count } => {
                write!(f, "{key}={value} has {count}, {fewest_value} has {fewest_count}")
            }
            Self::Matches => f.write_str("matches"),
            Self::Rank { position, of, deployed, not_preferred, connectivity } => {
                write!(
                    f,
                    "place {position} of {of}: {}",
                    if *deployed { "already deployed" } else { "new" }
                )?;
                if !not_preferred.is_empty() {
                    let taints: Vec<String> = not_preferred.iter().map(ToString::to_string).collect();
                    write!(f, ", not preferred because of {}", format_list(&taints, "and"))?;
                }
                write!(f, ", {}", connectivity.as_str().to_lowercase())
            }
            Self::Membership { deployed: false } => f.write_str("matched only after the publish"),
            Self::Membership { deployed: true } => f.write_str("already deployed"),
        }
    }
}

fn write_joined(f: &mut Formatter<'_>, parts: impl Iterator<Item = String>, separator: &str) -> fmt::Result {
    f.write_str(&parts.collect::<Vec<_>>().join(separator))
}

fn describe_names(names: &NameList) -> Option<String> {
    match (&names.names[..], names.more) {
        ([], _) => None,
        ([name], 0) => Some(format!("the cluster {name}")),
        _ => Some(format!("one of the clusters {}", names.format("or"))),
    }
}

fn describe_groups(groups: &NameList) -> Option<String> {
    match (&groups.names[..], groups.more) {
        ([], _) => None,
        ([group], 0) => Some(format!("in the group {group}")),
        _ => Some(format!("in one of the groups {}", groups.format("or"))),
    }
}

fn describe_spread(spread: &Spread) -> String {
    let (key, by) = (&spread.key, spread.max_skew.max(1));
    let mode = if spread.is_strict() { "" } else { "preferably " };
    format!("{mode}at most {by} more per {key} than the {key} with fewest")
}

/// The taints that reject the cluster; if there are none, all of them.
fn write_taints(f: &mut Formatter<'_>, taints: &[ObservedTaint]) -> fmt::Result {
    let rejects = |observed: &&ObservedTaint| observed.outcome == TaintOutcome::Rejects;
    let mut listed: Vec<String> = taints.iter().filter(rejects).map(ToString::to_string).collect();
    if listed.is_empty() {
        listed = taints.iter().map(ToString::to_string).collect();
    }
    f.write_str(&if listed.is_empty() { "no taints".to_owned() } else { format_list(&listed, "and") })
}

impl Display for GroupMembership {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { group } => write!(f, "in {group}"),
            Self::NotMember { groups: 1 } => f.write_str("not a member"),
            Self::NotMember { .. } => f.write_str("not a member of any"),
        }
    }
}

impl Display for ObservedLabel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.key),
            None => write!(f, "no label {}", self.key),
        }
    }
}

impl Display for ObservedFact {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.values[..] {
            [] => write!(f, "{} unknown", self.fact.as_str()),
            values => write!(f, "{}={}", self.fact.as_str(), format_list(values, "and")),
        }
    }
}

impl Display for ObservedTaint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let taint = &self.taint;
        match self.outcome {
            TaintOutcome::Rejects => write!(f, "{taint}"),
            TaintOutcome::Tolerated => write!(f, "{taint}, tolerated"),
            TaintOutcome::NotPreferred => write!(f, "{taint}, not preferred"),
            TaintOutcome::AlreadyDeployed => write!(f, "{taint}, but already deployed"),
        }
    }
}

impl Display for ScorePart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name.describe(&self.selector), self.points)
    }
}

impl Display for SpreadValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.key),
            None => write!(f, "no {}", self.key),
        }
    }
}
