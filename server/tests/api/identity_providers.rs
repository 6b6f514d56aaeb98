//! Sign-in with OpenID Connect: the whole flow against a provider on the loopback address.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use domain::api_token::NewApiToken;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig};
use serde_json::{Value, json};
use server::SiteOptions;
use server::args::RepositoryArg;

use crate::openid_server::{CLIENT_ID, CLIENT_SECRET, OpenIdServer, parse_query};
use crate::sessions::{cookie, set_cookie, sign_in};
use crate::test_server::{TestResponse, TestServer};

pub const PROVIDERS: &str = "/api/v1/identity-providers";
pub const CONSOLE: &str = "https://flotilla.example.com";

/// A server with a provider, and a clock that only the test moves.
pub struct SignInTest {
    pub server: TestServer,
    pub openid: OpenIdServer,
    offset: Arc<AtomicI64>,
}

/// A started sign-in: its cookie, and where the browser was led to.
struct StartedSignIn {
    cookie: String,
    location: String,
}

impl SignInTest {
    pub async fn start() -> Self {
        Self::start_with(|hub, _| {
            server::identity_provider::set_identity_fetcher(hub, RepositoryArg::PrivateHttp);
        })
        .await
    }

    /// The same, after this has set what sends requests to the provider.
    pub async fn start_with(set_fetcher: impl FnOnce(&Hub, &OpenIdServer)) -> Self {
        let offset = Arc::new(AtomicI64::new(0));
        let (start, moved) = (Clock::system().now(), offset.clone());
        let clock = Clock::from_fn(move || start.plus_millis(moved.load(Ordering::Relaxed)));
        let clock = clock.with_counted_leaps();
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, clock.clone())).await.unwrap();
        let openid = OpenIdServer::start(clock).await;
        hub.set_console_url(CONSOLE);
        set_fetcher(&hub, &openid);
        let server = TestServer::start_over(hub, folder, SiteOptions::bare).await;
        let test = Self { server, openid, offset };
        let saved = test.save("corp", &test.provider()).await;
        assert_eq!(saved.status, StatusCode::OK, "{}", saved.text);
        test
    }

    /// Moves the clock, in seconds.
    pub fn advance(&self, seconds: i64) {
        self.offset.fetch_add(1_000 * seconds, Ordering::Relaxed);
    }

    pub fn provider(&self) -> Value {
        json!({
            "displayName": "Example Inc",
            "issuer": self.openid.issuer,
            "clientId": CLIENT_ID,
            "clientSecret": CLIENT_SECRET,
            "roles": [{"group": "ops", "role": "publisher"}, {"group": "all", "role": "viewer"}],
        })
    }

    pub async fn save(&self, name: &str, provider: &Value) -> TestResponse {
        self.server.send_json(Method::PUT, &format!("{PROVIDERS}/{name}"), &[], provider).await
    }

    pub async fn get(&self, path: &str, cookie: &str) -> TestResponse {
        let request = Request::get(path).header("cookie", cookie).header("accept", "text/html");
        self.server.send_raw(request.body(Body::empty()).unwrap()).await
    }

    async fn begin(&self, next: &str) -> StartedSignIn {
        let answer = self.get(&format!("/auth/corp/sign-in?next={next}"), "").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        let cookie = set_cookie(&answer, "flotilla_sign_in").split(';').next().unwrap().to_owned();
        StartedSignIn { cookie, location: answer.header("location").to_owned() }
    }

    /// Signs in, with this in place of the query that the provider leads back with.
    async fn sign_in_with(&self, change: impl FnOnce(String) -> String) -> TestResponse {
        let started = self.begin("%2Fclusters").await;
        let query = change(self.openid.authorize(&started.location));
        self.get(&format!("/auth/corp/callback?{query}"), &started.cookie).await
    }

    /// Signs in; returns the cookie of the session.
    pub async fn sign_in(&self) -> String {
        let answer = self.sign_in_with(|query| query).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, "/clusters"));
        cookie(&answer)
    }

    /// The role of a session; `None` if it has ended.
    pub async fn role(&self, cookie: &str) -> Option<String> {
        let answer = self.get("/api/v1/auth/can-i?action=view", cookie).await;
        match answer.status {
            StatusCode::OK => Some(answer.json()["role"].as_str().unwrap().to_owned()),
            status => {
                assert_eq!(status, StatusCode::UNAUTHORIZED, "{}", answer.text);
                None
            }
        }
    }

    /// Waits until a session has this role; `None` until it has ended. A request goes on without a renewal that takes long.
    pub async fn wait_for_role(&self, cookie: &str, expected: Option<&str>) {
        let wait = async {
            loop {
                let answer = self.get("/api/v1/auth/can-i?action=view", cookie).await;
                let found = match answer.status {
                    StatusCode::OK => answer.json()["role"] == json!(expected),
                    StatusCode::UNAUTHORIZED => expected.is_none(),
                    _ => false,
                };
                if found {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(testkit::patience(), wait).await;
        waited.unwrap_or_else(|_| panic!("the session has not come to {expected:?}"));
    }

    pub async fn send_logout(&self, token: &str) -> StatusCode {
        let request = Request::post("/auth/corp/back-channel-logout");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Body::from(format!("logout_token={token}"))).unwrap();
        self.server.send_raw(request).await.status
    }
}

/// The failure that a response leads to the sign-in page with.
fn failure(answer: &TestResponse) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    assert!(set_cookie(answer, "flotilla_session").is_empty(), "nobody is signed in");
    let location = answer.header("location");
    let name = location.strip_prefix("/sign-in?failure=");
    name.unwrap_or_else(|| panic!("{location}")).to_owned()
}

