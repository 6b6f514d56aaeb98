//! Reasons of stages, as one closed vocabulary: a decision about a release compares values, never texts.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Why a stage waits or failed; in JSON its CamelCase name.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
            /// A text that decides nothing: reported by an object of the cluster, or by an agent of a later version.
            Other(String),
        }

        impl Reason {
            /// Every reason that has a name of its own.
            pub const NAMED: &[Self] = &[$(Self::$name),+];

            /// The name, as in JSON and in the console.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => stringify!($name),)+
                    Self::Other(text) => text,
                }
            }
        }
    };
}

reasons! {
    /// No reason was reported.
    Unspecified,
    /// Rendering waits for the facts of the cluster.
    WaitingForCluster,
    /// Rendering waits for a value of the cluster or an artifact.
    WaitingForValue,
    /// Rendering failed.
    RenderFailed,
    /// The rollout has not admitted the wave of the cluster.
    WaitingForWave,
    /// A workload that it depends on is not operational on the cluster.
    WaitingForDependency,
    /// The rollout was aborted or rolled back before it admitted the cluster.
    RolloutAborted,
    /// The revision was rolled back on the cluster: it failed there, or on too many others of its rollout.
    RolledBack,
    /// A user suspended the release, its workload or its cluster.
    Suspended,
    /// The bundle cannot be fetched yet.
    WaitingForArtifact,
    /// The fetched bytes do not have the digest of the bundle.
    HashMismatch,
    /// The fetched bytes are not a bundle.
    BundleFetchFailed,
    /// The hub's generation is older than the applied one.
    HubBehind,
    /// Another release owns an object.
    ResourceConflict,
    /// Helm or another tool has a release of the same name.
    ReleaseConflict,
    /// Objects wait for their finalizers.
    FinalizerPending,
    /// An image cannot be pulled.
    ImagePullFailed,
    /// The API server does not respond.
    ApiServerUnreachable,
    /// A request took too long.
    Timeout,
    /// The API server limits the rate of requests.
    Throttled,
    /// The API server failed.
    ServerFailed,
    /// Another field manager owns an applied field.
    ApplyConflict,
    /// An object changed between read and write.
    Conflict,
    /// An object does not exist.
    NotFound,
    /// A namespace does not exist.
    NamespaceMissing,
    /// A namespace is being deleted.
    NamespaceTerminating,
    /// The cluster does not serve a kind.
    ApiMissing,
    /// The definition of a kind is not established yet.
    DefinitionNotEstablished,
    /// An object is being deleted; it is re-created once it is gone.
    ObjectTerminating,
    /// An object that is only observed does not exist.
    ObjectAwaited,
    /// A changed Job still runs; it is replaced once it has ended.
    JobRunning,
    /// A hook of a chart has failed.
    HookFailed,
    /// An existing object differs from the one to adopt.
    NotIdentical,
    /// The agent lacks a permission.
    PermissionDenied,
    /// Admission rejected an object.
    AdmissionRejected,
    /// A required admission webhook does not respond.
    AdmissionUnavailable,
    /// The change concerns an immutable field.
    ImmutableField,
    /// An object is not valid.
    Invalid,
    /// A resource version has expired.
    Gone,
    /// A response of the API server cannot be read.
    Unreadable,
}

impl Reason {
    /// The reason of a text that objects of the cluster determine, such as the reason of a health. It is never one of the
    /// named reasons: the condition of a custom resource must not decide the state of a release.
    pub fn from_cluster(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Unspecified } else { Self::Other(text) }
    }

    /// The text of this reason, without the meaning of a named one; see [`Reason::from_cluster`].
    pub(super) fn into_cluster_text(self) -> Self {
        match self {
            Self::Unspecified => Self::Unspecified,
            named => Self::from_cluster(String::from(named)),
        }
    }

    /// Whether only an action of a person resolves it; it makes a release
    /// [`Blocked`](super::ReleaseState::Blocked).
    pub const fn needs_person(&self) -> bool {
        matches!(
            self,
            Self::ResourceConflict
                | Self::ReleaseConflict
                | Self::ApplyConflict
                | Self::NotIdentical
                | Self::HubBehind
        )
    }

    /// The name; `None` if no reason was reported.
    pub fn specified(&self) -> Option<&str> {
        (*self != Self::Unspecified).then(|| self.as_str())
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        if text.is_empty() {
            return Self::Unspecified;
        }
        let named = Self::NAMED.iter().find(|reason| reason.as_str() == text);
        named.cloned().unwrap_or(Self::Other(text))
    }
}

impl FromStr for Reason {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text.to_owned()))
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Other(text) => text,
            named => named.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_reason_is_its_name_in_json() {
        for reason in Reason::NAMED {
            let json = serde_json::to_value(reason).unwrap();
            assert_eq!(json, reason.as_str());
            assert_eq!(serde_json::from_value::<Reason>(json).unwrap(), *reason);
        }
    }

    #[test]
    fn a_reason_of_a_later_version_round_trips() {
        let later: Reason = serde_json::from_value("QuotaExceeded".into()).unwrap();
        assert_eq!(later, Reason::Other("QuotaExceeded".into()));
        assert_eq!(serde_json::to_value(&later).unwrap(), "QuotaExceeded");
        assert!(!later.needs_person());
    }

    #[test]
    fn a_text_of_the_cluster_is_never_a_named_reason() {
        for reason in Reason::NAMED {
            let copied = Reason::from_cluster(reason.as_str());
            assert_eq!(copied, Reason::Other(reason.to_string()));
            assert!(!copied.needs_person());
        }
        assert_eq!(Reason::from_cluster(""), Reason::Unspecified);
    }

    #[test]
    fn an_empty_reason_is_unspecified() {
        assert_eq!("".parse(), Ok(Reason::Unspecified));
        assert_eq!(Reason::Unspecified.specified(), None);
        assert_eq!(Reason::HubBehind.specified(), Some("HubBehind"));
    }
}
