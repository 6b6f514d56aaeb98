//! Changes one's own password.

use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::user::PasswordChange;
use domain::{Finding, UserId};
use store::Tx;

use super::SignInClient;
use super::password_rules::{MAX_PASSWORD_BYTES, check_password};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Replaces the password of the actor, who proves to know the current one, and deletes an open link to set one. The session of the
    /// request, whose secret id is `current_session`, stays; the others end if the change says so. API tokens stay.
    ///
    /// # Errors
    /// The user signs in with an identity provider; the current password is wrong, the new one is easy to guess, or there were too many
    /// attempts: they are counted with those of sign-ins, so that whoever found a session or a token can't try passwords with it.
    pub async fn change_password(
        &self,
        actor: &Actor,
        change: &PasswordChange,
        client: &SignInClient,
        current_session: Option<&str>,
    ) -> Result<(), Error> {
        actor.authorize(UserAction::ChangeOwnPassword)?;
        let user = actor.user().ok_or(Error::Unauthenticated("Only a user has a password."))?;
        if let Some(rejected) = check_password(&actor.name, &change.new_password) {
            return Err(Error::Invalid(vec![rejected.with_path("/newPassword")]));
        }
        let verified = self.verify_current_password(actor, user, &change.current_password, client).await?;
        let password_hash = self.hash_password(&change.new_password).await?;
        let mut tx = self.write_as(actor, UserAction::ChangeOwnPassword).await?;
        let account = store::user::lock(&mut tx, user).await?;
        // Another change, or the link of a reset, may have replaced the password since.
        let current =
            account.filter(|account| account.disabled_at.is_none() && account.password_hash == verified);
        let mut account = current.ok_or_else(wrong_password)?;
        account.password_hash = password_hash;
        store::user::update(&mut tx, &account).await?;
        store::password_link::delete(&mut tx, user).await?;
        let mut message = format!("{} changed the password.", account.name);
        if change.end_other_sessions {
            let ended = store::session::delete_by_user(&mut tx, user, current_session).await?;
            message += &format!(" Other sessions that were ended: {ended}.");
        }
        let event =
            NewEvent::new(EventKind::UserChanged, &account.name, message).with_object("user", &account.name);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// Verifies the current password of a user, and returns its hash.
    async fn verify_current_password(
        &self,
        actor: &Actor,
        user: UserId,
        password: &str,
        client: &SignInClient,
    ) -> Result<String, Error> {
        let mut tx = self.read().await?;
        let account = store::user::get_by_id(&mut tx, user).await?;
        require_password_user(&mut tx, user, &actor.name).await?;
        drop(tx);
        let attempt = self.begin_attempt(client, &actor.name).await?;
        // Empty before the user has set a password.
        let hash = account.map(|account| account.password_hash).unwrap_or_default();
        let may_match = !hash.is_empty() && password.len() <= MAX_PASSWORD_BYTES;
        if may_match && self.verify_password_hash(hash.clone(), password.to_owned()).await? {
            attempt.succeed(client, &actor.name).await?;
            return Ok(hash);
        }
        attempt.fail(client, Some(&actor.name));
        self.record_failed_password_change(actor).await;
        Err(wrong_password())
    }
}

/// Rejects what can't be changed here of a user who signs in with an identity provider.
pub(crate) async fn require_password_user(tx: &mut Tx, user: UserId, name: &str) -> Result<(), Error> {
    match store::user_identity::get(tx, user).await? {
        Some(identity) => Err(domain::actions::managed_by_provider(name, &identity.issuer).into()),
        None => Ok(()),
    }
}

fn wrong_password() -> Error {
    let hint = "Enter the password with which you sign in now. An administrator can reset a forgotten one.";
    let finding = Finding::error("Password", "The current password is not correct.", hint);
    Error::Invalid(vec![finding.with_path("/currentPassword")])
}