#[tokio::test]
async fn a_user_signs_in_with_a_provider_and_has_the_highest_role_of_the_groups() {
    let test = SignInTest::start().await;
    let page = test.get("/sign-in?next=%2Fclusters", "").await;
    assert!(page.text.contains("Sign in with Example Inc"), "{}", page.text);
    assert!(page.text.contains("/auth/corp/sign-in?next=%2Fclusters"), "{}", page.text);
    let started = test.begin("%2Fclusters").await;
    let query = parse_query(&started.location);
    assert_eq!(query["redirect_uri"], format!("{CONSOLE}/auth/corp/callback"));
    assert_eq!(query["scope"], "openid profile email offline_access");
    test.openid.change(|answers| answers.claims = json!({"groups": ["all", "ops", "other"]}));
    let session = test.sign_in().await;
    assert_eq!(test.role(&session).await.as_deref(), Some("publisher"));
    assert_eq!(test.get("/clusters", &session).await.status, StatusCode::OK);

    let users = test.server.get("/api/v1/users").await.json();
    let bob = users.as_array().unwrap().iter().find(|user| user["name"] == "bob").unwrap().clone();
    assert_eq!((&bob["state"], &bob["role"]), (&json!("active"), &json!("publisher")));
    assert_eq!(bob["issuer"], test.openid.issuer);
    let identity = test.server.get("/api/v1/users/bob/identity").await;
    let reading = identity.json()["reading"].clone();
    assert_eq!(reading["groups"], json!(["all", "ops", "other"]));
    assert_eq!(
        reading["matched"],
        json!([{"group": "ops", "role": "publisher"}, {"group": "all", "role": "viewer"}])
    );
    assert!(!identity.text.contains("canary") && !identity.text.contains("refresh-"), "{}", identity.text);
    let admin = cookie(&sign_in(&test.server).await);
    let page = test.get("/people?identity=bob", &admin).await;
    assert!(page.text.contains("Why bob has this role"), "{}", page.text);
    assert!(page.text.contains("ops is publisher, all is viewer"), "{}", page.text);
    let audit = test.server.get("/api/v1/audit?action=sign-in").await;
    assert!(
        audit.text.contains("Signed in with the identity provider corp, as publisher."),
        "{}",
        audit.text
    );
    // The same subject is the same user, whatever the name is now.
    test.openid.change(|answers| answers.claims = json!({"preferred_username": "robert"}));
    test.sign_in().await;
    assert_eq!(test.server.get("/api/v1/users").await.json().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_response_is_accepted_only_from_the_browser_and_for_the_sign_in_that_it_belongs_to() {
    let test = SignInTest::start().await;
    let started = test.begin("%2F").await;
    let query = test.openid.authorize(&started.location);
    let callback = async |query: &str, cookie: &str| {
        failure(&test.get(&format!("/auth/corp/callback?{query}"), cookie).await)
    };
    assert_eq!(callback(&query, "").await, "stateMismatch", "another browser");
    let other = test.begin("%2F").await;
    assert_eq!(callback(&query, &other.cookie).await, "stateMismatch", "another sign-in");
    assert_eq!(callback("code=code-1&state=x", &started.cookie).await, "stateMismatch");
    assert_eq!(callback(&format!("{query}&state=x"), &started.cookie).await, "stateMismatch", "two states");
    test.advance(601);
    assert_eq!(callback(&query, &started.cookie).await, "stateMismatch", "too late");
    let started = test.begin("%2F").await;
    let query = test.openid.authorize(&started.location);
    test.advance(-120);
    assert_eq!(callback(&query, &started.cookie).await, "stateMismatch", "from the future");
    test.advance(120);
    assert_eq!(failure(&test.get("/auth/other/callback?code=a&state=b", "").await), "unknownProvider");
    assert_eq!(failure(&test.get("/auth/other/sign-in", "").await), "unknownProvider");

    let started = test.begin("%2F").await;
    let query = test.openid.authorize(&started.location);
    let answer = test.get(&format!("/auth/corp/callback?{query}"), &started.cookie).await;
    assert_eq!(answer.header("location"), "/", "{}", answer.text);
    assert!(set_cookie(&answer, "flotilla_sign_in").contains("Max-Age=0"), "the browser forgets it");
    let again = test.openid.authorize(&started.location);
    assert_eq!(callback(&again, &started.cookie).await, "alreadyUsed");
}

#[tokio::test]
async fn a_network_that_ends_one_sign_in_after_the_other_is_slowed_down() {
    let test = SignInTest::start().await;
    let mut failures = Vec::new();
    for _ in 0..200 {
        failures.push(failure(&test.get("/auth/corp/callback?code=a&state=b", "").await));
    }
    assert!(failures[..60].iter().all(|failure| failure == "stateMismatch"), "{failures:?}");
    assert!(failures.iter().any(|failure| failure == "tooManyAttempts"), "{failures:?}");
}

#[tokio::test]
async fn no_session_starts_with_a_token_or_groups_that_are_not_right() {
    let test = SignInTest::start().await;
    let expired = test.server.hub.clock().now().millis() / 1_000 - 61;
    for (claims, expected) in [
        (json!({"nonce": "other"}), "invalidToken"),
        (json!({"aud": "other"}), "invalidToken"),
        (json!({"aud": [CLIENT_ID, "other"]}), "invalidToken"),
        (json!({"iss": "https://evil.example"}), "invalidToken"),
        (json!({"exp": expired}), "invalidToken"),
        (json!({"at_hash": "AAAA"}), "invalidToken"),
        (json!({"sub": null}), "invalidToken"),
        (json!({"groups": []}), "noRole"),
        (json!({"groups": ["Ops"]}), "noRole"),
        (json!({"groups": {"ops": true}}), "invalidResponse"),
        (json!({"groups": null, "_claim_names": {"groups": "src1"}}), "tooManyGroups"),
        (json!({"preferred_username": "@"}), "invalidName"),
        (json!({"preferred_username": "ada"}), "nameTaken"),
        (json!({"preferred_username": "Flotilla@example.com"}), "nameTaken"),
    ] {
        test.openid.change(|answers| answers.claims = claims.clone());
        assert_eq!(failure(&test.sign_in_with(|query| query).await), expected, "{claims}");
    }
    test.openid.change(|answers| answers.claims = json!({}));
    for (header, expected) in [
        (json!({"alg": "none"}), "invalidToken"),
        (json!({"alg": "HS256"}), "invalidToken"),
        (json!({"kid": "k2"}), "invalidToken"),
    ] {
        test.openid.change(|answers| answers.header = header.clone());
        assert_eq!(failure(&test.sign_in_with(|query| query).await), expected, "{header}");
    }
    test.openid.change(|answers| answers.header = json!({}));
    for (tokens, expected) in [
        (json!({"refresh_token": null}), "noRefreshToken"),
        (json!({"id_token": null}), "invalidResponse"),
        (json!({"token_type": "mac"}), "invalidResponse"),
    ] {
        test.openid.change(|answers| answers.tokens = tokens.clone());
        assert_eq!(failure(&test.sign_in_with(|query| query).await), expected, "{tokens}");
    }
    assert_eq!(
        test.server.get("/api/v1/users").await.json().as_array().unwrap().len(),
        1,
        "nobody was created"
    );
    let page = test.get("/sign-in?failure=noRole", "").await;
    assert!(page.text.contains("None of your groups has a role here."), "{}", page.text);
    let page = test.get("/sign-in?failure=%3Cb%3Ecanary%3C%2Fb%3E", "").await;
    assert!(!page.text.contains("<b>canary"), "{}", page.text);
}

#[tokio::test]
async fn a_response_of_another_provider_is_not_taken_for_one_of_this_one() {
    let test = SignInTest::start().await;
    let evil = test.sign_in_with(|query| format!("{query}&iss=https%3A%2F%2Fevil.example")).await;
    assert_eq!(failure(&evil), "wrongIssuer");
    let refused =
        test.sign_in_with(|query| format!("{}&error=access_denied", query.replace("code=", "c="))).await;
    assert_eq!(failure(&refused), "denied");
    // Once the provider says that it names itself, it has to.
    test.openid
        .change(|answers| answers.document = json!({"authorization_response_iss_parameter_supported": true}));
    test.advance(601);
    assert_eq!(failure(&test.sign_in_with(|query| query).await), "wrongIssuer");
    let issuer = test.openid.issuer.replace(':', "%3A").replace('/', "%2F");
    let named = test.sign_in_with(|query| format!("{query}&iss={issuer}")).await;
    assert_eq!(named.header("location"), "/clusters");
}

#[tokio::test]
async fn groups_are_read_from_the_user_info_if_the_token_has_none() {
    let test = SignInTest::start().await;
    test.openid.change(|answers| answers.claims = json!({"groups": null}));
    test.openid.change(|answers| answers.user_info = json!({"sub": "248"}));
    assert_eq!(failure(&test.sign_in_with(|query| query).await), "noGroups", "absent is not none");
    test.openid.change(|answers| answers.user_info = json!({"sub": "249", "groups": ["ops"]}));
    assert_eq!(failure(&test.sign_in_with(|query| query).await), "invalidResponse", "about another user");
    test.openid.change(|answers| answers.user_info = json!({"sub": "248", "groups": ["ops"]}));
    assert_eq!(test.role(&test.sign_in().await).await.as_deref(), Some("publisher"));
}

#[tokio::test]
async fn a_changed_group_changes_the_role_within_a_minute() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    test.openid.change(|answers| answers.claims = json!({"groups": ["all"]}));
    assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "not asked yet");
    test.advance(60);
    let viewer = Some("viewer");
    tokio::join!(test.wait_for_role(&session, viewer), test.wait_for_role(&session, viewer));
    assert_eq!(test.openid.answers.lock().renewals, 1, "one of two requests asks");
    let events = test.server.get("/api/v1/events").await;
    let message =
        "The role of bob was changed from publisher to viewer by the groups of the identity provider corp.";
    assert!(events.text.contains(message), "{}", events.text);
    // Without a role nobody is signed in.
    test.openid.change(|answers| answers.claims = json!({"groups": []}));
    test.advance(60);
    test.wait_for_role(&session, None).await;
}

