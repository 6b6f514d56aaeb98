//! Findings: results of guard rails, for every surface (codes `G1xx`–`G5xx`, docs/guard-rails.md).
//!
//! A finding states the object, the source location, why it matters and one fix; the console displays it at the line,
//! the command line prints it, the API returns it in `findings[]` (S0-15).

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

mod fix;

pub use fix::{Fix, TextEdit};

/// The severity of a finding. Ordered: the worst is the greatest.
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
pub enum Severity {
    /// For information.
    Note,
    /// To be reviewed before publishing.
    Warning,
    /// Blocks the publish.
    Error,
}

impl Severity {
    /// The displayed name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A location in the source text. Lines and columns start at 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SourceLocation {
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
    /// Its severity.
    pub severity: Severity,
    /// The object, as `Kind namespace/name`; empty when no object could be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// JSON pointer of the field inside the object; empty for the object as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Its location in the source, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
    /// Names of the clusters concerned; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// What is wrong, where and why it matters, in one or two sentences.
    pub message: String,
    /// What to do about it, in one sentence.
    pub hint: String,
    /// The fix, where only one is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Box<Fix>>,
}

impl Finding {
    /// A finding with code, severity, message and hint; the methods below add object, path, location, clusters and fix.
    pub fn new(code: &str, severity: Severity, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            severity,
            object: String::new(),
            path: String::new(),
            location: None,
            clusters: Vec::new(),
            message: message.into(),
            hint: hint.into(),
            fix: None,
        }
    }

    /// A finding that blocks the publish.
    pub fn error(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message, hint)
    }

    /// A finding that only warns.
    pub fn warning(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message, hint)
    }

    /// A finding that only informs.
    pub fn note(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, message, hint)
    }

    /// The same finding, about this object.
    #[must_use]
    pub fn with_object(mut self, object: impl Into<String>) -> Self {
        self.object = object.into();
        self
    }

    /// The same finding, at this JSON pointer.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The same finding, at this location of the source.
    #[must_use]
    pub fn with_location(mut self, place: Option<SourceLocation>) -> Self {
        self.location = place;
        self
    }

    /// The same finding, on these clusters.
    #[must_use]
    pub fn with_clusters(mut self, clusters: Vec<String>) -> Self {
        self.clusters = clusters;
        self
    }

    /// The same finding, with this fix.
    #[must_use]
    pub fn with_fix(mut self, fix: Option<Fix>) -> Self {
        self.fix = fix.map(Box::new);
        self
    }

    /// Whether it blocks the publish.
    pub fn is_blocking(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Sorts worst first, then by location: the order of findings on every surface.
pub fn sort_findings(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| (&a.location, &a.code, &a.path).cmp(&(&b.location, &b.code, &b.path)))
    });
}

/// Merges findings that differ only in their clusters into one.
pub fn merge_clusters(findings: Vec<Finding>) -> Vec<Finding> {
    let mut grouped: Vec<Finding> = Vec::new();
    for finding in findings {
        let same = |other: &&mut Finding| {
            !other.clusters.is_empty()
                && !finding.clusters.is_empty()
                && differ_only_in_clusters(other, &finding)
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

fn differ_only_in_clusters(a: &Finding, b: &Finding) -> bool {
    (&a.code, &a.object, &a.path, &a.message, &a.location)
        == (&b.code, &b.object, &b.path, &b.message, &b.location)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_findings_are_merged_over_their_clusters() {
        let on = |cluster: &str| {
            Finding::error("G401", "unknown kind", "install it").with_clusters(vec![cluster.into()])
        };
        let merged = merge_clusters(vec![on("b"), on("a"), Finding::warning("G202", "latest", "pin it")]);
        assert_eq!(merged.len(), 2);
        assert_eq!(merged[0].clusters, ["a", "b"]);
    }

    #[test]
    fn the_worst_finding_is_listed_first() {
        let mut findings = vec![Finding::warning("G202", "m", "h"), Finding::error("G214", "m", "h")];
        sort_findings(&mut findings);
        assert_eq!(findings[0].code, "G214");
    }
}
