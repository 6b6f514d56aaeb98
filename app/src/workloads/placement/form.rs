//! Placement as a form. Pure; the same in browser and server.
//!
//! The fields can represent almost every placement of the API; any other one is edited as text. Blank rows are ignored, so a
//! spare row can be rendered for browsers without JavaScript.

use std::collections::BTreeMap;

use domain::Finding;
use domain::placement::{NewMembers, Placement, Predicate, Score, ScoreName, Spread, WhenUnsatisfiable};
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::split_words;

mod terms;
#[cfg(test)]
mod tests;
mod text;

pub use terms::{TermForm, TermOperator};
use text::field_finding;
pub use text::to_yaml;

/// How a predicate selects clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SelectBy {
    /// By name.
    #[default]
    Names,
    /// By group.
    Groups,
    /// By labels.
    Labels,
    /// By facts that their agents report.
    Facts,
    /// By a combination of these.
    Mixed,
    /// Every cluster.
    All,
}

impl SelectBy {
    /// All of them, in the order shown.
    pub const ALL: [Self; 6] = [Self::Names, Self::Groups, Self::Labels, Self::Facts, Self::Mixed, Self::All];

    /// The value in the form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Groups => "groups",
            Self::Labels => "labels",
            Self::Facts => "facts",
            Self::Mixed => "mixed",
            Self::All => "all",
        }
    }

    /// The label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Names => "Name",
            Self::Groups => "Group",
            Self::Labels => "Labels",
            Self::Facts => "Facts",
            Self::Mixed => "Mixed",
            Self::All => "All clusters",
        }
    }

    /// Parses a slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.slug() == slug)
    }

    fn includes(self, part: Self) -> bool {
        self == part || self == Self::Mixed
    }
}

/// The input of one predicate; a cluster that matches any of them is a candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PredicateForm {
    /// How it selects; fields that belong to other selections are ignored.
    pub by: SelectBy,
    /// Ticked names.
    pub names: Vec<String>,
    /// Typed names, separated by commas or spaces.
    pub typed_names: String,
    /// Ticked groups.
    pub groups: Vec<String>,
    /// Conditions on labels.
    pub labels: Vec<TermForm>,
    /// Conditions on facts.
    pub facts: Vec<TermForm>,
}

impl PredicateForm {
    fn from_predicate(predicate: &Predicate) -> Self {
        let parts = [
            (SelectBy::Names, !predicate.names.is_empty()),
            (SelectBy::Groups, !predicate.groups.is_empty()),
            (SelectBy::Labels, !predicate.label_selector.is_empty()),
            (SelectBy::Facts, !predicate.field_selector.is_empty()),
        ];
        let by = match parts.iter().filter(|(_, is_there)| *is_there).collect::<Vec<_>>()[..] {
            [] => SelectBy::All,
            [(by, _)] => *by,
            _ => SelectBy::Mixed,
        };
        Self {
            by,
            names: predicate.names.clone(),
            typed_names: String::new(),
            groups: predicate.groups.clone(),
            labels: TermForm::from_labels(&predicate.label_selector),
            facts: TermForm::from_facts(&predicate.field_selector),
        }
    }

    /// Ticked and typed names without duplicates.
    pub fn all_names(&self) -> Vec<String> {
        let mut all = self.names.clone();
        for name in split_words(&self.typed_names) {
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
        all
    }

    /// Parses the predicate; `None` if the input is blank, which must not select every cluster.
    fn parse(&self, at: usize, wrong: &mut Vec<Finding>) -> Option<Predicate> {
        if self.by == SelectBy::All {
            return Some(Predicate::default());
        }
        let mut predicate = Predicate::default();
        if self.by.includes(SelectBy::Names) {
            predicate.names = self.all_names();
        }
        if self.by.includes(SelectBy::Groups) {
            predicate.groups.clone_from(&self.groups);
        }
        if self.by.includes(SelectBy::Labels) {
            predicate.label_selector = terms::parse_labels(&self.labels, at, wrong);
        }
        if self.by.includes(SelectBy::Facts) {
            predicate.field_selector = terms::parse_facts(&self.facts, at, wrong);
        }
        (!predicate.is_everything()).then_some(predicate)
    }
}

/// The input of one spread; ignored without a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpreadForm {
    /// `region`, `zone`, `provider` or the key of a label.
    pub key: String,
    /// The skew; empty for 1.
    pub skew: String,
    /// Minimum number of values; empty for any number.
    pub groups: String,
    /// `anyway` if the spread is preferred; empty if it is required.
    pub when: String,
}

impl SpreadForm {
    /// Whether nothing was entered.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}

/// The input of one score; ignored without a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScoreForm {
    /// The name of the scored property; empty for none.
    pub name: String,
    /// Its weight; empty for 1.
    pub weight: String,
    /// The labels, for a score by label.
    pub selector: String,
}