#[tokio::test]
async fn a_sign_in_without_a_role_takes_the_previous_one_from_other_sessions() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    test.openid.change(|answers| answers.claims = json!({"groups": []}));
    assert_eq!(failure(&test.sign_in_with(|query| query).await), "noRole");
    assert_eq!(test.role(&session).await, None, "without a role nobody is signed in");
    let events = test.server.get("/api/v1/events").await;
    assert!(events.text.contains("bob has no group with a role any more"), "{}", events.text);
}

#[tokio::test]
async fn a_session_that_its_provider_does_not_confirm_ends_at_once_or_after_five_minutes() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    // The provider has ended it.
    test.openid.revoke();
    test.advance(60);
    test.wait_for_role(&session, None).await;

    let session = test.sign_in().await;
    test.openid.change(|answers| answers.is_down = true);
    for _ in 0..4 {
        test.advance(60);
        assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "unknown, for a while");
    }
    // Unknown is not a confirmation.
    test.advance(61);
    test.wait_for_role(&session, None).await;
    test.openid.change(|answers| answers.is_down = false);
    assert_eq!(test.role(&session).await, None);
}

#[tokio::test]
async fn a_logout_of_a_session_ends_a_sign_in_of_its_user_whose_session_is_not_known() {
    let test = SignInTest::start().await;
    test.openid.change(|answers| answers.claims = json!({"sid": null}));
    let session = test.sign_in().await;
    let of_session = test.openid.sign_logout("t1", &json!({"sub": null, "sid": "s9"}));
    assert_eq!(test.send_logout(&of_session).await, StatusCode::OK);
    assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "of whom is not known");
    let of_user = test.openid.sign_logout("t2", &json!({"sid": "s9"}));
    assert_eq!(test.send_logout(&of_user).await, StatusCode::OK);
    assert_eq!(test.role(&session).await, None);
}

