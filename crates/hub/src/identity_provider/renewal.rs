//! Renewal of sign-ins: while a session is used, its provider is asked again for the groups of the user.
//!
//! A renewal is a task of its own beside the request that finds it due, one at a time for each sign-in. Requests wait for it only for a moment
//! while the last answer of the provider counts, and then go on with that. When it does not count any more, they wait longer and are refused.

use std::time::Duration;

use domain::audit::{AuditOutcome, AuditRecord};
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent, describe_object};
use domain::identity_provider::{IdentityReading, SignInFailure};
use domain::role::Role;
use domain::{Timestamp, UserId};
use identity::{IdTokenExpectation, verify_id_token};
use serde_json::json;
use store::identity_provider::IdentityProviderRow;
use store::identity_session::IdentitySessionRow;
use store::user_identity::UserIdentityRow;
use store::{identity_session, role_binding, user_identity};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::RECHECK_MILLIS;
use super::documents::{ProviderDocuments, TokenSource};
use super::reading::{EvaluatedIdentity, IdentitySource};
use super::sign_in::describe_role;
use super::token_request::{ReturnedTokens, TokenRequestFailure};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// Pause after a renewal that failed, in milliseconds.
const RETRY_MILLIS: i64 = 10_000;
/// A sign-in that its provider has not confirmed for longer than this ends, in milliseconds, unless it is confirmed when it is used next.
const GRACE_MILLIS: i64 = 5 * 60_000;
/// How long a renewal may take, in milliseconds; then another one may start.
const CLAIM_MILLIS: i64 = 30_000;
/// How long requests wait for a renewal from its start while the last answer of the provider counts.
const GRACE_WAIT: Duration = Duration::from_secs(2);
/// How long a request waits if the last answer does not count any more; then it is refused.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How often a request looks whether the renewal that another one has started has ended.
const WAIT_STEP: Duration = Duration::from_millis(100);

/// What a renewal has found.
enum Renewal {
    Confirmed {
        reading: IdentityReading,
        refresh_token: Option<String>,
    },
    /// The provider has ended the sign-in.
    Ended,
    /// It is not known whether it is still valid.
    Unknown,
}

impl Hub {
    /// Whether a sign-in with a provider has not ended. If the provider is to be asked again, that starts here and goes on without the request,
    /// which waits for it a moment.
    ///
    /// # Errors
    /// The database does not respond, or the last answer of the provider does not count any more and it does not answer in time.
    pub(crate) async fn check_identity_session(&self, id: &str, user: UserId) -> Result<bool, Error> {
        let mut deadline = None;
        loop {
            let now = self.clock().now();
            let mut tx = self.read().await?;
            let found = identity_session::get(&mut tx, id).await?;
            drop(tx);
            let Some(session) = found.filter(|found| found.user == user && found.expires_at > now) else {
                return Ok(false);
            };
            let is_within_grace = now.millis_since(session.checked_at) <= GRACE_MILLIS;
            if session.retry_at > now {
                return if is_within_grace {
                    Ok(true)
                } else {
                    self.end_sign_in(&session).await.map(|()| false)
                };
            }
            let until = *deadline.get_or_insert_with(|| Instant::now() + find_wait(&session, now));
            let rest = until.saturating_duration_since(Instant::now());
            match self.start_renewal(session, now).await {
                Ok(Some(renewal)) => {
                    if let Ok(renewed) = tokio::time::timeout(rest, renewal).await {
                        return renewed.map_err(|error| Error::Internal(Box::new(error)))?;
                    }
                }
                Ok(None) => tokio::time::sleep(WAIT_STEP.min(rest)).await,
                // Reads continue while the database accepts no writes, as long as the last answer counts.
                Err(error) if error.is_outage() && is_within_grace => return Ok(true),
                Err(error) => return Err(error),
            }
            if until <= Instant::now() {
                return if is_within_grace { Ok(true) } else { Err(unconfirmed()) };
            }
        }
    }

    /// Starts the renewal of a sign-in; `None` if one runs, or if as many of its provider do as may.
    async fn start_renewal(
        &self,
        session: IdentitySessionRow,
        now: Timestamp,
    ) -> Result<Option<JoinHandle<Result<bool, Error>>>, Error> {
        if session.claimed_until > now {
            return Ok(None);
        }
        let Some(place) = self.provider_directory().try_reserve_renewal(&session.provider) else {
            return Ok(None);
        };
        if !self.claim_renewal(&session).await? {
            return Ok(None);
        }
        let hub = self.clone();
        Ok(Some(tokio::spawn(async move {
            let renewed = Box::pin(hub.renew(session)).await;
            drop(place);
            // The request may not wait for it any more.
            renewed.inspect_err(|error| tracing::warn!(%error, "a sign-in was not renewed"))
        })))
    }

    /// Ends a sign-in, such as by a sign-out.
    pub async fn end_identity_session(&self, id: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        identity_session::delete(&mut tx, id).await?;
        tx.commit().await?;
        self.live().notify_credentials();
        Ok(())
    }

