//! A walk over every operation that changes something: a client that has lost the response repeats the request with its
//! `Idempotency-Key`, and gets the response that was stored in the transaction of the change (P2).

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Method;
use domain::cluster::{ClusterFacts, ConfirmedFacts};
use domain::join::NewJoinToken;
use domain::report::ReportBatch;
use flate2::Compression;
use flate2::write::GzEncoder;
use hub::{Authority, JoinRequest, RegistrationResult};
use serde_json::{Value, json};

use crate::inputs::servers;
use crate::openapi_document::ServedDocument;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{TestResponse, TestServer, USER_NAME, WORKLOADS, new_workload};

/// The operations with another method than `GET` that the walk leaves out, and why.
const EXEMPT: [(&str, &str); 28] = [
    ("previewChannelTemplate", "reads"),
    ("previewCluster", "reads"),
    ("previewGroup", "reads"),
    ("previewPlacement", "reads"),
    ("previewUnwrapping", "reads"),
    ("validateWorkload", "reads"),
    (
        "planWorkload",
        "a plan changes nothing and ends within an hour: a repeated request may create another one",
    ),
    ("readHelmRelease", "reads values that can contain passwords, which are not stored"),
    (
        "createJoinToken",
        "the response has a secret that clients need: a repeated request creates another token",
    ),
    ("createInstallManifest", "as createJoinToken"),
    ("changePassword", "the request has passwords, of which not even a hash is stored with a key"),
    ("receiveGitWebhook", "has no user: a repeated event lets the same refs be checked again"),
    ("checkGitSource", "reads a server in several transactions: a repeated request checks again"),
    ("refreshChartRepository", "reads a server in several transactions: a repeated request reads it again"),
    ("testIdentityProvider", "reads a server and stores nothing: a repeated request tests again"),
    ("testChannel", "sends a message before it stores anything: a repeated request may send another one"),
    ("adoptHelmRelease", "needs an agent that answers; it is the transaction of createWorkload"),
    ("retainWorkload", "needs the placer: crates/hub/tests/publishing/repeated_requests.rs"),
    ("acknowledgeIncident", "needs reports: crates/hub/tests/publishing/incidents.rs"),
    ("revertDrift", "needs reports: server/tests/api/drift.rs"),
    ("revertDriftFields", "needs reports: server/tests/api/drift.rs"),
    ("adoptDrift", "needs reports: server/tests/api/drift.rs"),
    ("ignoreDrift", "needs reports: server/tests/api/drift.rs"),
    ("snoozeDrift", "needs reports: server/tests/api/drift.rs"),
    ("createDeployment", "needs Helm: server/tests/fleet/repeated_requests.rs"),
    ("updateDeployment", "needs Helm: server/tests/fleet/repeated_requests.rs"),
    ("deleteDeployment", "needs Helm: server/tests/fleet/repeated_requests.rs"),
    ("syncDeployment", "needs Helm: server/tests/fleet/repeated_requests.rs"),
];
/// The operations whose response has a secret, and its fields, which a repeated response does not have.
const SECRETS: [(&str, &[&str]); 3] =
    [("createToken", &["token", "secret"]), ("inviteUser", &["link"]), ("resetPassword", &["link"])];
/// The operations that read the index after their commit: a response that is lost before is without its status.
const COMPLETED_LATER: [&str; 2] = ["createChartRepository", "putChartRepository"];
/// The headers that a replay repeats.
const REPEATED_HEADERS: [&str; 3] = ["content-type", "etag", "location"];

/// Path of the repositories of charts.
const CHART_REPOSITORIES: &str = "/api/v1/projects/default/chart-repositories";
/// Path of a group of the deployment API.
const EUROPE: &str = "/api/v1/orgs/default/clustergroups/europe";

/// The walk: the operations that were repeated so far.
struct RepeatedChanges<'s> {
    server: &'s TestServer,
    done: BTreeSet<&'static str>,
}

