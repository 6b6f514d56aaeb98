//! The target of an override in the parts that are picked: clusters, groups, and conditions on labels and facts. Pure; the form
//! contains them as text, which is what a browser without script sends.

use domain::labels::{LabelSelector, LabelTerm};
use domain::placement::{FactSelector, FactTerm};

use super::form::OverrideForm;
use crate::components::split_words;
use crate::workloads::placement::candidates::Fleet;
use crate::workloads::placement::fleet_values::FleetValues;

#[cfg(test)]
mod tests;

/// Most suggestions of one kind.
const MAX_SUGGESTIONS: usize = 6;
/// What only a condition contains: names of clusters and groups do not.
const CONDITION_SIGNS: [char; 6] = ['=', '!', '<', '>', '(', ')'];

/// What a part names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// A cluster by name.
    Cluster,
    /// A group by name.
    Group,
    /// A condition on labels.
    Label,
    /// A condition on confirmed facts.
    Fact,
}

impl PartKind {
    /// The noun.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Group => "group",
            Self::Label => "label",
            Self::Fact => "fact",
        }
    }
}

/// One part of a target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetPart {
    /// What it names.
    pub kind: PartKind,
    /// The name, or the condition in the syntax of `kubectl -l`.
    pub text: String,
}

/// A part that the fleet offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedPart {
    /// The part.
    pub part: TargetPart,
    /// How many clusters have the label or the fact; `None` for names.
    pub clusters: Option<u32>,
}

/// What parts can name.
#[derive(Debug, Clone, Copy)]
pub struct KnownTargets<'a> {
    /// Clusters and groups.
    pub fleet: &'a Fleet,
    /// Their labels and facts.
    pub values: &'a FleetValues,
}

/// The parts of the form. A selector that can't be parsed is one part.
pub fn list_parts(form: &OverrideForm) -> Vec<TargetPart> {
    let names = |kind, text: &str| -> Vec<TargetPart> {
        split_words(text).map(|name| TargetPart { kind, text: name.to_owned() }).collect()
    };
    let terms = |kind, terms: Vec<String>| -> Vec<TargetPart> {
        terms.into_iter().map(|text| TargetPart { kind, text }).collect()
    };
    [
        names(PartKind::Cluster, &form.clusters),
        names(PartKind::Group, &form.groups),
        terms(PartKind::Label, label_terms(&form.selector)),
        terms(PartKind::Fact, fact_terms(&form.facts)),
    ]
    .concat()
}

/// Adds a part. A further value of a label or a fact means any of the values. A form that has the part stays as it is.
pub fn add_part(form: &mut OverrideForm, part: &TargetPart) {
    match part.kind {
        PartKind::Cluster => form.clusters = with_word(&form.clusters, &part.text),
        PartKind::Group => form.groups = with_word(&form.groups, &part.text),
        PartKind::Label => form.selector = with_label(&form.selector, &part.text),
        PartKind::Fact => form.facts = with_fact(&form.facts, &part.text),
    }
}

/// Removes a part.
pub fn remove_part(form: &mut OverrideForm, part: &TargetPart) {
    let without = |parts: Vec<String>, separator: &str| {
        parts.into_iter().filter(|one| *one != part.text).collect::<Vec<_>>().join(separator)
    };
    match part.kind {
        PartKind::Cluster => form.clusters = without(words(&form.clusters), ", "),
        PartKind::Group => form.groups = without(words(&form.groups), ", "),
        PartKind::Label => form.selector = without(label_terms(&form.selector), ","),
        PartKind::Fact => form.facts = without(fact_terms(&form.facts), ","),
    }
}

