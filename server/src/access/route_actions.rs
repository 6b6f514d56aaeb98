//! The action of every operation of the REST API, by its id, and of every server function of the console, by its name. A
//! request is authorized by it before its body is read; the verb checks its own action again.

use std::collections::HashMap;

use axum::http::Method;
use domain::authorization::UserAction;
use utoipa::openapi::OpenApi;

use super::{RouteKind, route_kind};
use crate::api;
use crate::site::Site;

/// The names of each action. A name without an action is rejected, and a test fails.
const ACTIONS: &[(UserAction, &[&str])] = &[
    (
        UserAction::View,
        &[
            // REST
            "canI",
            "getChannel",
            "getChart",
            "getChartRepository",
            "getCluster",
            "getClusterGroup",
            "getClusterSuspension",
            "getDeployment",
            "getDrift",
            "getFleet",
            "getGitRepository",
            "getGitSource",
            "getGroup",
            "getGroupFeature",
            "getIncident",
            "getOnboarding",
            "getOperation",
            "getOverride",
            "getPlacementDecision",
            "getPlan",
            "getProject",
            "getRelease",
            "getRevision",
            "getRollout",
            "getServerStatus",
            "getValues",
            "getWorkload",
            "getWorkloadStatus",
            "getWorkloadSuspension",
            "listChannels",
            "listChartRepositories",
            "listCharts",
            "listChartVersions",
            "listClusterGroups",
            "listClusterReleases",
            "listClusters",
            "listDeployments",
            "listDrift",
            "listEvents",
            "listGitRepositories",
            "listGroupFeatures",
            "listGroups",
            "listIncidents",
            "listJoinTokens",
            "listOperations",
            "listOverrides",
            "listRegistrations",
            "listReleases",
            "listRevisions",
            "listRolloutClusters",
            "listSubscriptions",
            "listWorkloads",
            "renderWorkload",
            "reportRollout",
            "search",
            "searchCharts",
            "watchChanges",
            // Console
            "agent_address_read",
            "chart_choices_read",
            "chart_read",
            "chart_repositories_read",
            "chart_values_read",
            "chart_versions_read",
            "charts_read",
            "cluster_question_read",
            "cluster_read",
            "cluster_values_read",
            "clusters_read",
            "draft_change_read",
            "draft_read",
            "draft_status_read",
            "drift_read",
            "events_read",
            "fleet_read",
            "frame_read",
            "git_repositories_read",
            "git_source_read",
            "group_candidates_read",
            "group_change_read",
            "group_features_read",
            "group_read",
            "groups_read",
            "incident_read",
            "incidents_read",
            "notifications_read",
            "join_command_read",
            "join_tokens_read",
            "onboarding_read",
            "operations_read",
            "overrides_read",
            "placement_read",
            "project_read",
            "releases_read",
            "review_read",
            "revision_read",
            "revisions_read",
            "rollout_read",
            "search_read",
            "server_status_read",
            "set_shortcuts",
            "set_theme",
            "source_read",
            "theme_read",
            "user_read",
            "workload_head_read",
            "workload_selection_read",
            "workloads_read",
        ],
    ),
    (
        UserAction::Validate,
        &[
            "previewChannelTemplate",
            "previewCluster",
            "previewGroup",
            "previewPlacement",
            "previewUnwrapping",
            "validateWorkload",
            "chart_unwrapping_read",
            "chart_values_check",
        ],
    ),
    (
        UserAction::ManageOwnTokens,
        &[
            "createToken",
            "deleteToken",
            "listTokens",
            "token_authorize",
            "token_create",
            "token_delete",
            "tokens_read",
        ],
    ),
    (
        UserAction::ManageOwnSessions,
        &[
            "listSessions",
            "revokeSession",
            "revokeSessions",
            "session_revoke",
            "session_revoke_others",
            "sessions_read",
        ],
    ),
    (UserAction::ChangeOwnPassword, &["changePassword", "own_password_change"]),
    (
        UserAction::Edit,
        &[
            "adoptDrift",
            "createWorkload",
            "deleteOverride",
            "ignoreDrift",
            "patchWorkload",
            "putOverride",
            "putWorkload",
            "restoreRevision",
            "unwrapChart",
            "chart_unwrap",
            "config_save",
            "drift_decide",
            "drift_ignore",
            "override_remove",
            "override_save",
            "placement_save",
            "policies_save",
            "rollout_save",
            "source_save",
            "workload_create",
            "workload_restore",
        ],
    ),
    (UserAction::Plan, &["planWorkload", "plan_create"]),
    (UserAction::AcknowledgeIncident, &["acknowledgeIncident", "incident_acknowledge"]),
    (UserAction::SnoozeDrift, &["snoozeDrift", "drift_snooze"]),
    (
        UserAction::Subscribe,
        &["createSubscription", "deleteSubscription", "subscription_create", "subscription_delete"],
    ),
    (UserAction::ManageProject, &["putProject", "project_save"]),
    (
        UserAction::ManageChannels,
        &[
            "createChannel",
            "deleteChannel",
            "setChannelTemplate",
            "testChannel",
            "channel_create",
            "channel_delete",
            "channel_template",
            "channel_test",
        ],
    ),
    (UserAction::CheckSource, &["checkGitSource", "git_preview_read", "git_source_check"]),
    (
        UserAction::ChangeCharts,
        &[
            "deleteChart",
            "refreshChartRepository",
            "uploadChart",
            "chart_delete",
            "chart_repository_refresh",
            "chart_upload",
        ],
    ),
    (UserAction::Publish, &["publishWorkload", "workload_publish"]),
    (UserAction::Unpublish, &["unpublishWorkload", "workload_unpublish", "workloads_unpublish"]),
    (
        UserAction::Sync,
        &[
            "revertDrift",
            "revertDriftFields",
            "syncWorkload",
            "drift_revert",
            "drift_revert_field",
            "workload_sync",
            "workloads_sync",
        ],
    ),
    (UserAction::Retain, &["retainWorkload", "workload_retain"]),
    (
        UserAction::Suspend,
        &[
            "resumeCluster",
            "resumeWorkload",
            "suspendCluster",
            "suspendWorkload",
            "cluster_resume",
            "cluster_suspend",
            "workload_resume",
            "workload_suspend",
        ],
    ),
    // An approval needs more, which the verb checks.
    (UserAction::ControlRollout, &["controlRollout", "rollout_control"]),
    (UserAction::DeleteWorkload, &["deleteWorkload", "workload_delete"]),
    (
        UserAction::ChangeGroups,
        &[
            "createClusterGroup",
            "createGroup",
            "deleteClusterGroup",
            "deleteGroup",
            "disableGroupFeature",
            "enableGroupFeature",
            "putGroup",
            "updateClusterGroup",
            "updateGroupFeature",
            "group_create",
            "group_delete",
            "group_feature_disable",
            "group_feature_enable",
            "group_members_save",
            "group_save",
        ],
    ),
    (UserAction::Deploy, &["createDeployment", "deleteDeployment", "syncDeployment", "updateDeployment"]),
    (
        UserAction::AdoptHelmRelease,
        &["adoptHelmRelease", "readHelmRelease", "helm_release_adopt", "helm_release_read"],
    ),
    (UserAction::InjectFault, &["injectFault", "inject_demo_fault"]),
    (
        UserAction::EditCluster,
        &[
            "patchCluster",
            "cluster_annotate",
            "cluster_cordon",
            "cluster_label",
            "cluster_set_owners",
            "cluster_set_values",
            "cluster_taint",
        ],
    ),
    (
        UserAction::JoinCluster,
        &[
            "acceptCluster",
            "confirmFacts",
            "createInstallManifest",
            "createJoinToken",
            "rejectCluster",
            "revokeJoinToken",
            "cluster_accept",
            "cluster_confirm_facts",
            "cluster_install",
            "cluster_reject",
            "join_token_create",
            "join_token_revoke",
        ],
    ),
    (UserAction::RemoveCluster, &["deleteCluster", "revokeCluster", "cluster_delete", "cluster_revoke"]),
    (
        UserAction::ManageRepositories,
        &[
            "createChartRepository",
            "deleteChartRepository",
            "deleteGitRepository",
            "putChartRepository",
            "putGitRepository",
            "chart_repository_add",
            "chart_repository_remove",
            "git_repository_remove",
            "git_repository_save",
        ],
    ),
    (
        UserAction::ManageUsers,
        &[
            "deleteIdentityProvider",
            "deleteUserToken",
            "disableUser",
            "elevateUser",
            "enableUser",
            "endElevation",
            "getIdentityProvider",
            "getUserIdentity",
            "inviteUser",
            "listIdentityProviders",
            "listUserSessions",
            "listUserTokens",
            "listUsers",
            "putIdentityProvider",
            "resetPassword",
            "revokeUserSession",
            "revokeUserSessions",
            "setUserRole",
            "testIdentityProvider",
            "identity_provider_remove",
            "identity_provider_save",
            "identity_provider_test",
            "identity_providers_read",
            "people_read",
            "user_credentials_read",
            "user_disable",
            "user_elevate",
            "user_enable",
            "user_end_elevation",
            "user_identity_read",
            "user_invite",
            "user_reset_password",
            "user_session_revoke",
            "user_sessions_revoke",
            "user_set_role",
            "user_token_revoke",
        ],
    ),
    (UserAction::ViewAudit, &["exportAudit", "listAudit", "verifyAudit", "audit_read", "audit_verify"]),
];

