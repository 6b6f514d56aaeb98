//! `index.yaml`: the list of the charts of an HTTP repository, parsed with limits.

use std::collections::{BTreeMap, HashSet};

use domain::chart::is_chart_name;
pub(super) use domain::chart_repository::{is_same_version, parse_version};
use domain::{Digest, Timestamp, bounded_json};
use egress::{EgressPolicy, Url};
use semver::Version;
use serde::Deserialize;
use serde_saphyr::{Options, budget, options};

use super::error::{RepositoryError, shorten};

mod entries;

/// Largest index, in bytes.
pub(super) const MAX_INDEX_BYTES: usize = 32 << 20;
/// Memory that an index needs while it is parsed, per byte: measured for YAML of short values, and rounded up.
const MEMORY_PER_BYTE: u64 = 40;
/// The same per value, of which the shortest have two bytes: an empty entry needs as much memory as one with every field.
const MEMORY_PER_VALUE: u64 = 300;
/// Most entries of all charts together.
const MAX_ENTRIES: usize = 200_000;
/// Most values of an index; one entry has about 30.
const MAX_NODES: usize = 2_000_000;
/// Deepest nesting; entries have annotations and dependencies.
const MAX_DEPTH: usize = 32;
/// Most entries that are reported as rejected, beside their number.
const MAX_REJECTED: usize = 100;
/// Longest text that is taken from an entry, in characters; longer ones are cut.
const MAX_TEXT_CHARS: usize = 1_000;

/// The charts of a repository at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryIndex {
    /// The URL of the repository.
    pub(super) url: Url,
    /// The policy for the URLs in it.
    pub(super) policy: EgressPolicy,
    charts: BTreeMap<String, Vec<RepositoryVersion>>,
    rejected: Vec<RejectedEntry>,
    rejected_count: usize,
}

/// A chart of a repository, by its newest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepositoryChart<'a> {
    /// The name.
    pub name: &'a str,
    /// The newest version that is no pre-release; the newest of all if there are only pre-releases.
    pub newest: &'a RepositoryVersion,
    /// Number of versions.
    pub version_count: usize,
}

/// One version of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryVersion {
    /// The version.
    pub version: String,
    /// Version of the application in it; may be empty.
    pub app_version: String,
    /// What it is, in the author's words; may be empty.
    pub description: String,
    /// The Kubernetes versions that it supports, as a range; empty for every version.
    pub kubernetes_range: String,
    /// Whether the maintainers advise against it.
    pub is_deprecated: bool,
    /// Digest of the archive, if the repository publishes it.
    pub digest: Option<Digest>,
    /// When it was published, if the repository says so.
    pub created_at: Option<Timestamp>,
    /// Where the archive is, as the repository writes it; empty in a registry.
    pub(super) location: String,
}

/// An entry of an index that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedEntry {
    /// Name of the chart and version, as far as they are known.
    pub entry: String,
    /// Why, as the end of a sentence about the entry.
    pub reason: &'static str,
}

