//! Findings: results of guard rails, for every surface (codes `G1xx`–`G5xx`, docs/guard-rails.md).
//!
//! A finding states the object, the source location, why it matters and one fix; the console displays it at the line,
//! the command line prints it, the API returns it in `findings[]` (S0-15).

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

mod fix;

pub use fix::{Fix, TextEdit};

/// Most bytes of the path and of the object of a finding; what is longer ends with `…`. The keys of a path and the names of objects are
/// text that a user wrote, or that a template made.
const MAX_PATH_BYTES: usize = 1 << 10;
/// Most bytes of a message and of a hint; a longer one ends with `…`.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Most findings of one code and severity in one check.
const MAX_PER_CODE: usize = 500;
/// The message of the finding in place of those beyond [`MAX_PER_CODE`].
const OMITTED: &str = "There are more findings with this code; only the first 500 are listed.";

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
            message: shorten(message.into(), MAX_TEXT_BYTES),
            hint: shorten(hint.into(), MAX_TEXT_BYTES),
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
        self.object = shorten(object.into(), MAX_PATH_BYTES);
        self
    }

    /// The message for a place that shows the object beside it: without the kind and the name that it begins with.
    /// `spec.selector is missing.` of `Deployment "web": spec.selector is missing.`
    pub fn message_beside_object(&self) -> &str {
        let Some((kind, name)) = self.object.split_once(' ') else { return &self.message };
        let name = name.rsplit('/').next().unwrap_or(name);
        self.message.strip_prefix(&format!("{kind} {name:?}: ")).unwrap_or(&self.message)
    }

    /// Whether [`Self::message_beside_object`] names the object, which then need not be shown beside it; also if there is none.
    pub fn is_object_named(&self) -> bool {
        let (message, object) = (self.message_beside_object(), self.object.as_str());
        let is_whole = |at: usize| {
            let (before, rest) = (&message[..at], &message[at + object.len()..]);
            !before.ends_with(char::is_alphanumeric) && is_end_of_name(rest)
        };
        object.is_empty() || message.match_indices(object).any(|(at, _)| is_whole(at))
    }

    /// The same finding, at this JSON pointer.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = shorten(path.into(), MAX_PATH_BYTES);
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

    /// Whether it stands for findings that are not listed.
    fn is_summary(&self) -> bool {
        self.message == OMITTED
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
            .then_with(|| a.is_summary().cmp(&b.is_summary()))
            .then_with(|| (&a.location, &a.code, &a.path).cmp(&(&b.location, &b.code, &b.path)))
    });
}

