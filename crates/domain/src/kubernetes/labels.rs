//! Labels and label selectors, in the grammar of `kubectl -l` (G502).
//!
//! A selector is stored as its terms, so that placement can report the deciding term and the actual value (E-3).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most terms of a selector. It is evaluated for every cluster, workload or object of a list.
const MAX_TERMS: usize = 500;
/// Most values of a selector, in all of its terms together.
const MAX_VALUES: usize = 5_000;

/// Key and value labels of a cluster, workload or object.
pub type Labels = BTreeMap<String, String>;

/// [`Labels`] in the OpenAPI document, which names a schema by its type: an alias has no name of its own.
#[cfg(feature = "openapi")]
#[derive(Debug)]
pub struct LabelMap;

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for LabelMap {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Labels::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for LabelMap {
    fn name() -> std::borrow::Cow<'static, str> {
        "Labels".into()
    }
}

/// A conjunction of terms; the empty selector matches everything. In JSON it is its text, `env=prod,region in (eu,us)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelSelector {
    /// All of these must hold.
    pub terms: Vec<LabelTerm>,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for LabelSelector {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for LabelSelector {}

/// One condition on one label key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelTerm {
    /// `key=value` or `key in (a,b)`: the label exists with one of these values.
    In(String, Vec<String>),
    /// `key!=value` or `key notin (a,b)`: the label is absent or has another value.
    NotIn(String, Vec<String>),
    /// `key`: the label exists.
    Exists(String),
    /// `!key`: the label does not exist.
    DoesNotExist(String),
}

/// The text is not a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selector {text:?}: {why}")]
pub struct InvalidSelector {
    text: String,
    why: String,
}

impl LabelSelector {
    /// Whether all terms hold for these labels.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.terms.iter().all(|term| term.matches(labels))
    }

    /// Whether it has no term, and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many values its terms compare; a term without values counts as one.
    pub fn count_values(&self) -> usize {
        self.terms.iter().map(LabelTerm::count_values).sum()
    }
}

impl LabelTerm {
    /// Whether this term holds for these labels. As in Kubernetes, an absent label satisfies `!=` and `notin`.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::DoesNotExist(key) => !labels.contains_key(key),
        }
    }

    /// How many values it compares, at least one.
    pub(crate) fn count_values(&self) -> usize {
        match self {
            Self::In(_, values) | Self::NotIn(_, values) => values.len().max(1),
            Self::Exists(_) | Self::DoesNotExist(_) => 1,
        }
    }

    /// Its label key.
    pub fn key(&self) -> &str {
        match self {
            Self::In(key, _) | Self::NotIn(key, _) | Self::Exists(key) | Self::DoesNotExist(key) => key,
        }
    }
}

impl fmt::Display for LabelTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(key, values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
            Self::NotIn(key, values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
            Self::In(key, values) => write!(f, "{key} in ({})", values.join(",")),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", values.join(",")),
            Self::Exists(key) => f.write_str(key),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(LabelTerm::to_string).collect();
        f.write_str(&terms.join(","))
    }
}

impl From<LabelSelector> for String {
    fn from(selector: LabelSelector) -> Self {
        selector.to_string()
    }
}

impl TryFrom<String> for LabelSelector {
    type Error = InvalidSelector;
    fn try_from(text: String) -> Result<Self, InvalidSelector> {
        text.parse()
    }
}

impl FromStr for LabelSelector {
    type Err = InvalidSelector;
    fn from_str(text: &str) -> Result<Self, InvalidSelector> {
        let invalid = |why: String| InvalidSelector { text: text.chars().take(120).collect(), why };
        let parts: Vec<&str> =
            split_terms(text).into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
        let checks = [("terms", parts.len(), MAX_TERMS), ("values", text.split(',').count(), MAX_VALUES)];
        for (what, count, limit) in checks {
            if count > limit {
                return Err(invalid(format!("it has {count} {what}, at most {limit} are allowed")));
            }
        }
        let terms = parts.into_iter().map(parse_term).collect::<Result<_, _>>().map_err(invalid)?;
        Ok(Self { terms })
    }
}