impl RepeatedChanges<'_> {
    /// Repeats a request with JSON; `null` is no body.
    async fn repeat(&mut self, id: &'static str, method: Method, path: &str, body: &Value) -> Value {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.repeat_bytes(id, (method, path), ("application/json", bytes)).await
    }

    /// Sends a request whose response is lost after the transaction of its change, and the same request again, which has to be answered
    /// from what that transaction stored. Returns the body that was lost.
    async fn repeat_bytes(
        &mut self,
        id: &'static str,
        (method, path): (Method, &str),
        (media_type, body): (&str, Vec<u8>),
    ) -> Value {
        let key = format!("lost-{id}");
        let headers = [("content-type", media_type), ("idempotency-key", key.as_str()), ("if-match", "*")];
        let send = async || self.server.send(method.clone(), path, &headers, Body::from(body.clone())).await;
        hub::arm_lost_response(&key);
        let first = send().await;
        assert!(first.status.is_success(), "{id}: {} {}", first.status, first.text);
        assert!(!hub::loses_response(&key), "{id}: the response was not lost");
        let again = send().await;
        let is_replayed = again.header("idempotency-replayed") == "true";
        assert!(is_replayed, "{id} was executed again: {} {}", again.status, again.text);
        assert_eq!(again.status, first.status, "{id}");
        for name in REPEATED_HEADERS {
            assert_eq!(again.header(name), first.header(name), "{id}: {name}");
        }
        check_bodies(id, &first, &again);
        assert!(self.done.insert(id), "{id} is repeated twice");
        body_of(&first)
    }
}

/// The body; `null` for an empty one.
fn body_of(response: &TestResponse) -> Value {
    if response.text.is_empty() { Value::Null } else { response.json() }
}

fn check_bodies(id: &str, first: &TestResponse, again: &TestResponse) {
    let (lost, repeated) = (body_of(first), body_of(again));
    if let Some((_, fields)) = SECRETS.iter().find(|(operation, _)| *operation == id) {
        for field in *fields {
            let secret = lost[*field].as_str().unwrap();
            assert!(!again.text.contains(secret), "{id}: {field} is stored");
        }
        assert!(repeated["omitted"].is_string(), "{id}: {repeated}");
    } else if COMPLETED_LATER.contains(&id) {
        for field in ["name", "url", "revision"] {
            assert_eq!(repeated[field], lost[field], "{id}: {field}");
        }
    } else {
        assert_eq!(repeated, lost, "{id}");
    }
}

async fn change_workloads(walk: &mut RepeatedChanges<'_>) {
    let web = format!("{WORKLOADS}/web");
    let at = |rest: &str| format!("{web}{rest}");
    walk.repeat("createWorkload", Method::POST, WORKLOADS, &new_workload("web")).await;
    walk.repeat("patchWorkload", Method::PATCH, &web, &json!({"labels": {"team": "a"}})).await;
    let mut spec = new_workload("web")["spec"].clone();
    spec["rollout"] = json!({"waves": [{"name": "canary", "maxClusters": 1}, {"name": "rest"}]});
    walk.repeat("putWorkload", Method::PUT, &web, &json!({"spec": spec})).await;
    let patch = json!({"op": "set", "path": "/data/key", "value": "x", "object": {"kind": "ConfigMap"}});
    let put = json!({"target": {"clusters": ["eu-1"]}, "patches": [patch]});
    walk.repeat("putOverride", Method::PUT, &at("/overrides/o1"), &put).await;
    walk.repeat("publishWorkload", Method::POST, &at(":publish"), &json!({"message": "m"})).await;
    walk.repeat("controlRollout", Method::POST, &at("/rollout:pause"), &json!({})).await;
    walk.repeat("syncWorkload", Method::POST, &at(":sync"), &json!({})).await;
    walk.repeat("suspendWorkload", Method::POST, &at(":suspend"), &json!({"reason": "handover"})).await;
    walk.repeat("resumeWorkload", Method::POST, &at(":resume"), &json!({})).await;
    walk.repeat("deleteOverride", Method::DELETE, &at("/overrides/o1"), &Value::Null).await;
    walk.repeat("restoreRevision", Method::POST, &at(":restore"), &json!({"revision": 1})).await;
    walk.repeat("unpublishWorkload", Method::POST, &at(":unpublish"), &json!({})).await;
    walk.repeat("deleteWorkload", Method::DELETE, &web, &Value::Null).await;
}

