//! Why a command failed: a message (what, where, why) and a hint (what to do).

use std::io;

use domain::Finding;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::output::count_findings;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// A failure of the command line itself.
    Report(Box<FailureReport>),
    /// An error of the server or of the connection.
    Wire(wire::Error),
    /// The reader of stdout is gone, which is no failure (`flotilla events | head`).
    StdoutClosed,
}

/// A failure as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureReport {
    /// The exit code.
    pub exit: ExitStatus,
    /// What, where and why.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
    /// What the guard rails found.
    pub findings: Vec<Finding>,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::build(ExitStatus::Failed, message, hint)
    }

    /// A failure with exit code 2: the command line is wrong.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::build(ExitStatus::Usage, message, hint)
    }

    /// A failure with this exit code.
    pub fn with_exit(exit: ExitStatus, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::build(exit, message, hint)
    }

    fn build(exit: ExitStatus, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self::Report(Box::new(FailureReport { exit, message, hint, findings: Vec::new() }))
    }

    /// The failure as it is printed; `remote` is the called server. `None` if stdout is closed.
    pub fn into_report(self, remote: Option<&ServerConnection>) -> Option<FailureReport> {
        match self {
            Self::Report(report) => Some(*report),
            Self::StdoutClosed => None,
            Self::Wire(error) => Some(wire_report(error, remote)),
        }
    }
}

fn wire_report(error: wire::Error, remote: Option<&ServerConnection>) -> FailureReport {
    let exit = match error {
        wire::Error::InvalidServerUrl(_) | wire::Error::InvalidToken => ExitStatus::Usage,
        _ if error.code() == "PlanStale" => ExitStatus::StalePlan,
        _ if !error.findings().is_empty() => ExitStatus::Rejected,
        _ => ExitStatus::Failed,
    };
    let message = match &error {
        wire::Error::Unreachable { server, cause: why } => {
            format!("The server at {server} can't be reached: {why}.")
        }
        error if error.code() == "ConfirmationRequired" => {
            "Not published: it would remove the workload from many clusters. Confirm their number with --confirm."
                .to_owned()
        }
        // The findings are printed separately.
        error if !error.findings().is_empty() => {
            format!("Rejected by the guard rails: {}.", count_findings(error.findings()))
        }
        other => other.to_string(),
    };
    let hint = wire_hint(&error, remote);
    FailureReport { exit, message, hint, findings: error.findings().to_vec() }
}

fn wire_hint(error: &wire::Error, remote: Option<&ServerConnection>) -> String {
    let origin = remote.map(ServerConnection::address_source).unwrap_or_default();
    match error {
        wire::Error::Unreachable { .. } => {
            format!(
                "Is it running, and is the address right? The address comes from {origin}; --server, FLOTILLA_SERVER or \"flotilla login\" set another one."
            )
        }
        wire::Error::InvalidResponse { .. } => {
            format!("Is this the address of a Flotilla server? It comes from {origin}.")
        }
        error if error.is_unauthenticated() => remote.map(ServerConnection::sign_in_hint).unwrap_or_default(),
        error if error.code() == "RevisionConflict" => {
            "It was changed concurrently; check the change and run this again.".to_owned()
        }
        error if error.code() == "DatabaseUnavailable" => {
            "Nothing was stored; run this again in a moment.".to_owned()
        }
        _ => String::new(),
    }
}

impl From<wire::Error> for Failure {
    fn from(error: wire::Error) -> Self {
        Self::Wire(error)
    }
}

/// Plain IO errors come from writing the output only; errors of reading files carry a message of their own.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::StdoutClosed;
        }
        Self::new(format!("The output can't be written: {error}."), "")
    }
}