impl RepositoryIndex {
    /// The charts, by name.
    pub fn charts(&self) -> impl Iterator<Item = RepositoryChart<'_>> {
        self.charts.iter().filter_map(|(name, versions)| {
            let is_release = |version: &&RepositoryVersion| {
                parse_version(&version.version).is_some_and(|v| v.pre.is_empty())
            };
            let newest = versions.iter().find(is_release).or_else(|| versions.first())?;
            Some(RepositoryChart { name, newest, version_count: versions.len() })
        })
    }

    /// The versions of a chart, the newest first.
    ///
    /// # Errors
    /// There is no such chart.
    pub fn versions(&self, chart: &str) -> Result<&[RepositoryVersion], RepositoryError> {
        self.charts.get(chart).map(Vec::as_slice).ok_or_else(|| {
            let what = format!("The repository {} has no chart", self.url);
            RepositoryError::not_found(&what, chart, self.charts.keys().map(String::as_str))
        })
    }

    /// One version of a chart.
    ///
    /// # Errors
    /// There is no such chart or version.
    pub fn find(&self, chart: &str, version: &str) -> Result<&RepositoryVersion, RepositoryError> {
        let versions = self.versions(chart)?;
        versions.iter().find(|found| is_same_version(&found.version, version)).ok_or_else(|| {
            let what = format!("Chart {chart:?} of the repository {} has no version", self.url);
            RepositoryError::not_found(
                &what,
                version,
                versions.iter().map(|version| version.version.as_str()),
            )
        })
    }

    /// The first hundred entries that are left out, because they can't be used.
    pub fn rejected(&self) -> &[RejectedEntry] {
        &self.rejected
    }

    /// How many entries are left out.
    pub fn rejected_count(&self) -> usize {
        self.rejected_count
    }

    /// Parses an index. `url` is that of the repository.
    pub(super) fn parse(bytes: &[u8], url: Url, policy: EgressPolicy) -> Result<Self, RepositoryError> {
        let wrong = |reason: String| RepositoryError::invalid(format!("{url}index.yaml {reason}."));
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("is not UTF-8".to_owned()))?;
        let file = IndexFile::parse(text, MAX_NODES)
            .map_err(|error| wrong(format!("is no index: {}", shorten(&error))))?;
        if file.api_version != "v1" {
            return Err(wrong(format!(
                "has the apiVersion {:?}, which is not v1",
                shorten(&file.api_version)
            )));
        }
        let mut index =
            Self { url, policy, charts: BTreeMap::new(), rejected: Vec::new(), rejected_count: 0 };
        for (name, entries) in file.entries {
            index.add_chart(name, entries);
        }
        Ok(index)
    }

    fn add_chart(&mut self, name: String, entries: Vec<IndexEntry>) {
        let mut versions: Vec<(Version, RepositoryVersion)> = Vec::new();
        let mut known = HashSet::new();
        for entry in entries {
            let shown =
                format!("{} {}", shorten(&name), shorten(entry.version.as_deref().unwrap_or_default()));
            match entry.read(&name) {
                Ok((number, _)) if !known.insert(number.clone()) => {
                    self.reject(shown, "is listed twice; the first one is used");
                }
                Ok(version) => versions.push(version),
                Err(reason) => self.reject(shown, reason),
            }
        }
        versions.sort_by(|(a, _), (b, _)| b.cmp(a));
        if !versions.is_empty() {
            self.charts.insert(name, versions.into_iter().map(|(_, version)| version).collect());
        }
    }

    fn reject(&mut self, entry: String, reason: &'static str) {
        self.rejected_count += 1;
        if self.rejected.len() < MAX_REJECTED {
            self.rejected.push(RejectedEntry { entry, reason });
        }
    }
}

fn yaml_limits(max_nodes: usize) -> Options {
    options! {
        budget: budget! {
            max_nodes: max_nodes,
            max_events: 2 * max_nodes,
            max_total_scalar_bytes: MAX_INDEX_BYTES,
            max_depth: MAX_DEPTH,
            max_documents: 1,
            // Indexes are written by programs, which repeat nothing by reference.
            max_anchors: 0,
            max_aliases: 0,
        },
        emit_comments: false,
        with_snippet: false,
    }
}

#[derive(Deserialize)]
struct IndexFile {
    #[serde(rename = "apiVersion")]
    api_version: String,
    // `null` is an empty list; a missing field is not, which serde would not tell apart by itself.
    #[serde(deserialize_with = "entries::deserialize")]
    entries: BTreeMap<String, Vec<IndexEntry>>,
}

impl IndexFile {
    /// Helm accepts YAML and JSON; JSON is read much faster.
    fn parse(text: &str, max_nodes: usize) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return bounded_json::read(text, max_nodes).map_err(|error| error.to_string());
        }
        serde_saphyr::from_str_with_options(text, yaml_limits(max_nodes)).map_err(|error| error.to_string())
    }
}

/// The memory that an index may need while it is parsed, by the characters that precede values, in texts too.
pub(super) fn estimate_memory(bytes: &[u8]) -> u64 {
    let values = bytes.iter().filter(|byte| matches!(byte, b',' | b'{' | b'[' | b'\n')).count();
    (MEMORY_PER_BYTE * bytes.len() as u64).max(MEMORY_PER_VALUE * values as u64)
}

/// The fields that are used; an entry is a `Chart.yaml` with more fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexEntry {
    name: Option<String>,
    version: Option<String>,
    app_version: Option<String>,
    description: Option<String>,
    kube_version: Option<String>,
    deprecated: Option<bool>,
    r#type: Option<String>,
    digest: Option<String>,
    created: Option<String>,
    urls: Option<Vec<String>>,
}