async fn change_groups(walk: &mut RepeatedChanges<'_>) {
    let server = walk.server;
    let mut ids = Vec::new();
    for name in ["eu-1", "eu-2"] {
        let id = server.hub.get_cluster(name).await.unwrap().cluster.id;
        server.hub.record_heartbeat(id).await.unwrap();
        ids.push(id);
    }
    let groups = "/api/v1/cluster-groups";
    walk.repeat("createGroup", Method::POST, groups, &json!({"name": "edge", "members": ["eu-1"]})).await;
    // One that does not exist is created.
    let core = format!("{groups}/core");
    walk.repeat("putGroup", Method::PUT, &core, &json!({"members": ["eu-1", "eu-2"]})).await;
    walk.repeat("deleteGroup", Method::DELETE, &core, &Value::Null).await;

    let europe = json!({"name": "europe", "members": &ids[..1]});
    let path = "/api/v1/orgs/default/clustergroups";
    walk.repeat("createClusterGroup", Method::POST, path, &europe).await;
    walk.repeat("updateClusterGroup", Method::PUT, EUROPE, &json!({"members": ids})).await;
    let feature = format!("{EUROPE}/features/deployment");
    walk.repeat("disableGroupFeature", Method::DELETE, &feature, &Value::Null).await;
    walk.repeat("enableGroupFeature", Method::POST, &feature, &json!({})).await;
    walk.repeat("updateGroupFeature", Method::PUT, &feature, &json!({"a": "b"})).await;
    walk.repeat("deleteClusterGroup", Method::DELETE, EUROPE, &Value::Null).await;
}

/// A registration that waits for a user.
async fn request_join(server: &TestServer, name: &str) {
    let (authority, _) = Authority::generate(server.hub.clock().clone()).unwrap();
    let token = server.hub.create_join_token(&server.actor, NewJoinToken::default()).await.unwrap();
    let request = JoinRequest {
        token: token.id,
        secret: token.secret,
        name: name.to_owned(),
        csr: testkit::create_certificate_request(),
        facts: ClusterFacts::default(),
    };
    let registered = server.hub.register_agent(&authority, request).await.unwrap();
    assert!(matches!(registered, RegistrationResult::Pending { .. }), "{registered:?}");
}

/// Reports these facts of a cluster.
async fn report_facts(server: &TestServer, name: &str, facts: &ClusterFacts) {
    let cluster = server.hub.get_cluster(name).await.unwrap().cluster.id;
    let incarnation = server.hub.begin_agent_incarnation(cluster).await.unwrap();
    let facts = Some(facts.clone());
    let batch =
        ReportBatch { incarnation, seq: 1, facts, schema: None, leftovers: None, releases: Vec::new() };
    server.hub.record_reports(cluster, batch).await.unwrap();
}

async fn change_clusters(walk: &mut RepeatedChanges<'_>) {
    let server = walk.server;
    let at = |rest: &str| format!("/api/v1/clusters/{rest}");
    walk.repeat("patchCluster", Method::PATCH, &at("eu-1"), &json!({"labels": {"team": "a"}})).await;
    walk.repeat("suspendCluster", Method::POST, &at("eu-1:suspend"), &json!({"reason": "disks"})).await;
    walk.repeat("resumeCluster", Method::POST, &at("eu-1:resume"), &Value::Null).await;
    let facts = ClusterFacts { region: "eu-central-1".to_owned(), ..ClusterFacts::default() };
    report_facts(server, "eu-3", &facts).await;
    let confirmed = serde_json::to_value(ConfirmedFacts::from_reported(&facts)).unwrap();
    walk.repeat("confirmFacts", Method::POST, &at("eu-3:confirmFacts"), &confirmed).await;
    for name in ["eu-7", "eu-8"] {
        request_join(server, name).await;
    }
    walk.repeat("acceptCluster", Method::POST, &at("eu-7:accept"), &json!({})).await;
    walk.repeat("rejectCluster", Method::POST, &at("eu-8:reject"), &json!({})).await;
    walk.repeat("revokeCluster", Method::POST, &at("eu-7:revoke"), &json!({})).await;
    walk.repeat("deleteCluster", Method::DELETE, &at("eu-7?force=true"), &Value::Null).await;
    let token = server.hub.create_join_token(&server.actor, NewJoinToken::default()).await.unwrap();
    let path = format!("/api/v1/join-tokens/{}", token.id);
    walk.repeat("revokeJoinToken", Method::DELETE, &path, &Value::Null).await;
}

