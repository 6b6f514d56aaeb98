//! Errors of verbs and queries. One enum for REST, console and agents; `server` and `app` each map it in one file.

use std::borrow::Cow;

use domain::actions::ActionUnavailable;
use domain::authorization::RoleRequired;
use domain::workload::UNREADABLE_WORKLOAD_HINT;
use domain::{Finding, null_character};
use source::memory_budget::{self, MemoryExhausted};
use store::DatabaseOutage;

use crate::supervise::Panicked;

/// Why a verb or query failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is invalid; every finding has a location and a hint.
    #[error("{}", summary(.0))]
    Invalid(Vec<Finding>),
    /// No such object, or the actor may not see it: both must look the same.
    #[error("There is no {what} {name:?}.")]
    NotFound {
        /// The noun: workload, cluster, override …, with what else identifies it.
        what: Cow<'static, str>,
        /// The requested name.
        name: String,
    },
    /// An object with this name exists.
    #[error("{0}")]
    AlreadyExists(String),
    /// The workload name is in use; the finding names its owner (G102).
    #[error("{} {}", .0.message, .0.hint)]
    NameTaken(Box<Finding>),
    /// The object was changed since it was read: the `ETag` is an older one.
    #[error("This was changed in the meantime (now revision {current}). Reload it and repeat your change.")]
    RevisionConflict {
        /// The current revision.
        current: i64,
    },
    /// The plan that was reviewed differs from what would be published now.
    #[error("{0}")]
    PlanStale(String),
    /// Clusters rejected the plan of what would be published, and the request does not force their codes.
    #[error("{message}")]
    PlanRejected {
        /// The codes and what to do, as sentences for people.
        message: String,
        /// What was rejected.
        findings: Vec<Finding>,
    },
    /// So many clusters would lose the workload that the request has to confirm the number (G505).
    #[error("{} {}", .0.message, .0.hint)]
    ConfirmationRequired(Box<Finding>),
    /// The current state does not allow it; the reason says why.
    #[error(transparent)]
    FailedPrecondition(#[from] ActionUnavailable),
    /// This hub did not issue the session of a batch of reports, or has not accepted the batches before it: the hub was
    /// restored from a backup, or the batch is forged. The agent starts a new session.
    #[error(
        "This hub does not know the session of these reports. Start a new session and send them with its incarnation, from seq 1."
    )]
    SessionUnknown,
    /// The idempotency key was used with another request.
    #[error("This Idempotency-Key was used for another request. Use a new key for each new request.")]
    IdempotencyKeyReused,
    /// No credential, or not a valid one.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The role of the actor does not allow the action.
    #[error(transparent)]
    Forbidden(RoleRequired),
    /// The API token does not allow what its role would: to create tokens, or a token with a higher role.
    #[error("{0}")]
    TokenLimited(String),
    /// Too many attempts to sign in failed before this one, which was not tried.
    #[error("Too many failed attempts to sign in. Try again in {}.", format_wait(*.retry_after_seconds))]
    TooManyAttempts {
        /// When the next attempt is allowed, in seconds.
        retry_after_seconds: u32,
    },
    /// So much of this kind waits or is in memory already that this request is not accepted; nothing was stored.
    #[error("{message} Nothing was stored. Try again in {}.", format_wait(*.retry_after_seconds))]
    ServerBusy {
        /// What is in use, as a sentence.
        message: String,
        /// When it may be tried again, in seconds.
        retry_after_seconds: u32,
    },
    /// What is requested exists, and its stored bytes are lost: they are being made again.
    #[error("The stored bytes of {what} are lost and are being made again. Try again in {}.", format_wait(*.retry_after_seconds))]
    BeingRestored {
        /// What is requested.
        what: String,
        /// When it may be tried again, in seconds.
        retry_after_seconds: u32,
    },
    /// The database executes nothing now; nothing was stored.
    #[error("{}", describe_outage(*.0))]
    DatabaseUnavailable(DatabaseOutage, #[source] store::Error),
    /// The connection to the database was lost during the commit: it is not known whether the change was stored.
    #[error(
        "The connection to the database was lost while the change was stored, so it is not known whether it was. Repeat the request with the same Idempotency-Key: the change is made once. Without a key, look first whether it was made."
    )]
    CommitOutcomeUnknown(#[source] store::Error),
    /// A stored row can't be read or is missing; other rows are not affected. The message contains no stored content.
    #[error("{message}")]
    Unreadable {
        /// Which row, why, and what to do.
        message: String,
        /// The row, with its table and key.
        source: store::Error,
    },
    /// An internal error.
    #[error("Something went wrong inside Flotilla; the log has the details.")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<MemoryExhausted> for Error {
    fn from(exhausted: MemoryExhausted) -> Self {
        Self::ServerBusy {
            message: exhausted.to_string(),
            retry_after_seconds: memory_budget::RETRY_AFTER_SECONDS,
        }
    }
}

