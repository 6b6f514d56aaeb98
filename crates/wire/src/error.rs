//! Why a call gave nothing.

use domain::Finding;

use crate::Problem;

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the server can't be used.
    #[error("{0:?} is no address of a Flotilla server; write it as https://flotilla.example.com")]
    BadServer(String),
    /// The token has characters that no token has.
    #[error("The token has characters that no token has; copy it again.")]
    BadToken,
    /// The server said no, and why.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// The server could not be reached, or the connection broke and a retry did not help.
    #[error("{server} can't be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// What happened.
        why: String,
    },
    /// Something answered, but not as Flotilla does.
    #[error("The answer is not one of a Flotilla server (status {status}): {why}")]
    NotUnderstood {
        /// HTTP status.
        status: u16,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// The problem, if the server gave one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }

    /// The code of the problem, such as `NotFound`; empty if the server gave none.
    pub fn code(&self) -> &str {
        self.problem().map_or("", |problem| &problem.code)
    }

    /// The findings, when the server refused the input.
    pub fn findings(&self) -> &[Finding] {
        self.problem().map_or(&[], |problem| &problem.findings)
    }

    /// Whether it was said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|problem| problem.status == 404)
    }

    /// Whether the credential is missing, wrong or over.
    pub fn is_unauthenticated(&self) -> bool {
        self.problem().is_some_and(|problem| problem.status == 401)
    }
}
