//! Git repositories and OCI artifacts as the source of a workload: the address, what its ref is pinned to, and what happens when the
//! ref moves.
//!
//! An OCI artifact is a repository of a registry, its refs are tags, and a commit is the manifest that a tag refers to, named by
//! its digest.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::image::{self, ImageReference};
use crate::kubernetes::time::Timestamp;
use crate::model::chart::{ChartSource, check_values};
use crate::model::ssh_url::{SshUrl, is_ssh_url};
use crate::text::finding::Finding;

/// Longest URL of a Git repository, in bytes.
pub const MAX_URL_BYTES: usize = 500;
/// Longest name of a branch or a tag, in bytes.
pub const MAX_REF_BYTES: usize = 250;
/// Longest path in a repository, in bytes.
pub const MAX_PATH_BYTES: usize = 512;

/// How the address of an OCI artifact begins.
const OCI_SCHEME: &str = "oci://";
/// The tag of an OCI artifact if none is named.
pub const DEFAULT_TAG: &str = "latest";

/// Manifests, a chart or a kustomization in a Git repository or an OCI artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemoteSource {
    /// URL of the repository: `https://host/path`, `ssh://user@host/path` or `user@host:path` for Git, `oci://registry/path` for an OCI
    /// artifact.
    pub repository: String,
    /// Git: a branch, a tag, or a commit with all 40 digits; empty for the default branch. OCI: a tag, or the digest of a manifest;
    /// empty for `latest`.
    #[serde(rename = "ref", default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// A folder or a file in it; empty for all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What happens when the ref moves to another commit.
    #[serde(default, skip_serializing_if = "OnNewCommit::is_default")]
    pub on_new_commit: OnNewCommit,
    /// Name of the Helm release, if the path is a chart; empty for the name of the workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub release_name: String,
    /// The common values, if the path is a chart, as YAML with its comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// The commit that is used. The hub sets it when the draft is saved; absent while the repository can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<PinnedCommit>,
}

/// What happens with a workload when its ref moves to a commit with other content at its path.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum OnNewCommit {
    /// The draft has the new commit; a person publishes it.
    #[default]
    Draft,
    /// The commit is published, and the rollout waits for an approval after its first wave.
    FirstWave,
    /// The commit is published.
    All,
}

impl OnNewCommit {
    /// Every value.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the path of a commit contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum GitContent {
    /// YAML or JSON files with Kubernetes objects.
    #[default]
    Manifests,
    /// A Helm chart.
    Chart,
    /// A folder with a `kustomization.yaml`.
    Kustomize,
}

impl GitContent {
    /// What it is, for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Chart => "Helm chart",
            Self::Kustomize => "kustomization",
        }
    }
}

/// A commit of a repository and its content at the path of a source. The content is stored by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PinnedCommit {
    /// The commit, 40 hex digits; for an OCI artifact the digest of its manifest, `sha256:` and 64 hex digits.
    pub commit: String,
    /// Git's id of the tree or file at the path: equal for equal content. For an OCI artifact the digest of its archive.
    pub tree: String,
    /// Digest of the stored content.
    pub digest: Digest,
    /// What the content is.
    pub content: GitContent,
    /// Number of files that are used.
    pub files: u32,
    /// Name of the author; for an OCI artifact its annotation `org.opencontainers.image.authors`, empty without one.
    pub author: String,
    /// First line of the message; for an OCI artifact its annotation `org.opencontainers.image.revision`, or `…version`.
    pub subject: String,
    /// When it was committed, or the artifact was created; 1970 if an artifact does not say it.
    pub committed_at: Timestamp,
}

impl PinnedCommit {
    /// The first digits of the commit, for display.
    pub fn short(&self) -> &str {
        short_commit(&self.commit)
    }
}

/// The first digits of a commit or of the digest of an artifact, for display.
pub fn short_commit(commit: &str) -> &str {
    let digits = commit.strip_prefix("sha256:").unwrap_or(commit);
    digits.get(..8).unwrap_or(digits)
}