impl IndexEntry {
    /// The version, or why the entry can't be used.
    fn read(self, chart: &str) -> Result<(Version, RepositoryVersion), &'static str> {
        if !is_chart_name(chart) {
            return Err("has a name that is not valid");
        }
        if self.name.is_some_and(|name| name != chart) {
            return Err("has another name than its list");
        }
        if self.r#type.is_some_and(|kind| kind == "library") {
            return Err("is a library chart, which renders nothing by itself");
        }
        let version = self.version.unwrap_or_default();
        let number = parse_version(&version).ok_or("has no semantic version")?;
        let digest = match self.digest.as_deref().map(str::trim).filter(|digest| !digest.is_empty()) {
            None => None,
            Some(text) => Some(parse_digest(text).ok_or("has a digest that is no SHA-256")?),
        };
        let location = self.urls.unwrap_or_default().into_iter().find(|url| !url.trim().is_empty());
        let found = RepositoryVersion {
            version,
            app_version: cut(self.app_version),
            description: cut(self.description),
            kubernetes_range: cut(self.kube_version),
            is_deprecated: self.deprecated.unwrap_or_default(),
            digest,
            created_at: self.created.and_then(|created| created.trim().parse().ok()),
            location: location.ok_or("has no URL of its archive")?,
        };
        Ok((number, found))
    }
}

fn cut(text: Option<String>) -> String {
    text.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect()
}