/// Splits at commas that are not inside parentheses.
pub(crate) fn split_terms(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

pub(crate) fn parse_term(text: &str) -> Result<LabelTerm, String> {
    if let Some(key) = text.strip_prefix('!') {
        return Ok(LabelTerm::DoesNotExist(parse_key(key)?));
    }
    if let Some((key, value)) = text.split_once("!=") {
        return Ok(LabelTerm::NotIn(parse_key(key)?, vec![parse_value(value)?]));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Ok(LabelTerm::In(parse_key(key)?, vec![parse_value(value)?]));
    }
    if let Some((key, rest)) = text.split_once(char::is_whitespace) {
        let rest = rest.trim();
        if let Some(list) = rest.strip_prefix("notin") {
            return Ok(LabelTerm::NotIn(parse_key(key)?, parse_values(list)?));
        }
        if let Some(list) = rest.strip_prefix("in") {
            return Ok(LabelTerm::In(parse_key(key)?, parse_values(list)?));
        }
        return Err(format!("{rest:?} is not an operator; use =, !=, in (…), notin (…), key or !key"));
    }
    Ok(LabelTerm::Exists(parse_key(text)?))
}

fn parse_values(text: &str) -> Result<Vec<String>, String> {
    let inner = text.trim().strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    let inner = inner.ok_or_else(|| format!("write the values of {text:?} in parentheses: (a,b)"))?;
    inner.split(',').map(parse_value).collect()
}

fn parse_key(key: &str) -> Result<String, String> {
    let key = key.trim();
    if is_label_key(key) { Ok(key.to_owned()) } else { Err(format!("{key:?} is not a label key")) }
}

fn parse_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    if is_label_value(value) { Ok(value.to_owned()) } else { Err(format!("{value:?} is not a label value")) }
}

/// Whether `key` is a label key: an optional subdomain and `/`, then a name of at most 63 characters (G215).
pub fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(crate::kubernetes::name::is_subdomain) && !name.is_empty() && is_label_value(name)
}

/// Whether `value` is a label value: empty, or at most 63 letters, digits, `-`, `_`, `.`, letter or digit at both ends.
pub fn is_label_value(value: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.is_empty()
        || (bytes.len() <= crate::kubernetes::name::MAX_LABEL_LENGTH
            && edge(bytes.first())
            && edge(bytes.last())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_selector_matches_like_kubectl() {
        let selector: LabelSelector =
            "env=prod,region in (eu, us),!legacy,tier notin (edge),zone".parse().unwrap();
        let good = labels(&[("env", "prod"), ("region", "eu"), ("zone", "a")]);
        assert!(selector.matches(&good));
        for (key, value) in [("env", "dev"), ("region", "asia"), ("legacy", ""), ("tier", "edge")] {
            let mut bad = good.clone();
            bad.insert(key.into(), value.into());
            assert!(!selector.matches(&bad), "{key}={value}");
        }
        assert!(LabelSelector::default().matches(&Labels::new()));
    }

    #[test]
    fn a_selector_round_trips_through_its_text() {
        let text = "env=prod,region in (eu,us),!legacy,tier!=edge,zone";
        assert_eq!(text.parse::<LabelSelector>().unwrap().to_string(), text);
    }

    #[test]
    fn g502_an_invalid_selector_is_rejected_with_the_part_and_the_reason() {
        for bad in ["env=pro d", "a in b", "in (x)", "-a=b", "a ~ b"] {
            let error = bad.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }

    #[test]
    fn g502_a_selector_with_too_many_terms_or_values_is_rejected_with_the_limit() {
        let terms = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        let values = |count: usize| {
            format!("k in ({})", (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>().join(","))
        };
        assert_eq!(terms(MAX_TERMS).parse::<LabelSelector>().unwrap().terms.len(), MAX_TERMS);
        assert_eq!(values(MAX_VALUES).parse::<LabelSelector>().unwrap().terms.len(), 1);
        for (text, why) in [
            (terms(MAX_TERMS + 1), "it has 501 terms, at most 500 are allowed"),
            (values(MAX_VALUES + 1), "it has 5001 values, at most 5000 are allowed"),
        ] {
            let error = text.parse::<LabelSelector>().unwrap_err().to_string();
            assert!(error.ends_with(why) && error.len() < 300, "{error}");
        }
    }
}
