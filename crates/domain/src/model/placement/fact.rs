//! Selectors on the confirmed facts of a cluster: provider, region, zone, distribution, version (S0-2). What its agent reports selects
//! nothing before a user confirms it.
//!
//! The grammar is that of label selectors, and versions can be compared: `provider in (aws,gcp),kubernetesVersion>=1.30`.
//! An unknown fact satisfies only `!fact`: "not in that region" must not match a cluster whose region is unknown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::labels::{self, LabelTerm};
use crate::model::cluster::{Cluster, DISTRIBUTIONS};

/// How to write a selector of facts, for whoever wrote a wrong one.
pub const FACTS_HINT: &str = "Write it as provider in (aws,gcp),kubernetesVersion>=1.33.";

/// A cluster fact that placements and overrides can select on.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum FactKey {
    /// The infrastructure provider of its nodes, such as `aws`.
    Provider,
    /// Its region: from its label, else from its nodes.
    Region,
    /// The zones of its nodes; one match is enough.
    Zone,
    /// Its Kubernetes distribution, such as `gke`: from the confirmed version of its API server.
    Distribution,
    /// The version of its API server, compared to the precision written: `1.33` matches `v1.33.4`.
    KubernetesVersion,
}

impl FactKey {
    /// All facts.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in a selector.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Its confirmed values; empty if there are none.
    pub fn values(self, cluster: &Cluster) -> Vec<&str> {
        let facts = &cluster.confirmed_facts;
        let value = match self {
            Self::Zone => return facts.zones.iter().map(String::as_str).collect(),
            Self::Provider => facts.provider.as_str(),
            Self::Region if cluster.region().is_empty() => facts.region.as_str(),
            Self::Region => cluster.region(),
            Self::Distribution => facts.distribution(),
            Self::KubernetesVersion => facts.kubernetes_version.as_str(),
        };
        if value.is_empty() { Vec::new() } else { vec![value] }
    }

    /// Whether a known value equals the written one.
    fn value_matches(self, known: &str, written: &str) -> bool {
        match (self, KubernetesVersion::parse(written)) {
            (Self::KubernetesVersion, Some(version)) => {
                version.parse_to_precision(known) == Some(version.clone())
            }
            _ => known == written,
        }
    }
}

impl FromStr for FactKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().copied().find(|fact| fact.as_str() == text);
        // An alias that other tools use.
        known.or_else(|| (text == "k8sVersion").then_some(Self::KubernetesVersion)).ok_or_else(|| {
            let [others @ .., last] = Self::ALL else { return format!("{text:?} is not a fact") };
            let others: Vec<&str> = others.iter().map(|fact| fact.as_str()).collect();
            format!("{text:?} is not a fact; use {} or {}", others.join(", "), last.as_str())
        })
    }
}

/// A comparison of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionComparison {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
}

impl VersionComparison {
    const ALL: [(&'static str, Self); 4] =
        [(">=", Self::AtLeast), ("<=", Self::AtMost), (">", Self::Above), ("<", Self::Below)];

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, comparison)| *comparison == self).map_or("", |(sign, _)| sign)
    }

    fn is_satisfied(self, known: &KubernetesVersion, written: &KubernetesVersion) -> bool {
        match self {
            Self::AtLeast => known >= written,
            Self::Above => known > written,
            Self::AtMost => known <= written,
            Self::Below => known < written,
        }
    }
}

