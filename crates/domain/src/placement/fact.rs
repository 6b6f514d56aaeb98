//! Selectors on what a cluster's agent found out: provider, region, zone, version (S0-2).
//!
//! The grammar is that of labels, and the version can be compared: `provider in (aws,gcp),kubernetesVersion>=1.30`. What
//! is not known of a cluster satisfies nothing but `!fact`: "not in that region" must not let in a cluster that has not
//! said where it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::labels::{self, Term};

/// A fact that placement can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// What its nodes run on, such as `aws`.
    Provider,
    /// Its region: by its label, else as its nodes say.
    Region,
    /// The zones of its nodes; one of them is enough.
    Zone,
    /// The version of its API server, compared as far as it is written: `1.33` holds for `v1.33.4`.
    KubernetesVersion,
}

impl Fact {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Provider, Self::Region, Self::Zone, Self::KubernetesVersion];

    /// Its name in a selector.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Region => "region",
            Self::Zone => "zone",
            Self::KubernetesVersion => "kubernetesVersion",
        }
    }

    /// What is known of it; empty when it is not known.
    pub fn values(self, cluster: &Cluster) -> Vec<&str> {
        let facts = &cluster.facts;
        let one = match self {
            Self::Zone => return facts.zones.iter().map(String::as_str).collect(),
            Self::Provider => facts.provider.as_str(),
            Self::Region if cluster.region().is_empty() => facts.region.as_str(),
            Self::Region => cluster.region(),
            Self::KubernetesVersion => facts.kubernetes_version.as_str(),
        };
        if one.is_empty() { Vec::new() } else { vec![one] }
    }

    /// Whether a value that is known is the one written.
    fn is(self, known: &str, written: &str) -> bool {
        match (self, Version::read(written)) {
            (Self::KubernetesVersion, Some(version)) => {
                version.as_far_as_written(known) == Some(version.clone())
            }
            _ => known == written,
        }
    }
}

impl FromStr for Fact {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|fact| fact.name() == text);
        // The shorter name that other tools have for it.
        known.or_else(|| (text == "k8sVersion").then_some(Self::KubernetesVersion)).ok_or_else(|| {
            format!("{text:?} is not a fact; there are provider, region, zone and kubernetesVersion")
        })
    }
}

/// How versions compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `<=`
    AtMost,
    /// `<`
    Below,
}

impl Comparison {
    const ALL: [(&'static str, Self); 4] =
        [(">=", Self::AtLeast), ("<=", Self::AtMost), (">", Self::Above), ("<", Self::Below)];

    fn sign(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, one)| *one == self).map_or("", |(sign, _)| sign)
    }

    fn holds(self, known: &Version, written: &Version) -> bool {
        match self {
            Self::AtLeast => known >= written,
            Self::Above => known > written,
            Self::AtMost => known <= written,
            Self::Below => known < written,
        }
    }
}

/// Major, minor and so on, as far as they are written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// Reads `1.33`, `v1.33.4` or `v1.33.4+k3s1`; `None` if it does not begin with a number.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let plain = text.split(['+', '-']).next().unwrap_or_default();
        let parts: Option<Vec<u32>> = plain.split('.').take(4).map(|part| part.parse().ok()).collect();
        parts.map(Self)
    }

    /// The known version, cut to as many parts as this one has.
    fn as_far_as_written(&self, known: &str) -> Option<Self> {
        let Self(mut parts) = Self::read(known)?;
        parts.resize(self.0.len(), 0);
        Some(Self(parts))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// One condition on one fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactTerm {
    /// As with labels: `=`, `!=`, `in`, `notin`, known, not known.
    Plain(Fact, Term),
    /// The version of the API server is at least, above, at most or below this one.
    Version(Comparison, Version),
}

impl FactTerm {
    /// The fact it looks at.
    pub fn fact(&self) -> Fact {
        match self {
            Self::Plain(fact, _) => *fact,
            Self::Version(..) => Fact::KubernetesVersion,
        }
    }

    /// Whether it holds for this cluster.
    pub fn matches(&self, cluster: &Cluster) -> bool {
        let known = self.fact().values(cluster);
        match self {
            Self::Version(comparison, written) => known.first().is_some_and(|known| {
                written.as_far_as_written(known).is_some_and(|known| comparison.holds(&known, written))
            }),
            Self::Plain(_, Term::Exists(_)) => !known.is_empty(),
            Self::Plain(_, Term::Absent(_)) => known.is_empty(),
            Self::Plain(fact, Term::In(_, values)) => any_of(*fact, &known, values),
            Self::Plain(fact, Term::NotIn(_, values)) => !known.is_empty() && !any_of(*fact, &known, values),
        }
    }
}