impl ScoreForm {
    /// Whether nothing was entered.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}

/// The input of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementForm {
    /// The predicates.
    pub predicates: Vec<PredicateForm>,
    /// Names of excluded clusters, separated by commas or spaces.
    pub exclude: String,
    /// Tolerated taints, separated by commas or spaces: `key=value:Effect`, `key:Effect`, `key`.
    pub tolerations: String,
    /// Number of clusters; empty for all that match.
    pub number: String,
    /// Minimum number of clusters; empty for any number.
    pub minimum: String,
    /// As many must run it before other clusters lose it; empty for the default.
    pub available: String,
    /// The spreads.
    pub spread: Vec<SpreadForm>,
    /// The scores.
    pub score: Vec<ScoreForm>,
    /// `reselect` to reselect the best clusters, wherever the workload runs.
    pub reselect: String,
    /// `auto` to deploy to clusters that match later without a publish.
    pub new_members: String,
    /// `yes` to use `text` instead of the fields.
    pub as_text: String,
    /// The placement as YAML.
    pub text: String,
}

impl PlacementForm {
    /// The form of a new workload: one blank predicate.
    pub fn blank() -> Self {
        Self { predicates: vec![PredicateForm::default()], ..Self::default() }
    }

    /// The form of a placement. One that the fields can't represent is shown as text.
    pub fn from_placement(placement: &Placement) -> Self {
        let fields = Self::fields_from_placement(placement);
        let text = to_yaml(placement);
        match fields.parse() {
            Ok(read) if read == *placement => Self { text, ..fields },
            _ => Self { as_text: "yes".to_owned(), text, ..Self::blank() },
        }
    }

    fn fields_from_placement(placement: &Placement) -> Self {
        let number = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
        let spread = |spread: &Spread| SpreadForm {
            key: spread.key.clone(),
            skew: spread.max_skew.to_string(),
            groups: number(spread.min_groups),
            when: if spread.is_strict() { String::new() } else { "anyway".to_owned() },
        };
        let score = |score: &Score| ScoreForm {
            name: score.name.as_str().to_owned(),
            weight: score.weight.to_string(),
            selector: score.selector.to_string(),
        };
        let mut predicates: Vec<PredicateForm> =
            placement.predicates.iter().map(PredicateForm::from_predicate).collect();
        if predicates.is_empty() {
            predicates.push(PredicateForm::default());
        }
        Self {
            predicates,
            exclude: placement.exclude.join(", "),
            tolerations: placement
                .tolerations
                .iter()
                .map(text::format_toleration)
                .collect::<Vec<_>>()
                .join(", "),
            number: number(placement.number_of_clusters),
            minimum: number(placement.min_clusters),
            available: number(placement.min_available_clusters),
            spread: placement.spread.iter().map(spread).collect(),
            score: placement.score.iter().map(score).collect(),
            reselect: if placement.sticky { String::new() } else { "reselect".to_owned() },
            new_members: match placement.new_members {
                NewMembers::Auto => "auto".to_owned(),
                NewMembers::Manual => String::new(),
            },
            ..Self::default()
        }
    }

    /// Parses the form from the query of a URL: "Preview" without JavaScript. `None` if the query has no form.
    pub fn from_query(query: &ParamsMap) -> Option<Self> {
        let get = |name: &str| query.get(&format!("placement{name}")).unwrap_or_default();
        let rows = |name: &str, first: &str| {
            (0_usize..50)
                .take_while(|at| query.get(&format!("placement[{name}][{at}][{first}]")).is_some())
                .count()
        };
        let terms = |at: usize, list: &str| {
            let term = |row: usize| {
                let part = |name: &str| get(&format!("[predicates][{at}][{list}][{row}][{name}]"));
                let operator = TermOperator::from_slug(&part("operator")).unwrap_or_default();
                TermForm { key: part("key"), operator, values: part("values") }
            };
            (0..rows(&format!("predicates][{at}][{list}"), "key")).map(term).collect()
        };
        let set = |at: usize| {
            let part = |name: &str| get(&format!("[predicates][{at}][{name}]"));
            let list = |name: &str| {
                query.get_all(&format!("placement[predicates][{at}][{name}][]")).unwrap_or_default()
            };
            PredicateForm {
                by: SelectBy::from_slug(&part("by")).unwrap_or_default(),
                names: list("names"),
                typed_names: part("typed_names"),
                groups: list("groups"),
                labels: terms(at, "labels"),
                facts: terms(at, "facts"),
            }
        };
        let spread = |at: usize| {
            let part = |name: &str| get(&format!("[spread][{at}][{name}]"));
            SpreadForm { key: part("key"), skew: part("skew"), groups: part("groups"), when: part("when") }
        };
        let score = |at: usize| {
            let part = |name: &str| get(&format!("[score][{at}][{name}]"));
            ScoreForm { name: part("name"), weight: part("weight"), selector: part("selector") }
        };
        let sets: Vec<PredicateForm> = (0..rows("predicates", "by")).map(set).collect();
        (!sets.is_empty()).then(|| Self {
            predicates: sets,
            exclude: get("[exclude]"),
            tolerations: get("[tolerations]"),
            number: get("[number]"),
            minimum: get("[minimum]"),
            available: get("[available]"),
            spread: (0..rows("spread", "key")).map(spread).collect(),
            score: (0..rows("score", "name")).map(score).collect(),
            reselect: get("[reselect]"),
            new_members: get("[new_members]"),
            as_text: get("[as_text]"),
            text: get("[text]"),
        })
    }