/// A version: major, minor and further parts, as far as written. Serialized as its text, `1.33`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KubernetesVersion(Vec<u32>);

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for KubernetesVersion {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for KubernetesVersion {}

impl From<KubernetesVersion> for String {
    fn from(version: KubernetesVersion) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for KubernetesVersion {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a version; write 1.33 or 1.33.4"))
    }
}

impl KubernetesVersion {
    /// Parses `1.33`, `v1.33.4` or `v1.33.4+k3s1`; `None` if one of the first four parts is not a number.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let plain = text.split(['+', '-']).next().unwrap_or_default();
        let parts: Option<Vec<u32>> = plain.split('.').take(4).map(|part| part.parse().ok()).collect();
        parts.map(Self)
    }

    /// Parses the known version, truncated or zero-padded to as many parts as this one has.
    fn parse_to_precision(&self, known: &str) -> Option<Self> {
        let Self(mut parts) = Self::parse(known)?;
        parts.resize(self.0.len(), 0);
        Some(Self(parts))
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// One condition on one fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactTerm {
    /// An operator of label selectors: `=`, `!=`, `in`, `notin`, known, unknown.
    Requirement(FactKey, LabelTerm),
    /// The version of the API server is at least, above, at most or below this one.
    Version(VersionComparison, KubernetesVersion),
}

impl FactTerm {
    /// The fact that it is about.
    pub fn fact(&self) -> FactKey {
        match self {
            Self::Requirement(fact, _) => *fact,
            Self::Version(..) => FactKey::KubernetesVersion,
        }
    }

    /// Whether it holds for this cluster.
    pub fn matches(&self, cluster: &Cluster) -> bool {
        let known = self.fact().values(cluster);
        match self {
            Self::Version(comparison, written) => known.first().is_some_and(|known| {
                written
                    .parse_to_precision(known)
                    .is_some_and(|known| comparison.is_satisfied(&known, written))
            }),
            Self::Requirement(_, LabelTerm::Exists(_)) => !known.is_empty(),
            Self::Requirement(_, LabelTerm::DoesNotExist(_)) => known.is_empty(),
            Self::Requirement(fact, LabelTerm::In(_, values)) => any_value_matches(*fact, &known, values),
            Self::Requirement(fact, LabelTerm::NotIn(_, values)) => {
                !known.is_empty() && !any_value_matches(*fact, &known, values)
            }
        }
    }
}

fn any_value_matches(fact: FactKey, known: &[&str], values: &[String]) -> bool {
    known.iter().any(|known| values.iter().any(|value| fact.value_matches(known, value)))
}

impl fmt::Display for FactTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requirement(_, term) => term.fmt(f),
            Self::Version(comparison, version) => {
                write!(f, "{}{}{version}", FactKey::KubernetesVersion.as_str(), comparison.as_str())
            }
        }
    }
}

/// A conjunction of terms on facts; the empty one matches everything. Serialized as its text,
/// `provider=aws,kubernetesVersion>=1.30`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FactSelector {
    /// All of these must hold.
    pub terms: Vec<FactTerm>,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for FactSelector {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for FactSelector {}

/// A fact selector that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selector {text:?}: {message}")]
pub struct InvalidFactSelector {
    text: String,
    message: String,
}

impl FactSelector {
    /// Whether it has no term, and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many values its terms compare; a term without values counts as one.
    pub fn count_values(&self) -> usize {
        let count = |term: &FactTerm| match term {
            FactTerm::Requirement(_, term) => term.count_values(),
            FactTerm::Version(..) => 1,
        };
        self.terms.iter().map(count).sum()
    }

    /// Whether all its terms hold for this cluster.
    pub fn matches(&self, cluster: &Cluster) -> bool {
        self.terms.iter().all(|term| term.matches(cluster))
    }

    /// Whether its terms contradict each other on one fact, so that no cluster can match.
    pub fn is_contradictory(&self) -> bool {
        FactKey::ALL.iter().copied().any(|fact| {
            let terms: Vec<&FactTerm> = self.terms.iter().filter(|term| term.fact() == fact).collect();
            // A cluster can have several zones, and each term may match a different one.
            fact != FactKey::Zone && terms.len() > 1 && !is_satisfiable(fact, &terms)
        })
    }
}

/// Whether any value satisfies all terms. Tests the values in the terms, neighbouring versions, and values in no term.
fn is_satisfiable(fact: FactKey, terms: &[&FactTerm]) -> bool {
    let mut candidates = vec![String::new(), "0".to_owned(), "none-of-these".to_owned()];
    if fact == FactKey::Distribution {
        candidates.extend(DISTRIBUTIONS.map(str::to_owned));
    }
    for term in terms {
        match term {
            FactTerm::Requirement(_, LabelTerm::In(_, values) | LabelTerm::NotIn(_, values)) => {
                candidates.extend(values.iter().cloned())
            }
            FactTerm::Version(_, KubernetesVersion(parts)) => {
                let lower = parts.iter().enumerate().map(|(index, part)| {
                    if index + 1 == parts.len() { part.saturating_sub(1) } else { *part }
                });
                candidates.push(KubernetesVersion(lower.collect()).to_string());
                candidates.push(KubernetesVersion(parts.clone()).to_string());
                candidates.push(KubernetesVersion(parts.iter().copied().chain([1]).collect()).to_string());
                let upper = parts.iter().enumerate().map(|(index, part)| {
                    if index + 1 == parts.len() { part.saturating_add(1) } else { *part }
                });
                candidates.push(KubernetesVersion(upper.collect()).to_string());
            }
            FactTerm::Requirement(..) => {}
        }
    }
    let mut cluster = Cluster::new(
        crate::kubernetes::id::ClusterId::from_parts(0, 0),
        "",
        Default::default(),
        Default::default(),
    );
    candidates.into_iter().any(|value| {
        match fact {
            FactKey::Provider => cluster.confirmed_facts.provider = value,
            FactKey::Region => cluster.confirmed_facts.region = value,
            FactKey::Zone => cluster.confirmed_facts.zones = vec![value],
            FactKey::Distribution => cluster.confirmed_facts.kubernetes_version = format!("v1.0.0-{value}"),
            FactKey::KubernetesVersion => cluster.confirmed_facts.kubernetes_version = value,
        }
        terms.iter().all(|term| term.matches(&cluster))
    })
}

impl fmt::Display for FactSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(FactTerm::to_string).collect();
        f.write_str(&terms.join(","))
    }
}

