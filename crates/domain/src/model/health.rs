//! Health: whether something is operational. One of three independent axes, beside sync and connectivity
//! (docs/decisions/0006-three-axes-one-derived-state.md).

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::time::Timestamp;

/// The reason of something that has completed; of a release when everything that runs in it has.
pub const COMPLETED: &str = "Completed";

/// The label of what is not assessed.
pub(crate) const NOT_ASSESSED_LABEL: &str = "Not assessed";

/// How healthy something is. Ordered from best to worst, so the worst of many is the maximum.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum HealthStatus {
    /// Operational.
    Healthy,
    /// It exists, and nothing that can be read says whether it works.
    NotAssessed,
    /// Paused on purpose.
    Suspended,
    /// Not operational yet, without a failure.
    Progressing,
    /// Expected on the cluster and absent.
    Missing,
    /// Broken.
    Degraded,
    /// Not reported.
    #[default]
    Unknown,
}

impl HealthStatus {
    /// Every value, best first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name that is displayed and stored in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotAssessed => NOT_ASSESSED_LABEL,
            other => other.as_str(),
        }
    }

    /// Whether nothing more is waited for: healthy, or not assessed, which the policies accepted.
    pub const fn is_operational(self) -> bool {
        matches!(self, Self::Healthy | Self::NotAssessed)
    }
}

/// A health with its cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// How healthy.
    pub status: HealthStatus,
    /// CamelCase reason, such as `ProgressDeadlineExceeded`; empty when healthy needs no reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when, by the clock of whoever observed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl Health {
    /// A health with reason and message.
    pub fn new(status: HealthStatus, reason: &str, message: impl Into<String>) -> Self {
        Self { status, reason: reason.to_owned(), message: message.into(), since: None }
    }

    /// Healthy, without a reason.
    pub fn healthy() -> Self {
        Self { status: HealthStatus::Healthy, ..Self::default() }
    }
}

/// The worst health, with its cause; `None` without any.
pub fn worst_health<'a>(all: impl IntoIterator<Item = &'a Health>) -> Option<&'a Health> {
    // Not `max_by_key`, which returns the last of equals: the first cause in apply order explains the others.
    all.into_iter().fold(None, |worst, health| match worst {
        Some(so_far) if so_far.status >= health.status => Some(so_far),
        _ => Some(health),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_health_and_its_first_cause_are_reported() {
        let all = [
            Health::healthy(),
            Health::new(HealthStatus::Degraded, "First", ""),
            Health::new(HealthStatus::Degraded, "Second", ""),
            Health::new(HealthStatus::Progressing, "", ""),
        ];
        assert_eq!(worst_health(&all).unwrap().reason, "First");
        assert_eq!(worst_health(&[]), None);
    }
}
