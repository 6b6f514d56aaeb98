//! Limits of attempts to sign in: guessing becomes slow, and nobody is locked out by the attempts of others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use hub::{Clock, Hub, HubConfig};
use server::client_address::{TrustedProxies, parse_network};
use server::listener::Peer;
use server::{Site, SiteOptions};
use tokio_util::sync::CancellationToken;

use crate::postgres::TestDatabase;
use crate::sessions::{form, set_cookie};
use crate::test_server::{PASSWORD, TestResponse, TestServer, USER_NAME};

const USER: &str = "192.0.2.1";
const ATTACKER: &str = "192.0.2.66";
const WRONG: &str = "wrong password";

/// A form post to sign in from this address.
fn attempt(from: &str, name: &str, password: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let body = format!("name={name}&password={}&next=", password.replace(' ', "+"));
    post_from(from, &body, headers)
}

fn post_from(from: &str, body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = form("/api/fn/sign_in", body, headers);
    let peer = Peer { address: SocketAddr::new(from.parse().unwrap(), 40_000), certificate: None };
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

async fn status(server: &TestServer, from: &str, name: &str, password: &str) -> StatusCode {
    server.send_raw(attempt(from, name, password, &[])).await.status
}

/// Attempts with a wrong password until one is rejected without being tried; returns the response.
async fn guess_until_limited(server: &TestServer, from: &str, name: &str) -> TestResponse {
    for _ in 0..30 {
        let answer = server.send_raw(attempt(from, name, WRONG, &[])).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            return answer;
        }
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.text);
    }
    panic!("30 attempts were tried");
}

/// A server whose clock only the test moves, by milliseconds.
async fn start_with_clock() -> (TestServer, Arc<AtomicI64>) {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
    let (start, offset) = (Clock::system().now(), Arc::new(AtomicI64::new(0)));
    let shared = offset.clone();
    let clock = Clock::from_fn(move || start.plus_millis(shared.load(Ordering::SeqCst)));
    let hub = Hub::open(HubConfig::new(database, clock)).await.unwrap();
    (TestServer::start_over(hub, folder, SiteOptions::bare).await, offset)
}

