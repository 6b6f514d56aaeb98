//! Roles: a request of every role to every route, and what a refusal says.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::api_token::NewApiToken;
use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::NewUser;
use hub::{Actor, ActorKind, SignInClient};
use serde_json::json;

use crate::sessions::{cookie, form};
use crate::test_server::{PASSWORD, TestResponse, TestServer, WORKLOADS, new_workload};

/// A signed-in user of a role.
pub struct RoleUser {
    pub role: Role,
    pub actor: Actor,
    pub token: String,
    pub cookie: String,
}

impl RoleUser {
    /// Invites a user with the name of the role, who sets a password, creates a token and signs in.
    pub async fn create(server: &TestServer, role: Role) -> Self {
        let name = role.as_str().to_owned();
        let invited =
            server.hub.invite_user(&server.actor, NewUser { name: name.clone(), role }).await.unwrap();
        let link = invited.link.unwrap();
        let secret = link.split_once("token=").unwrap().1;
        let client = SignInClient { network: std::net::Ipv4Addr::LOCALHOST.into(), device: None };
        let session = server.hub.set_password_with_link(secret, PASSWORD, &client).await.unwrap();
        let actor = Actor::new(&name, ActorKind::Session(session.user), role);
        let token = server.hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().token;
        let body = format!("name={name}&password={}&next=", PASSWORD.replace(' ', "+"));
        let cookie = cookie(&server.send_raw(form("/api/fn/sign_in", &body, &[])).await);
        Self { role, actor, token, cookie }
    }

    /// Sends a request with the token.
    pub async fn send(&self, server: &TestServer, method: &Method, path: &str, body: &str) -> TestResponse {
        server.send_raw(self.request(method, path, body)).await
    }

    fn request(&self, method: &Method, path: &str, body: &str) -> Request<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let request = request.header("content-type", "application/json").header("prefer", "wait=0");
        request.body(Body::from(body.to_owned())).unwrap()
    }

    /// Calls a server function with the session.
    pub async fn call(&self, server: &TestServer, method: &Method, path: &str) -> TestResponse {
        let request = Request::builder().method(method).uri(path).header("cookie", &self.cookie);
        let request = request.header("sec-fetch-site", "same-origin").header("accept", "application/json");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        server.send_raw(request.body(Body::empty()).unwrap()).await
    }
}

async fn create_users(server: &TestServer) -> Vec<RoleUser> {
    let mut users = Vec::new();
    for role in Role::ALL {
        users.push(RoleUser::create(server, *role).await);
    }
    users
}

/// Whether a response is a refusal because of the role. The body of a stream is not read.
pub async fn is_forbidden(server: &TestServer, request: Request<Body>) -> bool {
    let response = tower::ServiceExt::oneshot(server.app.router.clone(), request).await.unwrap();
    assert_ne!(response.status(), StatusCode::UNAUTHORIZED);
    response.status() == StatusCode::FORBIDDEN
        && TestResponse::read(response).await.json()["code"] == "Forbidden"
}