#[tokio::test]
async fn a_logout_of_the_provider_ends_the_session_and_its_stream() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    let request = Request::get("/api/v1/watch").header("cookie", &session).body(Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(test.server.app.router.clone(), request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let stream = tokio::spawn(axum::body::to_bytes(response.into_body(), usize::MAX));
    for wrong in [
        test.openid.sign_logout("t1", &json!({"aud": "other"})),
        test.openid.sign_logout("t1", &json!({"events": null})),
        test.openid.sign_logout("t1", &json!({"sub": null})),
        test.openid.sign(json!({"nonce": "n"})),
        "x".to_owned(),
    ] {
        assert_eq!(test.send_logout(&wrong).await, StatusCode::BAD_REQUEST);
    }
    let elsewhere = test.openid.sign_logout("t2", &json!({"sid": "s2"}));
    assert_eq!(test.send_logout(&elsewhere).await, StatusCode::OK);
    assert_eq!(test.role(&session).await.as_deref(), Some("publisher"), "another session of the user");
    let logout = test.openid.sign_logout("t3", &json!({"sid": "s1"}));
    assert_eq!(test.send_logout(&logout).await, StatusCode::OK);
    assert_eq!(test.role(&session).await, None);
    tokio::time::timeout(testkit::patience(), stream).await.expect("the stream ends").unwrap().unwrap();
    assert_eq!(test.send_logout(&logout).await, StatusCode::BAD_REQUEST, "it works once");
    let audit = test.server.get("/api/v1/audit?action=sign-out").await;
    assert!(audit.text.contains("The identity provider ended sessions: 1"), "{}", audit.text);
}

#[tokio::test]
async fn a_provider_that_is_disabled_or_removed_ends_its_sessions_and_tokens() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    let bob = test.server.get("/api/v1/users").await.json()[1]["id"].as_str().unwrap().parse().unwrap();
    let actor = Actor::new("bob", ActorKind::Session(bob), Role::Publisher);
    let token = test.server.hub.create_token(&actor, &NewApiToken::new("ci", 1)).await.unwrap().token;
    let with_token = async || {
        let request = Request::get("/api/v1/clusters").header("authorization", format!("Bearer {token}"));
        test.server.send_raw(request.body(Body::empty()).unwrap()).await.status
    };
    assert_eq!(with_token().await, StatusCode::OK);
    let mut disabled = test.provider();
    disabled["enabled"] = false.into();
    assert_eq!(test.save("corp", &disabled).await.status, StatusCode::OK);
    assert_eq!((test.role(&session).await, with_token().await), (None, StatusCode::UNAUTHORIZED));
    assert_eq!(failure(&test.get("/auth/corp/sign-in", "").await), "unknownProvider");
    assert!(!test.get("/sign-in", "").await.text.contains("Example Inc"));
    assert_eq!(test.save("corp", &test.provider()).await.status, StatusCode::OK);
    assert_eq!(test.role(&session).await, None, "the old session stays ended");
    let session = test.sign_in().await;
    assert_eq!(test.server.delete(&format!("{PROVIDERS}/corp")).await.status, StatusCode::NO_CONTENT);
    assert_eq!((test.role(&session).await, with_token().await), (None, StatusCode::UNAUTHORIZED));
    assert_eq!(test.server.delete(&format!("{PROVIDERS}/corp")).await.problem().0, 404);
}

