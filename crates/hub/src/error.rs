//! Why the hub says no. One enum for every surface; `server` and `app` each map it in one file.

use domain::Finding;
use domain::can::WhyNot;

/// Why a verb or query gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is wrong; every finding says where and what to do.
    #[error("{}", summary(.0))]
    Invalid(Vec<Finding>),
    /// There is no such thing (or the actor may not see it, which must read the same).
    #[error("There is no {what} {name:?}.")]
    NotFound {
        /// The noun: workload, cluster, override …
        what: &'static str,
        /// The name asked for.
        name: String,
    },
    /// Something with this name is there already.
    #[error("{0}")]
    Exists(String),
    /// The name is somebody's already, and whose (G102).
    #[error("{} {}", .0.message, .0.hint)]
    Taken(Box<Finding>),
    /// Somebody changed it in between: the `ETag` is an older one.
    #[error("This was changed meanwhile (now revision {current}). Read it again and repeat your change.")]
    Changed {
        /// The revision it has now.
        current: i64,
    },
    /// What the person saw before publishing is not what would be published now.
    #[error("{0}")]
    PlanStale(String),
    /// So much would go that the number has to be given with the request (G505).
    #[error("{} {}", .0.message, .0.hint)]
    Unconfirmed(Box<Finding>),
    /// Not now, and why.
    #[error(transparent)]
    NotNow(#[from] WhyNot),
    /// The same idempotency key came with another request.
    #[error("This Idempotency-Key was used for another request. Make a new key for a new request.")]
    KeyReused,
    /// Nobody is signed in, or the credential is not valid.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The database can't be written or read now; nothing was stored.
    #[error("The database does not answer; nothing was stored. Try again in a moment.")]
    Busy(#[source] store::Error),
    /// Our fault.
    #[error("Something went wrong inside Flotilla; the log has the details.")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// There is no such thing.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::NotFound { what, name: name.into() }
    }

    /// The label of this error in metrics and logs.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::NotFound { .. } => "NotFound",
            Self::Exists(_) | Self::Taken(_) => "Exists",
            Self::Changed { .. } => "Changed",
            Self::PlanStale(_) => "PlanStale",
            Self::Unconfirmed(_) => "ConfirmationNeeded",
            Self::NotNow(_) => "NotNow",
            Self::KeyReused => "KeyReused",
            Self::Unauthenticated(_) => "Unauthenticated",
            Self::Busy(_) => "Busy",
            Self::Internal(_) => "Internal",
        }
    }

    /// The findings, when the input is wrong.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Invalid(findings) => findings,
            Self::Taken(finding) | Self::Unconfirmed(finding) => std::slice::from_ref(finding),
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
            store::Error::Busy => Self::Busy(error),
            store::Error::Query(why) => {
                Self::Invalid(vec![Finding::error("Query", why, "Begin again with the first page.")])
            }
            store::Error::Unique { ref what } => Self::Exists(format!("This {what} is there already.")),
            ours => Self::Internal(Box::new(ours)),
        }
    }
}
