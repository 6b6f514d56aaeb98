//! Errors of requests to the API server.
//!
//! The variant name is also the reason of a stage, so console and logs use one term.
//! Messages contain the server's response, never the request body: manifests may contain secrets.

use std::time::Duration;

use domain::object::ObjectRef;
use domain::release::Reason;

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The connection failed or was closed.
    #[error("the API server cannot be reached: {0}")]
    ApiServerUnreachable(String),
    /// No response before the deadline.
    #[error("the API server did not respond within {} s", .0.as_secs())]
    Timeout(Duration),
    /// Status 429.
    #[error("the API server is overloaded (429 Too Many Requests)")]
    Throttled {
        /// `Retry-After` of the response.
        retry_after: Option<Duration>,
    },
    /// Status 5xx.
    #[error("the API server failed ({code}): {message}")]
    ServerFailed {
        /// HTTP status.
        code: u16,
        /// Message of the response.
        message: String,
        /// `Retry-After` of the response.
        retry_after: Option<Duration>,
    },
    /// Other field managers own applied fields.
    #[error("{} owned by {}", describe_fields(.fields), .managers.join(", "))]
    ApplyConflict {
        /// The other managers.
        managers: Vec<String>,
        /// The conflicting fields, in the server's notation.
        fields: Vec<String>,
    },
    /// A precondition failed: another uid, another version, or the name exists.
    #[error("the object was changed concurrently: {0}")]
    Conflict(String),
    /// The object does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// The namespace does not exist.
    #[error("namespace {0:?} does not exist on the cluster")]
    NamespaceMissing(String),
    /// The namespace is terminating; with what blocks its deletion, or the server's message.
    #[error("the namespace is being deleted{}", describe_blockers(.0))]
    NamespaceTerminating(String),
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve {0}")]
    ApiMissing(String),
    /// The definition of a kind exists but is not established yet.
    #[error("the definition of {0} is not established yet")]
    DefinitionNotEstablished(String),
    /// The object is terminating, with what blocks its deletion; it is re-created once it is gone.
    #[error("it is being deleted{}", describe_blockers(.0))]
    ObjectTerminating(String),
    /// An object with update strategy `ReadOnly` does not exist.
    #[error("{0} is not on the cluster, and the workload only observes it")]
    ObjectAwaited(String),
    /// A pre-existing object differs from the desired one, and the conflict policy is to adopt only identical ones.
    #[error("it existed before and differs in {}", .0.join(", "))]
    NotIdentical(Vec<String>),
    /// The agent's service account lacks the permission.
    #[error("the agent lacks the permission: {0}")]
    PermissionDenied(String),
    /// A webhook, admission policy, quota or pod security rejected the request.
    #[error("rejected by admission: {0}")]
    AdmissionRejected(String),
    /// A webhook with `failurePolicy: Fail` does not respond.
    #[error("a required admission webhook does not respond: {0}")]
    AdmissionUnavailable(String),
    /// The request changes immutable fields.
    #[error("{} cannot be changed after creation: {message}", describe_immutable(.fields))]
    ImmutableField {
        /// All of them, as dotted paths; empty if the server names none.
        fields: Vec<String>,
        /// Whether the server rejects the request for nothing else.
        is_only_cause: bool,
        /// The server's message.
        message: String,
    },
    /// The content is valid, but not as a change of the object on the cluster: a rule of its kind compares both.
    #[error("the API server refuses this change of the object on the cluster: {0}")]
    ChangeRefused(String),
    /// A job whose immutable fields change has not ended.
    #[error("the job still runs with the content of an earlier revision")]
    JobRunning,
    /// Helm or another tool has a release of the same name, which is not adopted.
    #[error("it exists already (revision {revision}, {status}), and Flotilla did not install it")]
    ReleaseConflict {
        /// Its newest revision.
        revision: u32,
        /// Helm's status of this revision.
        status: String,
    },
    /// A hook of a chart has failed, or cannot run.
    #[error("{0}")]
    HookFailed(String),
    /// The object is not valid.
    #[error("not valid: {0}")]
    Invalid(String),
    /// The resource version of the list or watch has expired (410).
    #[error("the resource version is too old")]
    Gone,
    /// The response does not conform to the API.
    #[error("the API server's response cannot be read: {0}")]
    Unreadable(String),
}

