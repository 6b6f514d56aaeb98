//! Sessions: their data, and the list of a user's own. The store hashes the session id.

use domain::audit::{AuditOutcome, AuditRecord};
use domain::authorization::{UserAction, authorize};
use domain::event::describe_object;
use domain::role::Role;
use domain::session::{UserSession, describe_user_agent};
use domain::{Timestamp, UserId};
use store::session::SessionDetails;
use store::{Tx, role_binding};

use crate::hub::CommitEffects;
use crate::{Actor, ActorKind, Credential, Error, Hub};

/// Most sessions of a user, and most sign-ins with identity providers: a further one ends the oldest.
pub(crate) const MAX_SESSIONS: i64 = 50;

impl Hub {
    /// Stores a new session, for the server's session store. Beyond the most sessions of a user the oldest ends.
    pub async fn create_session(
        &self,
        id: &str,
        data: &str,
        expires_at: Timestamp,
        details: &SessionDetails,
    ) -> Result<(), Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        let account = match details.user {
            Some(user) => store::user::lock(&mut tx, user).await?,
            None => None,
        };
        store::session::insert(&mut tx, id, data, expires_at, details).await?;
        let mut ended = 0;
        if let Some(account) = account {
            let newest = (account.id, id);
            ended = store::session::delete_oldest(&mut tx, newest, MAX_SESSIONS - 1, now).await?;
            if ended > 0 {
                tx.record_audit(describe_ended_sessions(&account.name, ended), now);
            }
        }
        tx.commit().await?;
        if ended > 0 {
            self.live().notify_credentials();
        }
        Ok(())
    }

    /// Replaces the data of a session. One that was revoked meanwhile stays revoked.
    pub async fn update_session(
        &self,
        id: &str,
        data: &str,
        expires_at: Timestamp,
        details: &SessionDetails,
    ) -> Result<(), Error> {
        let mut tx = self.write().await?;
        if !store::session::update(&mut tx, id, data, expires_at, details).await? {
            tracing::debug!("a session was not stored: it was revoked meanwhile");
        }
        tx.commit().await?;
        Ok(())
    }

    /// Loads session data, unless it has expired.
    pub async fn load_session(&self, id: &str) -> Result<Option<String>, Error> {
        let mut tx = self.read().await?;
        Ok(store::session::load(&mut tx, id, self.clock().now()).await?)
    }

    /// Deletes a session.
    pub async fn delete_session(&self, id: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::session::delete(&mut tx, id).await?;
        tx.commit().await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// The actor of a session with this id, which the user started in this epoch, and with this sign-in of an identity provider if it has one.
    /// `None` if the user was disabled or has another epoch since, or the sign-in has ended: the session has ended.
    pub async fn authenticate_session(
        &self,
        id: &str,
        (user, epoch): (UserId, i64),
        identity: Option<&str>,
    ) -> Result<Option<Actor>, Error> {
        if let Some(identity) = identity
            && !Box::pin(self.check_identity_session(identity, user)).await?
        {
            return Ok(None);
        }
        let mut tx = self.read().await?;
        let Some(account) = store::user::get_by_id(&mut tx, user).await? else { return Ok(None) };
        if account.disabled_at.is_some() || account.session_epoch != epoch {
            return Ok(None);
        }
        let now = self.clock().now();
        let Some(role) = role_binding::get_effective(&mut tx, user, now).await? else { return Ok(None) };
        let (id_hash, identity) = (store::session::hash_id(id), identity.map(str::to_owned));
        let credential = Credential::Session { id_hash, epoch, identity };
        let actor = Actor::new(account.name, ActorKind::Session(user), role);
        Ok(Some(actor.with_credential(credential)))
    }

    /// Whether the credential of the actor still gives the same role: nobody signed out, revoked the token, disabled the user or
    /// changed the role since.
    pub async fn is_still_authorized(&self, actor: &Actor) -> Result<bool, Error> {
        let (Some(user), Some(credential)) = (actor.user(), &actor.credential) else { return Ok(true) };
        if let Credential::Session { identity: Some(identity), .. } = credential
            && !Box::pin(self.check_identity_session(identity, user)).await?
        {
            return Ok(false);
        }
        let mut tx = self.read().await?;
        Ok(self.load_current_role(&mut tx, user, credential).await? == Some(actor.role))
    }

    /// Rejects a change by what authenticated its request when that arrived and would not any more: the body may have arrived slowly, and
    /// its turn may have come late. A provider is not asked again.
    ///
    /// # Errors
    /// The session or the token has ended, the user was disabled, or the role does not allow the action any more. A lower one that does is
    /// [`Error::ServerBusy`], because what else was decided with the role from before is decided again.
    pub(crate) async fn require_credential(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        action: UserAction,
    ) -> Result<(), Error> {
        const ENDED: Error = Error::Unauthenticated(
            "Your session or API token has ended since the request was sent. Nothing was changed: sign in again.",
        );
        let (Some(user), Some(credential)) = (actor.user(), &actor.credential) else { return Ok(()) };
        if let Credential::Session { identity: Some(identity), .. } = credential {
            let sign_in = store::identity_session::get(tx, identity).await?;
            sign_in.filter(|found| found.user == user).ok_or(ENDED)?;
        }
        let role = self.load_current_role(tx, user, credential).await?.ok_or(ENDED)?;
        authorize(role, action).map_err(Error::Forbidden)?;
        // The actions of a token never change.
        if let Some(actions) = actor.token_actions() {
            actions.require(role, action).map_err(Error::Forbidden)?;
        }
        if role >= actor.role {
            return Ok(());
        }
        // The credential is accepted: the same request is decided with the role of now, so that no client should sign in again.
        let message = "Your role was changed since the request was sent.".to_owned();
        Err(Error::ServerBusy { message, retry_after_seconds: 1 })
    }

    /// The role that a credential of a user gives now; `None` if it is not accepted any more.
    async fn load_current_role(
        &self,
        tx: &mut Tx,
        user: UserId,
        credential: &Credential,
    ) -> Result<Option<Role>, Error> {
        let now = self.clock().now();
        let account = store::user::get_by_id(tx, user).await?;
        let Some(account) = account.filter(|account| account.disabled_at.is_none()) else { return Ok(None) };
        let Some(user_role) = role_binding::get_effective(tx, user, now).await? else { return Ok(None) };
        match credential {
            Credential::Session { id_hash, epoch, .. } => {
                let is_valid = store::session::is_valid(tx, id_hash, now).await?;
                Ok((is_valid && account.session_epoch == *epoch).then_some(user_role))
            }
            Credential::Token { id, .. } => {
                let token = store::token::get(tx, *id, now).await?;
                let is_usable = self.has_usable_identity(tx, user).await?;
                Ok(token.filter(|_| is_usable).map(|token| token.role.min(user_role)))
            }
        }
    }

    /// Counts changes by this server after which [`Self::is_still_authorized`] may be another.
    pub fn subscribe_credentials(&self) -> tokio::sync::watch::Receiver<u64> {
        self.live().subscribe_credentials()
    }

    /// The actor's own sessions: that of the request first, then the last used ones. `current` is the secret id of the
    /// request's session, if it has one.
    pub async fn list_sessions(
        &self,
        actor: &Actor,
        current: Option<&str>,
    ) -> Result<Vec<UserSession>, Error> {
        actor.authorize(UserAction::ManageOwnSessions)?;
        let user = require_user(actor)?;
        let mut tx = self.read().await?;
        self.load_sessions(&mut tx, user, current).await
    }

    /// The sessions of a user, that of the request first.
    pub(crate) async fn load_sessions(
        &self,
        tx: &mut Tx,
        user: UserId,
        current: Option<&str>,
    ) -> Result<Vec<UserSession>, Error> {
        let current = current.map(store::session::public_id);
        let rows = store::session::list_by_user(tx, user, self.clock().now()).await?;
        let mut sessions: Vec<UserSession> = rows
            .into_iter()
            .map(|row| UserSession {
                current: current.as_ref() == Some(&row.id),
                id: row.id,
                browser: describe_user_agent(&row.details.user_agent),
                address: row.details.address,
                signed_in_at: row.details.signed_in_at,
                last_used_at: row.details.used_at,
                expires_at: row.expires_at,
            })
            .collect();
        sessions.sort_by_key(|session| !session.current);
        Ok(sessions)
    }

    /// Ends a session of the actor: its next request is not signed in.
    pub async fn revoke_session(&self, actor: &Actor, id: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageOwnSessions)?;
        let user = require_user(actor)?;
        let mut tx = self.write_as(actor, UserAction::ManageOwnSessions).await?;
        if !store::session::delete_by_public_id(&mut tx, user, id).await? {
            return Err(Error::not_found("session", id));
        }
        let message = format!("{} ended the session {id}.", actor.name);
        tx.describe_audit(describe_object("user", &actor.name), message);
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// Ends the sessions of the actor, except that of the request; returns how many.
    pub async fn revoke_other_sessions(&self, actor: &Actor, current: Option<&str>) -> Result<u64, Error> {
        actor.authorize(UserAction::ManageOwnSessions)?;
        let user = require_user(actor)?;
        let mut tx = self.write_as(actor, UserAction::ManageOwnSessions).await?;
        // Nobody else ends several sessions of the user meanwhile.
        store::user::lock(&mut tx, user).await?;
        let revoked = store::session::delete_by_user(&mut tx, user, current).await?;
        let message = format!("{} ended all other sessions: {revoked}.", actor.name);
        tx.describe_audit(describe_object("user", &actor.name), message);
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(revoked)
    }
}

fn describe_ended_sessions(user: &str, ended: u64) -> AuditRecord {
    AuditRecord {
        subject: describe_object("user", user),
        message: format!(
            "A sign-in ended the oldest sessions of {user}: {ended}. A user has {MAX_SESSIONS} at most."
        ),
        ..Actor::system().audit_record("sign-out", AuditOutcome::Succeeded)
    }
}

fn require_user(actor: &Actor) -> Result<UserId, Error> {
    actor.user().ok_or(Error::Unauthenticated("Only a user has sessions."))
}
