//! Sign-in and sign-out, cookies, cross-site request forgery.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hub::Hub;
use serde_json::json;

use crate::test_server::{PASSWORD, TestResponse, TestServer, USER_NAME, WORKLOADS, new_workload};

pub fn form(path: &str, body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let request = request.header("accept", "application/json").header("sec-fetch-site", "same-origin");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.to_owned())).unwrap()
}

fn credentials(name: &str, password: &str) -> String {
    format!("name={name}&password={}&next=", password.replace(' ', "+"))
}

pub async fn sign_in(server: &TestServer) -> TestResponse {
    server.send_raw(form("/api/fn/sign_in", &credentials(USER_NAME, PASSWORD), &[])).await
}

/// The header that sets the cookie with this name; empty if there is none.
pub fn set_cookie<'a>(answer: &'a TestResponse, name: &str) -> &'a str {
    let all = answer.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
    all.into_iter().find(|value| value.starts_with(&format!("{name}="))).unwrap_or_default()
}

/// The session cookie as a browser sends it.
pub fn cookie(answer: &TestResponse) -> String {
    set_cookie(answer, "flotilla_session").split(';').next().unwrap().to_owned()
}

async fn page(server: &TestServer, path: &str, cookie: &str) -> TestResponse {
    server.send_raw(Request::get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_user_signs_in_and_out() {
    let server = TestServer::start().await;
    let answer = sign_in(&server).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let cookie = cookie(&answer);
    let whole = set_cookie(&answer, "flotilla_session");
    assert!(
        whole.contains("HttpOnly") && whole.contains("SameSite=Lax") && whole.contains("Path=/"),
        "{whole}"
    );
    assert_eq!(page(&server, "/workloads", &cookie).await.status, StatusCode::OK);
    assert_eq!(page(&server, "/api/v1/clusters", &cookie).await.status, StatusCode::OK);

    let out = server.send_raw(form("/api/fn/sign_out", "", &[("cookie", &cookie)])).await;
    assert_eq!(out.status, StatusCode::OK, "{}", out.text);
    assert_eq!(
        page(&server, "/workloads", &cookie).await.status,
        StatusCode::SEE_OTHER,
        "the old cookie is not valid any more"
    );
}

#[tokio::test]
async fn without_script_the_form_redirects_and_never_to_another_host() {
    let server = TestServer::start().await;
    for (next, target) in
        [("%2Fclusters", "/clusters"), ("%2F%2Fevil.example", "/"), ("https%3A%2F%2Fevil", "/")]
    {
        let body = format!("{}{next}", credentials(USER_NAME, PASSWORD));
        let html = [("accept", "text/html"), ("referer", "http://localhost/sign-in")];
        let mut request = form("/api/fn/sign_in", &body, &[html[1]]);
        request.headers_mut().insert("accept", html[0].1.parse().unwrap());
        let answer = server.send_raw(request).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::FOUND, target), "{next}");
    }
}

#[tokio::test]
async fn a_new_session_has_a_new_id_whatever_the_browser_sent() {
    let server = TestServer::start().await;
    let first = cookie(&sign_in(&server).await);
    let again = server
        .send_raw(form("/api/fn/sign_in", &credentials(USER_NAME, PASSWORD), &[("cookie", &first)]))
        .await;
    assert_ne!(cookie(&again), first);
    assert_eq!(page(&server, "/workloads", &first).await.status, StatusCode::SEE_OTHER);
    let forged = "flotilla_session=AAAAAAAAAAAAAAAAAAAAAA";
    let fixed = server
        .send_raw(form("/api/fn/sign_in", &credentials(USER_NAME, PASSWORD), &[("cookie", forged)]))
        .await;
    assert_ne!(cookie(&fixed), forged);
}

#[tokio::test]
async fn cookies_are_secure_except_for_plain_http_on_loopback() {
    let over_https =
        |hub: Hub| server::SiteOptions { secure_cookies: true, ..server::SiteOptions::bare(hub) };
    let server = TestServer::start_with(over_https).await;
    assert!(sign_in(&server).await.header("set-cookie").contains("Secure"));
    assert!(!sign_in(&TestServer::start().await).await.header("set-cookie").contains("Secure"));
}

