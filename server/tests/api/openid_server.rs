//! A provider of OpenID Connect on the loopback address, whose answers a test changes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use futures::future::BoxFuture;
use hub::{Clock, IdentityFetcher, IdentityRequest, IdentityResponse};
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

/// The client that the provider knows.
pub const CLIENT_ID: &str = "flotilla";
pub const CLIENT_SECRET: &str = "canary-secret";

/// What the provider answers. The values replace those of a right answer; `null` removes one.
pub struct OpenIdAnswers {
    /// Claims of tokens.
    pub claims: Value,
    /// The header of ID tokens.
    pub header: Value,
    /// Fields of the response with tokens.
    pub tokens: Value,
    /// Fields of the discovery document.
    pub document: Value,
    /// The user info; `null` for none.
    pub user_info: Value,
    /// Whether every answer is an error of the server.
    pub is_down: bool,
    /// How many refresh tokens were used.
    pub renewals: u32,
    /// If there is one, each renewal waits for a permit of it.
    pub gate: Option<Arc<Semaphore>>,
    /// The id of the key that it publishes and signs with.
    pub key_id: &'static str,
    /// How often the keys were read.
    pub key_reads: u32,
    codes: HashMap<String, AuthorizedCode>,
    refresh_tokens: HashSet<String>,
    count: u32,
}

struct AuthorizedCode {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

/// A running provider. Clones share it.
#[derive(Clone)]
pub struct OpenIdServer {
    pub issuer: String,
    pub answers: Arc<Mutex<OpenIdAnswers>>,
    key: Arc<EcdsaKeyPair>,
    clock: Clock,
}

impl OpenIdServer {
    pub async fn start(clock: Clock) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let rng = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &rng).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &rng).unwrap();
        let answers = OpenIdAnswers {
            claims: json!({}),
            header: json!({}),
            tokens: json!({}),
            document: json!({}),
            user_info: Value::Null,
            is_down: false,
            renewals: 0,
            gate: None,
            key_id: "k1",
            key_reads: 0,
            codes: HashMap::new(),
            refresh_tokens: HashSet::new(),
            count: 0,
        };
        let server = Self {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            answers: Arc::new(Mutex::new(answers)),
            key: Arc::new(key),
            clock,
        };
        let router = server.router();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/.well-known/openid-configuration", get(serve_document))
            .route("/keys", get(serve_keys))
            .route("/token", post(serve_tokens))
            .route("/userinfo", get(serve_user_info))
            .with_state(self.clone())
    }

    /// Changes what it answers.
    pub fn change(&self, change: impl FnOnce(&mut OpenIdAnswers)) {
        change(&mut self.answers.lock());
    }

    /// What a user who signs in there is led back with: the query of the callback.
    pub fn authorize(&self, location: &str) -> String {
        assert!(location.starts_with(&format!("{}/authorize?", self.issuer)), "{location}");
        let query = parse_query(location);
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["client_id"], CLIENT_ID);
        assert_eq!(query["code_challenge_method"], "S256");
        let mut answers = self.answers.lock();
        answers.count += 1;
        let code = format!("code-{}", answers.count);
        let authorized = AuthorizedCode {
            nonce: query["nonce"].clone(),
            challenge: query["code_challenge"].clone(),
            redirect_uri: query["redirect_uri"].clone(),
        };
        answers.codes.insert(code.clone(), authorized);
        format!("code={code}&state={}", query["state"])
    }

    /// A token with these claims, which replace those of a right one.
    pub fn sign(&self, claims: Value) -> String {
        let now = self.clock.now().millis() / 1_000;
        let base = json!({"iss": self.issuer, "aud": CLIENT_ID, "sub": "248", "iat": now, "exp": now + 300});
        let header = {
            let answers = self.answers.lock();
            merge(json!({"alg": "ES256", "kid": answers.key_id}), &answers.header)
        };
        let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", text(&header), text(&merge(base, &claims)));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    /// A logout token of the user, with claims that replace those of a right one.
    pub fn sign_logout(&self, id: &str, claims: &Value) -> String {
        let event = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        self.sign(replace(json!({"jti": id, "events": event}), claims))
    }

    fn issue_tokens(&self, nonce: Option<&str>) -> Value {
        let (changes, claims, refresh_token) = {
            let mut answers = self.answers.lock();
            answers.count += 1;
            let refresh_token = format!("refresh-{}", answers.count);
            answers.refresh_tokens.insert(refresh_token.clone());
            (answers.tokens.clone(), answers.claims.clone(), refresh_token)
        };
        let base = json!({
            "nonce": nonce, "groups": ["ops"], "preferred_username": "Bob@example.com", "sid": "s1",
        });
        let tokens = json!({
            "token_type": "Bearer",
            "access_token": "canary-access",
            "refresh_token": refresh_token,
            "id_token": self.sign(replace(base, &claims)),
        });
        merge(tokens, &changes)
    }
}