/// The text with at most `max` bytes, and `…` if it was longer.
pub(crate) fn shorten(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// Lists at most 500 findings of each code and severity, in the given order. One finding of the same code and severity stands for
/// the others, so that what blocks a publish, or has to be acknowledged, still does. Applied again, it changes nothing.
#[must_use]
pub fn limit_findings(findings: Vec<Finding>) -> Vec<Finding> {
    // How many are listed, and whether a finding stands for the others.
    let mut counts: HashMap<(String, Severity), (usize, bool)> = HashMap::new();
    let mut listed = Vec::new();
    for finding in findings {
        let (count, has_summary) = counts.entry((finding.code.clone(), finding.severity)).or_default();
        if !finding.is_summary() && *count < MAX_PER_CODE {
            *count += 1;
            listed.push(finding);
        } else if !*has_summary {
            *has_summary = true;
            let hint = "Correct those that are listed, then check again.";
            listed.push(Finding::new(&finding.code, finding.severity, OMITTED, hint));
        }
    }
    listed
}

/// Merges findings that differ only in their clusters into one.
pub fn merge_clusters(findings: Vec<Finding>) -> Vec<Finding> {
    let mut grouped: Vec<Finding> = Vec::new();
    let hasher = RandomState::new();
    // Indexes in `grouped` of findings with clusters, by the hash of what has to be equal.
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for finding in findings {
        if finding.clusters.is_empty() {
            grouped.push(finding);
            continue;
        }
        let compared = (&finding.code, &finding.object, &finding.path, &finding.message, &finding.location);
        let candidates = by_hash.entry(hasher.hash_one(compared)).or_default();
        let same = candidates.iter().copied().find(|at| differ_only_in_clusters(&grouped[*at], &finding));
        match same {
            Some(at) => grouped[at].clusters.extend(finding.clusters),
            None => {
                candidates.push(grouped.len());
                grouped.push(finding);
            }
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

/// Whether a name that stands before this text ends there: `web` does before `. `, and not before `-2` or `.v2`.
fn is_end_of_name(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        Some('-' | '_') => false,
        Some('.' | '/' | ':') => !chars.next().is_some_and(char::is_alphanumeric),
        Some(next) => !next.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_beside_its_object_does_not_begin_with_it() {
        let message = "Deployment \"web\": spec.selector is missing.";
        let of = |object: &str| Finding::error("G403", message, "Add selector.").with_object(object);
        assert_eq!(of("Deployment shop/web").message_beside_object(), "spec.selector is missing.");
        assert_eq!(of("Deployment web").message_beside_object(), "spec.selector is missing.");
        for other in ["", "Deployment", "Deployment shop/api", "Service shop/web"] {
            assert_eq!(of(other).message_beside_object(), message, "{other:?}");
        }
    }

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

    #[test]
    fn p19_findings_of_one_code_are_bounded_and_the_last_one_still_blocks() {
        let mut findings: Vec<Finding> =
            (0..3_000).map(|n| Finding::error("G115", format!("{n}"), "h")).collect();
        findings.push(Finding::warning("G202", "latest", "pin it"));
        let mut limited = limit_findings(findings);
        sort_findings(&mut limited);
        assert_eq!(limited.len(), 502);
        assert_eq!((limited[500].message.as_str(), limited[500].is_blocking()), (OMITTED, true));
        assert_eq!((limited[500].code.as_str(), limited[501].code.as_str()), ("G115", "G202"));
        assert_eq!(limit_findings(limited.clone()), limited);
    }

    #[test]
    fn p19_paths_objects_and_texts_of_findings_are_cut_with_a_mark() {
        let long = "ä".repeat(100_000);
        let finding = Finding::error("G115", long.clone(), long.clone()).with_path(format!("/x{long}"));
        for (text, max) in [
            (&finding.path, MAX_PATH_BYTES),
            (&finding.message, MAX_TEXT_BYTES),
            (&finding.hint, MAX_TEXT_BYTES),
        ] {
            assert!(text.ends_with('…') && text.len() <= max + '…'.len_utf8(), "{}", text.len());
        }
        assert_eq!(Finding::error("G115", "m", "h").with_path("/spec").path, "/spec");
        let object = Finding::error("G115", "m", "h").with_object("x".repeat(100_000)).object;
        assert!(object.ends_with('…') && object.len() <= MAX_PATH_BYTES + '…'.len_utf8(), "{}", object.len());
    }

    #[test]
    fn p19_many_findings_of_many_clusters_are_merged_without_comparing_each_with_each() {
        let on = |n: usize, cluster: &str| {
            Finding::error("G115", format!("message {n}"), "h").with_clusters(vec![cluster.into()])
        };
        let findings =
            ["b", "a"].iter().flat_map(|cluster| (0..50_000).map(move |n| on(n, cluster))).collect();
        let merged = merge_clusters(findings);
        assert_eq!(merged.len(), 50_000);
        assert!(merged.iter().all(|finding| finding.clusters == ["a", "b"]));
    }

    #[test]
    fn a_message_names_its_object_only_as_a_whole_word() {
        let is_named = |message: &str| {
            Finding::error("G403", message, "h").with_object("Deployment web").is_object_named()
        };
        for message in
            ["Deployment web has no owner.", "It selects Deployment web.", "See (Deployment web): it"]
        {
            assert!(is_named(message), "{message}");
        }
        for message in [
            "Deployment web-2 selects the same pods.",
            "Deployment web.v2 selects the same pods.",
            "Deployment webhook has no owner.",
            "MyDeployment web has no owner.",
            "Nothing is selected.",
        ] {
            assert!(!is_named(message), "{message}");
        }
        assert!(is_named("Deployment web-2 selects the pods of Deployment web."));
        assert!(Finding::error("G403", "Nothing is selected.", "h").is_object_named(), "it has no object");
    }
}
