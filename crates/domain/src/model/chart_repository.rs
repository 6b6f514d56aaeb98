//! Repositories of charts that a project uses: their address, what of them is shown, and the list of their charts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::time::Timestamp;
use crate::model::chart::{ChartDetails, ChartUse, LOCAL_REPOSITORY};
use crate::text::finding::Finding;
use crate::text::name_check;

/// Credentials of a repository as they are entered. They are sent to the origin of its URL only, and never shown again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RepositoryCredentials {
    /// The repository is public.
    #[default]
    None,
    /// User name and password.
    Basic {
        /// The user name.
        #[serde(rename = "userName")]
        user_name: String,
        /// The password, or a token that takes its place.
        password: String,
        /// URL of the registry's token endpoint, if it is at another host than the registry.
        #[serde(rename = "tokenEndpoint", default, skip_serializing_if = "String::is_empty")]
        token_endpoint: String,
    },
    /// A token for an HTTP repository.
    Bearer {
        /// The token.
        token: String,
    },
}

impl fmt::Debug for RepositoryCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_login(), f)
    }
}

impl RepositoryCredentials {
    /// Them without the secret.
    pub fn to_login(&self) -> RepositoryLogin {
        match self {
            Self::None => RepositoryLogin::None,
            Self::Basic { user_name, token_endpoint, .. } => RepositoryLogin::Basic {
                user_name: user_name.clone(),
                token_endpoint: token_endpoint.clone(),
            },
            Self::Bearer { .. } => RepositoryLogin::Bearer,
        }
    }
}

/// How a repository is signed in to, without the secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RepositoryLogin {
    /// The repository is public.
    #[default]
    None,
    /// With a user name and a password.
    Basic {
        /// The user name.
        #[serde(rename = "userName")]
        user_name: String,
        /// URL of the registry's token endpoint; empty for the registry itself.
        #[serde(rename = "tokenEndpoint", default, skip_serializing_if = "String::is_empty")]
        token_endpoint: String,
    },
    /// With a token.
    Bearer,
}

/// A new repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewChartRepository {
    /// Its name, the first part of references to its charts; not `local`.
    pub name: String,
    /// `https://host/path` of the folder with `index.yaml`, or `oci://host/path`.
    pub url: String,
    /// Whether an OCI registry is requested over plain HTTP, if the server allows that.
    #[serde(default)]
    pub plain_http: bool,
    /// The credentials.
    #[serde(default)]
    pub credentials: RepositoryCredentials,
}

/// A change of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartRepositoryPut {
    /// The URL.
    pub url: String,
    /// Whether an OCI registry is requested over plain HTTP.
    #[serde(default)]
    pub plain_http: bool,
    /// The credentials; unchanged if omitted, which requires the same scheme, host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<RepositoryCredentials>,
}

/// A repository, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChartRepository {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// Whether an OCI registry is requested over plain HTTP.
    #[serde(default)]
    pub plain_http: bool,
    /// How it is signed in to.
    pub login: RepositoryLogin,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision.
    pub revision: i64,
    /// What is known about its charts.
    pub status: RepositoryStatus,
}

/// What is known about the charts of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepositoryStatus {
    /// Number of charts in the last complete index; absent if none was read, and for OCI registries, which have no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_count: Option<u32>,
    /// Entries of that index that are left out, because they can't be used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected_entries: u32,
    /// When the index was last found complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshed_at: Option<Timestamp>,
    /// Why the last refresh failed; the last complete index stays in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RepositoryFailure>,
    /// How many refreshes in a row were begun and have no result: the server ended, or the last one still runs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished_refreshes: u32,
    /// When the index is due again; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_refresh_at: Option<Timestamp>,
    /// Stored versions, as `name version`, for which the repository now publishes other content. The stored ones stay in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_versions: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A refresh that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepositoryFailure {
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// When.
    pub at: Timestamp,
    /// How many refreshes failed without a success between them.
    pub attempts: u32,
}

/// A chart in the index of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedChart {
    /// Its name.
    pub name: String,
    /// What it is, in the author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its versions, the newest first.
    pub versions: Vec<IndexedVersion>,
}

/// A version in the index of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexedVersion {
    /// The version.
    pub version: String,
    /// Version of the application in it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// The Kubernetes versions that it supports, as a range; empty for every version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_range: String,
    /// Whether the maintainers advise against it.
    #[serde(default)]
    pub deprecated: bool,
    /// Digest of the archive, if the repository publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// When it was published, if the repository says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

