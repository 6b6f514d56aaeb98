//! Typed ids: a ULID each, so that ids sort by creation time and one kind cannot be used for another.
//!
//! The hub generates them (it has the clock and the randomness); this module only defines their format.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Text that is not a ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} id {text:?} is not a ULID (26 characters of Crockford base32)")]
pub struct InvalidId {
    kind: &'static str,
    text: String,
}

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// An id from its two parts: milliseconds since the epoch and 80 bits of randomness.
            pub fn from_parts(millis: u64, random: u128) -> Self {
                Self(Ulid::from_parts(millis, random))
            }

            /// The id after this one in their order, of the same millisecond; `None` if this is the last one of it.
            pub fn successor(self) -> Option<Self> {
                self.0.increment().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}:{}", $kind, self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Ulid::from_string(text)
                    .map(Self)
                    .map_err(|_| InvalidId { kind: $kind, text: text.chars().take(40).collect() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

typed_id!(
    /// A project: the tenancy in which workloads are named.
    ProjectId,
    "project"
);
typed_id!(
    /// A user who can sign in.
    UserId,
    "user"
);
typed_id!(
    /// An API token.
    TokenId,
    "token"
);
typed_id!(
    /// A token with which a cluster joins.
    JoinTokenId,
    "join token"
);
typed_id!(
    /// A registered cluster.
    ClusterId,
    "cluster"
);
typed_id!(
    /// A workload.
    WorkloadId,
    "workload"
);
typed_id!(
    /// One override of a workload.
    OverrideId,
    "override"
);
typed_id!(
    /// An incident of a workload.
    IncidentId,
    "incident"
);
typed_id!(
    /// A subscription to incidents.
    SubscriptionId,
    "subscription"
);
typed_id!(
    /// A message about an incident for one channel.
    DeliveryId,
    "delivery"
);
typed_id!(
    /// A plan of a publish.
    PlanId,
    "plan"
);
typed_id!(
    /// One workload on one cluster.
    ReleaseId,
    "release"
);
typed_id!(
    /// An object of a release that drifts.
    DriftId,
    "drift"
);
typed_id!(
    /// An operation on a workload.
    OperationId,
    "operation"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_round_trips_through_its_text() {
        let id = ReleaseId::from_parts(1_700_000_000_000, 42);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
    }

    #[test]
    fn the_successor_of_an_id_is_later_and_of_the_same_millisecond() {
        let id = OperationId::from_parts(7, 42);
        assert_eq!(id.successor(), Some(OperationId::from_parts(7, 43)));
        assert_eq!(OperationId::from_parts(7, u128::MAX).successor(), None);
    }

    #[test]
    fn text_that_is_not_a_ulid_is_rejected_with_the_kind_of_id() {
        let error = "nope".parse::<ClusterId>().unwrap_err();
        assert!(error.to_string().contains("cluster id \"nope\""));
    }
}
