//! Passwords, sessions and API tokens: what a token may create, what a user changes alone, and what an administrator ends.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::Timestamp;
use domain::api_token::NewApiToken;
use domain::role::Role;
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{PASSWORD, TestResponse, TestServer, USER_NAME, WORKLOADS, new_workload};

pub const TOKENS: &str = "/api/v1/tokens";
const USERS: &str = "/api/v1/users";
const NEW_PASSWORD: &str = "another long phrase 7";

pub async fn send_as(
    server: &TestServer,
    token: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> TestResponse {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {token}"));
    server.send_raw(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn send_with_cookie(
    server: &TestServer,
    cookie: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> TestResponse {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.header("cookie", cookie).header("sec-fetch-site", "same-origin");
    server.send_raw(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn is_signed_in(server: &TestServer, cookie: &str) -> bool {
    let page = Request::get("/workloads").header("cookie", cookie).body(Body::empty()).unwrap();
    server.send_raw(page).await.status == StatusCode::OK
}

async fn try_sign_in(server: &TestServer, name: &str, password: &str) -> TestResponse {
    let body = format!("name={name}&password={}&next=", password.replace(' ', "+"));
    server.send_raw(form("/api/fn/sign_in", &body, &[])).await
}

/// The request to create a token, and what its creator has.
struct MintedToken {
    creator: Role,
    creator_project: Option<&'static str>,
    creator_end: Timestamp,
    role: Option<Role>,
    project: Option<&'static str>,
    can_mint: Option<bool>,
    days: u32,
}

impl MintedToken {
    /// Asks a token for this one, and checks that it gets no more than its creator has.
    async fn check(&self, server: &TestServer, token: &str) {
        let (role, project, can_mint) = (self.role.map(Role::as_str), self.project, self.can_mint);
        let mut body = json!({ "name": "minted", "days": self.days });
        for (name, value) in
            [("role", json!(role)), ("project", json!(project)), ("canMint", json!(can_mint))]
        {
            if !value.is_null() {
                body[name] = value;
            }
        }
        let answer = send_as(server, token, Method::POST, TOKENS, &body).await;
        let case = format!("{} creates {body}: {}", self.creator, answer.text);
        if self.role.is_some_and(|role| role > self.creator) {
            assert_eq!(answer.problem(), (403, "Forbidden".to_owned()), "{case}");
            return;
        }
        assert_eq!(answer.status, StatusCode::CREATED, "{case}");
        let created = answer.json();
        let role = self.role.unwrap_or(self.creator);
        assert_eq!(created["role"], role.as_str(), "{case}");
        assert_eq!(created["project"].as_str(), self.creator_project.or(self.project), "{case}");
        assert_eq!(created["canMint"], json!(self.can_mint.unwrap_or(role == Role::Admin)), "{case}");
        let end = created["expiresAt"].as_str().unwrap().parse::<Timestamp>().unwrap();
        assert!(end <= self.creator_end, "{case}");
        assert_eq!(end == self.creator_end, self.days > 7, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_creates_no_token_with_more_than_it_has_itself() {
    let server = TestServer::start().await;
    for (creator, creator_project) in
        Role::ALL.iter().flat_map(|role| [(*role, None), (*role, Some("default"))])
    {
        let new = NewApiToken {
            role: Some(creator),
            project: creator_project.map(str::to_owned),
            can_mint: Some(true),
            ..NewApiToken::new("creator", 7)
        };
        let created = server.hub.create_token(&server.actor, &new).await.unwrap();
        let creator_end = created.info.expires_at.unwrap();
        let roles = Role::ALL.iter().copied().map(Some).chain([None]);
        for (role, project) in roles.flat_map(|role| [(role, None), (role, Some("default"))]) {
            for (can_mint, days) in [(None, 30), (Some(true), 1), (Some(false), 365)] {
                let minted =
                    MintedToken { creator, creator_project, creator_end, role, project, can_mint, days };
                minted.check(&server, &created.token).await;
            }
        }
        let without = NewApiToken { can_mint: Some(false), ..new };
        let without = server.hub.create_token(&server.actor, &without).await.unwrap().token;
        let refused = send_as(&server, &without, Method::POST, TOKENS, &json!({ "name": "minted" })).await;
        assert_eq!(refused.problem(), (403, "Forbidden".to_owned()), "{creator}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_lists_and_ends_sessions_and_tokens_of_others() {
    let server = TestServer::start().await;
    let bob = RoleUser::create(&server, Role::Editor).await;
    let (sessions, tokens) = (format!("{USERS}/editor/sessions"), format!("{USERS}/editor/tokens"));
    let listed = server.get(&sessions).await.json();
    let session = listed[0]["id"].as_str().unwrap().to_owned();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["current"]), (1, &json!(false)), "{listed}");
    let listed = server.get(&tokens).await;
    assert!(!listed.text.contains("flt_"), "no secret: {}", listed.text);
    let token = listed.json()[0]["id"].as_str().unwrap().to_owned();

    assert_eq!(sign_in(&server).await.status, StatusCode::OK);
    for (path, what) in [
        (format!("{USERS}/{USER_NAME}/sessions/{session}"), "the session of another user"),
        (format!("{USERS}/{USER_NAME}/tokens/{token}"), "the token of another user"),
        (format!("{USERS}/nobody/sessions/{session}"), "a user who does not exist"),
        (format!("{USERS}/nobody/sessions"), "a user who does not exist"),
        (format!("{USERS}/nobody/tokens/{token}"), "a user who does not exist"),
        (format!("{sessions}/%25"), "no session"),
        (format!("{tokens}/x"), "no token"),
    ] {
        assert_eq!(server.delete(&path).await.problem(), (404, "NotFound".to_owned()), "{what}: {path}");
    }
    assert!(is_signed_in(&server, &bob.cookie).await, "nothing was ended");

    assert_eq!(server.delete(&format!("{sessions}/{session}")).await.status, StatusCode::NO_CONTENT);
    assert!(!is_signed_in(&server, &bob.cookie).await);
    assert_eq!(server.delete(&format!("{sessions}/{session}")).await.problem().0, 404, "it is gone");
    let again = cookie(&try_sign_in(&server, "editor", PASSWORD).await);
    assert_eq!(server.delete(&sessions).await.status, StatusCode::NO_CONTENT);
    assert!(!is_signed_in(&server, &again).await);
    assert_eq!(bob.send(&server, &Method::GET, WORKLOADS, "").await.status, StatusCode::OK, "tokens stay");

    let limited = NewApiToken { can_mint: Some(false), ..NewApiToken::new("limited", 1) };
    let limited = server.hub.create_token(&server.actor, &limited).await.unwrap().token;
    let path = format!("{tokens}/{token}");
    let refused = send_as(&server, &limited, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()));
    assert_eq!(server.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(bob.send(&server, &Method::GET, WORKLOADS, "").await.problem().0, 401);

    let log = server.get("/api/v1/audit?action=manage-users&limit=3").await.json();
    let described: Vec<(&str, &str)> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["subject"].as_str().unwrap(), entry["message"].as_str().unwrap()))
        .collect();
    let subject = format!("API token {token}");
    assert_eq!(described[0], (&*subject, "The API token test of editor was revoked."));
    assert_eq!(described[1], ("user editor", "All sessions of editor were ended: 1."));
    assert_eq!(described[2].0, "user editor");
    assert!(described[2].1.contains(&session), "{described:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_changes_the_own_password_with_the_current_one_and_ends_other_sessions_by_choice() {
    let server = TestServer::start().await;
    let bob = RoleUser::create(&server, Role::Viewer).await;
    let other = cookie(&try_sign_in(&server, "viewer", PASSWORD).await);
    let change = async |current: &str, new: &str, ends: bool| {
        let body = json!({ "currentPassword": current, "newPassword": new, "endOtherSessions": ends });
        send_with_cookie(&server, &bob.cookie, Method::PUT, "/api/v1/password", &body).await
    };
    let weak = change(PASSWORD, "short", true).await;
    assert_eq!(weak.problem().0, 422);
    assert_eq!(weak.json()["findings"][0]["path"], "/newPassword", "{}", weak.text);
    let wrong = change("a wrong password 9", NEW_PASSWORD, true).await;
    assert_eq!(wrong.problem().0, 422);
    assert_eq!(wrong.json()["findings"][0]["path"], "/currentPassword", "{}", wrong.text);
    assert!(is_signed_in(&server, &other).await, "nothing was changed");

    let changed = change(PASSWORD, NEW_PASSWORD, false).await;
    assert_eq!(changed.status, StatusCode::NO_CONTENT, "{}", changed.text);
    assert!(is_signed_in(&server, &bob.cookie).await && is_signed_in(&server, &other).await);
    assert_eq!(try_sign_in(&server, "viewer", PASSWORD).await.status, StatusCode::UNAUTHORIZED);
    let changed = change(NEW_PASSWORD, PASSWORD, true).await;
    assert_eq!(changed.status, StatusCode::NO_CONTENT, "{}", changed.text);
    assert!(is_signed_in(&server, &bob.cookie).await, "the session of the request stays");
    assert!(!is_signed_in(&server, &other).await);
    assert_eq!(try_sign_in(&server, "viewer", PASSWORD).await.status, StatusCode::OK);

    let log = server.get("/api/v1/audit?action=change-own-password").await;
    let items = log.json()["items"].clone();
    let outcomes: Vec<&Value> = items.as_array().unwrap().iter().map(|entry| &entry["outcome"]).collect();
    assert_eq!(outcomes, ["succeeded", "succeeded", "failed"], "{items}");
    assert_eq!(items[0]["subject"], "user viewer");
    assert!(items[0]["message"].as_str().unwrap().ends_with("Other sessions that were ended: 1."), "{items}");
    assert!(!log.text.contains(NEW_PASSWORD) && !log.text.contains(PASSWORD), "{}", log.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_a_token_can_not_try_passwords_with_it() {
    let server = TestServer::start().await;
    let guess = async |password: &str| {
        let body = json!({ "currentPassword": password, "newPassword": NEW_PASSWORD });
        server.send_json(Method::PUT, "/api/v1/password", &[], &body).await.problem().0
    };
    for attempt in 0..5 {
        assert_eq!(guess("a wrong password 9").await, 422, "{attempt}");
    }
    assert_eq!(guess(PASSWORD).await, 429, "even the right one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_body_arrives_after_its_user_lost_the_right_to_it_is_refused() {
    for (what, status) in [
        ("disable", StatusCode::UNAUTHORIZED),
        ("revoke", StatusCode::UNAUTHORIZED),
        ("demote", StatusCode::FORBIDDEN),
    ] {
        let server = TestServer::start().await;
        let admin = RoleUser::create(&server, Role::Admin).await;
        let (hub, actor) = (server.hub.clone(), server.actor.clone());
        // The role of the request was checked before its body is read.
        let body = futures::stream::once(async move {
            match what {
                "disable" => drop(hub.disable_user(&actor, "admin").await.unwrap()),
                "demote" => drop(hub.set_user_role(&actor, "admin", Role::Editor).await.unwrap()),
                _ => {
                    let tokens = hub.list_user_tokens(&actor, "admin").await.unwrap();
                    hub.delete_user_token(&actor, "admin", tokens[0].id).await.unwrap();
                }
            }
            Ok::<_, std::io::Error>(json!({"name": "eve", "role": "admin"}).to_string())
        });
        let request = Request::post(USERS).header("authorization", format!("Bearer {}", admin.token));
        let request = request.header("content-type", "application/json").body(Body::from_stream(body));
        let answer = server.send_raw(request.unwrap()).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
        let users = server.get(USERS).await;
        assert!(
            users.text.contains("\"admin\"") && !users.text.contains("\"eve\""),
            "{what}: {}",
            users.text
        );
        let recorded = server.get("/api/v1/audit?actor=admin").await.json()["items"].clone();
        let entries = recorded.as_array().unwrap();
        let is_denied = |entry: &&Value| entry["outcome"] == "denied" && entry["subject"] == "user admin";
        let denied = entries.iter().filter(is_denied).count();
        assert_eq!(denied, usize::from(status == StatusCode::FORBIDDEN), "{what}: {recorded}");
        let set = entries.iter().find(|entry| entry["action"] == "set-password").unwrap();
        assert_eq!(set["message"], "admin set a new password.", "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_body_arrives_after_its_user_got_a_lower_role_that_allows_it_is_sent_again() {
    let server = TestServer::start().await;
    let publisher = RoleUser::create(&server, Role::Publisher).await;
    let (hub, actor) = (server.hub.clone(), server.actor.clone());
    let new = new_workload("web").to_string();
    let text = new.clone();
    let body = futures::stream::once(async move {
        hub.set_user_role(&actor, "publisher", Role::Editor).await.unwrap();
        Ok::<_, std::io::Error>(text)
    });
    let request = Request::post(WORKLOADS).header("authorization", format!("Bearer {}", publisher.token));
    let request = request.header("content-type", "application/json").header("idempotency-key", "late");
    let answer = server.send_raw(request.body(Body::from_stream(body)).unwrap()).await;
    assert_eq!(answer.problem(), (503, "ServerBusy".to_owned()), "{}", answer.text);
    assert_eq!(answer.header("retry-after"), "1");
    let request = Request::post(WORKLOADS).header("authorization", format!("Bearer {}", publisher.token));
    let request = request.header("content-type", "application/json").header("idempotency-key", "late");
    let again = server.send_raw(request.body(Body::from(new)).unwrap()).await;
    assert_eq!(again.status, StatusCode::CREATED, "as an editor: {}", again.text);
}
