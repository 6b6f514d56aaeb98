//! Why a Git repository has no answer.

use egress::{FetchError, FetchErrorKind, StatusCode, Url};

use crate::memory_budget::MemoryExhausted;

/// Most characters of a text of a repository that a message repeats.
const MAX_SHOWN_CHARS: usize = 160;

/// A Git repository can't be read, or does not have what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GitError {
    /// The kind of failure.
    pub kind: GitErrorKind,
    /// What happened, as a sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// Kinds of failures, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitErrorKind {
    /// The settings of the server forbid the address.
    NotAllowed,
    /// No complete response; later it may succeed.
    Unreachable,
    /// The credentials are missing or wrong.
    Unauthorized,
    /// There is no such ref, commit or path.
    NotFound,
    /// The server does not speak version 2 of the Git protocol over HTTP.
    InvalidResponse,
    /// The response or the content exceeds a limit.
    TooLarge,
    /// The content at the path is not acceptable.
    RejectedContent,
    /// The memory for packs is in use; later it may succeed.
    ServerBusy,
}

impl GitErrorKind {
    /// Whether the same request may succeed later without a change of the source: the repository is down, or its credentials are
    /// replaced.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Unreachable | Self::Unauthorized | Self::NotAllowed | Self::ServerBusy)
    }
}

impl GitError {
    pub(super) fn new(kind: GitErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(
            GitErrorKind::InvalidResponse,
            message,
            "Check the URL: it must be one that `git clone` accepts, of a server with version 2 of the Git protocol.",
        )
    }

    /// The content at the path is refused; `entry` is named.
    pub(super) fn rejected(entry: &str, reason: &str, hint: &str) -> Self {
        let message = format!("The entry {:?} of the repository {reason}.", shorten(entry));
        Self::new(GitErrorKind::RejectedContent, message, hint)
    }

    pub(super) fn from_task(error: &tokio::task::JoinError) -> Self {
        Self::new(
            GitErrorKind::Unreachable,
            format!("The response of the repository could not be read: {error}."),
            "Try again; if it fails again, look at the log of the server.",
        )
    }

    /// The error for a response without success.
    pub(super) fn from_status(status: StatusCode, url: &Url) -> Self {
        let (kind, hint) = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => (
                GitErrorKind::Unauthorized,
                "Check the URL, and add a user name and a token for the repository if it is not public: flotilla git repo add, or page \
                 Charts. Some servers respond like this to repositories that the credentials do not allow.",
            ),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                (GitErrorKind::Unreachable, "Try again later.")
            }
            _ => (GitErrorKind::InvalidResponse, "Check the URL of the repository."),
        };
        let url = shorten(url.as_str().split(['?', '#']).next().unwrap_or_default());
        Self::new(kind, format!("{url} responds {status}."), hint)
    }
}

impl From<MemoryExhausted> for GitError {
    fn from(error: MemoryExhausted) -> Self {
        Self::new(GitErrorKind::ServerBusy, error.to_string(), "Try again in a moment.")
    }
}

impl From<FetchError> for GitError {
    fn from(error: FetchError) -> Self {
        let (kind, hint) = match error.kind {
            FetchErrorKind::NotAllowed => (
                GitErrorKind::NotAllowed,
                "Use https and a public address, or let the server's option --git-repositories allow repositories of its own network.",
            ),
            FetchErrorKind::Unreachable | FetchErrorKind::Timeout => {
                (GitErrorKind::Unreachable, "Check the address and the network of the server, and try again.")
            }
            FetchErrorKind::TooSlow => (
                GitErrorKind::Unreachable,
                "Try again later; if it stays slow, use a mirror of the repository.",
            ),
            FetchErrorKind::TooLarge => (
                GitErrorKind::TooLarge,
                "Use a repository without large files, or publish the content as a packed chart.",
            ),
            FetchErrorKind::Credentials => {
                (GitErrorKind::Unauthorized, "Check user name and token of the repository.")
            }
            FetchErrorKind::Redirect | FetchErrorKind::InvalidResponse => {
                (GitErrorKind::InvalidResponse, "Check the URL of the repository.")
            }
        };
        Self::new(kind, format!("{error}."), hint)
    }
}

/// The beginning of a text of a repository, without control characters, which would change a terminal or a log.
pub(super) fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect()
}
