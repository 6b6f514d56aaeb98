//! Errors of the API clients.

use domain::Finding;

use crate::Problem;

/// Why an API call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the server can't be used.
    #[error("{0:?} is not the URL of a Flotilla server; write it as https://flotilla.example.com")]
    InvalidServerUrl(String),
    /// The token has characters that can't be sent.
    #[error("The token contains invalid characters; copy it again.")]
    InvalidToken,
    /// The server rejected the request.
    #[error("{0}")]
    Rejected(Box<Problem>),
    /// The server could not be reached, or the connection broke and a retry did not help.
    #[error("{server} can't be reached: {cause}")]
    Unreachable {
        /// The server.
        server: String,
        /// The cause.
        cause: String,
    },
    /// The response is not one of a Flotilla server, or the request can't be built.
    #[error("The response is not one of a Flotilla server (status {status}): {cause}")]
    InvalidResponse {
        /// HTTP status; 0 if nothing was sent.
        status: u16,
        /// The cause.
        cause: String,
    },
}

impl Error {
    /// The problem, if the server returned one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Rejected(problem) => Some(problem),
            _ => None,
        }
    }

    /// The code of the problem, such as `NotFound`; empty if the server returned none.
    pub fn code(&self) -> &str {
        self.problem().map_or("", |problem| &problem.code)
    }

    /// The findings, if the server rejected the input.
    pub fn findings(&self) -> &[Finding] {
        self.problem().map_or(&[], |problem| &problem.findings)
    }

    /// Whether the server returned 404.
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|problem| problem.status == 404)
    }

    /// Whether the credential is missing, invalid or expired (401).
    pub fn is_unauthenticated(&self) -> bool {
        self.problem().is_some_and(|problem| problem.status == 401)
    }
}