/// What a commit is about and who made it, as `"Fix the port" by ada`; `None` if an artifact says neither.
pub fn describe_origin(subject: &str, author: &str) -> Option<String> {
    match (subject, author) {
        ("", "") => None,
        (subject, "") => Some(format!("{subject:?}")),
        ("", author) => Some(format!("by {author}")),
        (subject, author) => Some(format!("{subject:?} by {author}")),
    }
}

/// Whether the text is a commit of Git with all its digits.
pub fn is_commit_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether the URL is that of an OCI artifact.
pub fn is_oci_url(url: &str) -> bool {
    url.trim_start().starts_with(OCI_SCHEME)
}

/// The registry and repository of the URL of an OCI artifact, without its scheme.
pub fn strip_oci_scheme(url: &str) -> Option<&str> {
    url.trim().strip_prefix(OCI_SCHEME)
}

/// The URL without what is no part of its identity: spaces around it and a slash at its end.
pub fn normalize_url(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}

impl RemoteSource {
    /// Whether the pinned content is a chart.
    pub fn is_chart(&self) -> bool {
        self.pinned.as_ref().is_some_and(|pinned| pinned.content == GitContent::Chart)
    }

    /// Whether another source reads the same path of the same ref: only the commit may differ.
    pub fn has_same_address(&self, other: &Self) -> bool {
        (&self.repository, &self.reference, &self.path) == (&other.repository, &other.reference, &other.path)
    }

    /// Whether it is an OCI artifact, and no Git repository.
    pub fn is_oci(&self) -> bool {
        is_oci_url(&self.repository)
    }

    /// Whether the text names a commit of this source, or the manifest of an artifact, with all its digits.
    pub fn is_immutable(&self, reference: &str) -> bool {
        if self.is_oci() { image::is_digest(reference) } else { is_commit_id(reference) }
    }

    /// Whether the ref can move: a commit or a digest with all its digits can't.
    pub fn can_move(&self) -> bool {
        !self.is_immutable(&self.reference)
    }

    /// The ref for people.
    pub fn reference_label(&self) -> &str {
        match &*self.reference {
            "" if self.is_oci() => DEFAULT_TAG,
            "" => "the default branch",
            reference => reference,
        }
    }

    /// What its ref refers to, for people.
    pub fn commit_noun(&self) -> &'static str {
        if self.is_oci() { "artifact" } else { "commit" }
    }

    /// The name of its kind, for people.
    pub fn kind_label(&self) -> &'static str {
        if self.is_oci() { "OCI artifact" } else { "Git" }
    }

    /// The chart source of the same name and values, for a path with a chart.
    pub fn to_chart_source(&self) -> ChartSource {
        ChartSource {
            release_name: self.release_name.clone(),
            values: self.values.clone(),
            ..ChartSource::default()
        }
    }

    /// Removes what is no part of the address: spaces, and slashes at the ends of URL and path.
    pub fn normalize(&mut self) {
        self.repository = normalize_url(&self.repository).to_owned();
        self.reference = self.reference.trim().to_owned();
        self.path = self.path.trim().trim_matches('/').to_owned();
        if self.path == "." {
            self.path.clear();
        }
    }

    /// G121: checks the fields themselves. Paths are relative to the workload's spec.
    pub fn check(&self, workload: &str) -> Vec<Finding> {
        let mut findings: Vec<Finding> = check_url(&self.repository, "/source/repository")
            .into_iter()
            .chain(self.check_reference())
            .chain(check_path(&self.path))
            .collect();
        findings
            .extend(check_values("The values", &self.values).map(|found| found.with_path("/source/values")));
        if self.is_chart() {
            findings.extend(self.to_chart_source().check_release_name(workload));
        }
        findings
    }

    /// G121: the form of a ref.
    fn check_reference(&self) -> Option<Finding> {
        if self.is_oci() { check_tag(&self.reference) } else { check_reference(&self.reference) }
    }
}