pub fn public_path(path: &str) -> String {
    let path = path
        .replace("{verb}", "pause")
        .replace("{project}", "default")
        .replace("{org}", "default")
        .replace("{orgId}", "default");
    let mut parts = path.split('{');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |path, part| format!("{path}x{}", part.split_once('}').unwrap().1))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_use_exactly_the_operations_whose_action_it_allows() {
    let server = TestServer::start().await;
    let users = create_users(&server).await;
    let mut tried = 0;
    for (method, path, action) in
        server.app.actions.iter().filter(|(_, path, _)| !path.starts_with("/api/fn/"))
    {
        let action = action.unwrap_or_else(|| panic!("{method} {path} has no action"));
        for user in &users {
            let forbidden = is_forbidden(&server, user.request(method, &public_path(path), "{}")).await;
            assert_eq!(forbidden, user.role < action.required_role(), "{} {method} {path}", user.role);
            tried += 1;
        }
    }
    assert!(tried > 400, "{tried}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_call_exactly_the_server_functions_whose_action_it_allows() {
    let server = TestServer::start().await;
    let users = create_users(&server).await;
    let mut tried = 0;
    for (method, path, action) in
        server.app.actions.iter().filter(|(_, path, _)| path.starts_with("/api/fn/"))
    {
        let action = action.unwrap_or_else(|| panic!("{method} {path} has no action"));
        for user in &users {
            let answer = user.call(&server, method, path).await;
            let forbidden = answer.status == StatusCode::FORBIDDEN && answer.text.contains("forbidden");
            assert_eq!(
                forbidden,
                user.role < action.required_role(),
                "{} {method} {path}: {}",
                user.role,
                answer.text
            );
            tried += 1;
        }
    }
    assert!(tried > 400, "{tried}");
}

#[tokio::test]
async fn every_route_is_public_a_page_or_has_an_action() {
    let server = TestServer::start().await;
    let pages: Vec<String> =
        server::console::list_pages().iter().map(|page| page.path().to_owned()).collect();
    let public = ["/livez", "/healthz", "/readyz", "/version"];
    for (method, path) in &server.app.routes {
        let is_open = public.contains(&&**path)
            || pages.contains(path)
            || server::console::PUBLIC_SERVER_FNS.contains(&&**path)
            || path.contains("/git-webhooks/")
            || path.starts_with("/install/")
            || path.starts_with("/auth/");
        match server.app.actions.get(method, path) {
            None => assert!(is_open, "{method} {path} has no action"),
            Some(action) => assert!(action.is_some() && !is_open, "{method} {path}"),
        }
    }
    let known: Vec<String> = server.app.routes.iter().map(|(_, path)| path.clone()).collect();
    let operations: Vec<String> =
        server::api::list_operation_ids(&server.app.openapi).map(|(_, id)| id).collect();
    for name in server::access::list_action_names() {
        // Only a demo serves this operation.
        let is_known = name == "injectFault"
            || operations.iter().any(|id| id == name)
            || known.contains(&format!("/api/fn/{name}"));
        assert!(is_known, "{name} has an action but no route");
    }
}

#[tokio::test]
async fn a_refusal_names_the_action_the_required_role_and_who_can_grant_it() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let refused = viewer.send(&server, &Method::POST, &format!("{WORKLOADS}/web:publish"), "{}").await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()));
    let problem = refused.json();
    assert_eq!(problem["action"], "publish");
    assert_eq!((&problem["requiredRole"], &problem["role"]), (&json!("publisher"), &json!("viewer")));
    assert!(problem["grantedBy"].as_str().unwrap().contains("admin"), "{problem}");
    let read = viewer.send(&server, &Method::GET, &format!("{WORKLOADS}/web"), "").await;
    assert_eq!(read.status, StatusCode::OK);
}