impl From<FactSelector> for String {
    fn from(selector: FactSelector) -> Self {
        selector.to_string()
    }
}

impl TryFrom<String> for FactSelector {
    type Error = InvalidFactSelector;
    fn try_from(text: String) -> Result<Self, InvalidFactSelector> {
        text.parse()
    }
}

impl FromStr for FactSelector {
    type Err = InvalidFactSelector;
    fn from_str(text: &str) -> Result<Self, InvalidFactSelector> {
        let bad = |why| InvalidFactSelector { text: text.chars().take(120).collect(), message: why };
        let parts = labels::split_terms(text).into_iter().map(str::trim).filter(|part| !part.is_empty());
        let terms = parts.map(|part| parse_fact_term(part).map_err(bad)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }
}

fn parse_fact_term(text: &str) -> Result<FactTerm, String> {
    if let Some((comparison, (left, right))) = VersionComparison::ALL
        .into_iter()
        .find_map(|(sign, comparison)| Some((comparison, text.split_once(sign)?)))
    {
        let (fact, right) = (left.trim().parse::<FactKey>()?, right.trim());
        if fact != FactKey::KubernetesVersion {
            return Err(format!("{} can't be compared; only kubernetesVersion can", fact.as_str()));
        }
        let version = KubernetesVersion::parse(right)
            .ok_or_else(|| format!("{right:?} is not a version; write 1.33 or 1.33.4"))?;
        return Ok(FactTerm::Version(comparison, version));
    }
    let term = labels::parse_term(text)?;
    let fact: FactKey = term.key().parse()?;
    if let LabelTerm::In(_, values) | LabelTerm::NotIn(_, values) = &term {
        check_values(fact, values)?;
    }
    let name = fact.as_str().to_owned();
    Ok(FactTerm::Requirement(
        fact,
        match term {
            LabelTerm::In(_, values) => LabelTerm::In(name, values),
            LabelTerm::NotIn(_, values) => LabelTerm::NotIn(name, values),
            LabelTerm::Exists(_) => LabelTerm::Exists(name),
            LabelTerm::DoesNotExist(_) => LabelTerm::DoesNotExist(name),
        },
    ))
}

/// No cluster can have another distribution, so a selector with one is a mistake.
fn check_values(fact: FactKey, values: &[String]) -> Result<(), String> {
    let unknown = values.iter().find(|value| !DISTRIBUTIONS.contains(&value.as_str()));
    match (fact, unknown) {
        (FactKey::Distribution, Some(unknown)) => {
            let [others @ .., last] = &DISTRIBUTIONS;
            let others = others.join(", ");
            Err(format!("{unknown:?} is not a distribution that a version names; use {others} or {last}"))
        }
        _ => Ok(()),
    }
}
