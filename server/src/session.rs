//! Console sessions, stored by the hub under a hash of their id.

use axum::http::StatusCode;
use domain::{Timestamp, UserId};
use hub::{Actor, Hub, SessionDetails};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use tower_sessions::cookie::SameSite;
use tower_sessions::session::Error as SessionError;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};
use tower_sessions::{Expiry, Session, SessionManagerLayer, SessionStore};

use crate::problem::ApiError;
use crate::site::Site;

/// Name of the cookie over plain http.
pub const COOKIE: &str = "flotilla_session";
/// Name of the cookie over https: browsers accept it only from this host, for all paths, over https.
pub const HOST_COOKIE: &str = "__Host-flotilla_session";

/// A session expires after this time without use.
const IDLE_TIMEOUT: Duration = Duration::hours(12);
/// A session expires after this time even if used, in milliseconds.
const MAX_AGE_MILLIS: i64 = 7 * 24 * 3_600_000;
/// A session in use is refreshed at most this often, in milliseconds.
const REFRESH_MILLIS: i64 = 10 * 60_000;

/// Key of the user in the session's data.
const USER_KEY: &str = "user";

/// The signed-in user.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SignedInUser {
    user: UserId,
    name: String,
    /// The epoch of the user at sign-in; 0 in sessions from before there were epochs.
    #[serde(default)]
    epoch: i64,
    signed_in_at: Timestamp,
    refreshed_at: Timestamp,
    #[serde(default)]
    device: SignInDevice,
    /// The sign-in with an identity provider that the session ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
}

/// Where a user signed in.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SignInDevice {
    /// The network address; may be empty.
    pub address: String,
    /// The `User-Agent`; may be empty.
    pub user_agent: String,
}

/// The layer that reads and writes the cookie.
pub fn session_layer(site: &Site) -> SessionManagerLayer<HubSessionStore> {
    SessionManagerLayer::new(HubSessionStore(site.hub().clone()))
        .with_name(if site.secure_cookies() { HOST_COOKIE } else { COOKIE })
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(site.secure_cookies())
        .with_expiry(Expiry::OnInactivity(IDLE_TIMEOUT))
}

/// Starts a session with a new id, whatever id the browser sent (against session fixation).
///
/// # Errors
/// The session could not be stored.
pub async fn start_session(
    session: &Session,
    person: hub::NewSession,
    device: SignInDevice,
    now: Timestamp,
) -> std::result::Result<(), String> {
    let person = SignedInUser {
        user: person.user,
        name: person.name,
        epoch: person.epoch,
        signed_in_at: now,
        refreshed_at: now,
        device,
        identity: person.identity,
    };
    session.cycle_id().await.map_err(error_text)?;
    session.clear().await;
    session.insert(USER_KEY, person).await.map_err(error_text)?;
    // The layer stores it too, but can't tell why it failed.
    session.save().await.map_err(error_text)
}

/// Ends a session, and the sign-in with an identity provider that it belongs to.
///
/// # Errors
/// The session could not be removed.
pub async fn end_session(session: &Session, hub: &Hub) -> std::result::Result<(), String> {
    let person: Option<SignedInUser> = session.get(USER_KEY).await.unwrap_or_default();
    session.flush().await.map_err(error_text)?;
    if let Some(identity) = person.and_then(|person| person.identity)
        && let Err(error) = hub.end_identity_session(&identity).await
    {
        tracing::warn!(%error, "the sign-in with an identity provider of a session that has ended was not deleted; it expires");
    }
    Ok(())
}

