//! Charts as the source of a workload: the reference, the values and the inputs of a rendering (S1-10, S1-11).

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::name;
use crate::kubernetes::time::Timestamp;
use crate::text::finding::Finding;
use crate::text::manifest::yaml_value;
use crate::text::secret_text::check_hidden_value;

/// The repository of charts that were uploaded to the project.
pub const LOCAL_REPOSITORY: &str = "local";
/// Longest name of a Helm release, so that names derived from it stay valid.
pub const MAX_RELEASE_NAME: usize = 53;
/// The Kubernetes version that a chart is rendered for where no cluster is selected or has reported its own.
pub const SAMPLE_KUBERNETES_VERSION: &str = "v1.36.0";
/// Text in a template that makes its output depend on the cluster's version or APIs.
pub const CAPABILITIES: &str = "Capabilities";
/// Fields of `.Release` in a template that differ between an installation and an upgrade.
pub const RELEASE_PHASES: [&str; 2] = ["IsInstall", "IsUpgrade"];

/// A chart, and what it is rendered with on every cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartSource {
    /// Repository and name of the chart: `local/podinfo`.
    pub chart: String,
    /// Its version. Never a range: the same revision is the same chart.
    pub version: String,
    /// Name of the Helm release, `.Release.Name` in templates; empty for the name of the workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub release_name: String,
    /// The common values, as YAML with its comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
}

/// A chart reference, split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChartRef<'a> {
    /// The repository: [`LOCAL_REPOSITORY`] or the name of another one.
    pub repository: &'a str,
    /// The name in the repository.
    pub name: &'a str,
}

impl ChartSource {
    /// The parts of the reference; `None` if it does not have the form `repository/name`.
    pub fn reference(&self) -> Option<ChartRef<'_>> {
        let (repository, name) = self.chart.split_once('/')?;
        let is_valid = name::is_label(repository) && is_chart_name(name);
        is_valid.then_some(ChartRef { repository, name })
    }

    /// The name of the Helm release of this workload.
    pub fn release_name_or<'a>(&'a self, workload: &'a str) -> &'a str {
        if self.release_name.is_empty() { workload } else { &self.release_name }
    }

    /// Checks the fields themselves. Paths are relative to the workload's spec.
    pub fn check(&self, workload: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(self.check_reference());
        if self.version.trim().is_empty() {
            findings.push(
                Finding::error(
                    "G112",
                    "The version of the chart is not set.",
                    "Choose a version: the newest one would change the workload without a publish.",
                )
                .with_path("/source/version"),
            );
        } else if semver::Version::parse(self.version.trim_start_matches('v')).is_err() {
            let message = format!("{:?} is no version of a chart.", shorten(&self.version));
            findings.push(
                Finding::error("G112", message, "Write a full version such as 6.14.1, not a range.")
                    .with_path("/source/version"),
            );
        }
        findings.extend(self.check_release_name(workload));
        findings
            .extend(check_values("The values", &self.values).map(|found| found.with_path("/source/values")));
        findings
    }

    fn check_reference(&self) -> Option<Finding> {
        if self.reference().is_some() {
            return None;
        }
        let chart = shorten(&self.chart);
        let (message, hint) = if self.chart.trim().is_empty() {
            ("No chart is chosen.".to_owned(), "Choose a chart, or upload one.".to_owned())
        } else if self.chart.contains('/') {
            (
                format!("{chart:?} does not name a chart."),
                "Write the repository and the name, such as local/podinfo.".to_owned(),
            )
        } else {
            (format!("Chart {chart:?} has no repository."), format!("Write \"{LOCAL_REPOSITORY}/{chart}\"."))
        };
        Some(Finding::error("G112", message, hint).with_path("/source/chart"))
    }

    /// G103: Helm's rule for names of releases.
    pub(crate) fn check_release_name(&self, workload: &str) -> Option<Finding> {
        let release = self.release_name_or(workload);
        let length = release.chars().count();
        // Without a name of its own, an invalid name of the workload is reported there.
        let is_valid = name::is_subdomain(release) || self.release_name.is_empty();
        let finding = if length > MAX_RELEASE_NAME {
            let message = format!(
                "Release name {:?} has {length} characters; Helm allows {MAX_RELEASE_NAME}.",
                shorten(release)
            );
            Finding::error("G103", message, "Set a shorter release name.")
        } else if is_valid {
            return None;
        } else {
            let message = format!("Release name {:?} is not valid.", shorten(release));
            Finding::error(
                "G103",
                message,
                "Use lower-case letters, digits, \"-\" and \".\", with a letter or digit at both ends.",
            )
        };
        Some(finding.with_path("/source/releaseName"))
    }
}

