//! Roles: one ordered scale of what a user or an API token may do, and the scopes in which a role is granted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// A role. Each one includes those before it.
#[derive(
    Debug,
    Clone,
    Copy,
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
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Role {
    /// Sees workloads, clusters and events; changes nothing.
    Viewer,
    /// Also changes drafts, and plans them.
    Editor,
    /// Also publishes, and removes what is published.
    Publisher,
    /// Also approves waves of rollouts.
    Approver,
    /// Also changes clusters, repositories, users and their roles.
    Admin,
}

/// Text that is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role; the roles are viewer, editor, publisher, approver and admin")]
pub struct InvalidRole(String);

impl Role {
    /// All roles, the least first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in the database, in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What it allows beyond the role before it.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Viewer => "reads everything but users, changes nothing",
            Self::Editor => "changes drafts and charts, plans them",
            Self::Publisher => "publishes, syncs, unpublishes, deletes; changes cluster groups",
            Self::Approver => "approves waves of rollouts",
            Self::Admin => "changes clusters, repositories, the project, users and roles",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        let found = Self::ALL.iter().find(|role| role.as_str() == text);
        found.copied().ok_or_else(|| InvalidRole(text.chars().take(40).collect()))
    }
}

/// The kind of scope in which a role is granted. Only roles in the organisation are evaluated so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum ScopeKind {
    /// All projects and clusters of the organisation.
    Organization,
    /// One project.
    Project,
    /// The clusters of one group.
    ClusterGroup,
    /// One namespace on all clusters.
    Namespace,
}

impl ScopeKind {
    /// Its name in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_ordered_and_parsed_from_their_names() {
        assert!(Role::Viewer < Role::Editor && Role::Editor < Role::Publisher);
        assert!(Role::Publisher < Role::Approver && Role::Approver < Role::Admin);
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(*role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        assert!("Admin".parse::<Role>().is_err() && "".parse::<Role>().is_err());
    }
}
