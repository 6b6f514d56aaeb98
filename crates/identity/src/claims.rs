//! The claims of ID tokens (OpenID Connect Core, 3.1.3.7) and of logout tokens (Back-Channel Logout, 2.6).

use serde_json::Value;

use crate::key_set::KeySet;
use crate::signed_token::{TokenError, verify_signature};

/// How far the clocks of provider and server may differ, in seconds.
pub const LEEWAY_SECONDS: i64 = 60;
/// How old a logout token may be, in seconds: its id is remembered for longer than that.
pub const MAX_LOGOUT_AGE_SECONDS: i64 = 300;

/// Longest `sub`, `sid` and `jti`, in bytes.
const MAX_ID_BYTES: usize = 255;
/// No time is later than this: the year 5138.
const MAX_SECONDS: i64 = 100_000_000_000;
/// The event of a logout token.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Who issues a token, for whom, and the time at which it is verified.
#[derive(Debug, Clone, Copy)]
pub struct TokenAudience<'a> {
    /// The issuer, exactly as it is configured.
    pub issuer: &'a str,
    /// The id of this client.
    pub client_id: &'a str,
    /// Seconds since the epoch.
    pub now: i64,
}

/// What an ID token belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdTokenExpectation<'a> {
    /// The nonce of the sign-in; `None` for a token of a renewal.
    pub nonce: Option<&'a str>,
    /// The access token that came with it.
    pub access_token: Option<&'a str>,
    /// The user of a renewal.
    pub subject: Option<&'a str>,
}

/// What a logout token says. At least one of both is present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutClaims {
    /// The id of the token, by which a repetition is found.
    pub id: String,
    /// The user whose sessions end.
    pub subject: Option<String>,
    /// The session of the provider that ends.
    pub session: Option<String>,
}

/// Verifies an ID token; returns its claims.
///
/// # Errors
/// Signature, issuer, audience, times, nonce, access token or subject are not as expected.
pub fn verify_id_token(
    token: &str,
    keys: &KeySet,
    audience: TokenAudience<'_>,
    expected: IdTokenExpectation<'_>,
) -> Result<Value, TokenError> {
    let token = verify_signature(token, keys)?;
    // A logout token or an access token of the same provider is no ID token.
    if !matches!(token.kind.as_str(), "" | "jwt") || token.claims.get("events").is_some() {
        return Err(TokenError::Type);
    }
    let claims = token.claims;
    check_audience(&claims, audience)?;
    check_times(&claims, audience.now, true)?;
    if expected.nonce.is_some_and(|nonce| text(&claims, "nonce") != Some(nonce)) {
        return Err(TokenError::Nonce);
    }
    let own = expected.access_token.map(|access| token.algorithm.half_hash(access));
    let is_own = |hash: &Value| hash.as_str().is_some_and(|hash| own.as_deref() == Some(hash));
    if claims.get("at_hash").is_some_and(|hash| !is_own(hash)) {
        return Err(TokenError::AccessToken);
    }
    let subject = read_subject(&claims).ok_or(TokenError::Subject)?;
    if expected.subject.is_some_and(|other| other != subject) {
        return Err(TokenError::Subject);
    }
    Ok(claims)
}

/// Verifies a logout token.
///
/// # Errors
/// Signature, issuer, audience, times or the event are not as expected, or it names neither a user nor a session.
pub fn verify_logout_token(
    token: &str,
    keys: &KeySet,
    audience: TokenAudience<'_>,
) -> Result<LogoutClaims, TokenError> {
    let token = verify_signature(token, keys)?;
    let claims = token.claims;
    let is_logout =
        claims.get("events").and_then(|events| events.get(LOGOUT_EVENT)).is_some_and(Value::is_object);
    let is_typed = matches!(token.kind.as_str(), "" | "jwt" | "logout+jwt");
    // An ID token, which the browser has, is no logout token.
    if !is_logout || !is_typed || claims.get("nonce").is_some() {
        return Err(TokenError::Type);
    }
    check_audience(&claims, audience)?;
    check_times(&claims, audience.now, false)?;
    let issued_at = number(&claims, "iat").ok_or(TokenError::NotYetValid)?;
    if issued_at < audience.now - MAX_LOGOUT_AGE_SECONDS {
        return Err(TokenError::Expired);
    }
    let id = read_id(&claims, "jti").ok_or(TokenError::MissingId)?.to_owned();
    let subject = read_subject(&claims).map(str::to_owned);
    let session = read_session(&claims).map(str::to_owned);
    if subject.is_none() && session.is_none() {
        return Err(TokenError::Subject);
    }
    Ok(LogoutClaims { id, subject, session })
}

/// The `sub` of claims, if it is one.
pub fn read_subject(claims: &Value) -> Option<&str> {
    read_id(claims, "sub")
}

/// The `sid` of claims, if it is one: the session of the user at the provider.
pub fn read_session(claims: &Value) -> Option<&str> {
    read_id(claims, "sid")
}

fn check_audience(claims: &Value, audience: TokenAudience<'_>) -> Result<(), TokenError> {
    if text(claims, "iss") != Some(audience.issuer) {
        return Err(TokenError::Issuer);
    }
    let (is_for_client, others) = match claims.get("aud") {
        Some(Value::String(only)) => (only == audience.client_id, 0),
        Some(Value::Array(all)) => {
            let own = all.iter().filter(|one| one.as_str() == Some(audience.client_id)).count();
            (own > 0, all.len() - own)
        }
        _ => (false, 0),
    };
    let party = claims.get("azp");
    let is_authorized = match party {
        Some(party) => party.as_str() == Some(audience.client_id),
        None => others == 0,
    };
    if is_for_client && is_authorized { Ok(()) } else { Err(TokenError::Audience) }
}

/// `iat` is required, and `exp` of an ID token.
fn check_times(claims: &Value, now: i64, needs_expiry: bool) -> Result<(), TokenError> {
    let issued_at = number(claims, "iat").ok_or(TokenError::NotYetValid)?;
    let not_before = match claims.get("nbf") {
        None => issued_at,
        Some(_) => number(claims, "nbf").ok_or(TokenError::NotYetValid)?,
    };
    if issued_at.max(not_before) > now + LEEWAY_SECONDS {
        return Err(TokenError::NotYetValid);
    }
    match claims.get("exp") {
        None if !needs_expiry => Ok(()),
        _ if number(claims, "exp").is_some_and(|at| at > now - LEEWAY_SECONDS) => Ok(()),
        _ => Err(TokenError::Expired),
    }
}

fn text<'a>(claims: &'a Value, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}

fn read_id<'a>(claims: &'a Value, name: &str) -> Option<&'a str> {
    let is_id = |id: &&str| !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.chars().any(char::is_control);
    text(claims, name).filter(is_id)
}

/// A time in seconds; a fraction is cut off. What is out of range is no time.
fn number(claims: &Value, name: &str) -> Option<i64> {
    let number = claims.get(name)?;
    let seconds = number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64));
    seconds.filter(|seconds| (0..MAX_SECONDS).contains(seconds))
}
