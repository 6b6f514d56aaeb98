//! Why a repository has no answer.

use domain::nearest::find_nearest;
use egress::{FetchError, FetchErrorKind, StatusCode, Url};

use crate::memory_budget::MemoryExhausted;

/// Most characters of a text of a repository that a message repeats.
const MAX_SHOWN_CHARS: usize = 120;

/// A repository can't be read, or does not have what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RepositoryError {
    /// The kind of failure.
    pub kind: RepositoryErrorKind,
    /// What happened, as a sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// Kinds of failures, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryErrorKind {
    /// The settings of the server forbid the address.
    NotAllowed,
    /// No complete response; later it may succeed.
    Unreachable,
    /// The credentials are missing or wrong, or not for the server that requests them.
    Unauthorized,
    /// There is no such chart or version.
    NotFound,
    /// The response does not have the form of a repository.
    InvalidResponse,
    /// The response exceeds a limit.
    TooLarge,
    /// The content is not the one that was published, or fetched before.
    DigestMismatch,
    /// The archive is no chart that is accepted.
    RejectedArchive,
    /// This kind of repository does not have the operation.
    Unsupported,
    /// The memory for reading it is in use; later it may succeed.
    ServerBusy,
}

impl RepositoryErrorKind {
    /// Whether the same request may succeed later without a change by anybody.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Unreachable | Self::ServerBusy)
    }
}

impl RepositoryError {
    pub(super) fn new(kind: RepositoryErrorKind, message: String, hint: impl Into<String>) -> Self {
        Self { kind, message, hint: hint.into() }
    }

    pub(super) fn invalid(message: String) -> Self {
        let hint = "Check the URL of the repository; if it is right, tell its maintainers.";
        Self::new(RepositoryErrorKind::InvalidResponse, message, hint)
    }

    pub(super) fn from_task(error: &tokio::task::JoinError) -> Self {
        let message = format!("The response could not be read: {error}.");
        Self::new(
            RepositoryErrorKind::Unreachable,
            message,
            "Try again; if it fails again, look at the log of the server.",
        )
    }

    /// A chart or version that does not exist. `what` begins the sentence; the names are those that exist.
    pub(super) fn not_found<'a>(what: &str, wanted: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.collect();
        let hint = match find_nearest(wanted, names.iter().copied()) {
            Some(near) => format!("Did you mean {near:?}?"),
            None if names.is_empty() => "Check the name and the repository.".to_owned(),
            None => {
                let shown: Vec<&str> = names.iter().copied().take(5).collect();
                format!("It has {}.", shorten(&shown.join(", ")))
            }
        };
        Self::new(RepositoryErrorKind::NotFound, format!("{what} {:?}.", shorten(wanted)), hint)
    }

    /// The error for a response without success. `what` names the requested thing.
    pub(super) fn from_status(status: StatusCode, url: &Url, what: &str) -> Self {
        let (kind, hint) = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (
                RepositoryErrorKind::Unauthorized,
                "Check the user name and password of the repository. Some servers respond like this to names that do not exist.",
            ),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                (RepositoryErrorKind::NotFound, "Check the URL of the repository and the name.")
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                (RepositoryErrorKind::Unreachable, "Try again later.")
            }
            _ => (RepositoryErrorKind::InvalidResponse, "Check the URL of the repository."),
        };
        // The query of a URL can contain a signature.
        let url = shorten(url.as_str().split(['?', '#']).next().unwrap_or_default());
        Self::new(kind, format!("{url} responds {status} to the request of {what}."), hint)
    }
}

impl From<MemoryExhausted> for RepositoryError {
    fn from(error: MemoryExhausted) -> Self {
        Self::new(RepositoryErrorKind::ServerBusy, error.to_string(), "Try again in a moment.")
    }
}

impl From<FetchError> for RepositoryError {
    fn from(error: FetchError) -> Self {
        let (kind, hint) = match error.kind {
            FetchErrorKind::NotAllowed => (
                RepositoryErrorKind::NotAllowed,
                "Use https and a public address, or let the server's settings allow repositories of its own network.",
            ),
            FetchErrorKind::Unreachable | FetchErrorKind::Timeout => (
                RepositoryErrorKind::Unreachable,
                "Check the address and the network of the server, and try again.",
            ),
            FetchErrorKind::TooSlow => (
                RepositoryErrorKind::Unreachable,
                "Try again later; if it stays slow, use a mirror of the repository, or upload the chart.",
            ),
            FetchErrorKind::TooLarge => {
                (RepositoryErrorKind::TooLarge, "Use a repository with smaller files.")
            }
            FetchErrorKind::Credentials => (
                RepositoryErrorKind::Unauthorized,
                "Check user name and password, and name the token endpoint of the registry if it is on another host.",
            ),
            FetchErrorKind::Redirect | FetchErrorKind::InvalidResponse => {
                (RepositoryErrorKind::InvalidResponse, "Check the URL of the repository.")
            }
        };
        Self::new(kind, format!("{error}."), hint)
    }
}

/// The beginning of a text of a repository, without control characters, which would change a terminal or a log.
pub(super) fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect()
}
