//! The OpenAPI document.

use std::collections::BTreeSet;

use crate::test_server::TestServer;

/// Every operation of the document, as path, method and id.
async fn list_operations() -> Vec<String> {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut lines = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            lines.push(format!(
                "{path} {} {}",
                method.to_uppercase(),
                operation["operationId"].as_str().unwrap()
            ));
        }
    }
    lines.sort();
    lines
}

#[tokio::test]
async fn s1_24_the_openapi_document_lists_these_operations() {
    let lines = list_operations().await;
    let lines: Vec<String> = lines.into_iter().filter(|line| !has_own_list(line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/audit GET listAudit
    /api/v1/audit/export GET exportAudit
    /api/v1/audit/verification GET verifyAudit
    /api/v1/events GET listEvents
    /api/v1/fleet GET getFleet
    /api/v1/operations/{operation} GET getOperation
    /api/v1/password PUT changePassword
    /api/v1/plans/{plan} GET getPlan
    /api/v1/projects/{project} GET getProject
    /api/v1/projects/{project} PUT putProject
    /api/v1/projects/{project}/chart-catalog GET searchCharts
    /api/v1/projects/{project}/chart-catalog/{repository}/{chart} GET listChartVersions
    /api/v1/projects/{project}/chart-repositories GET listChartRepositories
    /api/v1/projects/{project}/chart-repositories POST createChartRepository
    /api/v1/projects/{project}/chart-repositories/{repository} DELETE deleteChartRepository
    /api/v1/projects/{project}/chart-repositories/{repository} GET getChartRepository
    /api/v1/projects/{project}/chart-repositories/{repository} PUT putChartRepository
    /api/v1/projects/{project}/chart-repositories/{repository}:refresh POST refreshChartRepository
    /api/v1/projects/{project}/charts GET listCharts
    /api/v1/projects/{project}/charts POST uploadChart
    /api/v1/projects/{project}/charts/{repository}/{chart}/{version} DELETE deleteChart
    /api/v1/projects/{project}/charts/{repository}/{chart}/{version} GET getChart
    /api/v1/projects/{project}/placements:preview POST previewPlacement
    /api/v1/projects/{project}/workloads GET listWorkloads
    /api/v1/projects/{project}/workloads POST createWorkload
    /api/v1/projects/{project}/workloads/{workload} DELETE deleteWorkload
    /api/v1/projects/{project}/workloads/{workload} GET getWorkload
    /api/v1/projects/{project}/workloads/{workload} PATCH patchWorkload
    /api/v1/projects/{project}/workloads/{workload} PUT putWorkload
    /api/v1/projects/{project}/workloads/{workload}/manifests GET renderWorkload
    /api/v1/projects/{project}/workloads/{workload}/operations GET listOperations
    /api/v1/projects/{project}/workloads/{workload}/overrides GET listOverrides
    /api/v1/projects/{project}/workloads/{workload}/overrides/{name} DELETE deleteOverride
    /api/v1/projects/{project}/workloads/{workload}/overrides/{name} GET getOverride
    /api/v1/projects/{project}/workloads/{workload}/overrides/{name} PUT putOverride
    /api/v1/projects/{project}/workloads/{workload}/placement GET getPlacementDecision
    /api/v1/projects/{project}/workloads/{workload}/releases GET listReleases
    /api/v1/projects/{project}/workloads/{workload}/releases/{cluster} GET getRelease
    /api/v1/projects/{project}/workloads/{workload}/revisions GET listRevisions
    /api/v1/projects/{project}/workloads/{workload}/revisions/{revision} GET getRevision
    /api/v1/projects/{project}/workloads/{workload}/rollout GET getRollout
    /api/v1/projects/{project}/workloads/{workload}/rollout/clusters GET listRolloutClusters
    /api/v1/projects/{project}/workloads/{workload}/rollout/report GET reportRollout
    /api/v1/projects/{project}/workloads/{workload}/rollout:{verb} POST controlRollout
    /api/v1/projects/{project}/workloads/{workload}/status GET getWorkloadStatus
    /api/v1/projects/{project}/workloads/{workload}/suspension GET getWorkloadSuspension
    /api/v1/projects/{project}/workloads/{workload}/values GET getValues
    /api/v1/projects/{project}/workloads/{workload}:plan POST planWorkload
    /api/v1/projects/{project}/workloads/{workload}:previewUnwrapping POST previewUnwrapping
    /api/v1/projects/{project}/workloads/{workload}:publish POST publishWorkload
    /api/v1/projects/{project}/workloads/{workload}:restore POST restoreRevision
    /api/v1/projects/{project}/workloads/{workload}:resume POST resumeWorkload
    /api/v1/projects/{project}/workloads/{workload}:retain POST retainWorkload
    /api/v1/projects/{project}/workloads/{workload}:suspend POST suspendWorkload
    /api/v1/projects/{project}/workloads/{workload}:sync POST syncWorkload
    /api/v1/projects/{project}/workloads/{workload}:unpublish POST unpublishWorkload
    /api/v1/projects/{project}/workloads/{workload}:unwrapChart POST unwrapChart
    /api/v1/projects/{project}/workloads:validate POST validateWorkload
    /api/v1/search GET search
    /api/v1/server-status GET getServerStatus
    /api/v1/sessions DELETE revokeSessions
    /api/v1/sessions GET listSessions
    /api/v1/sessions/{id} DELETE revokeSession
    /api/v1/tokens GET listTokens
    /api/v1/tokens POST createToken
    /api/v1/tokens/{id} DELETE deleteToken
    /api/v1/watch GET watchChanges
    ");
}

#[tokio::test]
async fn s1_24_the_openapi_document_lists_these_operations_on_clusters_and_groups() {
    let lines: Vec<String> = list_operations().await.into_iter().filter(|line| is_cluster(line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/cluster-groups GET listGroups
    /api/v1/cluster-groups POST createGroup
    /api/v1/cluster-groups/{group} DELETE deleteGroup
    /api/v1/cluster-groups/{group} GET getGroup
    /api/v1/cluster-groups/{group} PUT putGroup
    /api/v1/cluster-groups/{group}:preview POST previewGroup
    /api/v1/clusters GET listClusters
    /api/v1/clusters/{cluster} DELETE deleteCluster
    /api/v1/clusters/{cluster} GET getCluster
    /api/v1/clusters/{cluster} PATCH patchCluster
    /api/v1/clusters/{cluster}/helm-releases/{namespace}/{release}:adopt POST adoptHelmRelease
    /api/v1/clusters/{cluster}/helm-releases/{namespace}/{release}:read POST readHelmRelease
    /api/v1/clusters/{cluster}/onboarding GET getOnboarding
    /api/v1/clusters/{cluster}/releases GET listClusterReleases
    /api/v1/clusters/{cluster}/suspension GET getClusterSuspension
    /api/v1/clusters/{cluster}:accept POST acceptCluster
    /api/v1/clusters/{cluster}:confirmFacts POST confirmFacts
    /api/v1/clusters/{cluster}:install POST createInstallManifest
    /api/v1/clusters/{cluster}:preview POST previewCluster
    /api/v1/clusters/{cluster}:reject POST rejectCluster
    /api/v1/clusters/{cluster}:resume POST resumeCluster
    /api/v1/clusters/{cluster}:revoke POST revokeCluster
    /api/v1/clusters/{cluster}:suspend POST suspendCluster
    /api/v1/join-tokens GET listJoinTokens
    /api/v1/join-tokens POST createJoinToken
    /api/v1/join-tokens/{id} DELETE revokeJoinToken
    /api/v1/registrations GET listRegistrations
    ");
}

/// Whether a line is an operation on clusters, their groups or their registration.
fn is_cluster(line: &str) -> bool {
    ["clusters", "cluster-groups", "join-tokens", "registrations"].iter().any(|noun| {
        let rest = line.strip_prefix("/api/v1/").and_then(|path| path.strip_prefix(noun));
        rest.is_some_and(|rest| rest.starts_with(['/', ' ', ':']))
    })
}

fn has_own_list(line: &str) -> bool {
    line.contains("/orgs/") || is_git(line) || is_user(line) || is_cluster(line) || is_notification(line)
}

/// Whether a line is an operation on drift, incidents, channels or subscriptions.
fn is_notification(line: &str) -> bool {
    ["drift", "incidents", "channels", "subscriptions"]
        .iter()
        .any(|noun| line.starts_with(&format!("/api/v1/{noun}")))
}

#[tokio::test]
async fn e12_the_openapi_document_lists_these_operations_on_drift_incidents_and_channels() {
    let lines: Vec<String> =
        list_operations().await.into_iter().filter(|line| is_notification(line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/channels GET listChannels
    /api/v1/channels POST createChannel
    /api/v1/channels/{channel} DELETE deleteChannel
    /api/v1/channels/{channel} GET getChannel
    /api/v1/channels/{channel}/template PUT setChannelTemplate
    /api/v1/channels/{channel}:test POST testChannel
    /api/v1/channels:preview POST previewChannelTemplate
    /api/v1/drift GET listDrift
    /api/v1/drift/{drift} GET getDrift
    /api/v1/drift/{drift}:adopt POST adoptDrift
    /api/v1/drift/{drift}:ignore POST ignoreDrift
    /api/v1/drift/{drift}:revert POST revertDrift
    /api/v1/drift/{drift}:revertFields POST revertDriftFields
    /api/v1/drift/{drift}:snooze POST snoozeDrift
    /api/v1/incidents GET listIncidents
    /api/v1/incidents/{incident} GET getIncident
    /api/v1/incidents/{incident}:ack POST acknowledgeIncident
    /api/v1/subscriptions GET listSubscriptions
    /api/v1/subscriptions POST createSubscription
    /api/v1/subscriptions/{subscription} DELETE deleteSubscription
    ");
}

fn is_user(line: &str) -> bool {
    line.contains("/users") || line.contains("/auth/") || line.contains("/identity-providers")
}

#[tokio::test]
async fn s1_24_the_openapi_document_lists_these_operations_on_users() {
    let lines: Vec<String> = list_operations().await.into_iter().filter(|line| is_user(line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/auth/can-i GET canI
    /api/v1/identity-providers GET listIdentityProviders
    /api/v1/identity-providers/{provider} DELETE deleteIdentityProvider
    /api/v1/identity-providers/{provider} GET getIdentityProvider
    /api/v1/identity-providers/{provider} PUT putIdentityProvider
    /api/v1/identity-providers/{provider}:test POST testIdentityProvider
    /api/v1/users GET listUsers
    /api/v1/users POST inviteUser
    /api/v1/users/{user}/elevation DELETE endElevation
    /api/v1/users/{user}/elevation PUT elevateUser
    /api/v1/users/{user}/identity GET getUserIdentity
    /api/v1/users/{user}/role PUT setUserRole
    /api/v1/users/{user}/sessions DELETE revokeUserSessions
    /api/v1/users/{user}/sessions GET listUserSessions
    /api/v1/users/{user}/sessions/{id} DELETE revokeUserSession
    /api/v1/users/{user}/tokens GET listUserTokens
    /api/v1/users/{user}/tokens/{id} DELETE deleteUserToken
    /api/v1/users/{user}:disable POST disableUser
    /api/v1/users/{user}:enable POST enableUser
    /api/v1/users/{user}:resetPassword POST resetPassword
    ");
}

fn is_git(line: &str) -> bool {
    line.contains("git") || line.contains("checkGit")
}

#[tokio::test]
async fn s1_24_the_openapi_document_lists_these_operations_on_git() {
    let lines: Vec<String> = list_operations().await.into_iter().filter(|line| is_git(line)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/projects/{project}/git-repositories GET listGitRepositories
    /api/v1/projects/{project}/git-repositories/{repository} DELETE deleteGitRepository
    /api/v1/projects/{project}/git-repositories/{repository} GET getGitRepository
    /api/v1/projects/{project}/git-repositories/{repository} PUT putGitRepository
    /api/v1/projects/{project}/git-webhooks/{repository} POST receiveGitWebhook
    /api/v1/projects/{project}/workloads/{workload}/git GET getGitSource
    /api/v1/projects/{project}/workloads/{workload}:checkGit POST checkGitSource
    ");
}

#[tokio::test]
async fn s1_24_the_openapi_document_lists_these_operations_on_deployments() {
    let lines = list_operations().await;
    let lines: Vec<String> = lines.into_iter().filter(|line| line.contains("/orgs/")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/orgs/{org}/clustergroups GET listClusterGroups
    /api/v1/orgs/{org}/clustergroups POST createClusterGroup
    /api/v1/orgs/{org}/clustergroups/{clustergroup} DELETE deleteClusterGroup
    /api/v1/orgs/{org}/clustergroups/{clustergroup} GET getClusterGroup
    /api/v1/orgs/{org}/clustergroups/{clustergroup} PUT updateClusterGroup
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments GET listDeployments
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments POST createDeployment
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName} DELETE deleteDeployment
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName} GET getDeployment
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName} PUT updateDeployment
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}/sync PUT syncDeployment
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/features GET listGroupFeatures
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature} DELETE disableGroupFeature
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature} GET getGroupFeature
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature} POST enableGroupFeature
    /api/v1/orgs/{org}/clustergroups/{clustergroup}/features/{feature} PUT updateGroupFeature
    ");
}

#[tokio::test]
async fn s1_24_every_field_of_the_openapi_document_is_in_camel_case_as_in_the_json() {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let mut other = Vec::new();
    collect_property_names(&document["components"]["schemas"], &mut other);
    other.retain(|name| name.contains('_'));
    assert_eq!(other, Vec::<String>::new());
}

fn collect_property_names(schema: &serde_json::Value, names: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        names.extend(properties.keys().cloned());
    }
    let children: Vec<&serde_json::Value> = match schema {
        serde_json::Value::Object(map) => map.values().collect(),
        serde_json::Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    children.into_iter().for_each(|child| collect_property_names(child, names));
}

#[tokio::test]
async fn s0_3_every_operation_and_every_server_function_that_changes_something_is_in_the_list_of_actions() {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let mut offered = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            offered.insert(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let functions = leptos::server_fn::axum::server_fn_paths();
    for (path, _) in functions.filter(|(_, method)| method != axum::http::Method::GET) {
        offered.insert(path.rsplit('/').next().unwrap().to_owned());
    }
    // The command has the same name: the test of the commands finds it.
    assert!(offered.remove("search"));
    // Names between backticks; commands contain neither capitals nor underscores.
    let tables = include_str!("../../../docs/actions.md").lines().filter(|line| line.starts_with('|'));
    let names = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
    let listed = names.filter(|name| name.contains(|c: char| c.is_uppercase() || c == '_'));
    // Only the demo serves it.
    let listed: BTreeSet<String> = listed.filter(|name| *name != "injectFault").map(str::to_owned).collect();
    assert_eq!(offered, listed, "docs/actions.md");
}

#[tokio::test]
async fn every_reference_of_the_openapi_document_resolves() {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let text = document.to_string();
    let mut count = 0;
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
        count += 1;
    }
    assert!(count > 50, "{count}");
}

#[tokio::test]
async fn no_schema_of_the_openapi_document_has_the_name_of_a_container_of_rust() {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let containers =
        ["Box", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "Option", "String", "Value", "Vec"];
    let named: Vec<&str> = containers.into_iter().filter(|name| schemas.contains_key(*name)).collect();
    assert_eq!(named, [""; 0]);
    assert_eq!(schemas["Labels"]["additionalProperties"]["type"], "string", "{}", schemas["Labels"]);
    assert_eq!(schemas["Workload"]["properties"]["labels"]["$ref"], "#/components/schemas/Labels");
}

#[tokio::test]
async fn s1_10_the_openapi_document_names_flags_of_deployments_as_booleans_or_texts() {
    let server = TestServer::start().await;
    let document = server.get("/api/v1/openapi.json").await.json();
    let schemas = &document["components"]["schemas"];
    for flag in ["atomic", "dryRun", "reuseValues", "rollingMode"] {
        let property = &schemas["DeploymentRequest"]["properties"][flag];
        assert_eq!(property["$ref"], "#/components/schemas/BooleanOrText", "{flag}: {property}");
    }
    let options = schemas["BooleanOrText"]["oneOf"].as_array().unwrap();
    let kinds: Vec<&serde_json::Value> = options.iter().map(|option| &option["type"]).collect();
    assert_eq!(kinds, ["boolean", "string"]);
}