/// The signed-in user, if there is one and the session has neither expired nor ended by a disable or a new password.
///
/// # Errors
/// The database can't be read: it is not known whether somebody is signed in.
pub async fn session_actor(session: &Session, hub: &Hub) -> std::result::Result<Option<Actor>, ApiError> {
    let now = hub.clock().now();
    let mut person: SignedInUser = match session.get(USER_KEY).await {
        Ok(Some(person)) => person,
        Err(SessionError::Store(Error::Backend(why))) => {
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "DatabaseUnavailable", why));
        }
        Ok(None) | Err(_) => return Ok(None),
    };
    if now.millis_since(person.signed_in_at) > MAX_AGE_MILLIS {
        // A failure is harmless: the session is rejected again, and retention deletes it.
        let _ = end_session(session, hub).await;
        return Ok(None);
    }
    let Some(id) = session.id() else { return Ok(None) };
    let (started, identity) = ((person.user, person.epoch), person.identity.as_deref());
    let Some(actor) = hub.authenticate_session(&id.to_string(), started, identity).await? else {
        let _ = end_session(session, hub).await;
        return Ok(None);
    };
    if now.millis_since(person.refreshed_at) > REFRESH_MILLIS {
        person.refreshed_at = now;
        refresh(session, hub, person).await;
    }
    Ok(Some(actor))
}

/// Extends a session in use. Stored here first: while the database accepts no writes the session only expires earlier, but
/// the layer would answer a changed session that it can't store with an error.
async fn refresh(session: &Session, hub: &Hub, person: SignedInUser) {
    let Ok(value) = serde_json::to_value(&person) else { return };
    let Some(id) = session.id() else { return };
    let data = [(USER_KEY.to_owned(), value)].into();
    let record = Record { id, data, expiry_date: session.expiry_date() };
    if HubSessionStore(hub.clone()).save(&record).await.is_ok() {
        // Also extends the cookie. The session is in memory: this can't fail.
        let _ = session.insert(USER_KEY, person).await;
    }
}

/// Sessions in the hub's database.
#[derive(Clone)]
pub struct HubSessionStore(Hub);

impl std::fmt::Debug for HubSessionStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HubSessionStore")
    }
}

/// A session as the hub stores it: data, expiry, whose it is.
fn encode_record(record: &Record) -> Result<(String, Timestamp, SessionDetails)> {
    let data = serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
    let expires_at = Timestamp::from_millis(record.expiry_date.unix_timestamp().saturating_mul(1000));
    let person = record.data.get(USER_KEY).and_then(|value| SignedInUser::deserialize(value).ok());
    let details = person.map(|person| SessionDetails {
        user: Some(person.user),
        signed_in_at: person.signed_in_at,
        used_at: person.refreshed_at,
        address: person.device.address,
        user_agent: person.device.user_agent,
    });
    Ok((data, expires_at, details.unwrap_or_default()))
}

#[async_trait::async_trait]
impl SessionStore for HubSessionStore {
    /// An id is 128 random bits, so collisions are not checked.
    async fn create(&self, record: &mut Record) -> Result<()> {
        let (data, expires_at, details) = encode_record(record)?;
        let created = self.0.create_session(&record.id.to_string(), &data, expires_at, &details).await;
        created.map_err(backend_error)
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let (data, expires_at, details) = encode_record(record)?;
        let saved = self.0.update_session(&record.id.to_string(), &data, expires_at, &details).await;
        saved.map_err(backend_error)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some(text) = self.0.load_session(&id.to_string()).await.map_err(backend_error)? else {
            return Ok(None);
        };
        let data = serde_json::from_str(&text).map_err(|error| Error::Decode(error.to_string()))?;
        let now = OffsetDateTime::from_unix_timestamp(self.0.clock().now().millis() / 1000);
        // The hub returns no expired session; a loaded session expires like one just written.
        let expiry_date = now.unwrap_or(OffsetDateTime::UNIX_EPOCH).saturating_add(IDLE_TIMEOUT);
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.delete_session(&id.to_string()).await.map_err(backend_error)
    }
}

/// An outage of the database, or a session that can't be read. Without the source error, which may contain the database's
/// address.
fn backend_error(error: hub::Error) -> Error {
    if error.is_outage() { Error::Backend(error.to_string()) } else { Error::Decode(error.to_string()) }
}

/// The text of an error of the session store.
fn error_text(error: SessionError) -> String {
    match error {
        SessionError::Store(Error::Backend(why)) => why,
        other => other.to_string(),
    }
}
