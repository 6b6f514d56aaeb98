//! The conditions of a predicate on labels and facts, one per row.

use domain::Finding;
use domain::labels::{LabelSelector, LabelTerm};
use domain::placement::{FACTS_HINT, FactSelector, FactTerm, VersionComparison};
use serde::{Deserialize, Serialize};

use super::text::field_finding;
use crate::components::split_words;

/// How a condition compares the values of its key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TermOperator {
    /// The value is one of those written.
    #[default]
    Is,
    /// It is none of them.
    IsNot,
    /// The key has a value.
    Exists,
    /// It has none.
    DoesNotExist,
    /// The version is this one or a later one.
    AtLeast,
    /// It is later.
    Above,
    /// It is this one or an earlier one.
    AtMost,
    /// It is earlier.
    Below,
}

impl TermOperator {
    /// The operators for labels.
    pub const FOR_LABELS: [Self; 4] = [Self::Is, Self::IsNot, Self::Exists, Self::DoesNotExist];
    /// The operators for facts.
    pub const FOR_FACTS: [Self; 8] = [
        Self::Is,
        Self::IsNot,
        Self::Exists,
        Self::DoesNotExist,
        Self::AtLeast,
        Self::Above,
        Self::AtMost,
        Self::Below,
    ];

    /// The value in the form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::IsNot => "isNot",
            Self::Exists => "exists",
            Self::DoesNotExist => "doesNotExist",
            Self::AtLeast => "atLeast",
            Self::Above => "above",
            Self::AtMost => "atMost",
            Self::Below => "below",
        }
    }

    /// The label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::IsNot => "is not",
            Self::Exists => "is set",
            Self::DoesNotExist => "is not set",
            Self::AtLeast => "≥",
            Self::Above => ">",
            Self::AtMost => "≤",
            Self::Below => "<",
        }
    }

    /// Parses a slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::FOR_FACTS.into_iter().find(|operator| operator.slug() == slug)
    }

    /// The sign of a comparison of versions.
    const fn version_sign(self) -> Option<&'static str> {
        match self {
            Self::AtLeast => Some(">="),
            Self::Above => Some(">"),
            Self::AtMost => Some("<="),
            Self::Below => Some("<"),
            _ => None,
        }
    }

    const fn from_comparison(comparison: VersionComparison) -> Self {
        match comparison {
            VersionComparison::AtLeast => Self::AtLeast,
            VersionComparison::Above => Self::Above,
            VersionComparison::AtMost => Self::AtMost,
            VersionComparison::Below => Self::Below,
        }
    }
}

/// The input of one condition; ignored while it is blank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TermForm {
    /// The key of a label or the name of a fact; or, without values, conditions in the syntax of `kubectl -l`.
    pub key: String,
    /// How the values are compared.
    pub operator: TermOperator,
    /// The values, separated by commas or spaces.
    pub values: String,
}

impl TermForm {
    /// Whether nothing was entered.
    pub fn is_blank(&self) -> bool {
        self.key.trim().is_empty() && self.values.trim().is_empty()
    }

    /// The rows of a label selector.
    pub fn from_labels(selector: &LabelSelector) -> Vec<Self> {
        selector.terms.iter().map(Self::from_label).collect()
    }

    /// The rows of a fact selector.
    pub fn from_facts(selector: &FactSelector) -> Vec<Self> {
        let row = |term: &FactTerm| match term {
            FactTerm::Requirement(_, term) => Self::from_label(term),
            FactTerm::Version(comparison, version) => Self {
                key: term.fact().as_str().to_owned(),
                operator: TermOperator::from_comparison(*comparison),
                values: version.to_string(),
            },
        };
        selector.terms.iter().map(row).collect()
    }

    fn from_label(term: &LabelTerm) -> Self {
        let (operator, values) = match term {
            LabelTerm::In(_, values) => (TermOperator::Is, values.as_slice()),
            LabelTerm::NotIn(_, values) => (TermOperator::IsNot, values.as_slice()),
            LabelTerm::Exists(_) => (TermOperator::Exists, [].as_slice()),
            LabelTerm::DoesNotExist(_) => (TermOperator::DoesNotExist, [].as_slice()),
        };
        // An empty value is legal, and a row without values is incomplete.
        if values.iter().any(String::is_empty) {
            return Self { key: term.to_string(), ..Self::default() };
        }
        Self { key: term.key().to_owned(), operator, values: values.join(", ") }
    }

