//! Errors of verbs and queries. One enum for REST, console and agents; `server` and `app` each map it in one file.

use domain::Finding;
use domain::actions::ActionUnavailable;
use domain::workload::UNREADABLE_WORKLOAD_HINT;

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
        /// The noun: workload, cluster, override …
        what: &'static str,
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
    /// The idempotency key was used with another request.
    #[error("This Idempotency-Key was used for another request. Use a new key for each new request.")]
    IdempotencyKeyReused,
    /// No credential, or not a valid one.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The database can't be read or written now; nothing was stored.
    #[error("The database does not answer; nothing was stored. Try again in a moment.")]
    DatabaseUnavailable(#[source] store::Error),
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

impl Error {
    /// An [`Error::NotFound`].
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound { what, name: name.into() }
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
            Self::IdempotencyKeyReused => "IdempotencyKeyReused",
            Self::Unauthenticated(_) => "Unauthenticated",
            Self::DatabaseUnavailable(_) => "DatabaseUnavailable",
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

    /// The failure of a loop with one workload, as sentences for people; `None` if the database does not answer, which is no
    /// failure of the workload. It contains no stored content.
    pub(crate) fn workload_failure(&self) -> Option<String> {
        match (self, self.unreadable_row()) {
            (Self::DatabaseUnavailable(_), _) => None,
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
            store::Error::Busy => Self::DatabaseUnavailable(error),
            store::Error::InvalidQuery(why) => {
                Self::Invalid(vec![Finding::error("Query", why, "Start again from the first page.")])
            }
            store::Error::AlreadyExists { ref what } => {
                Self::AlreadyExists(format!("This {what} already exists."))
            }
            store::Error::TooDeep { .. } => Self::Invalid(vec![too_deep_finding(&error)]),
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