/// G121: the form of a URL. Which servers may be reached is a setting of the hub.
pub fn check_url(url: &str, path: &str) -> Option<Finding> {
    let url = url.trim();
    let refuse = |message: String, hint: &str| Some(Finding::error("G121", message, hint).with_path(path));
    let example = "Write https://host/path, such as https://github.com/acme/deploy.git, ssh://git@host/path, or oci://registry/path of an artifact.";
    if url.is_empty() {
        return refuse("No repository is named.".to_owned(), example);
    }
    if url.len() > MAX_URL_BYTES {
        let message = format!(
            "The URL of the repository has {} bytes; at most {MAX_URL_BYTES} are allowed.",
            url.len()
        );
        return refuse(message, "Use a shorter URL.");
    }
    if let Some(rest) = strip_oci_scheme(url) {
        let found = check_artifact(rest)?;
        let hint =
            "Write the registry and the repository, such as oci://ghcr.io/acme/deploy; the tag is the ref.";
        return refuse(format!("{:?} is no URL of an OCI artifact: {found}.", shorten(url)), hint);
    }
    if is_ssh_url(url) {
        let found = SshUrl::parse(url).err()?;
        let hint = "Write ssh://git@host/path or git@host:path, as the server shows it.";
        return refuse(format!("{:?} is no URL of a Git repository over SSH: {found}.", shorten(url)), hint);
    }
    let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")) else {
        return refuse(format!("{:?} is no https:// URL of a Git repository.", shorten(url)), example);
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return refuse(
            "The URL of the repository contains a user name or password.".to_owned(),
            "Remove it from the URL and add it to the project: flotilla git repo add URL --username NAME --password-file FILE.",
        );
    }
    // One repository must not have several spellings: its credentials and allowed signers are found by the URL.
    if rest.contains(['%', '\\']) || rest.contains("//") {
        return refuse(
            format!("{:?} contains \"%\", \"\\\" or an empty part.", shorten(url)),
            "Write the URL as the server shows it.",
        );
    }
    if host.is_empty() || rest.contains(['?', '#', ' ']) || rest.chars().any(char::is_control) {
        return refuse(format!("{:?} is no URL of a Git repository.", shorten(url)), example);
    }
    None
}

/// Why the registry and repository of an artifact are not valid.
fn check_artifact(name: &str) -> Option<&'static str> {
    let reference = match ImageReference::parse(name) {
        Ok(reference) => reference,
        Err(reason) => return Some(reason),
    };
    if reference.tag.is_some() || reference.digest.is_some() {
        return Some("it contains a tag or a digest");
    }
    // Without a registry, a short name would be one of Docker Hub, which has no artifacts by such names.
    (!name.starts_with(&format!("{}/", reference.registry))).then_some("it names no registry")
}

/// G121: the form of a tag or digest, by the rules of the OCI distribution specification.
fn check_tag(reference: &str) -> Option<Finding> {
    let is_valid = reference.is_empty() || image::is_tag(reference) || image::is_digest(reference);
    (!is_valid).then(|| {
        let message = format!("{:?} is no tag of an OCI artifact.", shorten(reference));
        let hint = "Write a tag (letters, digits, \"_\", \".\" and \"-\", at most 128), or sha256: and 64 hex digits.";
        Finding::error("G121", message, hint).with_path("/source/ref")
    })
}

/// G121: the form of a ref, by the rules of `git check-ref-format`.
fn check_reference(reference: &str) -> Option<Finding> {
    let is_refused = reference.len() > MAX_REF_BYTES
        || reference.starts_with(['-', '/', '.'])
        || reference.ends_with(['/', '.'])
        || reference.ends_with(".lock")
        || ["..", "//", "@{"].iter().any(|part| reference.contains(part))
        || reference.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c));
    is_refused.then(|| {
        let message = format!("{:?} is no name of a branch or a tag.", shorten(reference));
        Finding::error("G121", message, "Write a branch, a tag, or a commit with all 40 digits.")
            .with_path("/source/ref")
    })
}