async fn change_users(walk: &mut RepeatedChanges<'_>) {
    let server = walk.server;
    let new = json!({"name": "ci", "days": 1});
    let token = walk.repeat("createToken", Method::POST, "/api/v1/tokens", &new).await;
    let path = format!("/api/v1/tokens/{}", token["id"].as_str().unwrap());
    walk.repeat("deleteToken", Method::DELETE, &path, &Value::Null).await;

    let sessions = "/api/v1/sessions";
    for _ in 0..2 {
        assert_eq!(sign_in(server).await.status, 200);
    }
    let listed = server.get(sessions).await.json();
    let path = format!("{sessions}/{}", listed[0]["id"].as_str().unwrap());
    walk.repeat("revokeSession", Method::DELETE, &path, &Value::Null).await;
    walk.repeat("revokeSessions", Method::DELETE, sessions, &Value::Null).await;

    let users = "/api/v1/users";
    for _ in 0..2 {
        assert_eq!(sign_in(server).await.status, 200);
    }
    let own = format!("{users}/{USER_NAME}");
    let listed = server.get(&format!("{own}/sessions")).await.json();
    let path = format!("{own}/sessions/{}", listed[0]["id"].as_str().unwrap());
    walk.repeat("revokeUserSession", Method::DELETE, &path, &Value::Null).await;
    walk.repeat("revokeUserSessions", Method::DELETE, &format!("{own}/sessions"), &Value::Null).await;
    let token = server.post("/api/v1/tokens", &json!({"name": "unused"})).await.json();
    let path = format!("{own}/tokens/{}", token["id"].as_str().unwrap());
    walk.repeat("deleteUserToken", Method::DELETE, &path, &Value::Null).await;
    let bob = |rest: &str| format!("{users}/bob{rest}");
    walk.repeat("inviteUser", Method::POST, users, &json!({"name": "bob", "role": "editor"})).await;
    walk.repeat("resetPassword", Method::POST, &bob(":resetPassword"), &json!({})).await;
    walk.repeat("setUserRole", Method::PUT, &bob("/role"), &json!({"role": "viewer"})).await;
    let elevation = json!({"role": "publisher", "minutes": 60, "reason": "on call"});
    walk.repeat("elevateUser", Method::PUT, &bob("/elevation"), &elevation).await;
    walk.repeat("endElevation", Method::DELETE, &bob("/elevation"), &Value::Null).await;
    walk.repeat("disableUser", Method::POST, &bob(":disable"), &json!({})).await;
    walk.repeat("enableUser", Method::POST, &bob(":enable"), &json!({})).await;

    let corp = "/api/v1/identity-providers/corp";
    let put = json!({
        "issuer": "https://id.example.com",
        "clientId": "flotilla",
        "clientSecret": "canary-secret",
        "roles": [{"group": "ops", "role": "viewer"}],
    });
    walk.repeat("putIdentityProvider", Method::PUT, corp, &put).await;
    walk.repeat("deleteIdentityProvider", Method::DELETE, corp, &Value::Null).await;
}

async fn change_notifications(walk: &mut RepeatedChanges<'_>) {
    let channel = json!({"name": "ops", "kind": "webhook", "url": "https://ops.example.com/hook"});
    walk.repeat("createChannel", Method::POST, "/api/v1/channels", &channel).await;
    let template = json!({"template": "{{ title }}"});
    walk.repeat("setChannelTemplate", Method::PUT, "/api/v1/channels/ops/template", &template).await;
    let new = json!({"channel": "ops", "project": "default"});
    let subscription = walk.repeat("createSubscription", Method::POST, "/api/v1/subscriptions", &new).await;
    let path = format!("/api/v1/subscriptions/{}", subscription["id"].as_str().unwrap());
    walk.repeat("deleteSubscription", Method::DELETE, &path, &Value::Null).await;
    walk.repeat("deleteChannel", Method::DELETE, "/api/v1/channels/ops", &Value::Null).await;
}

/// A packed chart `web` 1.0.0 without templates.
fn pack_chart() -> Vec<u8> {
    let text = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    archive.append_data(&mut header, "web/Chart.yaml", text.as_slice()).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

/// Unwraps a chart of a repository of its own, which the draft then uses.
async fn unwrap_chart(walk: &mut RepeatedChanges<'_>) {
    let new = json!({"name": "own", "url": "https://charts.example.com/own"});
    let created = walk.server.post(CHART_REPOSITORIES, &new).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let text = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: web}\nspec: {repo: 'https://charts.example.com/own', \
                chart: web, version: 1.0.0}\n";
    let mut new = new_workload("wrapped");
    new["spec"]["source"]["files"] = json!([{"name": "chart.yaml", "text": text}]);
    let created = walk.server.post(WORKLOADS, &new).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let path = format!("{WORKLOADS}/wrapped:unwrapChart");
    walk.repeat("unwrapChart", Method::POST, &path, &json!({})).await;
}

