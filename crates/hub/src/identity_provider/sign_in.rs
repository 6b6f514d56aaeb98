//! The end of a sign-in: the code is exchanged, the ID token verified, and the user found by issuer and subject or created.

use domain::UserId;
use domain::event::{EventKind, NewEvent};
use domain::identity_provider::SignInFailure;
use domain::role::Role;
use identity::{IdTokenExpectation, TokenAudience, read_session, read_subject, verify_id_token};
use store::Tx;
use store::identity_provider::IdentityProviderRow;
use store::identity_session::IdentitySessionRow;
use store::user::UserRow;
use store::user_identity::UserIdentityRow;
use store::{identity_session, role_binding, user_identity};

use super::RECHECK_MILLIS;
use super::authorization::{AuthorizationResponse, PendingSignIn, SIGN_IN_MILLIS, match_response};
use super::documents::{ProviderDocuments, TokenSource};
use super::reading::{EvaluatedIdentity, IdentitySource};
use super::token_request::{ReturnedTokens, TokenRequestFailure};
use crate::hub::CommitEffects;
use crate::sign_in::{MAX_SESSIONS, NewSession, SignInClient};
use crate::{Actor, Error, Hub, audit};

/// When a sign-in ends, whatever the provider says, in milliseconds: as long as a session.
const SESSION_MILLIS: i64 = 7 * 86_400_000;
/// Longest code, in bytes.
const MAX_CODE_BYTES: usize = 4 << 10;

/// What was verified of a sign-in.
struct VerifiedSignIn {
    subject: String,
    sid: String,
    refresh_token: String,
    evaluated: EvaluatedIdentity,
    role: Role,
}

impl Hub {
    /// Completes a sign-in with a provider; returns the session to start and the path to return to, which is not checked.
    ///
    /// # Errors
    /// The response is not that of a sign-in of this browser, or the provider does not confirm the user with a role. It is recorded in the audit log.
    pub async fn complete_identity_sign_in(
        &self,
        provider: &str,
        response: AuthorizationResponse,
        client: &SignInClient,
    ) -> Result<(NewSession, String), SignInFailure> {
        let provider = self.load_enabled_provider(provider).await?.ok_or(SignInFailure::UnknownProvider)?;
        let completed = Box::pin(self.try_complete_sign_in(&provider, &response, client)).await;
        if let Err(failure) = &completed {
            self.record_failed_identity_sign_in(&provider.name, client, failure.message()).await;
        }
        completed
    }

    async fn try_complete_sign_in(
        &self,
        provider: &IdentityProviderRow,
        response: &AuthorizationResponse,
        client: &SignInClient,
    ) -> Result<(NewSession, String), SignInFailure> {
        let pending = match_response(response, &provider.name, self.clock().now())?;
        if self.is_state_used(&pending.state).await? {
            return Err(SignInFailure::AlreadyUsed);
        }
        let documents = Box::pin(self.load_documents(&provider.issuer)).await?;
        let issuer = response.issuer.as_deref();
        // Before anything of the response is used: it may come from another provider.
        if issuer.is_some_and(|issuer| issuer != provider.issuer)
            || issuer.is_none() && documents.metadata.names_issuer
        {
            return Err(SignInFailure::WrongIssuer);
        }
        if response.error.is_some() {
            return Err(SignInFailure::Denied);
        }
        let code = response.code.as_deref().filter(|code| !code.is_empty() && code.len() <= MAX_CODE_BYTES);
        let code = code.ok_or(SignInFailure::InvalidResponse)?;
        let verified = Box::pin(self.exchange_code(provider, &documents, (code, &pending))).await?;
        let session = Box::pin(self.store_sign_in(provider, &pending, verified, client)).await??;
        Ok((session, pending.next))
    }

