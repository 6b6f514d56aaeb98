//! Authorization: which role an action needs. Hub, console, REST and command line call the same function.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::model::role::Role;

/// What a user can request from the hub. Every verb and every query is one of these.
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
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum UserAction {
    /// Read workloads, clusters, charts, events and operations.
    View,
    /// Check manifests, values and placements without storing them.
    Validate,
    /// List, create and revoke one's own API tokens.
    ManageOwnTokens,
    /// List and end one's own sessions.
    ManageOwnSessions,
    /// Change one's own password.
    ChangeOwnPassword,
    /// Create workloads, change their drafts, labels and overrides.
    Edit,
    /// Plan a publish, with a dry run on the clusters.
    Plan,
    /// Read Git repositories and registries now.
    CheckSource,
    /// Acknowledge incidents.
    AcknowledgeIncident,
    /// Hide drift until a time, and show it again.
    SnoozeDrift,
    /// Create and delete subscriptions to incidents.
    Subscribe,
    /// Upload and delete charts, read the index of a chart repository again.
    ChangeCharts,
    /// Publish a draft, an override or an earlier revision.
    Publish,
    /// Remove a workload from its clusters.
    Unpublish,
    /// Compare a workload with its clusters now.
    Sync,
    /// Keep a workload on clusters that are no longer selected.
    Retain,
    /// Suspend and resume a workload, a workload on some clusters, or a cluster.
    Suspend,
    /// Pause, resume, promote and abort a rollout.
    ControlRollout,
    /// Delete a workload.
    DeleteWorkload,
    /// Create, change and delete cluster groups and their features.
    ChangeGroups,
    /// Create, change, sync and delete deployments of a chart to a cluster group.
    Deploy,
    /// Read a Helm release on a cluster, whose values may contain secrets, and adopt it as a draft.
    AdoptHelmRelease,
    /// Inject a fault into a cluster of the demo.
    InjectFault,
    /// Approve the wave of a rollout that waits for approval.
    ApproveRollout,
    /// Set the policy of a workload that allows objects in the namespaces of Kubernetes itself.
    AllowSystemNamespaces,
    /// Change the policy of a workload that names the service account as which its objects are written.
    SetExecutor,
    /// Change labels, taints, annotations and values of a cluster, and whether it is schedulable.
    EditCluster,
    /// Create and revoke join tokens, accept and reject clusters, confirm their facts.
    JoinCluster,
    /// Revoke the certificates of a cluster, delete a cluster.
    RemoveCluster,
    /// Add, change and remove chart and Git repositories with their credentials.
    ManageRepositories,
    /// Lock values of charts for all workloads of the project.
    ManageProject,
    /// Create, test and delete channels for notifications.
    ManageChannels,
    /// List, invite and disable users, change their roles, reset their passwords.
    ManageUsers,
    /// Read the audit log.
    ViewAudit,
}

/// An action needs a higher role, or an API token that was created for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleRequired {
    /// What was requested.
    pub action: UserAction,
    /// The role of the actor.
    pub role: Role,
    /// The least role that may do it.
    pub required: Role,
    /// Whether the role allows it, and the API token does not.
    #[serde(default)]
    pub is_of_token: bool,
}

impl fmt::Display for RoleRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, role, required, is_of_token } = self;
        let phrase = action.phrase();
        if *is_of_token {
            let action = action.as_str();
            return write!(
                f,
                "To {phrase} this API token needs the action {action}, with which it was not created. {WHO_CREATES}"
            );
        }
        write!(f, "To {phrase} you need the role {required}; yours is {role}. {WHO_GRANTS}")
    }
}

impl std::error::Error for RoleRequired {}

/// Who can change a role.
pub const WHO_GRANTS: &str = "An admin can grant it under Settings, People.";

/// Who can create a token with another action.
const WHO_CREATES: &str = "Create another token under Settings.";

/// Text that is not an action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an action")]
pub struct InvalidAction(String);

