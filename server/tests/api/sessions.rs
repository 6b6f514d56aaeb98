//! Signing in and out, cookies, and requests forged on other sites.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hub::Hub;
use serde_json::json;

use crate::house::{Answer, House, NAME, PASSWORD, WORKLOADS, new_workload};

pub fn form(path: &str, body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let request = request.header("accept", "application/json").header("sec-fetch-site", "same-origin");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.to_owned())).unwrap()
}

fn credentials(name: &str, password: &str) -> String {
    format!("name={name}&password={}&next=", password.replace(' ', "+"))
}

pub async fn sign_in(house: &House) -> Answer {
    house.raw(form("/api/fn/sign_in", &credentials(NAME, PASSWORD), &[])).await
}

/// The cookie as a browser sends it back.
pub fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn page(house: &House, path: &str, cookie: &str) -> Answer {
    house.raw(Request::get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let house = House::new().await;
    let answer = sign_in(&house).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let cookie = cookie(&answer);
    let whole = answer.header("set-cookie");
    assert!(
        whole.contains("HttpOnly") && whole.contains("SameSite=Lax") && whole.contains("Path=/"),
        "{whole}"
    );
    assert_eq!(page(&house, "/workloads", &cookie).await.status, StatusCode::OK);
    assert_eq!(page(&house, "/api/v1/clusters", &cookie).await.status, StatusCode::OK);

    let out = house.raw(form("/api/fn/sign_out", "", &[("cookie", &cookie)])).await;
    assert_eq!(out.status, StatusCode::OK, "{}", out.text);
    assert_eq!(
        page(&house, "/workloads", &cookie).await.status,
        StatusCode::SEE_OTHER,
        "the old cookie is worth nothing"
    );
}

#[tokio::test]
async fn without_script_the_form_leads_on_and_never_to_another_host() {
    let house = House::new().await;
    for (next, target) in
        [("%2Fclusters", "/clusters"), ("%2F%2Fevil.example", "/"), ("https%3A%2F%2Fevil", "/")]
    {
        let body = format!("{}{next}", credentials(NAME, PASSWORD));
        let html = [("accept", "text/html"), ("referer", "http://localhost/sign-in")];
        let mut request = form("/api/fn/sign_in", &body, &[html[1]]);
        request.headers_mut().insert("accept", html[0].1.parse().unwrap());
        let answer = house.raw(request).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::FOUND, target), "{next}");
    }
}

#[tokio::test]
async fn a_new_session_has_a_new_id_whatever_the_browser_came_with() {
    let house = House::new().await;
    let first = cookie(&sign_in(&house).await);
    let again = house.raw(form("/api/fn/sign_in", &credentials(NAME, PASSWORD), &[("cookie", &first)])).await;
    assert_ne!(cookie(&again), first);
    assert_eq!(page(&house, "/workloads", &first).await.status, StatusCode::SEE_OTHER);
    let forged = "flotilla_session=AAAAAAAAAAAAAAAAAAAAAA";
    let fixed = house.raw(form("/api/fn/sign_in", &credentials(NAME, PASSWORD), &[("cookie", forged)])).await;
    assert_ne!(cookie(&fixed), forged);
}

#[tokio::test]
async fn cookies_are_secure_unless_the_server_is_plain_http_on_this_machine() {
    let over_https = |hub: Hub| server::Options { secure_cookies: true, ..server::Options::bare(hub) };
    let house = House::with(over_https).await;
    assert!(sign_in(&house).await.header("set-cookie").contains("Secure"));
    assert!(!sign_in(&House::new().await).await.header("set-cookie").contains("Secure"));
}

#[tokio::test]
async fn who_guesses_passwords_is_stopped_after_five_tries() {
    let house = House::new().await;
    let guess = async |name: &str, password: &str| {
        house.raw(form("/api/fn/sign_in", &credentials(name, password), &[])).await.status
    };
    for _ in 0..5 {
        assert_eq!(guess(NAME, "wrong password").await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(guess(NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS, "even the right one");
    assert_eq!(guess("Ada", PASSWORD).await, StatusCode::TOO_MANY_REQUESTS, "however it is spelled");
    assert_eq!(guess("somebody-else", PASSWORD).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_first_person_signs_up_with_the_printed_token() {
    let (hub, built, _folder) = House::empty().await;
    let token = hub.setup_token().await.unwrap().unwrap();
    let sign_up = async |token: &str| {
        let body = format!("token={token}&name=ada&password=correct+horse+battery");
        let response =
            tower::ServiceExt::oneshot(built.router.clone(), form("/api/fn/sign_up", &body, &[])).await;
        Answer::of(response.unwrap()).await
    };
    assert_eq!(sign_up("wrong").await.status, StatusCode::UNAUTHORIZED);
    let answer = sign_up(&token).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert!(!cookie(&answer).is_empty());
    assert_eq!(sign_up(&token).await.status, StatusCode::UNAUTHORIZED, "it works once");
}

#[tokio::test]
async fn a_write_forged_on_another_site_is_refused() {
    let house = House::new().await;
    let cookie = cookie(&sign_in(&house).await);
    let write = async |headers: &[(&str, &str)]| {
        let request = Request::post(WORKLOADS).header("cookie", &cookie).header("host", "localhost");
        let request = request.header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let name = format!("web-{}", headers.len());
        house.raw(request.body(Body::from(new_workload(&name).to_string())).unwrap()).await.status
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
    assert_eq!(house.get(WORKLOADS).await.json()["total"], 0);
    assert_eq!(write(&[("sec-fetch-site", "same-origin")]).await, StatusCode::CREATED);
    assert_eq!(write(&[("origin", "http://localhost"), ("x", "y")]).await, StatusCode::CREATED);
}

#[tokio::test]
async fn nobody_is_signed_in_from_another_site() {
    let house = House::new().await;
    let mut request = form("/api/fn/sign_in", &credentials(NAME, PASSWORD), &[]);
    request.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    let answer = house.raw(request).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (StatusCode::FORBIDDEN, ""));
}

#[tokio::test]
async fn pages_allow_only_our_own_script_with_the_nonce() {
    let house = House::new().await;
    let cookie = cookie(&sign_in(&house).await);
    let first = page(&house, "/workloads", &cookie).await;
    let policy = first.header("content-security-policy").to_owned();
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
    assert!(policy.contains("'wasm-unsafe-eval'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(first.text.contains(&format!("nonce=\"{nonce}\"")), "the page's own script carries it");
    let again = page(&house, "/workloads", &cookie).await;
    assert!(!again.header("content-security-policy").contains(&nonce), "a nonce is used once");
    let missing = page(&house, "/no/such/page", &cookie).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_can_be_made_from_the_console_session_and_used_alone() {
    let house = House::new().await;
    let cookie = cookie(&sign_in(&house).await);
    let request = Request::post("/api/v1/tokens")
        .header("cookie", &cookie)
        .header("content-type", "application/json")
        .header("sec-fetch-site", "same-origin");
    let answer =
        house.raw(request.body(Body::from(json!({"name": "cli", "days": 1}).to_string())).unwrap()).await;
    let token = answer.json()["secret"].as_str().unwrap().to_owned();
    let request = Request::builder().method(Method::GET).uri(WORKLOADS);
    let request = request.header("authorization", format!("bearer {token}"));
    assert_eq!(house.raw(request.body(Body::empty()).unwrap()).await.status, StatusCode::OK);
}
