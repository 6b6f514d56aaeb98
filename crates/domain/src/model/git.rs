//! Git repositories as the source of a workload: the address, the pinned commit, and what happens when the ref moves.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::time::Timestamp;
use crate::model::chart::{ChartSource, check_values};
use crate::text::finding::Finding;

/// Longest URL of a Git repository, in bytes.
pub const MAX_URL_BYTES: usize = 500;
/// Longest name of a branch or a tag, in bytes.
pub const MAX_REF_BYTES: usize = 250;
/// Longest path in a repository, in bytes.
pub const MAX_PATH_BYTES: usize = 512;

/// Manifests, a chart or a kustomization in a Git repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// URL of the repository: `https://host/path`.
    pub repository: String,
    /// A branch, a tag, or a commit with all 40 digits; empty for the default branch.
    #[serde(rename = "ref", default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// A folder or a file in the repository; empty for all of it.
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
    /// The commit, 40 hex digits.
    pub commit: String,
    /// Git's id of the tree or file at the path: equal for equal content.
    pub tree: String,
    /// Digest of the stored content.
    pub digest: Digest,
    /// What the content is.
    pub content: GitContent,
    /// Number of files that are used.
    pub files: u32,
    /// Name of the author.
    pub author: String,
    /// First line of the message.
    pub subject: String,
    /// When it was committed.
    pub committed_at: Timestamp,
}

impl PinnedCommit {
    /// The first digits of the commit, for display.
    pub fn short(&self) -> &str {
        short_commit(&self.commit)
    }
}

/// The first digits of a commit, for display.
pub fn short_commit(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// Whether the text is a commit with all its digits.
pub fn is_commit_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The URL without what is no part of its identity: spaces around it and a slash at its end.
pub fn normalize_url(url: &str) -> &str {
    url.trim().trim_end_matches('/')
}

impl GitSource {
    /// Whether the pinned content is a chart.
    pub fn is_chart(&self) -> bool {
        self.pinned.as_ref().is_some_and(|pinned| pinned.content == GitContent::Chart)
    }

    /// Whether another source reads the same path of the same ref: only the commit may differ.
    pub fn has_same_address(&self, other: &Self) -> bool {
        (&self.repository, &self.reference, &self.path) == (&other.repository, &other.reference, &other.path)
    }

    /// Whether the ref can move: a commit with all its digits can't.
    pub fn can_move(&self) -> bool {
        !is_commit_id(&self.reference)
    }

    /// The ref for people.
    pub fn reference_label(&self) -> &str {
        if self.reference.is_empty() { "the default branch" } else { &self.reference }
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
            .chain(check_reference(&self.reference))
            .chain(check_path(&self.path))
            .collect();
        findings
            .extend(check_values("The values", &self.values).map(|found| found.with_path("/source/values")));
        if self.is_chart() {
            findings.extend(self.to_chart_source().check_release_name(workload));
        }
        findings
    }
}

/// G121: the form of a URL. Which servers may be reached is a setting of the hub.
pub fn check_url(url: &str, path: &str) -> Option<Finding> {
    let url = url.trim();
    let refuse = |message: String, hint: &str| Some(Finding::error("G121", message, hint).with_path(path));
    let example = "Write https://host/path, such as https://github.com/acme/deploy.git.";
    if url.is_empty() {
        return refuse("No Git repository is named.".to_owned(), example);
    }
    if url.len() > MAX_URL_BYTES {
        let message = format!(
            "The URL of the repository has {} bytes; at most {MAX_URL_BYTES} are allowed.",
            url.len()
        );
        return refuse(message, "Use a shorter URL.");
    }
    let is_ssh = url.starts_with("ssh://") || url.starts_with("git@") || url.starts_with("git+ssh://");
    if is_ssh {
        return refuse(
            format!("{:?} is read over SSH, which is not supported.", shorten(url)),
            "Write the https:// URL of the repository, and add a token for it: flotilla git repo add, or page Charts.",
        );
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

    fn source(url: &str, reference: &str, path: &str) -> GitSource {
        GitSource {
            repository: url.into(),
            reference: reference.into(),
            path: path.into(),
            ..GitSource::default()
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
        let first = |source: GitSource| source.check("web").remove(0);
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
            let found = first(source(ssh, "", ""));
            assert!(found.message.contains("SSH") && found.hint.contains("token"), "{found:?}");
        }
        for refused in ["--upload-pack=x", "a..b", "a b", "a^", "x.lock", "a\nb", "@{u}"] {
            assert_eq!(first(source(url, refused, "")).path, "/source/ref", "{refused}");
        }
        for refused in ["../secrets", "/etc", "a//b", "a/./b", "a\\b", "C:x"] {
            assert_eq!(first(source(url, "", refused)).path, "/source/path", "{refused}");
        }
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
