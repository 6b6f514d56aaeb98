//! Sign-ins with OpenID Connect in use: renewals beside the requests, changes of keys, and how many a user has.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::identity_providers::SignInTest;
use crate::openid_server::DirectFetcher;

/// Lets renewals wait at the provider for permits.
fn stall(test: &SignInTest) -> Arc<Semaphore> {
    let gate = Arc::new(Semaphore::new(0));
    test.openid.change(|answers| answers.gate = Some(gate.clone()));
    gate
}

#[tokio::test]
async fn a_slow_provider_delays_requests_once_and_only_as_long_as_its_last_answer_counts() {
    let test = SignInTest::start_with(|hub, openid| {
        hub.set_identity_fetcher(DirectFetcher(openid.clone()));
    })
    .await;
    let session = test.sign_in().await;
    test.openid.change(|answers| answers.claims = json!({"groups": ["all"]}));
    let gate = stall(&test);
    test.advance(60);
    // The first request waits a moment, and the others not at all.
    assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "as the provider said last");
    test.advance(2);
    for _ in 0..20 {
        assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "as the provider said last");
    }
    assert_eq!(test.openid.answers.lock().renewals, 1, "one of the requests asks");
    // The renewal goes on without its request.
    gate.add_permits(100);
    test.wait_for_role(&session, Some("viewer")).await;
    assert_eq!(test.openid.answers.lock().renewals, 1);

    let gate = stall(&test);
    test.advance(301);
    let refused = test.get("/api/v1/auth/can-i?action=view", &session).await;
    assert_eq!(refused.problem(), (503, "ServerBusy".to_owned()), "unknown is not a confirmation");
    assert!(refused.text.contains("has not confirmed your role in time"), "{}", refused.text);
    // The session goes on.
    gate.add_permits(100);
    test.wait_for_role(&session, Some("viewer")).await;
}

#[tokio::test]
async fn keys_that_a_provider_replaces_are_read_whatever_tokens_anyone_sends() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    let send_with_key = async |kid: &str, id: &str| {
        test.openid.change(|answers| answers.header = json!({ "kid": kid }));
        let token = test.openid.sign_logout(id, &json!({}));
        test.openid.change(|answers| answers.header = json!({}));
        test.send_logout(&token).await
    };
    let key_reads = || test.openid.answers.lock().key_reads;
    assert_eq!(send_with_key("other-0", "t0").await, StatusCode::BAD_REQUEST);
    assert_eq!(key_reads(), 2);
    for number in 1..20 {
        let status = send_with_key(&format!("other-{number}"), "t1").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "it is not known whether it is one");
    }
    assert_eq!(key_reads(), 2, "what anyone sends does not repeat the read at once");

    // Tokens that the provider returns do not wait for that.
    test.openid.change(|answers| answers.key_id = "k2");
    test.sign_in().await;
    assert_eq!(key_reads(), 3);
    test.advance(10);
    assert_eq!(send_with_key("other-0", "t2").await, StatusCode::SERVICE_UNAVAILABLE, "looked up lately");
    assert_eq!(key_reads(), 3);
    test.openid.change(|answers| answers.key_id = "k3");
    let logout = test.openid.sign_logout("t3", &json!({"sid": "s1"}));
    assert_eq!(test.send_logout(&logout).await, StatusCode::OK, "a logout after a change of keys");
    assert_eq!((key_reads(), test.role(&session).await), (4, None));

    // Of two logouts at once, one reads the keys for both.
    test.advance(10);
    test.openid.change(|answers| answers.key_id = "k4");
    let logouts = ["t4", "t5"].map(|id| test.openid.sign_logout(id, &json!({})));
    let ended = tokio::join!(test.send_logout(&logouts[0]), test.send_logout(&logouts[1]));
    assert_eq!((ended, key_reads()), ((StatusCode::OK, StatusCode::OK), 5));
}

#[tokio::test]
async fn the_oldest_sign_in_of_a_user_with_a_provider_ends_when_a_further_one_would_be_one_too_many() {
    let test = SignInTest::start().await;
    let mut sessions = Vec::new();
    for _ in 0..51 {
        sessions.push(test.sign_in().await);
        test.advance(1);
    }
    assert_eq!(test.role(&sessions[0]).await, None, "the oldest ended");
    for kept in [1, 2, 50] {
        assert_eq!(test.role(&sessions[kept]).await.as_deref(), Some("publisher"), "{kept}");
    }
    let audit = test.server.get("/api/v1/audit?action=sign-out").await;
    assert!(audit.text.contains("ended the oldest sessions of bob: 1."), "{}", audit.text);
}