/// Repositories write digests without their algorithm.
fn parse_digest(text: &str) -> Option<Digest> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    format!("sha256:{}", digits.to_ascii_lowercase()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::error::RepositoryErrorKind;

    fn parse(text: &str) -> Result<RepositoryIndex, RepositoryError> {
        RepositoryIndex::parse(
            text.as_bytes(),
            Url::parse("https://charts.example.com/").unwrap(),
            EgressPolicy::PUBLIC_HTTPS,
        )
    }

    fn entries(text: &str) -> RepositoryIndex {
        parse(&format!("apiVersion: v1\nentries:\n{text}")).unwrap()
    }

    #[test]
    fn versions_are_sorted_and_the_newest_release_is_shown() {
        let index = entries(
            "  web:\n  - {name: web, version: 1.9.0, urls: [a]}\n  - {version: 2.0.0-rc.1, urls: [a]}\n  \
             - {version: v1.10.0, appVersion: 1.10, description: \"A\\tchart\", urls: [a], deprecated: true, kubeVersion: \">=1.30\"}\n",
        );
        let versions: Vec<_> =
            index.versions("web").unwrap().iter().map(|version| version.version.as_str()).collect();
        assert_eq!(versions, ["2.0.0-rc.1", "v1.10.0", "1.9.0"]);
        let charts: Vec<_> = index.charts().collect();
        let newest = charts[0].newest;
        assert_eq!((charts.len(), charts[0].name, charts[0].version_count), (1, "web", 3));
        assert_eq!(
            (&*newest.version, &*newest.app_version, &*newest.description),
            ("v1.10.0", "1.10", "Achart")
        );
        assert!(newest.is_deprecated && newest.kubernetes_range == ">=1.30");
        assert_eq!(index.find("web", "1.10.0").unwrap().version, "v1.10.0");
        let error = index.find("web", "1.9.9").unwrap_err();
        assert_eq!((error.kind, &*error.hint), (RepositoryErrorKind::NotFound, "Did you mean \"1.9.0\"?"));
        assert_eq!(index.versions("wep").unwrap_err().hint, "Did you mean \"web\"?");
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_named_and_hides_no_other() {
        let digest = "A".repeat(64);
        let index = entries(&format!(
            "  web:\n  - {{version: 1.0.0, urls: [a], digest: {digest}}}\n  - {{version: 1.0.0, urls: [b]}}\n  - {{version: latest, urls: [a]}}\n  \
             - {{version: 2.0.0}}\n  - {{version: 3.0.0, urls: [a], digest: abc}}\n  - {{name: other, version: 4.0.0, urls: [a]}}\n  \
             - {{version: 5.0.0, urls: [a], type: library}}\n  ../x:\n  - {{version: 1.0.0, urls: [a]}}\n  empty:\n"
        ));
        let charts: Vec<_> = index.charts().map(|chart| (chart.name, chart.version_count)).collect();
        assert_eq!(charts, [("web", 1)]);
        let web = index.find("web", "1.0.0").unwrap();
        assert_eq!(
            (web.digest.as_ref().map(Digest::as_str), &*web.location),
            (Some(&*format!("sha256:{}", "a".repeat(64))), "a")
        );
        let reasons: Vec<_> =
            index.rejected().iter().map(|rejected| (&*rejected.entry, rejected.reason)).collect();
        assert_eq!(
            reasons,
            [
                ("../x 1.0.0", "has a name that is not valid"),
                ("web 1.0.0", "is listed twice; the first one is used"),
                ("web latest", "has no semantic version"),
                ("web 2.0.0", "has no URL of its archive"),
                ("web 3.0.0", "has a digest that is no SHA-256"),
                ("web 4.0.0", "has another name than its list"),
                ("web 5.0.0", "is a library chart, which renders nothing by itself"),
            ]
        );
        assert_eq!(index.rejected_count(), 7);
    }

    #[test]
    fn a_text_that_is_no_index_is_an_error_and_an_empty_index_is_not() {
        for (text, reason) in [
            ("", "is no index"),
            ("<html><body>Sign in</body></html>", "is no index"),
            ("entries: {}\n", "apiVersion"),
            ("apiVersion: v1\n", "entries"),
            ("[v1, {}]", "is no index"),
            ("apiVersion: v2\nentries: {}\n", "not v1"),
            ("apiVersion: v1\nentries: [a]\n", "is no index"),
            ("apiVersion: v1\napiVersion: v1\nentries: {}\n", "is no index"),
            ("{\"apiVersion\": \"v1\", \"entries\": ", "is no index"),
            (
                "apiVersion: v1\nentries:\n  web: &a\n  - {version: 1.0.0, urls: [a]}\n  other: *a\n",
                "is no index",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.kind, RepositoryErrorKind::InvalidResponse, "{text}");
            assert!(error.message.contains(reason), "{text}: {}", error.message);
        }
        assert_eq!(parse("apiVersion: v1\nentries: {}\n").unwrap().charts().count(), 0);
        let json = "{\"apiVersion\":\"v1\",\"entries\":{\"web\":[{\"version\":\"1.0.0\",\"urls\":[\"a\"]}]}}";
        assert_eq!(parse(json).unwrap().charts().count(), 1);
    }

    #[test]
    fn p19_an_index_in_json_is_bounded_in_values_as_one_in_yaml_is() {
        let index = |entries: usize| {
            let many = "{},".repeat(entries);
            format!("{{\"apiVersion\":\"v1, \\\"2\",\"entries\":{{\"web\":[{many}{{}}]}}}}")
        };
        assert!(IndexFile::parse(&index(20), 100).is_ok());
        let refused = IndexFile::parse(&index(100), 100).err().unwrap();
        assert!(refused.contains("at most 100 are read"), "{refused}");
        let hostile = parse(&index(MAX_NODES)).unwrap_err();
        assert!(hostile.message.contains("values"), "{hostile}");
    }

    #[test]
    fn p19_an_index_is_bounded_in_entries_whatever_their_size() {
        let json = |entries: usize| {
            let many = "{},".repeat(entries / 2);
            format!("{{\"apiVersion\":\"v1\",\"entries\":{{\"a\":[{many}{{}}],\"b\":[{many}{{}}]}}}}")
        };
        assert!(parse(&json(1_000)).is_ok());
        let hostile = parse(&json(MAX_ENTRIES)).unwrap_err();
        assert!(hostile.message.contains("more than 200000 entries"), "{hostile}");
        let yaml = format!("apiVersion: v1\nentries:\n  a: [{}]\n", "{},".repeat(MAX_ENTRIES + 1));
        let hostile = parse(&yaml).unwrap_err();
        assert!(hostile.message.contains("more than 200000 entries"), "{hostile}");
    }

    #[test]
    fn p19_the_memory_of_an_index_follows_from_its_values_and_not_only_from_its_size() {
        let empty = "{},".repeat(990_000);
        assert!(estimate_memory(empty.as_bytes()) >= 990_000 * 300);
        assert_eq!(estimate_memory("a".repeat(1_000).as_bytes()), 40_000);
    }

    #[test]
    fn an_index_is_bounded_in_values_and_depth() {
        let wide = |items: usize| format!("apiVersion: v1\nentries: {{}}\nmore: [{}]\n", "a,".repeat(items));
        assert!(IndexFile::parse(&wide(90), 100).is_ok());
        assert!(IndexFile::parse(&wide(100), 100).is_err());
        let deep = |levels: usize| {
            format!("apiVersion: v1\nentries: {{}}\nmore: {}{}\n", "[".repeat(levels), "]".repeat(levels))
        };
        assert!(IndexFile::parse(&deep(20), MAX_NODES).is_ok());
        assert!(IndexFile::parse(&deep(40), MAX_NODES).is_err());
    }
}
