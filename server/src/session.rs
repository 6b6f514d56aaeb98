//! Sessions of people at the console, kept by the hub under a hash of their id.

use domain::{Timestamp, UserId};
use hub::{Actor, ActorKind, Hub};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};
use tower_sessions::{Expiry, Session, SessionManagerLayer, SessionStore};

use crate::site::Site;

/// Name of the cookie.
pub const COOKIE: &str = "flotilla_session";

/// A session not used for so long is over.
const IDLE: Duration = Duration::hours(12);
/// A session is over after so long, used or not, in milliseconds.
const LONGEST_MILLIS: i64 = 7 * 24 * 3_600_000;
/// A session in use is written again after so long, in milliseconds; not with every request.
const TOUCH_MILLIS: i64 = 10 * 60_000;

/// Under which key the person is kept in the session.
const PERSON: &str = "person";

/// Who is signed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Person {
    user: UserId,
    name: String,
    since: Timestamp,
    touched: Timestamp,
}

/// The layer that reads and writes the cookie.
pub fn layer(site: &Site) -> SessionManagerLayer<Sessions> {
    SessionManagerLayer::new(Sessions(site.hub().clone()))
        .with_name(COOKIE)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_secure(site.secure_cookies())
        .with_expiry(Expiry::OnInactivity(IDLE))
}

/// Begins a session: a new id, whatever id the browser came with (session fixation).
///
/// # Errors
/// The session could not be stored.
pub async fn begin(
    session: &Session,
    person: hub::Session,
    now: Timestamp,
) -> std::result::Result<(), String> {
    let person = Person { user: person.user, name: person.name, since: now, touched: now };
    session.clear().await;
    session.cycle_id().await.map_err(|error| error.to_string())?;
    session.insert(PERSON, person).await.map_err(|error| error.to_string())
}

/// Ends a session.
///
/// # Errors
/// The session could not be removed.
pub async fn end(session: &Session) -> std::result::Result<(), String> {
    session.flush().await.map_err(|error| error.to_string())
}

/// Who is signed in, if somebody is and the session has not grown too old.
pub async fn actor(session: &Session, now: Timestamp) -> Option<Actor> {
    let mut person: Person = session.get(PERSON).await.ok()??;
    if now.since(person.since) > LONGEST_MILLIS {
        // Not ending it is harmless: it is refused again, and retention removes it.
        let _ = end(session).await;
        return None;
    }
    let actor = Actor::new(person.name.clone(), ActorKind::Session(person.user));
    if now.since(person.touched) > TOUCH_MILLIS {
        person.touched = now;
        // A session that could not be renewed only ends earlier.
        let _ = session.insert(PERSON, person).await;
    }
    Some(actor)
}

/// Sessions in the hub's database.
#[derive(Clone)]
pub struct Sessions(Hub);

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    /// An id is 128 random bits: two sessions never have the same, so a new one is saved like any.
    async fn create(&self, record: &mut Record) -> Result<()> {
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let data = serde_json::to_string(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let millis = record.expiry_date.unix_timestamp().saturating_mul(1000);
        let saved = self.0.session_save(&record.id.to_string(), &data, Timestamp::from_millis(millis)).await;
        saved.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some(text) = self.0.session_load(&id.to_string()).await.map_err(backend)? else {
            return Ok(None);
        };
        let data = serde_json::from_str(&text).map_err(|error| Error::Decode(error.to_string()))?;
        let now = OffsetDateTime::from_unix_timestamp(self.0.clock().now().millis() / 1000);
        // The store has already left out what is over; from here on the session lives as long as one just written.
        let expiry_date = now.unwrap_or(OffsetDateTime::UNIX_EPOCH).saturating_add(IDLE);
        Ok(Some(Record { id: *id, data, expiry_date }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.session_delete(&id.to_string()).await.map_err(backend)
    }
}

/// Without its source: that may name the database's address.
fn backend(error: hub::Error) -> Error {
    Error::Backend(error.to_string())
}
