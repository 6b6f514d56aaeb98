//! What can go wrong between the engine and its API server.
//!
//! The name of a variant is the label of the metric and the reason in stages, so a page, an alert and a log line
//! speak of the same thing. Texts hold what the server said, never what was sent: manifests may hold secrets.

use std::time::Duration;

/// A request that did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke.
    #[error("the API server cannot be reached: {0}")]
    ApiServerUnreachable(String),
    /// No answer in time.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// Status 429.
    #[error("the API server is busy and asks to come back later")]
    Throttled {
        /// When to come back, if the server said.
        retry_after: Option<Duration>,
    },
    /// Status 5xx.
    #[error("the API server failed ({code}): {message}")]
    ServerFailed {
        /// HTTP status.
        code: u16,
        /// What it said.
        message: String,
        /// When to come back, if the server said.
        retry_after: Option<Duration>,
    },
    /// Other field managers own fields that were to be applied.
    #[error("{} owned by {}", fields_text(.fields), .managers.join(", "))]
    ApplyConflict {
        /// The other managers.
        managers: Vec<String>,
        /// The fields, as the server names them.
        fields: Vec<String>,
    },
    /// A precondition did not hold: another uid, another version, or the name is taken.
    #[error("the object changed meanwhile: {0}")]
    Conflict(String),
    /// Nothing there.
    #[error("not found: {0}")]
    NotFound(String),
    /// The namespace does not exist.
    #[error("namespace {0:?} does not exist on the cluster")]
    NamespaceMissing(String),
    /// The namespace is on its way out.
    #[error("the namespace is being deleted: {0}")]
    NamespaceTerminating(String),
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve {0}")]
    ApiMissing(String),
    /// The definition of a kind is there and not established yet.
    #[error("the definition of {0} is not established yet")]
    DefinitionNotEstablished(String),
    /// The object is on its way out and is made anew when it is gone.
    #[error("it is being deleted; {0}")]
    ObjectTerminating(String),
    /// An object that is only observed is not there.
    #[error("{0} is not on the cluster, and the workload only observes it")]
    ObjectAwaited(String),
    /// An object that was there before is not as it would be applied, and the policy is to leave it then.
    #[error("it was there before and differs in {}", .0.join(", "))]
    NotIdentical(Vec<String>),
    /// The agent's account may not do this.
    #[error("the agent may not do this: {0}")]
    PermissionDenied(String),
    /// A webhook, a policy, a quota or pod security said no.
    #[error("refused by admission: {0}")]
    AdmissionRejected(String),
    /// A webhook that must be asked does not answer.
    #[error("an admission webhook that must be asked does not answer: {0}")]
    AdmissionUnavailable(String),
    /// A field that can't be changed was to be changed.
    #[error("a field cannot be changed after creation: {0}")]
    ImmutableField(String),
    /// The object is not valid.
    #[error("not valid: {0}")]
    Invalid(String),
    /// The list or watch is too old to go on with.
    #[error("the resource version is too old")]
    Gone,
    /// An answer that is not what the API promises.
    #[error("the API server's answer cannot be read: {0}")]
    Unreadable(String),
}

/// What kind of patience an error asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It will pass by itself: first after [`crate::Options::retry_first`].
    Soon,
    /// Somebody has to do something first: tried again slowly.
    Slow,
}

impl Error {
    /// The name of the variant: metric label and stage reason.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::ApiServerUnreachable(_) => "ApiServerUnreachable",
            Self::Timeout(_) => "Timeout",
            Self::Throttled { .. } => "Throttled",
            Self::ServerFailed { .. } => "ServerFailed",
            Self::ApplyConflict { .. } => "ApplyConflict",
            Self::Conflict(_) => "Conflict",
            Self::NotFound(_) => "NotFound",
            Self::NamespaceMissing(_) => "NamespaceMissing",
            Self::NamespaceTerminating(_) => "NamespaceTerminating",
            Self::ApiMissing(_) => "ApiMissing",
            Self::DefinitionNotEstablished(_) => "DefinitionNotEstablished",
            Self::ObjectTerminating(_) => "ObjectTerminating",
            Self::ObjectAwaited(_) => "ObjectAwaited",
            Self::NotIdentical(_) => "NotIdentical",
            Self::PermissionDenied(_) => "PermissionDenied",
            Self::AdmissionRejected(_) => "AdmissionRejected",
            Self::AdmissionUnavailable(_) => "AdmissionUnavailable",
            Self::ImmutableField(_) => "ImmutableField",
            Self::Invalid(_) => "Invalid",
            Self::Gone => "Gone",
            Self::Unreadable(_) => "Unreadable",
        }
    }

    /// One sentence on what to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::ApiServerUnreachable(_) | Self::Timeout(_) => {
                "Nothing to do: it is tried again until the cluster answers."
            }
            Self::Throttled { .. } | Self::ServerFailed { .. } | Self::Conflict(_) | Self::Gone => {
                "Nothing to do: it is tried again by itself."
            }
            Self::ApplyConflict { .. } => {
                "Let the other manager give the fields up, leave them out of the workload, or set the conflict policy to take over."
            }
            Self::NamespaceMissing(_) => {
                "Create the namespace, or let the workload create it (policy createNamespace)."
            }
            Self::NamespaceTerminating(_) => "Wait until the namespace is gone; then it is made anew.",
            Self::ApiMissing(_) => "Install the custom resource definition, or leave the object out there.",
            Self::DefinitionNotEstablished(_) | Self::ObjectTerminating(_) => {
                "Nothing to do: it goes on by itself."
            }
            Self::ObjectAwaited(_) => {
                "Whoever makes it has to make it, or its update strategy has to be another."
            }
            Self::NotIdentical(_) => "Make both alike, or set the conflict policy to take over.",
            Self::PermissionDenied(_) => "Give the agent's service account this permission.",
            Self::AdmissionRejected(_) => {
                "Change the object as the message asks, or the policy on the cluster."
            }
            Self::AdmissionUnavailable(_) => {
                "Bring the webhook back, or take its configuration away; it is tried again by itself."
            }
            Self::ImmutableField(_) => "Give the object another name, or delete it so that it is made anew.",
            Self::Invalid(_) | Self::Unreadable(_) | Self::NotFound(_) => {
                "Correct the object and publish again."
            }
        }
    }

    pub(crate) const fn patience(&self) -> Patience {
        match self {
            Self::PermissionDenied(_)
            | Self::NotIdentical(_)
            | Self::AdmissionRejected(_)
            | Self::ImmutableField(_)
            | Self::Invalid(_)
            | Self::ApplyConflict { .. }
            | Self::Unreadable(_) => Patience::Slow,
            _ => Patience::Soon,
        }
    }

    /// When the server asked to be called again.
    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after } | Self::ServerFailed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the server was not heard at all.
    pub(crate) const fn is_silence(&self) -> bool {
        matches!(self, Self::ApiServerUnreachable(_) | Self::Timeout(_))
    }
}

fn fields_text(fields: &[String]) -> String {
    match fields {
        [one] => format!("field {one} is"),
        many => format!("fields {} are", many.join(", ")),
    }
}