    /// Parses the form. Errors: a finding for each invalid field.
    pub fn parse(&self) -> Result<Placement, Vec<Finding>> {
        if self.as_text == "yes" {
            return text::parse_yaml(&self.text);
        }
        let mut wrong = Vec::new();
        let sets = self.predicates.iter().enumerate();
        let predicates = sets.filter_map(|(at, set)| set.parse(at, &mut wrong)).collect();
        let number_of_clusters = parse_number("number", &self.number, &mut wrong);
        let min_clusters = parse_number("minimum", &self.minimum, &mut wrong);
        let min_available_clusters = parse_number("available", &self.available, &mut wrong);
        let tolerations = split_words(&self.tolerations)
            .filter_map(|word| text::parse_toleration(word).map_err(|finding| wrong.push(finding)).ok())
            .collect();
        let placement = Placement {
            predicates,
            exclude: split_words(&self.exclude).map(str::to_owned).collect(),
            tolerations,
            number_of_clusters,
            min_clusters,
            min_available_clusters,
            score: self.parse_scores(&mut wrong),
            spread: self.parse_spreads(&mut wrong),
            sticky: self.reselect != "reselect",
            new_members: if self.new_members == "auto" { NewMembers::Auto } else { NewMembers::Manual },
        };
        if wrong.is_empty() { Ok(placement) } else { Err(wrong) }
    }

    fn parse_spreads(&self, wrong: &mut Vec<Finding>) -> Vec<Spread> {
        let rows = self.spread.iter().enumerate().filter(|(_, row)| !row.key.trim().is_empty());
        let spread = |(at, row): (usize, &SpreadForm)| Spread {
            key: row.key.trim().to_owned(),
            max_skew: parse_number(&format!("spread/{at}/skew"), &row.skew, wrong).unwrap_or(1),
            when_unsatisfiable: match row.when.as_str() {
                "anyway" => WhenUnsatisfiable::ScheduleAnyway,
                _ => WhenUnsatisfiable::DoNotSchedule,
            },
            min_groups: parse_number(&format!("spread/{at}/groups"), &row.groups, wrong),
        };
        rows.map(spread).collect()
    }

    fn parse_scores(&self, wrong: &mut Vec<Finding>) -> Vec<Score> {
        let mut scores = Vec::new();
        for (at, row) in self.score.iter().enumerate() {
            let Some(name) = ScoreName::ALL.iter().copied().find(|score| score.as_str() == row.name) else {
                continue;
            };
            let weight = if row.weight.trim().is_empty() { Ok(1) } else { row.weight.trim().parse() };
            // Labels that were written for another score are ignored.
            let selector =
                if name == ScoreName::Label { row.selector.parse() } else { Ok(Default::default()) };
            match (weight, selector) {
                (Ok(weight), Ok(selector)) => scores.push(Score { name, selector, weight }),
                (Err(_), _) => wrong.push(field_finding(
                    &format!("score/{at}/weight"),
                    format!("{:?} is not a weight.", row.weight),
                    "Write a whole number from -10 to 10.",
                )),
                (_, Err(error)) => {
                    wrong.push(field_finding(
                        &format!("score/{at}/selector"),
                        error,
                        "Write it as tier=edge.",
                    ));
                }
            }
        }
        scores
    }

    /// Findings by path of the field.
    pub fn findings_by_field(&self) -> BTreeMap<String, Finding> {
        let findings = self.parse().err().unwrap_or_default();
        findings.into_iter().map(|finding| (finding.path.clone(), finding)).collect()
    }
}

fn parse_number(name: &str, text: &str, wrong: &mut Vec<Finding>) -> Option<u32> {
    let text = text.trim();
    match text.parse::<u32>() {
        _ if text.is_empty() => None,
        Ok(n) if n > 0 => Some(n),
        _ => {
            wrong.push(field_finding(
                name,
                format!("{text:?} is not a number of clusters."),
                "Write 1 or more, or leave it empty.",
            ));
            None
        }
    }
}
