//! Logouts that a provider sends (OpenID Connect Back-Channel Logout).

use domain::audit::{AuditOutcome, AuditRecord};
use domain::event::describe_object;
use domain::identity_provider::SignInFailure;
use identity::{LEEWAY_SECONDS, LogoutClaims, MAX_LOGOUT_AGE_SECONDS, hash_to_text, verify_logout_token};
use store::identity_session;

use super::documents::TokenSource;
use crate::{Actor, Error, Hub};

/// How long the id of a logout token is remembered, in milliseconds: longer than the token is accepted.
const REPLAY_MILLIS: i64 = 2_000 * (MAX_LOGOUT_AGE_SECONDS + LEEWAY_SECONDS);

/// Why no session was ended by a logout token.
#[derive(Debug)]
pub enum LogoutFailure {
    /// There is no such provider.
    UnknownProvider,
    /// The token is not valid, or was used before.
    InvalidToken,
    /// The provider or the database can't be read: the logout may be sent again.
    Unavailable,
}

impl From<Error> for LogoutFailure {
    fn from(error: Error) -> Self {
        tracing::warn!(%error, "a logout of an identity provider was not executed");
        Self::Unavailable
    }
}

impl Hub {
    /// Ends the sign-ins that a logout token names, with their sessions and streams; returns how many. A provider that is disabled may end its sessions
    /// too, of which there are none.
    ///
    /// # Errors
    /// The token is not one of this provider for this client, was used before, or its keys can't be read.
    pub async fn end_provider_sessions(&self, provider: &str, token: &str) -> Result<u64, LogoutFailure> {
        let Some(provider) = self.load_enabled_provider(provider).await? else {
            return Err(LogoutFailure::UnknownProvider);
        };
        let documents = Box::pin(self.load_documents(&provider.issuer)).await;
        let documents = documents.map_err(|_| LogoutFailure::Unavailable)?;
        let audience = self.token_audience(&provider);
        let verify = |keys: &identity::KeySet| verify_logout_token(token, keys, audience);
        let source = TokenSource::Anyone(token);
        let verified = Box::pin(self.verify_with_keys(&provider.issuer, &documents, source, verify)).await;
        let claims = verified.map_err(|failure| match failure {
            SignInFailure::InvalidToken => LogoutFailure::InvalidToken,
            _ => LogoutFailure::Unavailable,
        })?;
        match self.end_named_sessions(&provider.name, &provider.issuer, &claims).await? {
            Some(ended) => Ok(ended),
            None => Err(LogoutFailure::InvalidToken),
        }
    }

    /// `None` if the token was used before.
    async fn end_named_sessions(
        &self,
        provider: &str,
        issuer: &str,
        claims: &LogoutClaims,
    ) -> Result<Option<u64>, Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let id = hash_to_text(&format!("logout\n{issuer}\n{}", claims.id));
        if !identity_session::use_once(&mut tx, &id, now.plus_millis(REPLAY_MILLIS)).await? {
            tracing::warn!(provider, "a logout token of an identity provider was sent again");
            return Ok(None);
        }
        let (subject, sid) = (claims.subject.as_deref(), claims.session.as_deref());
        let ended = identity_session::delete_by_logout(&mut tx, provider, subject, sid).await?;
        let record = AuditRecord {
            subject: describe_object("identity provider", provider),
            message: format!("The identity provider ended sessions: {ended} of this server."),
            ..Actor::system().audit_record("sign-out", AuditOutcome::Succeeded)
        };
        tx.record_audit(record, now);
        tx.commit().await?;
        self.live().notify_credentials();
        Ok(Some(ended))
    }
}