async fn change_repositories(walk: &mut RepeatedChanges<'_>) {
    let new = json!({"name": "corp", "url": "https://charts.example.com"});
    walk.repeat("createChartRepository", Method::POST, CHART_REPOSITORIES, &new).await;
    let corp = format!("{CHART_REPOSITORIES}/corp");
    let put = json!({"url": "https://charts.example.com/other"});
    walk.repeat("putChartRepository", Method::PUT, &corp, &put).await;
    unwrap_chart(walk).await;
    walk.repeat("deleteChartRepository", Method::DELETE, &corp, &Value::Null).await;

    let charts = "/api/v1/projects/default/charts";
    let archive = ("application/gzip", pack_chart());
    walk.repeat_bytes("uploadChart", (Method::POST, charts), archive).await;
    let chart = format!("{charts}/local/web/1.0.0");
    walk.repeat("deleteChart", Method::DELETE, &chart, &Value::Null).await;

    let git = "/api/v1/projects/default/git-repositories/app";
    let put = json!({"url": "https://git.example.com/app.git"});
    walk.repeat("putGitRepository", Method::PUT, git, &put).await;
    walk.repeat("deleteGitRepository", Method::DELETE, git, &Value::Null).await;

    let put = json!({"lockedValues": "region: eu"});
    walk.repeat("putProject", Method::PUT, "/api/v1/projects/default", &put).await;
}

/// The audit log says of every change of the walk what was changed, and contains no secret.
async fn check_descriptions(server: &TestServer) {
    let export = server.get("/api/v1/audit/export").await.text;
    assert!(export.lines().count() > 40, "{export}");
    for line in export.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let is_given = |part: &&str| entry[*part].as_str().is_some_and(|text| !text.is_empty());
        assert!(["subject", "message"].iter().all(is_given), "{entry}");
        for secret in ["flt_", "token=", "canary-secret"] {
            assert!(!line.contains(secret), "{entry}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_every_change_whose_response_is_lost_is_made_once_and_its_response_repeated() {
    for server in servers("repeated_changes").await {
        for name in ["eu-1", "eu-2"] {
            server.register_cluster(name, &[("env", "prod")]).await;
        }
        server.register_cluster("eu-3", &[]).await;
        let mut walk = RepeatedChanges { server: &server, done: BTreeSet::new() };
        Box::pin(change_workloads(&mut walk)).await;
        Box::pin(change_groups(&mut walk)).await;
        Box::pin(change_clusters(&mut walk)).await;
        Box::pin(change_users(&mut walk)).await;
        Box::pin(change_notifications(&mut walk)).await;
        Box::pin(change_repositories(&mut walk)).await;
        check_descriptions(&server).await;

        let document = ServedDocument::new(server.get("/api/v1/openapi.json").await.json());
        let operations = document.list_operations();
        let changing = operations.iter().filter(|operation| operation.method != Method::GET);
        let changing: BTreeSet<&str> = changing.map(|operation| operation.id).collect();
        let mut known: BTreeSet<&str> = EXEMPT.iter().map(|(id, _)| *id).collect();
        assert!(known.is_disjoint(&walk.done), "an operation is left out and repeated");
        known.extend(walk.done.iter().copied());
        assert_eq!(
            changing, known,
            "operations that change something, and those that are repeated or left out"
        );
    }
}

#[tokio::test]
async fn p2_values_that_are_read_on_a_cluster_are_not_stored_as_a_response() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let path = "/api/v1/clusters/eu-1/helm-releases/apps/web:read";
    for _ in 0..2 {
        let key = [("idempotency-key", "k-1")];
        let refused = server.send_json(Method::POST, path, &key, &json!({})).await;
        assert_eq!(refused.problem(), (409, "FailedPrecondition".to_owned()), "it is not online");
        assert_eq!(refused.header("idempotency-replayed"), "", "it is read again");
    }
}

#[tokio::test]
async fn p2_a_key_of_a_server_function_is_ignored_because_its_response_is_not_that_of_the_api() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    for _ in 0..2 {
        let headers = [("cookie", cookie.as_str()), ("idempotency-key", "k-1")];
        let answer = server.send_raw(form("/api/fn/session_revoke_others", "", &headers)).await;
        let is_executed = !answer.status.is_client_error() && !answer.status.is_server_error();
        assert!(is_executed, "{} {}", answer.status, answer.text);
        assert_eq!(answer.header("idempotency-replayed"), "");
    }
}
