//! Errors of queries and actions: `hub::Error`, one to one, in a form that may leave the server.
//!
//! Internal errors carry no text to the browser; the log has it. The HTTP status is set where the error is created, so that
//! the page of a missing workload has status 404, not 200.

use domain::Finding;
use serde::{Deserialize, Serialize};

/// What an outage of the server or its database does not affect.
pub const STILL_WORKS: &str = "Workloads keep running: the agents keep applying what was published and revert drift. What you typed stays on this page.";

/// The result of every server function.
pub type AppResult<T> = Result<T, AppError>;

/// Why a server function failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum AppError {
    /// The input is invalid; every finding has a location and a hint.
    #[error("{}", summarize_findings(.0))]
    Invalid(Vec<Finding>),
    /// The object does not exist.
    #[error("There is no {what} {name:?}.")]
    NotFound {
        /// The noun.
        what: String,
        /// The requested name.
        name: String,
    },
    /// An object with this name exists already.
    #[error("{0}")]
    AlreadyExists(String),
    /// The object was changed since it was read.
    #[error(
        "Not saved: somebody else changed this in the meantime. Your text is still in the form; open the page in another tab and merge the changes."
    )]
    RevisionConflict {
        /// Its current revision.
        current: i64,
    },
    /// The reviewed plan differs from what would be published now.
    #[error("{0}")]
    PlanStale(String),
    /// Clusters rejected the plan, and their codes are not forced.
    #[error("{message}")]
    PlanRejected {
        /// The codes and what to do.
        message: String,
        /// What was rejected.
        findings: Vec<Finding>,
    },
    /// A change of several objects failed for some of them.
    #[error("{}", summarize_failures(.done, .failed))]
    PartlyFailed {
        /// The names of those that were changed.
        done: Vec<String>,
        /// The others.
        failed: Vec<ChangeFailure>,
    },
    /// Not possible in the current state, with the reason.
    #[error("{0}")]
    FailedPrecondition(String),
    /// No user is signed in, or the credential is invalid.
    #[error("{0}")]
    Unauthenticated(String),
    /// The role of the user does not allow it.
    #[error("{0}")]
    Forbidden(String),
    /// Too many attempts to sign in failed; this one was not tried.
    #[error("{message}")]
    TooManyAttempts {
        /// When the next attempt is allowed, in words.
        message: String,
        /// The same in seconds.
        retry_after_seconds: u32,
    },
    /// So much of this kind waits or is in memory on the server that nothing was saved.
    #[error("{0}")]
    ServerBusy(String),
    /// The database executes nothing now, and why; nothing was saved.
    #[error("{0}")]
    DatabaseUnavailable(String),
    /// The connection to the database was lost while the change was saved.
    #[error(
        "The connection to the database was lost while this was saved, so it is not known whether it was. Open this page in another tab: if the change is not there, repeat it here."
    )]
    OutcomeUnknown,
    /// A stored row can't be read, with what to do.
    #[error("{0}")]
    Unreadable(String),
    /// An internal error of the server.
    #[error("The server failed because of an internal error; its log has the details.")]
    Internal,
    /// The browser did not reach the server, or could not decode its response.
    #[error(
        "The server did not respond. It is not known whether the change was saved; check before you repeat it."
    )]
    Unreachable,
}

/// An object whose change failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFailure {
    /// Its name.
    pub name: String,
    /// Why, and what to do.
    pub message: String,
}

impl AppError {
    /// The findings of an invalid input.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid(findings) | Self::PlanRejected { findings, .. } => findings,
            _ => &[],
        }
    }

    /// The title over the message.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Not valid",
            Self::NotFound { .. } => "Not found",
            Self::AlreadyExists(_) => "Already exists",
            Self::RevisionConflict { .. } => "Changed in the meantime",
            Self::PlanStale(_) => "The plan is stale",
            Self::PlanRejected { .. } => "Rejected by clusters",
            Self::PartlyFailed { done, .. } if done.is_empty() => "Failed",
            Self::PartlyFailed { .. } => "Failed in part",
            Self::FailedPrecondition(_) => "Not possible now",
            Self::Unauthenticated(_) => "Not signed in",
            Self::Forbidden(_) => "Not allowed",
            Self::TooManyAttempts { .. } => "Too many attempts",
            Self::ServerBusy(_) => "The server is busy",
            Self::DatabaseUnavailable(_) => "The database is not available",
            Self::OutcomeUnknown => "Not known whether it was saved",
            Self::Unreadable(_) => "Stored data can't be read",
            Self::Internal => "Server error",
            Self::Unreachable => "No response",
        }
    }

    /// Whether the server or its database is the cause, and not the request: the same request may succeed later.
    pub const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::ServerBusy(_) | Self::DatabaseUnavailable(_) | Self::OutcomeUnknown | Self::Unreachable
        )
    }

    /// An error with one finding.
    pub fn from_finding(finding: Finding) -> Self {
        Self::Invalid(vec![finding])
    }
}

/// Which were changed; the failures are listed.
fn summarize_failures(done: &[String], failed: &[ChangeFailure]) -> String {
    let total = done.len() + failed.len();
    let done = if done.is_empty() { "none".to_owned() } else { done.join(", ") };
    format!("{} of {total} failed. Done: {done}.", failed.len())
}

fn summarize_findings(findings: &[Finding]) -> String {
    match findings {
        [] => "The input is not valid.".to_owned(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
    }
}

#[cfg(feature = "ssr")]
impl From<hub::Error> for AppError {
    fn from(error: hub::Error) -> Self {
        match error {
            hub::Error::Invalid(findings) => Self::Invalid(findings),
            hub::Error::NotFound { what, name } => Self::NotFound { what: what.into_owned(), name },
            hub::Error::AlreadyExists(why) => Self::AlreadyExists(why),
            hub::Error::RevisionConflict { current } => Self::RevisionConflict { current },
            hub::Error::PlanStale(why) => Self::PlanStale(why),
            hub::Error::PlanRejected { message, findings } => Self::PlanRejected { message, findings },
            hub::Error::NameTaken(finding) | hub::Error::ConfirmationRequired(finding) => {
                Self::Invalid(vec![*finding])
            }
            hub::Error::FailedPrecondition(why) => Self::FailedPrecondition(why.to_string()),
            hub::Error::SessionUnknown => Self::FailedPrecondition(hub::Error::SessionUnknown.to_string()),
            hub::Error::IdempotencyKeyReused => {
                Self::FailedPrecondition(hub::Error::IdempotencyKeyReused.to_string())
            }
            hub::Error::TooManyAttempts { retry_after_seconds } => {
                Self::TooManyAttempts { message: error.to_string(), retry_after_seconds }
            }
            hub::Error::Unauthenticated(why) => Self::Unauthenticated(why.to_owned()),
            hub::Error::Forbidden(_) | hub::Error::TokenLimited(_) => Self::Forbidden(error.to_string()),
            hub::Error::ServerBusy { .. } | hub::Error::BeingRestored { .. } => {
                Self::ServerBusy(error.to_string())
            }
            hub::Error::DatabaseUnavailable(..) => Self::DatabaseUnavailable(error.to_string()),
            hub::Error::CommitOutcomeUnknown(_) => Self::OutcomeUnknown,
            hub::Error::Unreadable { message, .. } => Self::Unreadable(message),
            hub::Error::Internal(_) => Self::Internal,
        }
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn an_internal_error_carries_no_text_to_the_browser() {
        let error = AppError::from(hub::Error::Internal("secret path".into()));
        assert!(!format!("{error:?} {error}").contains("secret"));
    }
}