impl UserAction {
    /// All actions, those with the least role first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in REST and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The action with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn parse(name: &str) -> Result<Self, InvalidAction> {
        let found = Self::ALL.iter().find(|action| action.as_str() == name);
        found.copied().ok_or_else(|| InvalidAction(name.chars().take(40).collect()))
    }

    /// The least role that may do it.
    pub const fn required_role(self) -> Role {
        match self {
            Self::View
            | Self::Validate
            | Self::ManageOwnTokens
            | Self::ManageOwnSessions
            | Self::ChangeOwnPassword => Role::Viewer,
            Self::Edit
            | Self::Plan
            | Self::CheckSource
            | Self::AcknowledgeIncident
            | Self::SnoozeDrift
            | Self::Subscribe
            | Self::ChangeCharts => Role::Editor,
            Self::Publish
            | Self::Unpublish
            | Self::Sync
            | Self::Retain
            | Self::Suspend
            | Self::ControlRollout
            | Self::DeleteWorkload
            | Self::ChangeGroups
            | Self::Deploy
            | Self::AdoptHelmRelease
            | Self::InjectFault => Role::Publisher,
            Self::ApproveRollout => Role::Approver,
            Self::AllowSystemNamespaces
            | Self::SetExecutor
            | Self::EditCluster
            | Self::JoinCluster
            | Self::RemoveCluster
            | Self::ManageRepositories
            | Self::ManageProject
            | Self::ManageChannels
            | Self::ManageUsers
            | Self::ViewAudit => Role::Admin,
        }
    }

    /// What it is, after "to".
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::View => "see this",
            Self::Validate => "check manifests",
            Self::ManageOwnTokens => "manage your API tokens",
            Self::ManageOwnSessions => "manage your sessions",
            Self::ChangeOwnPassword => "change your password",
            Self::Edit => "change drafts",
            Self::Plan => "plan a publish",
            Self::CheckSource => "read Git repositories and registries",
            Self::AcknowledgeIncident => "acknowledge incidents",
            Self::SnoozeDrift => "snooze drift",
            Self::Subscribe => "change subscriptions to incidents",
            Self::ChangeCharts => "change charts",
            Self::Publish => "publish",
            Self::Unpublish => "unpublish",
            Self::Sync => "sync",
            Self::Retain => "retain workloads on clusters",
            Self::Suspend => "suspend and resume workloads and clusters",
            Self::ControlRollout => "control rollouts",
            Self::DeleteWorkload => "delete workloads",
            Self::ChangeGroups => "change cluster groups",
            Self::Deploy => "change deployments",
            Self::AdoptHelmRelease => "adopt Helm releases",
            Self::InjectFault => "inject faults",
            Self::ApproveRollout => "approve waves of a rollout",
            Self::AllowSystemNamespaces => "set the policy allowSystemNamespaces",
            Self::SetExecutor => "change the policy executor",
            Self::EditCluster => "change clusters",
            Self::JoinCluster => "join clusters",
            Self::RemoveCluster => "revoke and delete clusters",
            Self::ManageRepositories => "manage repositories",
            Self::ManageProject => "change the project",
            Self::ManageChannels => "manage channels for notifications",
            Self::ManageUsers => "manage users",
            Self::ViewAudit => "read the audit log",
        }
    }
}

/// Whether a role allows an action.
///
/// # Errors
/// It needs a higher role, which the error names.
pub fn authorize(role: Role, action: UserAction) -> Result<(), RoleRequired> {
    let required = action.required_role();
    if role >= required { Ok(()) } else { Err(RoleRequired { action, role, required, is_of_token: false }) }
}

/// The table of actions by the least role that may do them, in Markdown.
pub fn format_role_table() -> String {
    let mut table = "| role | allows, beyond the role before it | actions |\n|---|---|---|\n".to_owned();
    for role in Role::ALL {
        let actions: Vec<String> = UserAction::ALL
            .iter()
            .filter(|action| action.required_role() == *role)
            .map(|action| format!("`{}`", action.as_str()))
            .collect();
        table.push_str(&format!("| **{role}** | {} | {} |\n", role.description(), actions.join(", ")));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_allowed_from_its_least_role_on() {
        for action in UserAction::ALL {
            for role in Role::ALL {
                assert_eq!(
                    authorize(*role, *action).is_ok(),
                    *role >= action.required_role(),
                    "{role} {action:?}"
                );
            }
            assert!(authorize(Role::Admin, *action).is_ok());
        }
    }

    #[test]
    fn a_refusal_names_the_action_both_roles_and_who_can_grant_it() {
        let refusal = authorize(Role::Viewer, UserAction::Publish).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "To publish you need the role publisher; yours is viewer. An admin can grant it under Settings, People."
        );
    }

    #[test]
    fn an_action_is_parsed_from_its_name() {
        for action in UserAction::ALL {
            assert_eq!(UserAction::parse(action.as_str()), Ok(*action));
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
        assert!(UserAction::parse("Publish").is_err());
    }

    #[test]
    fn the_documentation_has_the_table_of_roles() {
        let page = include_str!("../../../../docs/security.md");
        assert!(page.contains(&format_role_table()), "docs/security.md needs:\n{}", format_role_table());
    }
}