/// Checks values as text: YAML with one document, which is a map without a hidden value. `what` begins the sentence.
pub fn check_values(what: &str, text: &str) -> Option<Finding> {
    match yaml_value::read(text) {
        Err(mut finding) => {
            finding.message = format!("{what}: {}", finding.message);
            Some(finding)
        }
        Ok(Some(values @ serde_json::Value::Object(_))) => check_hidden_value(what, &values),
        Ok(None | Some(serde_json::Value::Null)) => None,
        Ok(Some(_)) => Some(Finding::error(
            "G109",
            format!("{what} are not a map."),
            "Write keys and values, such as replicaCount: 2.",
        )),
    }
}

/// Whether Helm accepts it as the name of a chart: letters, digits, `-`, `_` and `.`, neither `.` nor `..`.
pub fn is_chart_name(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty()
        && text.len() <= 250
        && text.chars().all(is_allowed)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Everything that the output of a chart depends on. Clusters with equal inputs share one rendering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartInputs {
    /// Digest of the archive.
    pub chart: Digest,
    /// Name of the Helm release.
    pub release_name: String,
    /// Namespace of the release.
    pub namespace: String,
    /// The effective values, as JSON with sorted keys.
    pub values: String,
    /// Version of the API server.
    pub kubernetes_version: String,
    /// The served APIs as `group/version` and `group/version/Kind`, sorted; empty if the chart does not depend on them.
    pub api_versions: Vec<String>,
    /// Whether it is an upgrade, `.Release.IsUpgrade`; always false for a chart that does not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_upgrade: bool,
    /// Whether the values are not compared with `values.schema.json`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_schema_validation: bool,
}

impl ChartInputs {
    /// The digest of these inputs.
    pub fn digest(&self) -> Digest {
        // Serialization of a struct of texts does not fail.
        Digest::compute(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A chart of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartVersion {
    /// Repository: `local` for uploaded charts.
    pub repository: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of the archive.
    pub digest: Digest,
    /// Size of the archive in bytes.
    pub size: u64,
    /// Version of the application in it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// What it is, in the author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The Kubernetes versions that it supports, as a range; empty for every version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_range: String,
    /// Whether its templates depend on the cluster's version or APIs.
    #[serde(default)]
    pub uses_capabilities: bool,
    /// Whether its templates differ between an installation and an upgrade.
    #[serde(default)]
    pub uses_release_phase: bool,
    /// Who uploaded it.
    pub created_by: String,
    /// When it was uploaded.
    pub created_at: Timestamp,
}

/// A chart with the files that a person reads before using it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartDetails {
    /// The chart.
    #[serde(flatten)]
    pub chart: ChartVersion,
    /// Its `values.yaml`, with comments.
    pub default_values: String,
    /// Its README as Markdown; empty without one.
    pub readme: String,
    /// Its `values.schema.json`; empty without one.
    pub values_schema: String,
    /// The charts that it depends on, as `Chart.yaml` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<ChartDependency>,
    /// Addresses of its home and its sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Whether the maintainers advise against it.
    #[serde(default)]
    pub deprecated: bool,
    /// The files that are too long for a response: the text of one of them is missing here, or is its beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<ShortenedFile>,
}

impl ChartDetails {
    /// Why the text of this file is missing here, or is its beginning; `None` if it is complete.
    pub fn find_shortened(&self, path: &str) -> Option<&ShortenedFile> {
        self.shortened.iter().find(|one| one.path == path)
    }
}

/// A file of a chart that is too long for a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShortenedFile {
    /// Its path in the chart.
    pub path: String,
    /// What is missing and why, in sentences.
    pub reason: String,
}

/// A chart that a chart depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartDependency {
    /// Its name.
    pub name: String,
    /// The versions that are accepted; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Where it comes from; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The value that turns it on; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// The key below which its values are: its alias or its name.
    pub values_key: String,
}

/// A workload whose draft or a revision of it names a chart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChartUse {
    /// Name of the workload.
    pub workload: String,
    /// The chart: repository and name.
    pub chart: String,
    /// The version; empty if the draft names none, or can't be read.
    pub version: String,
}