#[tokio::test]
async fn a_rejected_attempt_says_when_to_try_again_and_then_the_right_password_is_accepted() {
    let (server, clock) = start_with_clock().await;
    let limited = guess_until_limited(&server, USER, USER_NAME).await;
    assert_eq!(limited.header("retry-after"), "5");
    assert!(limited.text.contains("Try again in 5 s"), "{}", limited.text);
    assert_eq!(status(&server, USER, USER_NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
    // A rejected attempt does not extend the wait; another failure does.
    clock.fetch_add(5_000, Ordering::SeqCst);
    assert_eq!(status(&server, USER, USER_NAME, WRONG).await, StatusCode::UNAUTHORIZED);
    let limited = guess_until_limited(&server, USER, USER_NAME).await;
    assert_eq!(limited.header("retry-after"), "10");
    clock.fetch_add(10_000, Ordering::SeqCst);
    assert_eq!(status(&server, USER, USER_NAME, PASSWORD).await, StatusCode::OK);
    assert_eq!(
        status(&server, USER, USER_NAME, WRONG).await,
        StatusCode::UNAUTHORIZED,
        "counted from 0 again"
    );
}

#[tokio::test]
async fn a_name_counts_however_the_form_encodes_it() {
    let (server, _clock) = start_with_clock().await;
    for name in ["%6eame=ada", "name=%61da", "name=Ada", "name=+ada", "n%61me=ADA"] {
        let answer = server.send_raw(post_from(USER, &format!("{name}&password=x&next="), &[])).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{name}");
    }
    assert_eq!(status(&server, USER, USER_NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_attempts_are_counted_before_a_password_is_verified() {
    let (server, _clock) = start_with_clock().await;
    let attempts = (0..20).map(|_| status(&server, ATTACKER, USER_NAME, WRONG));
    let answers = futures::future::join_all(attempts).await;
    let tried = answers.iter().filter(|status| **status == StatusCode::UNAUTHORIZED).count();
    assert_eq!(tried, 5, "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|status| *status == StatusCode::UNAUTHORIZED || *status == StatusCode::TOO_MANY_REQUESTS)
    );
}

#[tokio::test]
async fn an_attacker_elsewhere_does_not_keep_the_only_user_out() {
    let (server, clock) = start_with_clock().await;
    for last in 66..76 {
        guess_until_limited(&server, &format!("192.0.2.{last}"), USER_NAME).await;
    }
    // By now the name is attacked: an address has one attempt without delay, then a bounded one.
    assert_eq!(status(&server, USER, USER_NAME, WRONG).await, StatusCode::UNAUTHORIZED);
    let limited = server.send_raw(attempt(USER, USER_NAME, PASSWORD, &[])).await;
    assert_eq!((limited.status, limited.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "5"));
    clock.fetch_add(5_000, Ordering::SeqCst);
    assert_eq!(status(&server, USER, USER_NAME, PASSWORD).await, StatusCode::OK);
    assert_eq!(status(&server, "198.51.100.9", USER_NAME, PASSWORD).await, StatusCode::OK, "from anywhere");
}

#[tokio::test]
async fn a_device_that_signed_in_before_is_not_slowed_down_by_others_at_its_address() {
    let (server, _clock) = start_with_clock().await;
    let first = server.send_raw(attempt(USER, USER_NAME, PASSWORD, &[])).await;
    let device = set_cookie(&first, "flotilla_device");
    assert!(device.contains("HttpOnly") && device.contains("SameSite=Strict"), "{device}");
    let device = device.split(';').next().unwrap().to_owned();
    for name in [USER_NAME, "eve", "bob", "eva", "dan", "tom"] {
        guess_until_limited(&server, USER, name).await;
    }
    assert_eq!(status(&server, USER, USER_NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
    let from_device = |cookie: &str, password| attempt(USER, USER_NAME, password, &[("cookie", cookie)]);
    assert_eq!(server.send_raw(from_device(&device, PASSWORD)).await.status, StatusCode::OK);
    let forged = server.send_raw(from_device("flotilla_device=0123", PASSWORD)).await;
    assert_eq!(forged.status, StatusCode::TOO_MANY_REQUESTS, "it has to be one that the server issued");
    for _ in 0..5 {
        let answer = server.send_raw(from_device(&device, WRONG)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    }
    let stolen = server.send_raw(from_device(&device, PASSWORD)).await;
    assert_eq!(stolen.status, StatusCode::TOO_MANY_REQUESTS, "it has the limits of its own attempts");
}

#[tokio::test]
async fn an_address_that_tries_many_names_is_slowed_down() {
    let (server, _clock) = start_with_clock().await;
    for n in 0..20 {
        assert_eq!(status(&server, ATTACKER, &format!("n{n}"), WRONG).await, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(status(&server, ATTACKER, "another", WRONG).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status(&server, USER, "another", WRONG).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn only_a_trusted_proxy_may_name_the_address_of_a_client() {
    let (server, _clock) = start_with_clock().await;
    for n in 0..5 {
        let forwarded = [("x-forwarded-for", &*format!("203.0.113.{n}"))];
        let answer = server.send_raw(attempt("10.0.0.7", USER_NAME, WRONG, &forwarded)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    }
    let forwarded = [("x-forwarded-for", "203.0.113.99")];
    let answer = server.send_raw(attempt("10.0.0.7", USER_NAME, PASSWORD, &forwarded)).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "a private address is not a trusted proxy");

    let server = TestServer::start_with(|hub| SiteOptions {
        trusted_proxies: TrustedProxies::new(vec![parse_network("10.0.0.0/8").unwrap()]),
        ..SiteOptions::bare(hub)
    })
    .await;
    for _ in 0..5 {
        let forwarded = [("x-forwarded-for", "203.0.113.1")];
        server.send_raw(attempt("10.0.0.7", USER_NAME, WRONG, &forwarded)).await;
    }
    let forwarded = [("x-forwarded-for", "203.0.113.1, 203.0.113.2")];
    let answer = server.send_raw(attempt("10.0.0.7", USER_NAME, PASSWORD, &forwarded)).await;
    assert_eq!(answer.status, StatusCode::OK, "another client of the proxy");
}

#[tokio::test]
async fn servers_of_one_database_share_the_limits() {
    let (server, _clock) = start_with_clock().await;
    let other = server::build_router(&Site::new(SiteOptions::bare(server.hub.clone())));
    guess_until_limited(&server, ATTACKER, USER_NAME).await;
    let answer = tower::ServiceExt::oneshot(other.router, attempt(ATTACKER, USER_NAME, PASSWORD, &[])).await;
    assert_eq!(answer.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_one_postgresql_database_share_the_limits() {
    let Some(database) = TestDatabase::create("sign_in_limits").await else { return };
    let (one, other) =
        (TestServer::start_on(&database.url()).await, TestServer::start_on(&database.url()).await);
    let attempts = (0..12).map(|n| status([&one, &other][n % 2], ATTACKER, USER_NAME, WRONG));
    let answers = futures::future::join_all(attempts).await;
    let tried = answers.iter().filter(|status| **status == StatusCode::UNAUTHORIZED).count();
    assert_eq!(tried, 5, "{answers:?}");
    assert_eq!(status(&other, ATTACKER, USER_NAME, PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status(&one, USER, USER_NAME, PASSWORD).await, StatusCode::OK);
}

#[tokio::test]
async fn counts_of_attempts_are_deleted_after_an_hour_and_metrics_have_the_outcomes() {
    let (server, clock) = start_with_clock().await;
    guess_until_limited(&server, ATTACKER, USER_NAME).await;
    status(&server, USER, USER_NAME, PASSWORD).await;
    let text = server.get("/metrics").await.text;
    for (outcome, count) in [("succeeded", 1), ("failed", 5), ("rejected", 1)] {
        let line = format!("flotilla_sign_in_attempts_total{{outcome=\"{outcome}\"}} {count}");
        assert!(text.contains(&line), "{line}: {text}");
    }
    let rows = async || {
        server.hub.delete_expired_rows(&CancellationToken::new()).await;
        let tables = server.hub.retention_statistics();
        tables.into_iter().find(|of| of.table == "sign_in_attempt").unwrap().rows
    };
    assert_eq!(rows().await, Some(6), "two addresses, two pairs, a name, a device");
    clock.fetch_add(3_600_001, Ordering::SeqCst);
    assert_eq!(rows().await, Some(1), "the device");
}