/// How soon an error is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryClass {
    /// Transient: first after [`crate::Options::retry_initial_delay`], then with exponential back-off.
    Soon,
    /// Needs a change by an operator: after [`crate::Options::retry_max_delay`].
    Slow,
}

/// What the server answers to a Deployment that is changed to `Recreate`.
const ROLLING_UPDATE_REJECTED: &str = "may not be specified when strategy `type` is 'Recreate'";

/// How the server begins a message about a claim.
const CLAIM: &str = "PersistentVolumeClaim ";
/// How the server begins a message about a definition.
const DEFINITION: &str = "CustomResourceDefinition.apiextensions.k8s.io ";

impl Error {
    /// The stage reason of the same name.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::ApiServerUnreachable(_) => Reason::ApiServerUnreachable,
            Self::Timeout(_) => Reason::Timeout,
            Self::Throttled { .. } => Reason::Throttled,
            Self::ServerFailed { .. } => Reason::ServerFailed,
            Self::ApplyConflict { .. } => Reason::ApplyConflict,
            Self::Conflict(_) => Reason::Conflict,
            Self::NotFound(_) => Reason::NotFound,
            Self::NamespaceMissing(_) => Reason::NamespaceMissing,
            Self::NamespaceTerminating(_) => Reason::NamespaceTerminating,
            Self::ApiMissing(_) => Reason::ApiMissing,
            Self::DefinitionNotEstablished(_) => Reason::DefinitionNotEstablished,
            Self::ObjectTerminating(_) => Reason::ObjectTerminating,
            Self::ObjectAwaited(_) => Reason::ObjectAwaited,
            Self::NotIdentical(_) => Reason::NotIdentical,
            Self::PermissionDenied(_) => Reason::PermissionDenied,
            Self::AdmissionRejected(_) => Reason::AdmissionRejected,
            Self::AdmissionUnavailable(_) => Reason::AdmissionUnavailable,
            Self::ImmutableField { .. } | Self::ChangeRefused(_) => Reason::ImmutableField,
            Self::JobRunning => Reason::JobRunning,
            Self::ReleaseConflict { .. } => Reason::ReleaseConflict,
            Self::HookFailed(_) => Reason::HookFailed,
            Self::Invalid(_) => Reason::Invalid,
            Self::Gone => Reason::Gone,
            Self::Unreadable(_) => Reason::Unreadable,
        }
    }

    /// One sentence on how to resolve it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::ApiServerUnreachable(_) | Self::Timeout(_) => {
                "Nothing to do: it is retried until the cluster responds."
            }
            Self::Throttled { .. } | Self::ServerFailed { .. } | Self::Conflict(_) | Self::Gone => {
                "Nothing to do: it is retried automatically."
            }
            Self::ApplyConflict { .. } => {
                "If it drifted, revert it with a sync of this cluster, or let the policies ignore the field. Otherwise remove the fields from the other manager or from the workload, or set the conflict policy to force."
            }
            Self::NamespaceMissing(_) => {
                "Create the namespace, or let the workload create it (policy createNamespace)."
            }
            Self::NamespaceTerminating(text) | Self::ObjectTerminating(text) if text.is_empty() => {
                "Nothing to do: it continues once the deletion is over."
            }
            Self::NamespaceTerminating(_) | Self::ObjectTerminating(_) => {
                "It continues once the deletion is over. The controllers of the finalizers remove them; if a controller is gone, remove its finalizer by hand."
            }
            Self::ApiMissing(_) => {
                "Install the custom resource definition, or remove the object for this cluster."
            }
            Self::DefinitionNotEstablished(_) => "Nothing to do: it continues automatically.",
            Self::ObjectAwaited(_) => "Create the object outside of Flotilla, or change its update strategy.",
            Self::NotIdentical(_) => "Make both identical, or set the conflict policy to force.",
            Self::PermissionDenied(_) => {
                "Grant the agent's service account this permission; without it every attempt fails. After that the next attempt, one about every 5 min, continues; a sync does so at once."
            }
            Self::AdmissionRejected(_) => {
                "Change the object as the message requires, or change the admission policy on the cluster."
            }
            Self::AdmissionUnavailable(_) => {
                "Restore the webhook or delete its configuration; the request is retried automatically."
            }
            Self::ReleaseConflict { .. } => {
                "Choose another release name or namespace, or set the policy helmRelease to adopt to take over its objects."
            }
            Self::HookFailed(_) => {
                "Correct the cause on the cluster, or change the workload and publish it; the hook is run again automatically."
            }
            Self::JobRunning => "Nothing to do: it is replaced and runs again once it has ended.",
            Self::ImmutableField { message, .. } if message.starts_with(DEFINITION) => {
                "Leave the field as it is, or define another kind and move the objects to it: the definition can only be deleted with all of its objects."
            }
            Self::ImmutableField { message, .. } if message.starts_with(CLAIM) => {
                "Leave the field as it is, or move the data to a claim of another name: with a claim that is deleted its data may be too, as the reclaim policy of its volume says."
            }
            Self::ChangeRefused(_) => {
                "A rule of its kind compares the change with the object on the cluster. Leave the field as it is there or change it as the message allows, or rename or delete the object so that it is created anew."
            }
            Self::ImmutableField { .. } => {
                "Rename the object, or delete it so that it is re-created; the policy changedJobs: replace does so for jobs."
            }
            Self::Invalid(message) if message.contains(ROLLING_UPDATE_REJECTED) => {
                "The server keeps the defaults of the rolling update, because nobody owns them. Publish twice: first with type RollingUpdate and its maxSurge and maxUnavailable written down, then with Recreate and without them."
            }
            Self::Invalid(_) | Self::Unreadable(_) | Self::NotFound(_) => {
                "Correct the object and publish again."
            }
        }
    }

    /// Names the kind of this object if the server does not serve it: the response to an unknown path names nothing.
    /// `is_defined` is whether the bundle defines the kind, so that it is served again soon.
    pub(crate) fn with_kind(self, object: &ObjectRef, is_defined: bool) -> Self {
        match self {
            Self::ApiMissing(_) if is_defined => Self::DefinitionNotEstablished(object.kind.clone()),
            Self::ApiMissing(_) => Self::ApiMissing(format!("{} ({})", object.kind, object.api_version())),
            other => other,
        }
    }

    pub(crate) const fn retry_class(&self) -> RetryClass {
        match self {
            Self::PermissionDenied(_)
            | Self::NotIdentical(_)
            | Self::AdmissionRejected(_)
            | Self::ImmutableField { .. }
            | Self::ChangeRefused(_)
            | Self::Invalid(_)
            | Self::ApplyConflict { .. }
            | Self::ReleaseConflict { .. }
            | Self::Unreadable(_) => RetryClass::Slow,
            _ => RetryClass::Soon,
        }
    }

    /// Whether another attempt can't succeed before a person changes the object, the one on the cluster, or a permission.
    pub(crate) const fn needs_change(&self) -> bool {
        matches!(
            self,
            Self::ImmutableField { .. }
                | Self::ChangeRefused(_)
                | Self::Invalid(_)
                | Self::NotIdentical(_)
                | Self::ApplyConflict { .. }
                | Self::ReleaseConflict { .. }
                | Self::PermissionDenied(_)
        )
    }

    /// Whether it is about the object on the cluster, so that it does not concern one that is created.
    pub(crate) const fn refuses_change(&self) -> bool {
        matches!(self, Self::ImmutableField { .. } | Self::ChangeRefused(_))
    }

    /// `Retry-After` of the response.
    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Throttled { retry_after } | Self::ServerFailed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether no response was received.
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::ApiServerUnreachable(_) | Self::Timeout(_))
    }
}

fn describe_blockers(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn describe_immutable(fields: &[String]) -> String {
    match fields {
        [] => "a field".to_owned(),
        [one] => format!("field {one}"),
        many => format!("fields {}", many.join(", ")),
    }
}

fn describe_fields(fields: &[String]) -> String {
    match fields {
        [one] => format!("field {one} is"),
        many => format!("fields {} are", many.join(", ")),
    }
}