#[tokio::test]
async fn a_role_is_checked_before_the_body_and_before_the_object() {
    let server = TestServer::start().await;
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let malformed = viewer.send(&server, &Method::POST, WORKLOADS, "{not json").await;
    assert_eq!(malformed.problem(), (403, "Forbidden".to_owned()));
    for name in ["web", "nothing"] {
        let answer = viewer.send(&server, &Method::DELETE, &format!("/api/v1/users/{name}"), "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "there is no such operation");
        let answer = viewer.send(&server, &Method::POST, &format!("/api/v1/users/{name}:disable"), "").await;
        assert_eq!(answer.problem(), (403, "Forbidden".to_owned()), "existing or not");
    }
}

#[tokio::test]
async fn an_approval_of_a_rollout_needs_the_approver() {
    let server = TestServer::start().await;
    let publisher = RoleUser::create(&server, Role::Publisher).await;
    let refused = server
        .hub
        .control_rollout(&publisher.actor, "web", domain::rollout::RolloutAction::Approve)
        .await
        .unwrap_err();
    assert!(matches!(refused, hub::Error::Forbidden(_)), "{refused}");
    let path = format!("{WORKLOADS}/web/rollout:approve");
    let answer = publisher.send(&server, &Method::POST, &path, "{}").await;
    assert_eq!(answer.problem().1, "Forbidden", "{}", answer.text);
}

/// `web` with an object in a namespace of Kubernetes, which the policy allows or not.
fn in_kube_system(allowed: bool) -> serde_json::Value {
    let mut new = new_workload("web");
    let text = &mut new["spec"]["source"]["files"][0]["text"];
    *text = text.as_str().unwrap().replace("namespace: apps", "namespace: kube-system").into();
    if allowed {
        new["spec"]["policies"] = json!({"allowSystemNamespaces": true});
    }
    new
}

#[tokio::test]
async fn g107_only_an_admin_lets_a_workload_write_to_the_namespaces_of_kubernetes() {
    let server = TestServer::start().await;
    let editor = RoleUser::create(&server, Role::Editor).await;
    let admin = RoleUser::create(&server, Role::Admin).await;
    let validate = async |new: serde_json::Value| {
        let path = format!("{WORKLOADS}:validate");
        editor.send(&server, &Method::POST, &path, &new.to_string()).await.text
    };
    let refused = validate(in_kube_system(false)).await;
    assert!(refused.contains("G107") && refused.contains("policy allowSystemNamespaces"), "{refused}");
    let allowed = validate(in_kube_system(true)).await;
    assert!(!allowed.contains("G107"), "{allowed}");

    let create = in_kube_system(true).to_string();
    let answer = editor.send(&server, &Method::POST, WORKLOADS, &create).await;
    assert_eq!(answer.problem(), (403, "Forbidden".to_owned()));
    assert_eq!(answer.json()["action"], "allow-system-namespaces");
    let plain = in_kube_system(false).to_string();
    assert_eq!(editor.send(&server, &Method::POST, WORKLOADS, &plain).await.status, StatusCode::CREATED);
    let put = async |user: &RoleUser, allowed: bool, label: &str| {
        let body = json!({"spec": in_kube_system(allowed)["spec"], "labels": {"a": label}});
        let mut request = user.request(&Method::PUT, &format!("{WORKLOADS}/web"), &body.to_string());
        request.headers_mut().insert("if-match", "*".parse().unwrap());
        server.send_raw(request).await
    };
    assert_eq!(put(&editor, true, "1").await.problem().0, 403);
    assert_eq!(put(&admin, true, "2").await.status, StatusCode::OK);
    // What an admin has allowed stays allowed, until somebody takes it back.
    assert_eq!(put(&editor, true, "3").await.status, StatusCode::OK);
    assert_eq!(put(&editor, false, "4").await.status, StatusCode::OK);
    assert_eq!(put(&editor, true, "5").await.problem().0, 403);
}

#[tokio::test]
async fn can_i_answers_like_the_request_itself() {
    let server = TestServer::start().await;
    let editor = RoleUser::create(&server, Role::Editor).await;
    let ask = async |action: &str| {
        editor.send(&server, &Method::GET, &format!("/api/v1/auth/can-i?action={action}"), "").await
    };
    let yes = ask("edit").await.json();
    assert_eq!((&yes["allowed"], &yes["role"]), (&json!(true), &json!("editor")));
    let no = ask("publish").await.json();
    assert_eq!((&no["allowed"], &no["requiredRole"]), (&json!(false), &json!("publisher")));
    assert!(no["reason"].as_str().unwrap().contains("publisher"), "{no}");
    assert_eq!(ask("fly").await.problem().0, 400);
    assert_eq!(ask("edit&name=web").await.problem(), (404, "NotFound".to_owned()), "of no workload");
    assert_eq!(ask("edit-cluster&name=eu-1").await.problem().0, 404, "of no cluster");
    let created = editor.send(&server, &Method::POST, WORKLOADS, &new_workload("web").to_string()).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    assert_eq!(ask("edit&name=web").await.json()["allowed"], true);
    let no = ask("publish&name=web").await.json();
    let refused = editor.send(&server, &Method::POST, &format!("{WORKLOADS}/web:publish"), "{}").await;
    let refused = refused.json();
    assert_eq!((&no["requiredRole"], &no["role"]), (&refused["requiredRole"], &refused["role"]));
    assert_eq!(no["reason"], refused["detail"], "the reason is the one that the request gets");
}

#[tokio::test]
async fn pages_disable_what_a_role_does_not_allow_and_say_why() {
    let server = TestServer::start().await;
    server.create_workload("web").await;
    let page = async |user: &RoleUser, path: &str| {
        let request = Request::get(path).header("cookie", &user.cookie).header("accept", "text/html");
        server.send_raw(request.body(Body::empty()).unwrap()).await
    };
    let viewer = RoleUser::create(&server, Role::Viewer).await;
    let seen = page(&viewer, "/workloads").await;
    assert!(seen.text.contains("data-role=\"viewer\""));
    // A sign-out loads a document: nothing that was typed remains for the next user.
    assert!(seen.text.contains("<form method=\"post\" action=\"/api/fn/sign_out\">"), "{}", seen.text);
    assert!(
        seen.text.contains("To change drafts you need the role editor; yours is viewer."),
        "{}",
        seen.text
    );
    let seen = page(&viewer, "/workloads/web").await;
    assert!(seen.text.contains("To publish you need the role publisher; yours is viewer."), "{}", seen.text);
    let people = page(&viewer, "/people").await;
    assert_eq!(people.status, StatusCode::FORBIDDEN);
    assert!(people.text.contains("you need the role admin"), "{}", people.text);
    let editor = RoleUser::create(&server, Role::Editor).await;
    let seen = page(&editor, "/workloads").await;
    assert!(!seen.text.contains("you need the role"), "{}", seen.text);
}

#[test]
fn only_an_action_of_every_role_is_allowed_to_viewers() {
    let allowed: Vec<&str> = UserAction::ALL
        .iter()
        .filter(|action| action.required_role() == Role::Viewer)
        .map(|action| action.as_str())
        .collect();
    assert_eq!(
        allowed,
        ["view", "validate", "manage-own-tokens", "manage-own-sessions", "change-own-password"]
    );
}
