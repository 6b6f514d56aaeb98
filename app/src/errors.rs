//! What a page says when a query or verb gave nothing: `hub::Error`, one to one, in a form that may leave the server.
//!
//! Faults of ours carry no text out of the house; the log has it. The HTTP status is set where the error is made, so a
//! page about a workload that is not there answers 404 and not 200 with a sad picture.

use domain::Finding;
use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
use serde::{Deserialize, Serialize};

/// What every server function gives.
pub type Answer<T> = Result<T, AppError>;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum AppError {
    /// The input is wrong; every finding says where and what to do.
    #[error("{}", first(.0))]
    Invalid(Vec<Finding>),
    /// There is no such thing.
    #[error("There is no {what} {name:?}.")]
    NotFound {
        /// The noun.
        what: String,
        /// The name asked for.
        name: String,
    },
    /// Something with this name is there already.
    #[error("{0}")]
    Exists(String),
    /// Somebody changed it in between.
    #[error(
        "Not saved: somebody changed this meanwhile. Your text is kept here; open the page again in another tab and merge."
    )]
    Changed {
        /// The revision it has now.
        current: i64,
    },
    /// What the person saw before publishing is not what would be published now.
    #[error("{0}")]
    PlanStale(String),
    /// Not now, and why.
    #[error("{0}")]
    NotNow(String),
    /// Nobody is signed in, or the credential is not valid.
    #[error("{0}")]
    Unauthenticated(String),
    /// The database does not answer; nothing was stored.
    #[error("The database does not answer; nothing was stored. Try again in a moment.")]
    Busy,
    /// Our fault.
    #[error("Something went wrong inside Flotilla; the server's log has the details.")]
    Internal,
    /// The browser did not reach the server, or did not understand it.
    #[error("The server did not answer. Nothing is known to be stored; look again before you repeat it.")]
    Unreachable,
}

impl AppError {
    /// The findings, when the input is wrong.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid(findings) => findings,
            _ => &[],
        }
    }

    /// The headline over the sentence.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Not valid",
            Self::NotFound { .. } => "Not here",
            Self::Exists(_) => "Taken",
            Self::Changed { .. } => "Changed meanwhile",
            Self::PlanStale(_) => "The plan is stale",
            Self::NotNow(_) => "Not now",
            Self::Unauthenticated(_) => "Not signed in",
            Self::Busy => "The database does not answer",
            Self::Internal => "Our fault",
            Self::Unreachable => "No answer",
        }
    }

    /// One finding as an error.
    pub fn finding(finding: Finding) -> Self {
        Self::Invalid(vec![finding])
    }
}

impl FromServerFnError for AppError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => {
                Self::finding(Finding::error("G100", "The form could not be read.", "Load the page again."))
            }
            _ => Self::Unreachable,
        }
    }
}

fn first(findings: &[Finding]) -> String {
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
            hub::Error::NotFound { what, name } => Self::NotFound { what: what.to_owned(), name },
            hub::Error::Exists(why) => Self::Exists(why),
            hub::Error::Changed { current } => Self::Changed { current },
            hub::Error::PlanStale(why) => Self::PlanStale(why),
            hub::Error::Taken(finding) | hub::Error::Unconfirmed(finding) => Self::Invalid(vec![*finding]),
            hub::Error::NotNow(why) => Self::NotNow(why.to_string()),
            hub::Error::KeyReused => Self::NotNow(hub::Error::KeyReused.to_string()),
            hub::Error::Unauthenticated(why) => Self::Unauthenticated(why.to_owned()),
            hub::Error::Busy(_) => Self::Busy,
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

    #[cfg(feature = "ssr")]
    #[test]
    fn a_fault_of_ours_carries_no_text_out_of_the_house() {
        let error = AppError::from(hub::Error::Internal("secret path".into()));
        assert!(!format!("{error:?} {error}").contains("secret"));
    }
}