    async fn claim_renewal(&self, session: &IdentitySessionRow) -> Result<bool, Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let until = now.plus_millis(CLAIM_MILLIS);
        let claimed = identity_session::claim(&mut tx, &session.id, session.retry_at, now, until).await?;
        tx.commit().await?;
        Ok(claimed)
    }

    async fn renew(&self, session: IdentitySessionRow) -> Result<bool, Error> {
        let Some(provider) = self.load_enabled_provider(&session.provider).await? else {
            self.end_sign_in(&session).await?;
            return Ok(false);
        };
        let renewed = match Box::pin(self.read_again(&provider, &session)).await {
            Ok(renewed) => renewed,
            Err(TokenRequestFailure::InvalidGrant) => Renewal::Ended,
            Err(TokenRequestFailure::Failed(failure)) => {
                tracing::warn!(
                    provider = provider.name,
                    failure = failure.as_str(),
                    "roles were not read again"
                );
                Renewal::Unknown
            }
        };
        match renewed {
            Renewal::Confirmed { reading, refresh_token } => {
                let refresh_token = refresh_token.unwrap_or_else(|| session.refresh_token.clone());
                let session = IdentitySessionRow { refresh_token, ..session };
                Box::pin(self.store_renewal(&provider, session, reading)).await
            }
            Renewal::Ended => self.end_sign_in(&session).await.map(|()| false),
            Renewal::Unknown => self.postpone_renewal(session).await,
        }
    }

    async fn read_again(
        &self,
        provider: &IdentityProviderRow,
        session: &IdentitySessionRow,
    ) -> Result<Renewal, TokenRequestFailure> {
        let documents = Box::pin(self.load_documents(&provider.issuer)).await?;
        let grant = [("grant_type", "refresh_token"), ("refresh_token", session.refresh_token.as_str())];
        let tokens = self.request_tokens(provider, &documents, &grant).await?;
        let evaluated = Box::pin(self.evaluate_renewal(provider, &documents, (session, &tokens))).await;
        // The rotated token is stored although the roles are unknown: the previous one may not work again.
        match evaluated {
            Ok(evaluated) => {
                Ok(Renewal::Confirmed { reading: evaluated.reading, refresh_token: tokens.refresh_token })
            }
            Err(failure) => {
                if let Some(refresh_token) = tokens.refresh_token {
                    self.store_refresh_token(session, refresh_token).await?;
                }
                Err(failure.into())
            }
        }
    }

    async fn evaluate_renewal(
        &self,
        provider: &IdentityProviderRow,
        documents: &ProviderDocuments,
        (session, tokens): (&IdentitySessionRow, &ReturnedTokens),
    ) -> Result<EvaluatedIdentity, SignInFailure> {
        // A provider may return no ID token: then the user info has the claims.
        let claims = match &tokens.id_token {
            None => json!({ "sub": session.subject }),
            Some(token) => {
                let expected = IdTokenExpectation {
                    nonce: None,
                    access_token: Some(&tokens.access_token),
                    subject: Some(&session.subject),
                };
                let audience = self.token_audience(provider);
                let verify = |keys: &identity::KeySet| verify_id_token(token, keys, audience, expected);
                self.verify_with_keys(&provider.issuer, documents, TokenSource::Provider, verify).await?
            }
        };
        let source = IdentitySource {
            claims,
            access_token: &tokens.access_token,
            subject: &session.subject,
            needs_name: false,
        };
        self.evaluate_identity(provider, documents, source).await
    }

    async fn store_refresh_token(
        &self,
        session: &IdentitySessionRow,
        refresh_token: String,
    ) -> Result<(), SignInFailure> {
        let stored = async {
            let mut tx = self.write().await?;
            let claimed_until = self.clock().now().plus_millis(CLAIM_MILLIS);
            let session = IdentitySessionRow { refresh_token, claimed_until, ..session.clone() };
            identity_session::update(&mut tx, &session).await?;
            tx.commit().await?;
            Ok::<(), Error>(())
        };
        stored.await.map_err(SignInFailure::from)
    }

    /// Stores what a provider has confirmed; returns whether the user still has a role.
    async fn store_renewal(
        &self,
        provider: &IdentityProviderRow,
        session: IdentitySessionRow,
        reading: IdentityReading,
    ) -> Result<bool, Error> {
        let now = self.clock().now();
        let role = reading.role;
        let mut tx = self.write().await?;
        let Some(account) = store::user::lock(&mut tx, session.user).await? else { return Ok(false) };
        let retry_at = now.plus_millis(RECHECK_MILLIS);
        let session = IdentitySessionRow { checked_at: now, retry_at, claimed_until: now, ..session };
        // A logout that came meanwhile counts.
        if !identity_session::update(&mut tx, &session).await? {
            return Ok(false);
        }
        let before = role_binding::get(&mut tx, account.id).await?;
        let message = match role {
            Some(role) => {
                role_binding::put(&mut tx, account.id, role).await?;
                describe_role(&account.name, before, role, &provider.name)
            }
            None => {
                role_binding::delete(&mut tx, account.id).await?;
                identity_session::delete(&mut tx, &session.id).await?;
                Some(describe_withdrawal(&account.name, &provider.name))
            }
        };
        let identity = UserIdentityRow {
            user: account.id,
            issuer: provider.issuer.clone(),
            subject: session.subject.clone(),
            reading,
            checked_at: now,
        };
        user_identity::put(&mut tx, &identity).await?;
        self.commit_role_change(tx, &account.name, (before, role, message)).await?;
        Ok(role.is_some())
    }

    /// A sign-in has shown that a user has no role any more: the role that was read before gives nothing to sessions and API tokens.
    pub(super) async fn withdraw_role(
        &self,
        provider: &IdentityProviderRow,
        subject: &str,
        reading: IdentityReading,
    ) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let Some(found) = user_identity::find(&mut tx, &provider.issuer, subject).await? else {
            return Ok(());
        };
        let Some(account) = store::user::lock(&mut tx, found.user).await? else { return Ok(()) };
        let Some(before) = role_binding::get(&mut tx, account.id).await? else { return Ok(()) };
        role_binding::delete(&mut tx, account.id).await?;
        let identity = UserIdentityRow { reading, checked_at: self.clock().now(), ..found };
        user_identity::put(&mut tx, &identity).await?;
        let message = Some(describe_withdrawal(&account.name, &provider.name));
        self.commit_role_change(tx, &account.name, (Some(before), None, message)).await
    }

    async fn commit_role_change(
        &self,
        mut tx: store::Tx,
        user: &str,
        (before, role, message): (Option<Role>, Option<Role>, Option<String>),
    ) -> Result<(), Error> {
        let Some(message) = message else {
            tx.commit().await?;
            return Ok(());
        };
        let actor = Actor::system();
        let record = actor.audit_record(UserAction::ManageUsers.as_str(), AuditOutcome::Succeeded);
        tx.record_audit(record, self.clock().now());
        let event = NewEvent::new(EventKind::UserChanged, &actor.name, message).with_object("user", user);
        self.commit(tx, CommitEffects::with_event(event)).await?;
        if before != role {
            self.live().notify_credentials();
        }
        Ok(())
    }

    /// The provider was not read: the sign-in goes on as long as its last answer counts.
    async fn postpone_renewal(&self, session: IdentitySessionRow) -> Result<bool, Error> {
        let now = self.clock().now();
        if now.millis_since(session.checked_at) > GRACE_MILLIS {
            self.end_sign_in(&session).await?;
            return Ok(false);
        }
        let mut tx = self.write().await?;
        let stored = identity_session::get(&mut tx, &session.id).await?;
        let Some(stored) = stored else { return Ok(false) };
        let retry_at = now.plus_millis(RETRY_MILLIS);
        let postponed = IdentitySessionRow { retry_at, claimed_until: now, ..stored };
        identity_session::update(&mut tx, &postponed).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Ends a sign-in that its provider does not confirm.
    async fn end_sign_in(&self, session: &IdentitySessionRow) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let account = store::user::get_by_id(&mut tx, session.user).await?;
        if identity_session::delete(&mut tx, &session.id).await? {
            let record = AuditRecord {
                subject: describe_object("user", &account.map(|account| account.name).unwrap_or_default()),
                message: format!(
                    "A session was ended: the identity provider {} does not confirm it any more.",
                    session.provider
                ),
                ..Actor::system().audit_record("sign-out", AuditOutcome::Succeeded)
            };
            tx.record_audit(record, self.clock().now());
        }
        tx.commit().await?;
        self.live().notify_credentials();
        Ok(())
    }
}

fn unconfirmed() -> Error {
    let message = "The identity provider has not confirmed your role in time.".to_owned();
    Error::ServerBusy { message, retry_after_seconds: 5 }
}

/// How long a request waits for the renewal of this sign-in: not at all if the last one has failed, or has run for long already, and the last
/// answer of the provider counts.
fn find_wait(session: &IdentitySessionRow, now: Timestamp) -> Duration {
    if now.millis_since(session.checked_at) > GRACE_MILLIS {
        return MAX_WAIT;
    }
    if session.retry_at.millis_since(session.checked_at) > RECHECK_MILLIS {
        return Duration::ZERO;
    }
    let claimed_for = session.claimed_until.millis_since(now);
    let runs_for = if claimed_for > 0 { CLAIM_MILLIS.saturating_sub(claimed_for) } else { 0 };
    GRACE_WAIT.saturating_sub(Duration::from_millis(u64::try_from(runs_for).unwrap_or_default()))
}

fn describe_withdrawal(user: &str, provider: &str) -> String {
    format!(
        "{user} has no group with a role any more at the identity provider {provider}, and was signed out."
    )
}
