//! API tokens that are limited to some actions of their role.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::api_token::NewApiToken;
use domain::authorization::UserAction;
use domain::role::Role;
use domain::token_actions::TokenActions;
use serde_json::{Value, json};

use crate::credentials::{TOKENS, send_as};
use crate::roles::{is_forbidden, public_path};
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::{TestServer, WORKLOADS, new_workload};

async fn create_limited(server: &TestServer, actions: &[&str]) -> String {
    let actions = actions.iter().map(|action| (*action).to_owned()).collect();
    let new = NewApiToken { actions: Some(actions), can_mint: Some(true), ..NewApiToken::new("limited", 7) };
    server.hub.create_token(&server.actor, &new).await.unwrap().token
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_token_may_use_exactly_the_operations_of_its_actions_and_those_that_read() {
    let server = TestServer::start().await;
    let names = ["edit", "sync", "manage-own-tokens"];
    let token = create_limited(&server, &names).await;
    let actions = TokenActions::check(&names.map(str::to_owned), Role::Admin).unwrap();
    let mut tried = 0;
    for (method, path, action) in
        server.app.actions.iter().filter(|(_, path, _)| !path.starts_with("/api/fn/"))
    {
        let action = action.unwrap();
        let request = Request::builder().method(method).uri(public_path(path));
        let request = request.header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json").header("prefer", "wait=0");
        let forbidden = is_forbidden(&server, request.body(Body::from("{}")).unwrap()).await;
        assert_eq!(forbidden, !actions.allows(action), "{method} {path}");
        tried += 1;
    }
    assert!(tried > 80, "{tried}");
}

#[tokio::test]
async fn a_refusal_names_the_action_that_the_token_was_not_created_for_and_is_recorded() {
    let server = TestServer::start().await;
    let token = create_limited(&server, &["publish"]).await;
    let refused = send_as(&server, &token, Method::POST, WORKLOADS, &new_workload("shop")).await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()));
    let problem = refused.json();
    assert_eq!((&problem["action"], &problem["grantedBy"]), (&json!("edit"), &Value::Null), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("needs the action edit"), "{problem}");
    let review = async |action: &str| {
        let request = Request::get(format!("/api/v1/auth/can-i?action={action}"));
        let request = request.header("authorization", format!("Bearer {token}"));
        server.send_raw(request.body(Body::empty()).unwrap()).await.json()
    };
    let denied = review("edit").await;
    assert_eq!((&denied["allowed"], &denied["reason"]), (&json!(false), &problem["detail"]), "{denied}");
    assert_eq!(denied["tokenActions"], json!(["publish"]));
    assert_eq!(review("publish").await["allowed"], true);
    assert_eq!(review("view").await["allowed"], true);
    let log = server.get("/api/v1/audit?outcome=denied").await;
    assert!(log.text.contains("The API token was created for other actions."), "{}", log.text);
}

#[tokio::test]
async fn a_limited_token_creates_no_token_for_other_actions() {
    let server = TestServer::start().await;
    let token = create_limited(&server, &["manage-own-tokens", "edit"]).await;
    let create = async |body: Value| send_as(&server, &token, Method::POST, TOKENS, &body).await;
    let refused = create(json!({"name": "more", "actions": ["publish"]})).await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()), "{}", refused.text);
    let fewer = create(json!({"name": "fewer", "actions": ["edit"]})).await;
    assert_eq!((fewer.status, &fewer.json()["actions"]), (StatusCode::CREATED, &json!(["edit"])));
    let same = create(json!({"name": "same"})).await;
    assert_eq!(same.json()["actions"], json!(["manage-own-tokens", "edit"]), "{}", same.text);

    let own = async |body: Value| server.post(TOKENS, &body).await;
    assert_eq!(own(json!({"name": "all"})).await.json().get("actions"), None);
    for wrong in [json!([]), json!(["fly"]), json!(["publish"])] {
        let body = json!({"name": "wrong", "role": "editor", "actions": wrong});
        assert_eq!(own(body).await.problem(), (422, "Invalid".to_owned()), "{wrong}");
    }
    let log = server.get("/api/v1/audit?action=manage-own-tokens").await;
    assert!(log.text.contains("only for manage-own-tokens, edit"), "{}", log.text);
}

#[tokio::test]
async fn the_console_creates_a_limited_token_and_lists_its_actions() {
    let server = TestServer::start().await;
    let session = cookie(&sign_in(&server).await);
    let body = "name=ci&days=7&role=editor&actions%5B%5D=edit&actions%5B%5D=plan";
    let created = server.send_raw(form("/api/fn/token_create", body, &[("cookie", session.as_str())])).await;
    assert_eq!(created.status, StatusCode::OK, "{}", created.text);
    let listed = server.get(TOKENS).await.json();
    let ci = listed.as_array().unwrap().iter().find(|token| token["name"] == "ci").unwrap();
    assert_eq!(ci["actions"], json!(["edit", "plan"]), "{listed}");
    let page = Request::get("/settings").header("cookie", session).header("accept", "text/html");
    let page = server.send_raw(page.body(Body::empty()).unwrap()).await;
    assert!(page.text.contains("only edit, plan"), "{}", page.text);
    for action in UserAction::ALL.iter().filter(|action| action.required_role() > Role::Viewer) {
        assert!(page.text.contains(&format!("value=\"{}\"", action.as_str())), "{action:?} can't be chosen");
    }
}