/// Operations that are authenticated by a signature and have no actor.
const SIGNED_OPERATIONS: [&str; 1] = ["receiveGitWebhook"];

/// Prefix of the paths of server functions.
const SERVER_FN_PREFIX: &str = "/api/fn/";

/// The action with this operation id or name of a server function.
pub fn find_action(name: &str) -> Option<UserAction> {
    ACTIONS.iter().find(|(_, names)| names.contains(&name)).map(|(action, _)| *action)
}

/// Every name with an action.
pub fn list_action_names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// The action of every route that needs one, by method and public path.
#[derive(Debug, Default)]
pub struct RouteActions(HashMap<(Method, String), Option<UserAction>>);

impl RouteActions {
    /// The actions of these routes.
    pub fn new(site: &Site, routes: &[(Method, String)], openapi: &OpenApi) -> Self {
        let operations: HashMap<(Method, String), String> = api::list_operation_ids(openapi).collect();
        let mut actions = HashMap::new();
        for (method, path) in routes {
            let route = (method.clone(), path.clone());
            let name = match route_kind(site, path) {
                RouteKind::Public | RouteKind::Signed | RouteKind::Page => continue,
                RouteKind::ServerFn => path.strip_prefix(SERVER_FN_PREFIX),
                RouteKind::Api => operations.get(&route).map(String::as_str),
            };
            if name.is_some_and(|name| SIGNED_OPERATIONS.contains(&name)) {
                continue;
            }
            // The document of the API and the metrics are no operations.
            let action = match (name, &**path) {
                (None, "/metrics" | "/api/v1/openapi.json") => Some(UserAction::View),
                (name, _) => name.and_then(find_action),
            };
            if action.is_none() {
                tracing::error!(%method, path, "a route has no action; it is rejected for every role");
            }
            actions.insert(route, action);
        }
        Self(actions)
    }

    /// The action of a route: `None` if it needs none, `Some(None)` if it must not be served.
    pub fn get(&self, method: &Method, path: &str) -> Option<Option<UserAction>> {
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.0.get(&(method, path.to_owned())).copied()
    }

    /// Every route with its action.
    pub fn iter(&self) -> impl Iterator<Item = (&Method, &str, Option<UserAction>)> {
        self.0.iter().map(|((method, path), action)| (method, &**path, *action))
    }
}