/// The object with these values in place of its own.
fn replace(mut object: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}

/// The same; `null` removes one.
fn merge(object: Value, changes: &Value) -> Value {
    let mut object = replace(object, changes);
    object.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    object
}

/// The parameters of an address.
pub fn parse_query(address: &str) -> HashMap<String, String> {
    let query = address.split_once('?').unwrap().1;
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs
        .map(|(name, value)| (name.to_owned(), percent_decode_str(value).decode_utf8().unwrap().into()))
        .collect()
}

type OpenIdResponse = (StatusCode, Json<Value>);

fn answer(server: &OpenIdServer, body: Value) -> OpenIdResponse {
    match server.answers.lock().is_down {
        true => (StatusCode::BAD_GATEWAY, Json(json!({}))),
        false => (StatusCode::OK, Json(body)),
    }
}

async fn serve_document(State(server): State<OpenIdServer>) -> OpenIdResponse {
    let issuer = &server.issuer;
    let base = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "jwks_uri": format!("{issuer}/keys"),
    });
    let changes = server.answers.lock().document.clone();
    answer(&server, merge(base, &changes))
}

async fn serve_keys(State(server): State<OpenIdServer>) -> OpenIdResponse {
    let point: &[u8] = server.key.public_key().as_ref();
    let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let id = {
        let mut answers = server.answers.lock();
        answers.key_reads += 1;
        answers.key_id
    };
    let (x, y) = (text(&point[1..33]), text(&point[33..]));
    let key = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y});
    answer(&server, json!({"keys": [key]}))
}

async fn serve_user_info(State(server): State<OpenIdServer>, headers: HeaderMap) -> OpenIdResponse {
    assert_eq!(headers["authorization"], "Bearer canary-access");
    let claims = server.answers.lock().user_info.clone();
    answer(&server, claims)
}

async fn serve_tokens(
    State(server): State<OpenIdServer>,
    headers: HeaderMap,
    Form(form): Form<HashMap<String, String>>,
) -> OpenIdResponse {
    let login = BASE64_STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}"));
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
    if authorization != Some(format!("Basic {login}").as_str()) {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"})));
    }
    let refused = (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"})));
    if form["grant_type"] == "refresh_token" {
        let gate = {
            let mut answers = server.answers.lock();
            answers.renewals += 1;
            answers.gate.clone()
        };
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let is_known = {
            let mut answers = server.answers.lock();
            answers.is_down || answers.refresh_tokens.remove(&form["refresh_token"])
        };
        return if is_known { answer(&server, server.issue_tokens(None)) } else { refused };
    }
    let Some(code) = server.answers.lock().codes.remove(&form["code"]) else { return refused };
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    assert_eq!((&challenge, &form["redirect_uri"]), (&code.challenge, &code.redirect_uri));
    answer(&server, server.issue_tokens(Some(&code.nonce)))
}

impl OpenIdServer {
    /// Forgets every refresh token: the user was signed out there.
    pub fn revoke(&self) {
        self.answers.lock().refresh_tokens.clear();
    }
}

/// Requests of a hub to the provider without a network, so that no time limit ends one that waits.
pub struct DirectFetcher(pub OpenIdServer);

impl IdentityFetcher for DirectFetcher {
    fn fetch(&self, request: IdentityRequest) -> BoxFuture<'_, Result<IdentityResponse, String>> {
        Box::pin(async move {
            let mut message = Request::builder().uri(request.url);
            if let Some(authorization) = request.authorization {
                message = message.header("authorization", authorization);
            }
            let message = match request.form {
                Some(form) => message
                    .method("POST")
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body(Body::from(form)),
                None => message.body(Body::empty()),
            };
            let response = tower::ServiceExt::oneshot(self.0.router(), message.unwrap()).await.unwrap();
            let status = response.status().as_u16();
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            Ok(IdentityResponse { status, body: body.to_vec() })
        })
    }
}