#[tokio::test]
async fn password_guessing_is_blocked_after_five_attempts() {
    let server = TestServer::start().await;
    let guess = async |name: &str, password: &str| {
        server.send_raw(form("/api/fn/sign_in", &credentials(name, password), &[])).await.status
    };
    for _ in 0..5 {
        assert_eq!(guess(USER_NAME, "wrong password").await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(guess(USER_NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS, "even the right one");
    assert_eq!(guess("Ada", PASSWORD).await, StatusCode::TOO_MANY_REQUESTS, "however it is spelled");
    assert_eq!(guess("somebody-else", PASSWORD).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_first_user_signs_up_with_the_set_up_token() {
    let (hub, built, _folder) = TestServer::start_without_users().await;
    let token = hub.create_setup_token().await.unwrap().unwrap();
    let sign_up = async |token: &str| {
        let body = format!("token={token}&name=ada&password=correct+horse+battery");
        let response =
            tower::ServiceExt::oneshot(built.router.clone(), form("/api/fn/sign_up", &body, &[])).await;
        TestResponse::read(response.unwrap()).await
    };
    assert_eq!(sign_up("wrong").await.status, StatusCode::UNAUTHORIZED);
    let answer = sign_up(&token).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert!(!cookie(&answer).is_empty());
    assert_eq!(sign_up(&token).await.status, StatusCode::UNAUTHORIZED, "it works once");
}

#[tokio::test]
async fn a_cross_site_write_is_rejected() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    let write = async |headers: &[(&str, &str)]| {
        let request = Request::post(WORKLOADS).header("cookie", &cookie).header("host", "localhost");
        let request = request.header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let name = format!("web-{}", headers.len());
        server.send_raw(request.body(Body::from(new_workload(&name).to_string())).unwrap()).await.status
    };
    for forged in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
    ] {
        assert_eq!(write(forged).await, StatusCode::FORBIDDEN, "{forged:?}");
    }
    assert_eq!(server.get(WORKLOADS).await.json()["total"], 0);
    assert_eq!(write(&[("sec-fetch-site", "same-origin")]).await, StatusCode::CREATED);
    assert_eq!(write(&[("origin", "http://localhost"), ("x", "y")]).await, StatusCode::CREATED);
}

#[tokio::test]
async fn a_cross_site_sign_in_is_rejected() {
    let server = TestServer::start().await;
    let mut request = form("/api/fn/sign_in", &credentials(USER_NAME, PASSWORD), &[]);
    request.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    let answer = server.send_raw(request).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (StatusCode::FORBIDDEN, ""));
}

#[tokio::test]
async fn pages_allow_only_scripts_with_the_nonce() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    let first = page(&server, "/workloads", &cookie).await;
    let policy = first.header("content-security-policy").to_owned();
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    assert!(policy.contains("'wasm-unsafe-eval'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(first.text.contains(&format!("nonce=\"{nonce}\"")), "the page's own script carries it");
    let again = page(&server, "/workloads", &cookie).await;
    assert!(!again.header("content-security-policy").contains(&nonce), "a nonce is used once");
    let missing = page(&server, "/no/such/page", &cookie).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_created_with_a_session_works_without_it() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    let request = Request::post("/api/v1/tokens")
        .header("cookie", &cookie)
        .header("content-type", "application/json")
        .header("sec-fetch-site", "same-origin");
    let answer = server
        .send_raw(request.body(Body::from(json!({"name": "cli", "days": 1}).to_string())).unwrap())
        .await;
    let token = answer.json()["secret"].as_str().unwrap().to_owned();
    let request = Request::builder().method(Method::GET).uri(WORKLOADS);
    let request = request.header("authorization", format!("bearer {token}"));
    assert_eq!(server.send_raw(request.body(Body::empty()).unwrap()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_user_lists_the_own_sessions_and_ends_others_which_stay_ended() {
    let server = TestServer::start().await;
    let firefox = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0");
    let sign_in_with = async |headers: &[(&str, &str)]| {
        let answer = form("/api/fn/sign_in", &credentials(USER_NAME, PASSWORD), headers);
        cookie(&server.send_raw(answer).await)
    };
    let (mine, other) = (sign_in_with(&[firefox]).await, sign_in_with(&[]).await);
    let list = async |cookie: &str| page(&server, "/api/v1/sessions", cookie).await.json();
    let sessions = list(&mine).await;
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (&sessions[0]["current"], &sessions[0]["browser"]),
        (&json!(true), &json!("Firefox on Linux"))
    );
    assert_eq!(sessions[1]["current"], false);
    assert!(!mine.contains(sessions[0]["id"].as_str().unwrap()), "the id authenticates nobody");

    let id = sessions[1]["id"].as_str().unwrap();
    let revoke = async |cookie: &str, path: &str| {
        let request = Request::delete(path).header("cookie", cookie).header("sec-fetch-site", "same-origin");
        server.send_raw(request.body(Body::empty()).unwrap()).await.status
    };
    assert_eq!(revoke(&mine, "/api/v1/sessions/%25").await, StatusCode::NOT_FOUND, "no wildcard");
    assert_eq!(revoke(&mine, &format!("/api/v1/sessions/{id}")).await, StatusCode::NO_CONTENT);
    assert_eq!(page(&server, "/workloads", &other).await.status, StatusCode::SEE_OTHER);
    assert_eq!(revoke(&mine, &format!("/api/v1/sessions/{id}")).await, StatusCode::NOT_FOUND);

    let other = sign_in_with(&[]).await;
    assert_eq!(revoke(&mine, "/api/v1/sessions").await, StatusCode::NO_CONTENT);
    assert_eq!(page(&server, "/workloads", &other).await.status, StatusCode::SEE_OTHER);
    assert_eq!(page(&server, "/workloads", &mine).await.status, StatusCode::OK);
    assert_eq!(list(&mine).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_that_was_revoked_is_not_stored_again_by_a_request_in_progress() {
    let server = TestServer::start().await;
    let details = hub::SessionDetails { user: server.actor.user(), ..hub::SessionDetails::default() };
    let expires = server.hub.clock().now().plus_millis(60_000);
    server.hub.create_session("secret", "{}", expires, &details).await.unwrap();
    let id = server.hub.list_sessions(&server.actor, None).await.unwrap()[0].id.clone();
    server.hub.revoke_session(&server.actor, &id).await.unwrap();
    server.hub.update_session("secret", "{}", expires, &details).await.unwrap();
    assert_eq!(server.hub.load_session("secret").await.unwrap(), None);
}

#[tokio::test]
async fn the_oldest_session_of_a_user_ends_when_a_further_one_would_be_one_too_many() {
    let server = TestServer::start().await;
    let first = cookie(&sign_in(&server).await);
    let now = server.hub.clock().now();
    // As many as a user may have, with that of the browser.
    for number in 1..50 {
        let signed_in_at = now.plus_millis(number);
        let details =
            hub::SessionDetails { user: server.actor.user(), signed_in_at, ..hub::SessionDetails::default() };
        let id = format!("secret-{number}");
        server.hub.create_session(&id, "{}", now.plus_millis(600_000), &details).await.unwrap();
    }
    // That of another user, and one that nobody has signed in to, are not counted.
    let other = server.hub.ensure_user("grace", PASSWORD).await.unwrap();
    let details = hub::SessionDetails { user: Some(other), ..hub::SessionDetails::default() };
    server.hub.create_session("other", "{}", now.plus_millis(600_000), &details).await.unwrap();
    server
        .hub
        .create_session("nobody", "{}", now.plus_millis(600_000), &hub::SessionDetails::default())
        .await
        .unwrap();
    assert_eq!(page(&server, "/workloads", &first).await.status, StatusCode::OK);
    let newest = cookie(&sign_in(&server).await);
    assert_eq!(page(&server, "/workloads", &first).await.status, StatusCode::SEE_OTHER, "the oldest ended");
    assert_eq!(page(&server, "/workloads", &newest).await.status, StatusCode::OK);
    for id in ["secret-1", "secret-49", "other", "nobody"] {
        assert!(server.hub.load_session(id).await.unwrap().is_some(), "{id}");
    }
    assert_eq!(server.hub.list_sessions(&server.actor, None).await.unwrap().len(), 50);
    let audit = server.get("/api/v1/audit?action=sign-out").await;
    assert!(audit.text.contains("ended the oldest sessions of ada: 1."), "{}", audit.text);
}