/// Why a part selects nothing: no cluster or group has the name, or no cluster the labels or facts.
pub fn describe_problem(part: &TargetPart, known: KnownTargets<'_>) -> Option<&'static str> {
    let clusters = &known.fleet.clusters;
    let (is_found, problem) = match part.kind {
        PartKind::Cluster => (clusters.iter().any(|one| one.name == part.text), "does not exist"),
        PartKind::Group => (known.fleet.groups.iter().any(|one| one.name == part.text), "does not exist"),
        PartKind::Label => match part.text.parse::<LabelSelector>() {
            Ok(selector) => (clusters.iter().any(|one| selector.matches(&one.labels)), "matches no cluster"),
            Err(_) => (false, "is invalid"),
        },
        PartKind::Fact => match part.text.parse::<FactSelector>() {
            Ok(selector) => (clusters.iter().any(|one| selector.matches(one)), "matches no cluster"),
            Err(_) => (false, "is invalid"),
        },
    };
    (!is_found).then_some(problem)
}

/// The parts that a typed text names: names of clusters and groups, or conditions. A name that does not exist is that of a cluster.
///
/// # Errors
/// Why a condition is invalid.
pub fn parse_typed(text: &str, known: KnownTargets<'_>) -> Result<Vec<TargetPart>, String> {
    if !text.contains(CONDITION_SIGNS) {
        let is_group = |name: &str| {
            let is_cluster = known.fleet.clusters.iter().any(|one| one.name == name);
            !is_cluster && known.fleet.groups.iter().any(|one| one.name == name)
        };
        let part = |name: &str| {
            let kind = if is_group(name) { PartKind::Group } else { PartKind::Cluster };
            TargetPart { kind, text: name.to_owned() }
        };
        return Ok(split_words(text).map(part).collect());
    }
    let text = text.trim();
    let (labels, facts) = (text.parse::<LabelSelector>(), text.parse::<FactSelector>());
    // `region` can be both: a label of the fleet comes first.
    let has_label =
        |selector: &LabelSelector| selector.terms.iter().any(|term| known.values.has_label(term.key()));
    let (kind, terms) = match (labels, facts) {
        (Ok(labels), Err(_)) => (PartKind::Label, label_terms(&labels.to_string())),
        (Ok(labels), Ok(_)) if has_label(&labels) => (PartKind::Label, label_terms(&labels.to_string())),
        (_, Ok(facts)) => (PartKind::Fact, fact_terms(&facts.to_string())),
        // Only facts can be compared.
        (Err(_), Err(error)) if text.contains(['<', '>']) => return Err(error.to_string()),
        (Err(error), Err(_)) => return Err(error.to_string()),
    };
    Ok(terms.into_iter().map(|text| TargetPart { kind, text }).collect())
}

/// The parts that a typed text adds when it is entered: the only suggestion, unless the text names something that exists.
///
/// # Errors
/// Why a condition is invalid.
pub fn resolve_entered(
    text: &str,
    form: &OverrideForm,
    known: KnownTargets<'_>,
) -> Result<Vec<TargetPart>, String> {
    if text.trim().is_empty() || is_complete(text, known) {
        return parse_typed(text, known);
    }
    let mut suggested = suggest_parts(text, form, known);
    match suggested.pop() {
        Some(only) if suggested.is_empty() => Ok(vec![only.part]),
        _ => parse_typed(text, known),
    }
}

/// Whether a typed text names only what exists.
pub fn is_complete(text: &str, known: KnownTargets<'_>) -> bool {
    let exists = |part: &TargetPart| describe_problem(part, known).is_none();
    parse_typed(text, known).is_ok_and(|parts| !parts.is_empty() && parts.iter().all(exists))
}

/// Parts that contain the text and are not in the target.
pub fn suggest_parts(text: &str, form: &OverrideForm, known: KnownTargets<'_>) -> Vec<SuggestedPart> {
    let search = text.trim().to_lowercase();
    let offer = |kind: PartKind, all: Vec<(String, Option<u32>)>| -> Vec<SuggestedPart> {
        let fits = |(name, _): &(String, Option<u32>)| {
            name.to_lowercase().contains(&search) || format!("{} {name}", kind.noun()).starts_with(&search)
        };
        let suggested = |(text, clusters)| SuggestedPart { part: TargetPart { kind, text }, clusters };
        let is_new = |one: &SuggestedPart| is_valid(&one.part) && !has_part(form, &one.part);
        all.into_iter().filter(fits).map(suggested).filter(is_new).take(MAX_SUGGESTIONS).collect()
    };
    let counted = |pairs: Vec<(String, u32)>| -> Vec<(String, Option<u32>)> {
        pairs.into_iter().map(|(text, clusters)| (text, Some(clusters))).collect()
    };
    let clusters = known.fleet.clusters.iter().map(|one| (one.name.clone(), None)).collect();
    let groups = known.fleet.groups.iter().map(|one| (one.name.clone(), None)).collect();
    [
        offer(PartKind::Cluster, clusters),
        offer(PartKind::Group, groups),
        offer(PartKind::Label, counted(known.values.label_counts())),
        offer(PartKind::Fact, counted(known.values.fact_counts())),
    ]
    .concat()
}

/// Whether a value of the fleet can be written in a selector: a reported version can have signs that no label value has.
fn is_valid(part: &TargetPart) -> bool {
    match part.kind {
        PartKind::Cluster | PartKind::Group => true,
        PartKind::Label => part.text.parse::<LabelSelector>().is_ok(),
        PartKind::Fact => part.text.parse::<FactSelector>().is_ok(),
    }
}

/// Whether the target has the part, also as the selected cluster or group of the page.
fn has_part(form: &OverrideForm, part: &TargetPart) -> bool {
    let selected = match part.kind {
        PartKind::Cluster => &form.cluster,
        PartKind::Group => &form.group,
        PartKind::Label => return with_label(&form.selector, &part.text) == form.selector,
        PartKind::Fact => return with_fact(&form.facts, &part.text) == form.facts,
    };
    let names = if part.kind == PartKind::Cluster { &form.clusters } else { &form.groups };
    *selected == part.text || split_words(names).any(|name| name == part.text)
}

fn words(text: &str) -> Vec<String> {
    split_words(text).map(str::to_owned).collect()
}

fn with_word(text: &str, word: &str) -> String {
    let mut all = words(text);
    if all.iter().any(|one| one == word) {
        return text.to_owned();
    }
    all.push(word.to_owned());
    all.join(", ")
}

/// The terms of a label selector; the whole text if it is invalid.
fn label_terms(text: &str) -> Vec<String> {
    match text.parse::<LabelSelector>() {
        Ok(selector) => selector.terms.iter().map(LabelTerm::to_string).collect(),
        Err(_) => vec![text.to_owned()],
    }
}

/// The terms of a fact selector; the whole text if it is invalid.
fn fact_terms(text: &str) -> Vec<String> {
    match text.parse::<FactSelector>() {
        Ok(selector) => selector.terms.iter().map(FactTerm::to_string).collect(),
        Err(_) => vec![text.to_owned()],
    }
}

fn with_label(text: &str, added: &str) -> String {
    let (Ok(former), Ok(added)) = (text.parse::<LabelSelector>(), added.parse::<LabelSelector>()) else {
        return format!("{text},{added}");
    };
    let mut selector = former.clone();
    for term in added.terms {
        if let LabelTerm::In(_, added) = &term
            && let Some(values) = selector.terms.iter_mut().find_map(|one| values_of_same_key(one, &term))
        {
            extend_values(values, added);
        } else if !selector.terms.contains(&term) {
            selector.terms.push(term);
        }
    }
    if selector == former { text.to_owned() } else { selector.to_string() }
}

fn with_fact(text: &str, added: &str) -> String {
    let (Ok(former), Ok(added)) = (text.parse::<FactSelector>(), added.parse::<FactSelector>()) else {
        return format!("{text},{added}");
    };
    let mut selector = former.clone();
    for term in added.terms {
        if let FactTerm::Requirement(_, requirement @ LabelTerm::In(_, added)) = &term
            && let Some(values) = selector.terms.iter_mut().find_map(|one| match one {
                FactTerm::Requirement(_, one) => values_of_same_key(one, requirement),
                FactTerm::Version(..) => None,
            })
        {
            extend_values(values, added);
        } else if !selector.terms.contains(&term) {
            selector.terms.push(term);
        }
    }
    if selector == former { text.to_owned() } else { selector.to_string() }
}

/// The values of a term to which those of the added one belong: both name values of the same key.
fn values_of_same_key<'a>(term: &'a mut LabelTerm, added: &LabelTerm) -> Option<&'a mut Vec<String>> {
    match (term, added) {
        (LabelTerm::In(key, values), LabelTerm::In(added, _)) if *key == *added => Some(values),
        _ => None,
    }
}

fn extend_values(values: &mut Vec<String>, added: &[String]) {
    for value in added {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
}
