//! The orders of a list of workloads.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The order of a list of workloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum WorkloadOrder {
    /// By name.
    #[default]
    Name,
    /// By the most severe state among their releases, then by name.
    WorstFirst,
    /// By the share of healthy releases, the smallest first; those without releases last.
    LeastHealthy,
    /// By the number of the published revision, the greatest first; those that were never published last.
    Revision,
    /// By namespace, then by name.
    Namespace,
    /// Those that a person changed last first.
    Newest,
}

impl WorkloadOrder {
    /// The name in JSON and in addresses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The order of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|order| order.as_str() == name)
    }
}