impl ChartVersion {
    /// The reference that a source names it by.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.repository, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(reference: &str, version: &str) -> ChartSource {
        ChartSource { chart: reference.into(), version: version.into(), ..ChartSource::default() }
    }

    fn findings(source: &ChartSource) -> Vec<(String, String)> {
        source.check("web").into_iter().map(|found| (found.code.clone(), found.message)).collect()
    }

    #[test]
    fn g112_a_chart_is_named_by_repository_name_and_version() {
        assert_eq!(findings(&chart("local/podinfo", "6.14.1")), []);
        assert_eq!(findings(&chart("local/podinfo", "v1.0.0-rc.1+build")), []);
        let one = |reference: &str, version: &str| findings(&chart(reference, version)).remove(0).1;
        assert_eq!(one("tomcat", "1.0.0"), "Chart \"tomcat\" has no repository.");
        assert_eq!(one("", "1.0.0"), "No chart is chosen.");
        assert_eq!(one("local/..", "1.0.0"), "\"local/..\" does not name a chart.");
        assert_eq!(one("local/-f", "1.0.0"), "\"local/-f\" does not name a chart.");
        assert_eq!(one("local/a/b", "1.0.0"), "\"local/a/b\" does not name a chart.");
        assert_eq!(one("local/a", ""), "The version of the chart is not set.");
        assert_eq!(one("local/a", "^1.0"), "\"^1.0\" is no version of a chart.");
    }

    #[test]
    fn g103_the_name_of_a_release_has_at_most_53_characters() {
        let named = |release: &str| ChartSource { release_name: release.into(), ..chart("local/a", "1.0.0") };
        assert_eq!(findings(&named("quiet-otter.v2")), []);
        assert_eq!(findings(&named("-rf"))[0].0, "G103");
        let long = findings(&named(&"a".repeat(54)));
        assert_eq!(long[0].0, "G103");
        assert!(long[0].1.ends_with("has 54 characters; Helm allows 53."), "{long:?}");
        assert_eq!(chart("local/a", "1.0.0").check(&"a".repeat(60))[0].code, "G103");
        assert_eq!(named("x").release_name_or("web"), "x");
        assert_eq!(chart("local/a", "1.0.0").release_name_or("web"), "web");
    }

    #[test]
    fn values_are_one_map_and_problems_name_the_line() {
        assert_eq!(check_values("The values", "# only a comment\n"), None);
        let hidden = check_values("The values", "db: {users: [{password: (hidden)}]}\n").unwrap();
        assert_eq!(
            (&*hidden.code, hidden.is_blocking()),
            ("G124", true),
            "values that were copied as they are shown"
        );
        assert!(hidden.message.ends_with("at /db/users/0/password."), "{}", hidden.message);
        assert_eq!(check_values("The values", "a: 1 # one\nb: null\n"), None);
        assert_eq!(check_values("The values", "- 1\n").unwrap().message, "The values are not a map.");
        let twice = check_values("The values", "a: 1\na: 2\n").unwrap();
        assert!(twice.message.starts_with("The values: "), "{}", twice.message);
    }

    #[test]
    fn p32_equal_inputs_have_the_same_digest() {
        let inputs = ChartInputs {
            chart: Digest::compute(b"chart"),
            release_name: "web".into(),
            namespace: "shop".into(),
            values: "{}".into(),
            kubernetes_version: "v1.36.0".into(),
            api_versions: vec!["apps/v1".into()],
            is_upgrade: false,
            skip_schema_validation: false,
        };
        assert_eq!(inputs.digest(), inputs.clone().digest());
        assert_eq!(
            inputs.digest().as_str(),
            "sha256:29c02f7a2e92cef604021cfa3478b7ebd1bad1bd3d2c063fbd5d5e983fd7c350",
            "the digest is stored: a change of the form renders every chart again"
        );
    }
}
