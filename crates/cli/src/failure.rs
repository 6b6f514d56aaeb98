//! Why a command failed: a message (what, where, why) and a hint (what to do).

use std::io;

use domain::Finding;

use crate::exit::ExitStatus;

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
