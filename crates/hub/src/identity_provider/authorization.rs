//! The request that a browser takes to a provider, and the response that it brings back.
//!
//! Nothing is stored meanwhile. A cookie has a random secret, the provider, the path to return to and the time; `state`, `nonce` and the PKCE
//! verifier are hashes of the whole cookie. So the response fits only the browser that started the sign-in, and only the provider and the path that it was
//! started with, and who sees the `state` in an address learns neither of the others.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::Timestamp;
use domain::identity_provider::SignInFailure;
use identity::{append_query, code_challenge, hash_to_text};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::Hub;

/// How long a sign-in may take at the provider, in milliseconds.
pub(super) const SIGN_IN_MILLIS: i64 = 10 * 60_000;
/// Longest cookie that is read, and longest path in it, in bytes: browsers store 4096.
const MAX_COOKIE_BYTES: usize = 3_500;
const MAX_NEXT_BYTES: usize = 1_500;

/// Where the browser is sent to, and the cookie that binds the response to it. Without `Debug`: it must not appear in a log.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInStart {
    /// The address at the provider.
    pub location: String,
    /// The value of the cookie: characters of base64url.
    pub cookie: String,
}

/// What the browser brings back, as it was sent. Without `Debug`: it must not appear in a log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuthorizationResponse {
    /// The value of the cookie.
    pub cookie: Option<String>,
    /// `state`
    pub state: Option<String>,
    /// `code`
    pub code: Option<String>,
    /// `iss` (RFC 9207)
    pub issuer: Option<String>,
    /// `error`; only whether there is one is used.
    pub error: Option<String>,
}

/// The content of the cookie.
#[derive(Serialize, Deserialize)]
struct CookieContent {
    secret: String,
    provider: String,
    next: String,
    started_at: i64,
}

/// A sign-in whose response fits the cookie.
pub(super) struct PendingSignIn {
    /// Works once.
    pub state: String,
    pub nonce: String,
    pub verifier: String,
    /// The path to return to, not checked yet.
    pub next: String,
}

impl PendingSignIn {
    fn from_cookie(cookie: &str, next: String) -> Self {
        let derive = |purpose: &str| hash_to_text(&format!("{purpose}\n{cookie}"));
        Self { state: derive("state"), nonce: derive("nonce"), verifier: derive("verifier"), next }
    }
}

impl Hub {
    /// Starts a sign-in with a provider, which leads back to `next`.
    ///
    /// # Errors
    /// There is no such provider, or it can't be read.
    pub async fn begin_identity_sign_in(
        &self,
        provider: &str,
        next: &str,
    ) -> Result<SignInStart, SignInFailure> {
        let provider = self.load_enabled_provider(provider).await?.ok_or(SignInFailure::UnknownProvider)?;
        let documents = Box::pin(self.load_documents(&provider.issuer)).await?;
        let content = CookieContent {
            secret: self.ids().generate_secret(),
            provider: provider.name.clone(),
            next: if next.len() <= MAX_NEXT_BYTES { next.to_owned() } else { String::new() },
            started_at: self.clock().now().millis(),
        };
        let cookie = BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&content).unwrap_or_default());
        let pending = PendingSignIn::from_cookie(&cookie, content.next);
        let (redirect_uri, scope) = (self.redirect_uri(&provider.name), provider.settings.scopes.join(" "));
        let challenge = code_challenge(&pending.verifier);
        let parameters = [
            ("response_type", "code"),
            ("client_id", provider.client_id.as_str()),
            ("redirect_uri", redirect_uri.as_str()),
            ("scope", scope.as_str()),
            ("state", pending.state.as_str()),
            ("nonce", pending.nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let location = append_query(&documents.metadata.authorization_endpoint, &parameters);
        Ok(SignInStart { location, cookie })
    }
}

/// The sign-in that a response belongs to.
pub(super) fn match_response(
    response: &AuthorizationResponse,
    provider: &str,
    now: Timestamp,
) -> Result<PendingSignIn, SignInFailure> {
    const FAILED: SignInFailure = SignInFailure::StateMismatch;
    let cookie =
        response.cookie.as_deref().filter(|cookie| cookie.len() <= MAX_COOKIE_BYTES).ok_or(FAILED)?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cookie).map_err(|_| FAILED)?;
    let content: CookieContent = serde_json::from_slice(&bytes).map_err(|_| FAILED)?;
    let pending = PendingSignIn::from_cookie(cookie, content.next);
    let state = response.state.as_deref().unwrap_or_default();
    let fits: bool = state.as_bytes().ct_eq(pending.state.as_bytes()).into();
    let age = now.millis().saturating_sub(content.started_at);
    // A clock that was set back a little does not end a sign-in.
    let is_recent = (-60_000..SIGN_IN_MILLIS).contains(&age);
    if fits && is_recent && content.provider == provider { Ok(pending) } else { Err(FAILED) }
}
