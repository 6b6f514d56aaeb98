//! Errors of queries and actions: `hub::Error`, one to one, in a form that may leave the server.
//!
//! Internal errors carry no text to the browser; the log has it. The HTTP status is set where the error is created, so that
//! the page of a missing workload has status 404, not 200.

use domain::Finding;
use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
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
    /// Not possible in the current state, with the reason.
    #[error("{0}")]
    FailedPrecondition(String),
    /// No user is signed in, or the credential is invalid.
    #[error("{0}")]
    Unauthenticated(String),
    /// Too many attempts to sign in failed; this one was not tried.
    #[error("{message}")]
    TooManyAttempts {
        /// When the next attempt is allowed, in words.
        message: String,
        /// The same in seconds.
        retry_after_seconds: u32,
    },
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
            Self::FailedPrecondition(_) => "Not possible now",
            Self::Unauthenticated(_) => "Not signed in",
            Self::TooManyAttempts { .. } => "Too many attempts",
            Self::DatabaseUnavailable(_) => "The database is not available",
            Self::OutcomeUnknown => "Not known whether it was saved",
            Self::Unreadable(_) => "Stored data can't be read",
            Self::Internal => "Server error",
            Self::Unreachable => "No response",
        }
    }

    /// Whether the server or its database is the cause, and not the request: the same request may succeed later.
    pub const fn is_outage(&self) -> bool {
        matches!(self, Self::DatabaseUnavailable(_) | Self::OutcomeUnknown | Self::Unreachable)
    }

    /// An error with one finding.
    pub fn from_finding(finding: Finding) -> Self {
        Self::Invalid(vec![finding])
    }
}

impl FromServerFnError for AppError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => Self::from_finding(
                Finding::error("G100", "The form could not be read.", "Load the page again."),
            ),
            _ => Self::Unreachable,
        }
    }
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
            hub::Error::DatabaseUnavailable(..) => Self::DatabaseUnavailable(error.to_string()),
            hub::Error::CommitOutcomeUnknown(_) => Self::OutcomeUnknown,
            hub::Error::Unreadable { message, .. } => Self::Unreadable(message),
            hub::Error::Internal(_) => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_the_wire() {
        let error = AppError::NotFound { what: "workload".into(), name: "web".into() };
        assert_eq!(AppError::de(error.ser()), error);
        assert_eq!(error.to_string(), "There is no workload \"web\".");
    }

    #[test]
    fn g100_a_form_that_cannot_be_read_is_a_finding_and_no_lost_connection() {
        let error = AppError::from_server_fn_error(ServerFnErrorErr::MissingArg("name".into()));
        assert_eq!(error.findings()[0].code, "G100");
        assert_eq!(
            AppError::from_server_fn_error(ServerFnErrorErr::Request("reset".into())),
            AppError::Unreachable
        );
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn an_internal_error_carries_no_text_to_the_browser() {
        let error = AppError::from(hub::Error::Internal("secret path".into()));
        assert!(!format!("{error:?} {error}").contains("secret"));
    }
}