    /// The condition in the syntax of `kubectl -l`. Error: what is missing.
    fn to_text(&self) -> Result<String, String> {
        let key = self.key.trim();
        let values: Vec<&str> = split_words(&self.values).collect();
        let is_text = key.contains(|sign: char| sign.is_whitespace() || "=!<>(),".contains(sign));
        if is_text && values.is_empty() {
            return Ok(key.to_owned());
        }
        if key.is_empty() {
            return Err(format!("What has the value {}?", values.join(", ")));
        }
        let sign = match (self.operator, &values[..]) {
            (TermOperator::Exists, _) => return Ok(key.to_owned()),
            (TermOperator::DoesNotExist, _) => return Ok(format!("!{key}")),
            (_, []) => return Err(format!("{key} has no value yet.")),
            (TermOperator::Is, [value]) => return Ok(format!("{key}={value}")),
            (TermOperator::IsNot, [value]) => return Ok(format!("{key}!={value}")),
            (TermOperator::Is, values) => return Ok(format!("{key} in ({})", values.join(","))),
            (TermOperator::IsNot, values) => return Ok(format!("{key} notin ({})", values.join(","))),
            (operator, _) => operator.version_sign().unwrap_or_default(),
        };
        Ok(format!("{key}{sign}{}", values.join(",")))
    }

    /// Parses the condition at `path` with `parse`; `None` if it is blank or invalid.
    fn parse<T, E: ToString>(
        &self,
        path: &str,
        hint: &str,
        wrong: &mut Vec<Finding>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        if self.is_blank() {
            return None;
        }
        let parsed = match self.to_text() {
            Ok(text) => parse(&text).map_err(|error| (error.to_string(), hint)),
            Err(missing) => Err((missing, "Complete the condition, or clear it.")),
        };
        parsed.map_err(|(message, hint)| wrong.push(field_finding(path, message, hint))).ok()
    }
}

/// Parses the conditions on labels of the predicate at this position.
pub(super) fn parse_labels(rows: &[TermForm], at: usize, wrong: &mut Vec<Finding>) -> LabelSelector {
    let hint = "Write a key and values such as env and prod, or env=prod,region in (eu,us),!legacy.";
    let mut all = LabelSelector::default();
    for (row, term) in rows.iter().enumerate() {
        let path = format!("predicates/{at}/labels/{row}");
        let parsed = term.parse(&path, hint, wrong, |text| text.parse::<LabelSelector>());
        all.terms.extend(parsed.unwrap_or_default().terms);
    }
    all
}

/// Parses the conditions on facts of the predicate at this position.
pub(super) fn parse_facts(rows: &[TermForm], at: usize, wrong: &mut Vec<Finding>) -> FactSelector {
    let mut all = FactSelector::default();
    for (row, term) in rows.iter().enumerate() {
        let path = format!("predicates/{at}/facts/{row}");
        let parsed = term.parse(&path, FACTS_HINT, wrong, |text| text.parse::<FactSelector>());
        all.terms.extend(parsed.unwrap_or_default().terms);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, operator: TermOperator, values: &str) -> TermForm {
        TermForm { key: key.into(), operator, values: values.into() }
    }

    #[test]
    fn rows_are_conditions_in_the_syntax_of_kubectl() {
        let text = |key: &str, operator, values: &str| row(key, operator, values).to_text();
        assert_eq!(text("env", TermOperator::Is, "prod").as_deref(), Ok("env=prod"));
        assert_eq!(text("env", TermOperator::Is, "prod, dev").as_deref(), Ok("env in (prod,dev)"));
        assert_eq!(text("env", TermOperator::IsNot, "prod dev").as_deref(), Ok("env notin (prod,dev)"));
        assert_eq!(text("env", TermOperator::DoesNotExist, "").as_deref(), Ok("!env"));
        assert_eq!(
            text("kubernetesVersion", TermOperator::AtLeast, "1.33").as_deref(),
            Ok("kubernetesVersion>=1.33")
        );
        assert_eq!(text("region in (eu,us)", TermOperator::Is, "").as_deref(), Ok("region in (eu,us)"));
    }

    #[test]
    fn a_row_that_is_not_complete_is_a_finding_and_not_ignored() {
        let mut wrong = Vec::new();
        let rows = [row("env", TermOperator::Is, ""), row("", TermOperator::Is, "prod"), TermForm::default()];
        assert_eq!(parse_labels(&rows, 2, &mut wrong), LabelSelector::default());
        let found: Vec<(&str, &str)> = wrong.iter().map(|one| (&*one.path, &*one.message)).collect();
        assert_eq!(
            found,
            [
                ("/placement/predicates/2/labels/0", "env has no value yet."),
                ("/placement/predicates/2/labels/1", "What has the value prod?"),
            ]
        );
    }

    #[test]
    fn every_selector_has_rows_that_are_parsed_to_it() {
        let labels: LabelSelector = "a=b,c!=d,e in (f,g),h notin (i,j),k,!l,m=".parse().unwrap();
        let facts: FactSelector =
            "provider=aws,region!=eu,zone in (a,b),kubernetesVersion>=1.33,kubernetesVersion<1.40"
                .parse()
                .unwrap();
        let mut wrong = Vec::new();
        assert_eq!(parse_labels(&TermForm::from_labels(&labels), 0, &mut wrong), labels);
        assert_eq!(parse_facts(&TermForm::from_facts(&facts), 0, &mut wrong), facts);
        assert_eq!(wrong, []);
    }
}