#[tokio::test]
async fn role_and_password_of_a_user_of_a_provider_are_not_set_here() {
    let test = SignInTest::start().await;
    let session = test.sign_in().await;
    let change = json!({"currentPassword": "", "newPassword": "a long enough phrase 7"});
    let request = Request::put("/api/v1/password").header("content-type", "application/json");
    let request = request.header("cookie", session).header("sec-fetch-site", "same-origin");
    let changed = test.server.send_raw(request.body(Body::from(change.to_string())).unwrap()).await;
    assert_eq!(changed.problem(), (409, "FailedPrecondition".to_owned()), "{}", changed.text);
    let role =
        test.server.send_json(Method::PUT, "/api/v1/users/bob/role", &[], &json!({"role": "admin"})).await;
    assert_eq!(role.problem(), (409, "FailedPrecondition".to_owned()));
    assert_eq!(test.server.post("/api/v1/users/bob:resetPassword", &json!({})).await.problem().0, 409);
    assert_eq!(test.server.get("/api/v1/users/ada/identity").await.problem().0, 404);
    assert_eq!(test.server.post("/api/v1/users/bob:disable", &json!({})).await.json()["state"], "disabled");
    assert_eq!(failure(&test.sign_in_with(|query| query).await), "disabled");
    assert_eq!(test.server.post("/api/v1/users/bob:enable", &json!({})).await.json()["state"], "active");
}