fn any_of(fact: Fact, known: &[&str], values: &[String]) -> bool {
    known.iter().any(|known| values.iter().any(|value| fact.is(known, value)))
}

impl fmt::Display for FactTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_, term) => term.fmt(f),
            Self::Version(comparison, version) => {
                write!(f, "{}{}{version}", Fact::KubernetesVersion.name(), comparison.sign())
            }
        }
    }
}

/// A conjunction of terms on facts; the empty one matches everything. In JSON it is its text,
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

/// Why a selector on facts could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selector {text:?}: {why}")]
pub struct BadFactSelector {
    text: String,
    why: String,
}

impl FactSelector {
    /// Whether it has no term, and so matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether its terms contradict each other on one fact, so that no cluster can match.
    pub fn is_contradictory(&self) -> bool {
        Fact::ALL.into_iter().any(|fact| {
            let terms: Vec<&FactTerm> = self.terms.iter().filter(|term| term.fact() == fact).collect();
            // A cluster has many zones, and each term may mean another one.
            fact != Fact::Zone && terms.len() > 1 && !satisfiable(fact, &terms)
        })
    }
}

/// Whether any value satisfies all terms: those written are tried, what lies around them, and one that nobody wrote.
fn satisfiable(fact: Fact, terms: &[&FactTerm]) -> bool {
    let mut tries = vec![String::new(), "0".to_owned(), "none-of-these".to_owned()];
    for term in terms {
        match term {
            FactTerm::Plain(_, Term::In(_, values) | Term::NotIn(_, values)) => {
                tries.extend(values.iter().cloned())
            }
            FactTerm::Version(_, Version(parts)) => {
                let lower = parts
                    .iter()
                    .enumerate()
                    .map(|(at, part)| if at + 1 == parts.len() { part.saturating_sub(1) } else { *part });
                tries.push(Version(lower.collect()).to_string());
                tries.push(Version(parts.clone()).to_string());
                tries.push(Version(parts.iter().copied().chain([1]).collect()).to_string());
                let upper = parts
                    .iter()
                    .enumerate()
                    .map(|(at, part)| if at + 1 == parts.len() { part.saturating_add(1) } else { *part });
                tries.push(Version(upper.collect()).to_string());
            }
            FactTerm::Plain(..) => {}
        }
    }
    let mut cluster =
        Cluster::new(crate::id::ClusterId::from_parts(0, 0), "", Default::default(), Default::default());
    tries.into_iter().any(|value| {
        match fact {
            Fact::Provider => cluster.facts.provider = value,
            Fact::Region => cluster.facts.region = value,
            Fact::Zone => cluster.facts.zones = vec![value],
            Fact::KubernetesVersion => cluster.facts.kubernetes_version = value,
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
    type Error = BadFactSelector;
    fn try_from(text: String) -> Result<Self, BadFactSelector> {
        text.parse()
    }
}

impl FromStr for FactSelector {
    type Err = BadFactSelector;
    fn from_str(text: &str) -> Result<Self, BadFactSelector> {
        let bad = |why| BadFactSelector { text: text.chars().take(120).collect(), why };
        let parts = labels::split_terms(text).into_iter().map(str::trim).filter(|part| !part.is_empty());
        let terms = parts.map(|part| fact_term(part).map_err(bad)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }
}

fn fact_term(text: &str) -> Result<FactTerm, String> {
    if let Some((comparison, (left, right))) =
        Comparison::ALL.into_iter().find_map(|(sign, one)| Some((one, text.split_once(sign)?)))
    {
        let (fact, right) = (left.trim().parse::<Fact>()?, right.trim());
        if fact != Fact::KubernetesVersion {
            return Err(format!("{} can't be compared; only kubernetesVersion can", fact.name()));
        }
        let version =
            Version::read(right).ok_or_else(|| format!("{right:?} is no version; write 1.33 or 1.33.4"))?;
        return Ok(FactTerm::Version(comparison, version));
    }
    let term = labels::term(text)?;
    let fact: Fact = term.key().parse()?;
    let name = fact.name().to_owned();
    Ok(FactTerm::Plain(
        fact,
        match term {
            Term::In(_, values) => Term::In(name, values),
            Term::NotIn(_, values) => Term::NotIn(name, values),
            Term::Exists(_) => Term::Exists(name),
            Term::Absent(_) => Term::Absent(name),
        },
    ))
}