impl Error {
    /// An [`Error::NotFound`].
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound { what: what.into(), name: name.into() }
    }

    /// A workload has no revision with this number.
    pub fn revision_not_found(workload: &str, number: u32) -> Self {
        Self::NotFound { what: format!("revision {number} of").into(), name: workload.to_owned() }
    }

    /// The label of this error in metrics and logs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::NotFound { .. } => "NotFound",
            Self::AlreadyExists(_) | Self::NameTaken(_) => "AlreadyExists",
            Self::RevisionConflict { .. } => "RevisionConflict",
            Self::PlanStale(_) => "PlanStale",
            Self::PlanRejected { .. } => "PlanRejected",
            Self::ConfirmationRequired(_) => "ConfirmationRequired",
            Self::FailedPrecondition(_) => "FailedPrecondition",
            Self::SessionUnknown => "SessionUnknown",
            Self::IdempotencyKeyReused => "IdempotencyKeyReused",
            Self::Unauthenticated(_) => "Unauthenticated",
            Self::Forbidden(_) | Self::TokenLimited(_) => "Forbidden",
            Self::TooManyAttempts { .. } => "TooManyAttempts",
            Self::ServerBusy { .. } => "ServerBusy",
            Self::BeingRestored { .. } => "BeingRestored",
            Self::DatabaseUnavailable(..) => "DatabaseUnavailable",
            Self::CommitOutcomeUnknown(_) => "CommitOutcomeUnknown",
            Self::Unreadable { .. } => "Unreadable",
            Self::Internal(_) => "Internal",
        }
    }

    /// The stored row that can't be read or is missing, with its table and key; it contains no stored content.
    pub(crate) fn unreadable_row(&self) -> Option<&store::Error> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Says that the row which can't be read is that of a workload or of its published revision, and what is possible.
    pub(crate) fn with_unreadable_workload(self, name: &str) -> Self {
        match self {
            Self::Unreadable { source, .. } => Self::Unreadable {
                message: format!("{name} can't be read: {source}. {UNREADABLE_WORKLOAD_HINT}"),
                source,
            },
            other => other,
        }
    }

    /// Whether the database is the cause and not the request: the same request may succeed later.
    pub const fn is_outage(&self) -> bool {
        matches!(self, Self::DatabaseUnavailable(..) | Self::CommitOutcomeUnknown(_))
    }

    /// The failure of a loop with one workload, as sentences for people; `None` in an outage of the database, which is no
    /// failure of the workload. It contains no stored content.
    pub(crate) fn workload_failure(&self) -> Option<String> {
        match (self, self.unreadable_row()) {
            (Self::DatabaseUnavailable(..) | Self::CommitOutcomeUnknown(_), _) => None,
            (_, Some(row)) => Some(format!("{row}.")),
            (Self::Internal(source), None) => {
                let panicked = source.downcast_ref::<Panicked>();
                let reason = panicked.map_or_else(|| "an internal error".to_owned(), ToString::to_string);
                Some(format!("{reason}. This is a defect of Flotilla; please report it."))
            }
            (other, None) => Some(other.to_string()),
        }
    }

    /// The findings, if the error has any.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid(findings) | Self::PlanRejected { findings, .. } => findings,
            Self::NameTaken(finding) | Self::ConfirmationRequired(finding) => std::slice::from_ref(finding),
            _ => &[],
        }
    }
}

/// A wait in words, rounded up.
fn format_wait(seconds: u32) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// What does not work, what still does, and what to do.
fn describe_outage(outage: DatabaseOutage) -> &'static str {
    match outage {
        DatabaseOutage::Unreachable => {
            "The database can't be reached; nothing was stored. Try again in a moment."
        }
        DatabaseOutage::ReadOnly => {
            "The database is read-only now; nothing was stored. Reading still works. Try again after its failover or maintenance."
        }
        DatabaseOutage::DiskFull => {
            "The disk of the database is full; nothing was stored. Reading still works. Free space on it, then try again."
        }
        DatabaseOutage::TimedOut => {
            "The database did not answer in time; nothing was stored. Try again in a moment."
        }
    }
}

fn summary(findings: &[Finding]) -> String {
    match findings {
        [] => "The input is not valid.".to_owned(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Unavailable(outage, _) => Self::DatabaseUnavailable(outage, error),
            store::Error::CommitOutcomeUnknown(_) => Self::CommitOutcomeUnknown(error),
            store::Error::NoMemory => Self::ServerBusy {
                message: "The server is busy: the memory for the values of stored drafts, revisions and plans is in use by other requests."
                    .to_owned(),
                retry_after_seconds: memory_budget::RETRY_AFTER_SECONDS,
            },
            store::Error::InvalidQuery(why) => {
                Self::Invalid(vec![Finding::error("Query", why, "Start again from the first page.")])
            }
            store::Error::AlreadyExists { ref what } => {
                Self::AlreadyExists(format!("This {what} already exists."))
            }
            store::Error::BrokenReference { .. } => {
                let why = "Another request has deleted what this one refers to, or has begun to use what this one deletes; nothing was stored. \
                           Reload it and repeat the request.";
                Self::FailedPrecondition(ActionUnavailable(why.to_owned()))
            }
            store::Error::TooDeep { .. } => Self::Invalid(vec![too_deep_finding(&error)]),
            store::Error::TooLong { .. } => {
                let message = format!("This can't be stored: {error}.");
                Self::Invalid(vec![Finding::error("G111", message, "Write a shorter one.")])
            }
            store::Error::NullCharacter => {
                let message = format!("A text {}.", null_character::REJECTION);
                Self::Invalid(vec![Finding::error("Text", message, null_character::HINT)])
            }
            store::Error::InvalidRow { .. } | store::Error::MissingRow { .. } => Self::Unreadable {
                message: format!(
                    "The stored data can't be read: {error}. Nothing was changed. Restore the database from a backup, or \
                     update the server if a newer one wrote the row."
                ),
                source: error,
            },
            other => Self::Internal(Box::new(other)),
        }
    }
}

/// G111: a value that could be stored but not read.
fn too_deep_finding(error: &store::Error) -> Finding {
    let message = format!("This can't be stored: {error}.");
    Finding::error("G111", message, "Write fewer levels of maps and lists.")
}

impl From<Panicked> for Error {
    fn from(panicked: Panicked) -> Self {
        Self::Internal(Box::new(panicked))
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn a_missing_revision_is_named_with_its_workload() {
        assert_eq!(Error::revision_not_found("web", 7).to_string(), "There is no revision 7 of \"web\".");
    }
}
