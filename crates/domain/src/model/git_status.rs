//! What is known about a ref that workloads follow, and what its last move led to.

use serde::{Deserialize, Serialize};

use crate::kubernetes::time::Timestamp;
use crate::model::remote::{OnNewCommit, PinnedCommit, RemoteSource, describe_origin, short_commit};

/// What is known about a ref of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitRefStatus {
    /// The commit that the ref referred to when it was last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Author of that commit; empty until it is fetched.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// First line of its message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// When it was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<Timestamp>,
    /// When the ref was last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// When it was first found at that commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_at: Option<Timestamp>,
    /// Why the last check failed; the last commit is still shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<GitFailure>,
}

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitFailure {
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// When.
    pub at: Timestamp,
    /// How many checks failed without a success between them.
    pub attempts: u32,
}

/// What a new commit led to for one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitFollowStatus {
    /// The commit; empty before the first one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Why it is not used. What runs is not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<GitFailure>,
    /// The revision that it was published as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// How far it is ahead of the published commit; absent if that is not known, or nothing is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<CommitsAhead>,
}

/// The distance of a commit from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommitsAhead {
    /// The earlier commit.
    pub of: String,
    /// How many commits the later one has that the earlier one does not have.
    pub count: u32,
}

/// The Git source of a workload: what is pinned, published and in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitSourceStatus {
    /// URL of the repository.
    pub repository: String,
    /// The ref; empty for the default branch.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The path.
    pub path: String,
    /// What happens when the ref moves.
    pub on_new_commit: OnNewCommit,
    /// The commit of the draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<PinnedCommit>,
    /// The commit of the published revision, if it has the same repository and path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PinnedCommit>,
    /// What is known about the ref.
    pub status: GitRefStatus,
    /// When it is checked again; absent for a commit, which can't move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_check_at: Option<Timestamp>,
    /// What the last new commit led to.
    pub follow: GitFollowStatus,
    /// All of this as sentences for people.
    pub message: String,
}

impl GitSourceStatus {
    /// Describes where the draft is in relation to the ref.
    pub fn describe(
        source: &RemoteSource,
        published: Option<&PinnedCommit>,
        status: &GitRefStatus,
        follow: &GitFollowStatus,
    ) -> String {
        let (label, noun) = (source.reference_label(), source.commit_noun());
        let mut text = match (&source.pinned, &status.commit) {
            (Some(pinned), Some(tip)) if pinned.commit == *tip => {
                format!("The draft has the newest {noun} of {label}, {}.", pinned.short())
            }
            (Some(pinned), Some(tip)) => {
                let mut moved = format!("{label} moved from {} to {}", pinned.short(), short_commit(tip));
                if let Some(origin) = describe_origin(&status.subject, &status.author) {
                    moved.push_str(&format!(" ({origin})"));
                }
                moved.push('.');
                moved
            }
            (Some(pinned), None) => format!("The draft has {noun} {}.", pinned.short()),
            (None, _) => format!("The {noun} is not known yet."),
        };
        let ahead = follow.ahead.as_ref().zip(published).filter(|(ahead, published)| {
            ahead.of == published.commit && status.commit.as_ref() == Some(&follow.commit)
        });
        if let Some((CommitsAhead { count, .. }, published)) = ahead {
            let commits = if *count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
            text.push_str(&format!(
                " {label} is {commits} ahead of the published commit {}.",
                published.short()
            ));
        }
        if let Some(failure) = &status.failure {
            text.push_str(&format!(" The last check failed: {} {}", failure.message, failure.hint));
        }
        if let Some(blocked) = &follow.blocked {
            text.push_str(&format!(
                " The {noun} {} is blocked: {} {}",
                short_commit(&follow.commit),
                blocked.message,
                blocked.hint
            ));
        }
        text
    }
}