impl IndexedChart {
    /// The newest version that is no pre-release; the newest of all if there are only pre-releases.
    pub fn newest(&self) -> Option<&IndexedVersion> {
        self.versions.iter().find(|found| is_stable(&found.version)).or_else(|| self.versions.first())
    }

    /// This version, with or without a leading `v`.
    pub fn find(&self, version: &str) -> Option<&IndexedVersion> {
        self.versions.iter().find(|found| is_same_version(&found.version, version))
    }
}

/// A chart that can be used: uploaded, fetched, or in the index of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CatalogChart {
    /// Repository and name: `bitnami/nginx`.
    pub chart: String,
    /// The newest version that is no pre-release; the newest of all if there are only pre-releases.
    pub version: String,
    /// Version of the application in it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// What it is; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the maintainers advise against that version.
    #[serde(default)]
    pub deprecated: bool,
    /// Number of versions.
    pub version_count: u32,
}

/// A version of a chart that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CatalogVersion {
    /// The version.
    pub version: String,
    /// Version of the application in it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// The Kubernetes versions that it supports, as a range; empty for every version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes_range: String,
    /// Whether the maintainers advise against it.
    #[serde(default)]
    pub deprecated: bool,
    /// When it was published or uploaded, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Whether the archive is stored here, so that the repository is not needed.
    pub is_stored: bool,
}

/// A chart for its page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartDescription {
    /// Repository and name.
    pub chart: String,
    /// The version in detail.
    pub version: String,
    /// Every version, the newest first.
    pub versions: Vec<CatalogVersion>,
    /// The version in detail; `None` if it can't be read now.
    pub details: Option<ChartDetails>,
    /// Why it can't be read.
    pub findings: Vec<Finding>,
    /// Its README as HTML that is safe to show; empty without one.
    pub readme_html: String,
    /// The workloads that use the chart, in any version.
    pub used_by: Vec<ChartUse>,
}

/// Whether a version is no pre-release.
pub fn is_stable(version: &str) -> bool {
    parse_version(version).is_some_and(|version| version.pre.is_empty())
}

/// Whether two texts name the same version.
pub fn is_same_version(a: &str, b: &str) -> bool {
    a == b || parse_version(a).is_some_and(|version| parse_version(b) == Some(version))
}

/// The semantic version in a text. Helm accepts a `v` before it.
pub fn parse_version(text: &str) -> Option<semver::Version> {
    semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// Checks the name of a repository.
pub fn check_repository_name(name: &str) -> Option<Finding> {
    if name == LOCAL_REPOSITORY {
        let message =
            format!("A repository can't have the name {LOCAL_REPOSITORY:?}: uploaded charts have it.");
        return Some(Finding::error("G112", message, "Choose another name.").with_path("/name"));
    }
    name_check::check_label("Repository name", name).map(|finding| finding.with_path("/name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> IndexedVersion {
        IndexedVersion { version: text.into(), ..IndexedVersion::default() }
    }

    #[test]
    fn the_newest_version_is_no_pre_release_if_there_is_another() {
        let mut chart = IndexedChart {
            versions: vec![version("2.0.0-rc.1"), version("v1.10.0"), version("1.9.0")],
            ..IndexedChart::default()
        };
        assert_eq!(chart.newest().unwrap().version, "v1.10.0");
        assert_eq!(chart.find("1.10.0").unwrap().version, "v1.10.0");
        chart.versions.truncate(1);
        assert_eq!(chart.newest().unwrap().version, "2.0.0-rc.1");
    }

    #[test]
    fn the_name_of_a_repository_is_a_label_and_not_that_of_uploaded_charts() {
        assert_eq!(check_repository_name("bitnami"), None);
        assert!(check_repository_name("local").unwrap().message.contains("uploaded charts"));
        assert_eq!(check_repository_name("Bit/nami").unwrap().path, "/name");
    }

    #[test]
    fn debug_output_of_credentials_has_no_secret() {
        let basic = RepositoryCredentials::Basic {
            user_name: "ci".into(),
            password: "s3cret".into(),
            token_endpoint: String::new(),
        };
        let shown = format!("{basic:?} {:?}", RepositoryCredentials::Bearer { token: "s3cret".into() });
        assert!(shown.contains("ci") && !shown.contains("s3cret"), "{shown}");
    }
}
