//! The project: what holds for all its workloads (S2-8).

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Whether a publish has to be approved before it reaches a cluster (S2-5).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum PublishApproval {
    /// Only what the rollout of a workload requires is approved.
    #[default]
    None,
    /// Every publish is approved, also by the user who made it.
    Anyone,
    /// Every publish is approved by another user than the one who made it.
    AnotherUser,
}

/// Text that is not a [`PublishApproval`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an approval; write none, anyone or anotherUser")]
pub struct InvalidPublishApproval(String);

impl PublishApproval {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in the database, in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What is required, as a part of a sentence: `every publish requires …`.
    pub const fn description(self) -> &'static str {
        match self {
            Self::None => "no approval, unless its rollout does",
            Self::Anyone => "an approval",
            Self::AnotherUser => "the approval of another user than its publisher",
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl FromStr for PublishApproval {
    type Err = InvalidPublishApproval;

    fn from_str(text: &str) -> Result<Self, InvalidPublishApproval> {
        let found = Self::ALL.iter().find(|approval| approval.as_str() == text);
        found.copied().ok_or_else(|| InvalidPublishApproval(text.chars().take(40).collect()))
    }
}

/// A project. There is one so far, `default`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Its name.
    pub name: String,
    /// Values that charts have on every cluster, whatever a workload, an override or a cluster group sets, as YAML with its comments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub locked_values: String,
    /// Whether a publish of any of its workloads has to be approved.
    #[serde(default, skip_serializing_if = "PublishApproval::is_none")]
    pub publish_approval: PublishApproval,
    /// Grows with every change; the `ETag`.
    #[serde(default)]
    pub revision: i64,
}