/// G121: the form of a path in a repository.
fn check_path(path: &str) -> Option<Finding> {
    let is_refused = path.len() > MAX_PATH_BYTES
        || path.starts_with('/')
        || path.contains(['\\', ':'])
        || path.chars().any(char::is_control)
        || (!path.is_empty() && path.split('/').any(|part| matches!(part, "" | "." | "..")));
    is_refused.then(|| {
        let message = format!("{:?} is no path in a repository.", shorten(path));
        Finding::error("G121", message, "Write a folder or file such as deploy/production, without \"..\".")
            .with_path("/source/path")
    })
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(url: &str, reference: &str, path: &str) -> RemoteSource {
        RemoteSource {
            repository: url.into(),
            reference: reference.into(),
            path: path.into(),
            ..RemoteSource::default()
        }
    }

    #[test]
    fn g121_a_git_source_is_refused_by_url_ref_and_path() {
        let url = "https://git.example.com/acme/deploy.git";
        for (reference, path) in
            [("", ""), ("main", "deploy/prod"), ("refs/tags/v1.0", "a.yaml"), ("feature/x", "..a")]
        {
            assert_eq!(source(url, reference, path).check("web"), [], "{reference} {path}");
        }
        let first = |source: RemoteSource| source.check("web").remove(0);
        for refused in [
            "",
            "file:///etc",
            "git://a/b",
            "https://",
            "https://a/b?c",
            "https://u:p@a/b",
            "-oProxyCommand=x",
            "https://a.test//b",
            "https://a.test/%62",
        ] {
            let found = first(source(refused, "", ""));
            assert_eq!((&*found.code, &*found.path), ("G121", "/source/repository"), "{refused}");
        }
        for ssh in ["git@github.com:acme/deploy.git", "ssh://git@github.com/acme/deploy"] {
            assert_eq!(source(ssh, "main", "").check("web"), [], "{ssh}");
        }
        let found = first(source("git@github.com:a b", "", ""));
        assert!(found.message.contains("over SSH") && found.hint.contains("git@host:path"), "{found:?}");
        for refused in ["--upload-pack=x", "a..b", "a b", "a^", "x.lock", "a\nb", "@{u}"] {
            assert_eq!(first(source(url, refused, "")).path, "/source/ref", "{refused}");
        }
        for refused in ["../secrets", "/etc", "a//b", "a/./b", "a\\b", "C:x"] {
            assert_eq!(first(source(url, "", refused)).path, "/source/path", "{refused}");
        }
    }

    #[test]
    fn g121_an_oci_artifact_is_a_registry_and_a_repository_with_a_tag_or_a_digest() {
        let (url, digest) = ("oci://ghcr.io/acme/deploy", format!("sha256:{}", "a".repeat(64)));
        for (url, reference) in
            [(url, ""), (url, "v1.2.3"), (url, &*digest), ("oci://localhost:5000/deploy", "latest")]
        {
            assert_eq!(source(url, reference, "prod").check("web"), [], "{url} {reference}");
        }
        for (refused, reason) in [
            ("oci://", "must not be empty"),
            ("oci://deploy", "names no registry"),
            ("oci://ghcr.io/acme/deploy:v1", "contains a tag"),
            ("oci://ghcr.io/Acme/deploy", "lower case"),
            ("oci://u:p@ghcr.io/a", "sha256"),
            ("oci://ghcr.io/../admin", "repository name"),
        ] {
            let found = source(refused, "", "").check("web").remove(0);
            assert_eq!((&*found.code, &*found.path), ("G121", "/source/repository"), "{refused}");
            assert!(found.message.contains(reason), "{refused}: {}", found.message);
        }
        let found = source(url, "feature/x", "").check("web").remove(0);
        assert_eq!((&*found.code, &*found.path), ("G121", "/source/ref"));
        assert!(source(url, "v1", "").can_move() && !source(url, &digest, "").can_move());
        assert_eq!(source(url, "", "").reference_label(), "latest");
        assert_eq!(short_commit(&digest), "aaaaaaaa");
    }

    #[test]
    fn an_address_is_normalized_and_only_a_branch_or_tag_can_move() {
        let mut one = source(" https://a.test/b/ ", " main ", "/deploy/");
        one.normalize();
        assert_eq!(one, source("https://a.test/b", "main", "deploy"));
        assert!(one.can_move());
        assert!(!source("", &"a1".repeat(20), "").can_move());
        assert!(source("", &"A1".repeat(20), "").can_move(), "Git writes digits in lower case");
    }
}