#[tokio::test]
async fn a_provider_is_changed_without_showing_its_secret() {
    let test = SignInTest::start().await;
    let path = format!("{PROVIDERS}/corp");
    let read = test.server.get(&path).await;
    assert_eq!((read.header("etag"), &read.json()["hasClientSecret"]), ("\"1\"", &json!(true)));
    assert_eq!(read.json()["redirectUri"], format!("{CONSOLE}/auth/corp/callback"));
    assert_eq!(read.json()["logoutUri"], format!("{CONSOLE}/auth/corp/back-channel-logout"));
    let mut put = test.provider();
    put.as_object_mut().unwrap().remove("clientSecret");
    let saved = test.server.send_json(Method::PUT, &path, &[("if-match", "\"1\"")], &put).await;
    assert_eq!(saved.json()["hasClientSecret"], true, "{}", saved.text);
    let stale = test.server.send_json(Method::PUT, &path, &[("if-match", "\"1\"")], &put).await;
    assert_eq!(stale.problem().0, 412);
    test.sign_in().await;
    for (field, value) in [("issuer", "https://other.example"), ("clientId", "other"), ("groupsClaim", "")] {
        let mut wrong = put.clone();
        wrong[field] = value.into();
        assert_eq!(test.save("corp", &wrong).await.problem(), (422, "Invalid".to_owned()), "{field}");
    }
    assert_eq!(test.save("second", &put).await.problem().0, 409, "the issuer is taken");
    put["clientsecret"] = "x".into();
    assert_eq!(test.save("corp", &put).await.problem().0, 400);
    let all = test.server.get(PROVIDERS).await;
    assert!(!all.text.contains(CLIENT_SECRET) && !saved.text.contains(CLIENT_SECRET), "{}", all.text);
}
