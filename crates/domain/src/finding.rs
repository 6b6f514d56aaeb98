//! Findings: what a guard rail says, in a form every surface can show (guard-rail codes `G1xx`–`G5xx`).
//!
//! A finding names the object, the place, why it matters and one fix; the console shows it at the line, the command
//! line prints it, the API returns it in `findings[]` (S0-15).

use serde::{Deserialize, Serialize};

use crate::fix::Fix;

/// How much a finding weighs. Ordered: the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a look before publishing.
    Warning,
    /// Refuses the publish.
    Error,
}

impl Severity {
    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place in the person's source text. Lines and columns start at 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Name of the source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One result of one guard rail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Code such as `G214`.
    pub code: String,
    /// How much it weighs.
    pub severity: Severity,
    /// The object, as `Kind namespace/name`; empty when no object could be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// JSON pointer of the field inside the object; empty for the object as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Where it stands in the source, if it comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Names of the clusters concerned; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// What is wrong, where and why it matters, in one or two sentences.
    pub message: String,
    /// What to do about it, in one sentence.
    pub hint: String,
    /// The edit that puts it right, where only one can be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Box<Fix>>,
}

impl Finding {
    /// A finding with code, weight, message and hint; place and object are added by the `with_…` calls.
    pub fn new(code: &str, severity: Severity, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            object: String::new(),
            path: String::new(),
            place: None,
            clusters: Vec::new(),
            message: message.into(),
            hint: hint.into(),
            fix: None,
        }
    }

    /// A finding that refuses the publish.
    pub fn error(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message, hint)
    }

    /// A finding that only warns.
    pub fn warning(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message, hint)
    }

    /// The same finding, about this object.
    #[must_use]
    pub fn about(mut self, object: impl Into<String>) -> Self {
        self.object = object.into();
        self
    }

    /// The same finding, at this JSON pointer.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The same finding, at this place of the source.
    #[must_use]
    pub fn placed(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// The same finding, on these clusters.
    #[must_use]
    pub fn on(mut self, clusters: Vec<String>) -> Self {
        self.clusters = clusters;
        self
    }

    /// The same finding, with what would put it right.
    #[must_use]
    pub fn mended(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix.map(Box::new);
        self
    }

    /// Whether it refuses the publish.
    pub fn blocks(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Worst first, then by place: the order in which every surface lists findings.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| (&a.place, &a.code, &a.path).cmp(&(&b.place, &b.code, &b.path)))
    });
}

/// Folds findings that differ only in their clusters into one, as "on 7 clusters" is read once.
pub fn group(findings: Vec<Finding>) -> Vec<Finding> {
    let mut grouped: Vec<Finding> = Vec::new();
    for finding in findings {
        let same = |other: &&mut Finding| {
            !other.clusters.is_empty() && !finding.clusters.is_empty() && same_but_clusters(other, &finding)
        };
        match grouped.iter_mut().find(same) {
            Some(first) => first.clusters.extend(finding.clusters),
            None => grouped.push(finding),
        }
    }
    for finding in &mut grouped {
        finding.clusters.sort();
        finding.clusters.dedup();
    }
    grouped
}

fn same_but_clusters(a: &Finding, b: &Finding) -> bool {
    (&a.code, &a.object, &a.path, &a.message, &a.place) == (&b.code, &b.object, &b.path, &b.message, &b.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_findings_are_folded_over_their_clusters() {
        let on =
            |cluster: &str| Finding::error("G401", "unknown kind", "install it").on(vec![cluster.into()]);
        let folded = group(vec![on("b"), on("a"), Finding::warning("G202", "latest", "pin it")]);
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[0].clusters, ["a", "b"]);
    }

    #[test]
    fn the_worst_finding_is_listed_first() {
        let mut findings = vec![Finding::warning("G202", "m", "h"), Finding::error("G214", "m", "h")];
        sort(&mut findings);
        assert_eq!(findings[0].code, "G214");
    }
}