    async fn is_state_used(&self, state: &str) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(identity_session::is_used(&mut tx, state).await?)
    }

    async fn exchange_code(
        &self,
        provider: &IdentityProviderRow,
        documents: &ProviderDocuments,
        (code, pending): (&str, &PendingSignIn),
    ) -> Result<VerifiedSignIn, SignInFailure> {
        let redirect_uri = self.redirect_uri(&provider.name);
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", pending.verifier.as_str()),
        ];
        let tokens =
            self.request_tokens(provider, documents, &grant).await.map_err(|failure| match failure {
                TokenRequestFailure::InvalidGrant => SignInFailure::Denied,
                TokenRequestFailure::Failed(failure) => failure,
            })?;
        let ReturnedTokens { id_token, access_token, refresh_token } = tokens;
        let id_token = id_token.ok_or(SignInFailure::InvalidResponse)?;
        let expected = IdTokenExpectation {
            nonce: Some(&pending.nonce),
            access_token: Some(&access_token),
            subject: None,
        };
        let audience = self.token_audience(provider);
        let verify = |keys: &identity::KeySet| verify_id_token(&id_token, keys, audience, expected);
        let claims =
            self.verify_with_keys(&provider.issuer, documents, TokenSource::Provider, verify).await?;
        let subject = read_subject(&claims).ok_or(SignInFailure::InvalidToken)?.to_owned();
        // One that is no id is not stored: no logout token has it.
        let sid = read_session(&claims).unwrap_or_default().to_owned();
        let is_known = self.is_known_subject(provider, &subject).await?;
        let source =
            IdentitySource { claims, access_token: &access_token, subject: &subject, needs_name: !is_known };
        let evaluated = self.evaluate_identity(provider, documents, source).await?;
        let Some(role) = evaluated.reading.role else {
            self.withdraw_role(provider, &subject, evaluated.reading).await?;
            return Err(SignInFailure::NoRole);
        };
        let refresh_token = refresh_token.ok_or(SignInFailure::NoRefreshToken)?;
        Ok(VerifiedSignIn { subject, sid, refresh_token, evaluated, role })
    }

    async fn is_known_subject(&self, provider: &IdentityProviderRow, subject: &str) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(user_identity::find(&mut tx, &provider.issuer, subject).await?.is_some())
    }

    /// Whom tokens of a provider are for, now.
    pub(super) fn token_audience<'a>(&self, provider: &'a IdentityProviderRow) -> TokenAudience<'a> {
        let now = self.clock().now().millis().div_euclid(1_000);
        TokenAudience { issuer: &provider.issuer, client_id: &provider.client_id, now }
    }

    /// Stores the user, the role and the sign-in, and that its state was used.
    async fn store_sign_in(
        &self,
        provider: &IdentityProviderRow,
        pending: &PendingSignIn,
        verified: VerifiedSignIn,
        client: &SignInClient,
    ) -> Result<Result<NewSession, SignInFailure>, Error> {
        let VerifiedSignIn { subject, sid, refresh_token, evaluated, role } = verified;
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let state_end = now.plus_millis(2 * SIGN_IN_MILLIS);
        if !identity_session::use_once(&mut tx, &pending.state, state_end).await? {
            return Ok(Err(SignInFailure::AlreadyUsed));
        }
        // The provider may have been disabled, deleted or replaced meanwhile.
        let stored = store::identity_provider::get(&mut tx, &provider.name).await?;
        if !stored.is_some_and(|stored| is_same_client(&stored, provider)) {
            return Ok(Err(SignInFailure::UnknownProvider));
        }
        let found = user_identity::find(&mut tx, &provider.issuer, &subject).await?;
        let (account, is_new) = match found {
            Some(found) => {
                let account = store::user::lock(&mut tx, found.user).await?;
                match account.filter(|account| account.disabled_at.is_none()) {
                    Some(account) => (account, false),
                    None => return Ok(Err(SignInFailure::Disabled)),
                }
            }
            None => match self.create_identity_user(&mut tx, evaluated.name.as_deref()).await? {
                Ok(account) => (account, true),
                Err(failure) => return Ok(Err(failure)),
            },
        };
        let before = role_binding::get(&mut tx, account.id).await?;
        role_binding::put(&mut tx, account.id, role).await?;
        let identity = UserIdentityRow {
            user: account.id,
            issuer: provider.issuer.clone(),
            subject: subject.clone(),
            reading: evaluated.reading,
            checked_at: now,
        };
        user_identity::put(&mut tx, &identity).await?;
        store::user::record_sign_in(&mut tx, account.id, now).await?;
        let session = IdentitySessionRow {
            id: self.ids().generate_secret(),
            user: account.id,
            provider: provider.name.clone(),
            subject,
            sid,
            refresh_token,
            checked_at: now,
            retry_at: now.plus_millis(RECHECK_MILLIS),
            claimed_until: now,
            expires_at: now.plus_millis(SESSION_MILLIS),
        };
        identity_session::insert(&mut tx, &session).await?;
        // What ends by that is recorded when the session of this sign-in is stored.
        let newest = (account.id, session.id.as_str());
        identity_session::delete_oldest(&mut tx, newest, MAX_SESSIONS - 1).await?;
        let message = format!("Signed in with the identity provider {}, as {role}.", provider.name);
        tx.record_audit(audit::sign_in_record(&account.name, client, &message), now);
        let change = describe_role(&account.name, before, role, &provider.name);
        let kind = if is_new { EventKind::UserAdded } else { EventKind::UserChanged };
        let event = change
            .map(|message| NewEvent::new(kind, &account.name, message).with_object("user", &account.name));
        let events = event.into_iter().collect();
        self.commit(tx, CommitEffects { events, ..CommitEffects::default() }).await?;
        self.live().notify_credentials();
        self.sign_in_statistics().succeeded.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (name, epoch) = (account.name, account.session_epoch);
        let new =
            NewSession { user: account.id, name, epoch, device: String::new(), identity: Some(session.id) };
        Ok(Ok(new))
    }

    /// A new user with this name. Nobody is taken for a user that exists because of a name.
    async fn create_identity_user(
        &self,
        tx: &mut Tx,
        name: Option<&str>,
    ) -> Result<Result<UserRow, SignInFailure>, Error> {
        let Some(name) = name else { return Ok(Err(SignInFailure::InvalidName)) };
        // Who chooses the name at the provider must not be taken for the system in histories and the audit log.
        let is_reserved = name == Actor::system().name;
        if is_reserved || store::user::get_by_name(tx, name).await?.is_some() {
            return Ok(Err(SignInFailure::NameTaken));
        }
        let account = UserRow {
            id: self.ids().generate(UserId::from_parts),
            name: name.to_owned(),
            password_hash: String::new(),
            created_at: self.clock().now(),
            session_epoch: 0,
            disabled_at: None,
            last_sign_in_at: None,
        };
        match store::user::insert(tx, &account).await {
            Ok(()) => Ok(Ok(account)),
            // Another request has created it at the same time.
            Err(store::Error::AlreadyExists { .. }) => Ok(Err(SignInFailure::NameTaken)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a stored provider still accepts what was verified with this one.
fn is_same_client(stored: &IdentityProviderRow, verified: &IdentityProviderRow) -> bool {
    stored.enabled && stored.issuer == verified.issuer && stored.client_id == verified.client_id
}

/// What changed of the role of a user; `None` if nothing did.
pub(super) fn describe_role(name: &str, before: Option<Role>, role: Role, provider: &str) -> Option<String> {
    match before {
        Some(before) if before == role => None,
        Some(before) => Some(format!(
            "The role of {name} was changed from {before} to {role} by the groups of the identity provider {provider}."
        )),
        None => {
            Some(format!("{name} has the role {role} by the groups of the identity provider {provider}."))
        }
    }
}
