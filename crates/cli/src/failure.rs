//! Why a command failed: what, where and why in one sentence, and what to do in the next.

use std::io;

use domain::Finding;

use crate::exit::Exit;
use crate::output::summary;
use crate::remote::Remote;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Said in our own words.
    Told(Box<Told>),
    /// Said by the server, or by the way to it.
    Wire(wire::Error),
    /// Whoever read our output has gone; that is no failure (`flotilla events | head`).
    Pipe,
}

/// A failure in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The exit code.
    pub exit: Exit,
    /// What, where and why.
    pub message: String,
    /// What to do; may be empty.
    pub hint: String,
    /// What the guard rails found.
    pub findings: Vec<Finding>,
}

impl Failure {
    /// A failure with its sentence and what to do.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(Exit::Failed, message, hint)
    }

    /// The command line asks for something that makes no sense.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(Exit::Usage, message, hint)
    }

    /// A wait ended otherwise than asked for.
    pub fn ending(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(exit, message, hint)
    }

    fn with(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self::Told(Box::new(Told { exit, message, hint, findings: Vec::new() }))
    }

    /// The words for people; `remote` is where the call went. `None` when there is nobody to tell.
    pub fn told(self, remote: Option<&Remote>) -> Option<Told> {
        match self {
            Self::Told(told) => Some(*told),
            Self::Pipe => None,
            Self::Wire(error) => Some(of_wire(error, remote)),
        }
    }
}

fn of_wire(error: wire::Error, remote: Option<&Remote>) -> Told {
    let exit = match error {
        wire::Error::BadServer(_) | wire::Error::BadToken => Exit::Usage,
        _ if error.code() == "PlanStale" => Exit::Stale,
        _ if !error.findings().is_empty() => Exit::Refused,
        _ => Exit::Failed,
    };
    let message = match &error {
        wire::Error::Unreachable { server, why } => {
            format!("The server at {server} can't be reached: {why}.")
        }
        error if error.code() == "ConfirmationNeeded" => {
            "Not published: it would take the workload from many clusters. Say how many with --confirm."
                .to_owned()
        }
        // The findings are printed one by one; their first need not be repeated.
        error if !error.findings().is_empty() => {
            format!("Refused by the guard rails: {}.", summary(error.findings()))
        }
        other => other.to_string(),
    };
    let hint = hint(&error, remote);
    Told { exit, message, hint, findings: error.findings().to_vec() }
}

fn hint(error: &wire::Error, remote: Option<&Remote>) -> String {
    let origin = remote.map(Remote::origin).unwrap_or_default();
    match error {
        wire::Error::Unreachable { .. } => {
            format!(
                "Is it running, and is the address right? The address comes from {origin}; --server, FLOTILLA_SERVER or \"flotilla login\" set another one."
            )
        }
        wire::Error::NotUnderstood { .. } => {
            format!("Is this the address of a Flotilla server? It comes from {origin}.")
        }
        error if error.is_unauthenticated() => remote.map(Remote::sign_in_hint).unwrap_or_default(),
        error if error.code() == "Changed" => {
            "Somebody else changed it in between; look at it and run this again.".to_owned()
        }
        error if error.code() == "Busy" => "Nothing was stored; run this again in a moment.".to_owned(),
        _ => String::new(),
    }
}

impl From<wire::Error> for Failure {
    fn from(error: wire::Error) -> Self {
        Self::Wire(error)
    }
}

/// Only writing our own output gives plain IO errors; reading files says more.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Pipe;
        }
        Self::new(format!("The output can't be written: {error}."), "")
    }
}
