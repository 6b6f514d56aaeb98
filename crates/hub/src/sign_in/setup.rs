//! The first user: created with the token printed at the first start; there is no default password.

use domain::event::{EventKind, NewEvent};
use domain::role::Role;
use store::role_binding;

use super::{NewSession, SignInClient, hash_secret};
use crate::hub::CommitEffects;
use crate::{Error, Hub, audit};

/// What attempts with the set-up token are counted under: no user can have this name.
pub(super) const SETUP_TOKEN_NAME: &str = "set-up token";

impl Hub {
    /// Creates a set-up token to print, replacing the one before. `None` once there is a user.
    pub async fn create_setup_token(&self) -> Result<Option<String>, Error> {
        if !self.needs_setup().await? {
            return Ok(None);
        }
        let secret = self.ids().generate_secret();
        let mut tx = self.write().await?;
        store::setup::put(&mut tx, &hash_secret(&secret)).await?;
        tx.commit().await?;
        Ok(Some(secret))
    }

    /// Whether there is no user yet.
    pub async fn needs_setup(&self) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::user::count(&mut tx).await? == 0)
    }

    /// Creates the first user, an administrator, with the set-up token. The token is deleted in the same transaction, so that concurrent
    /// requests with it create one user.
    pub async fn sign_up_first_user(
        &self,
        setup_token: &str,
        name: &str,
        password: &str,
        client: &SignInClient,
    ) -> Result<NewSession, Error> {
        const WRONG: Error =
            Error::Unauthenticated("The set-up token is not correct. The server prints it when it starts.");
        let presented = hash_secret(setup_token.trim());
        let mut tx = self.read().await?;
        let expected = store::setup::get(&mut tx).await?;
        drop(tx);
        let attempt = self.begin_attempt(client, SETUP_TOKEN_NAME).await?;
        // Before a password is hashed. Both sides are hashes of random text: the time of the comparison reveals nothing
        // about the token.
        if expected.as_deref() != Some(&presented) {
            attempt.fail(client, None);
            return Err(WRONG);
        }
        let user = self.build_user(name, password).await?;
        let mut tx = self.write().await?;
        let is_first =
            store::setup::consume(&mut tx, &presented).await? && store::user::count(&mut tx).await? == 0;
        if !is_first {
            return Err(WRONG);
        }
        let record = audit::sign_in_record(&user.name, client, "");
        tx.record_audit(record, self.clock().now());
        store::user::insert(&mut tx, &user).await?;
        role_binding::put(&mut tx, user.id, Role::Admin).await?;
        let message = format!("{} signed up with the set-up token, as admin.", user.name);
        let event = NewEvent::new(EventKind::UserAdded, &user.name, message).with_object("user", &user.name);
        self.commit(tx, CommitEffects::with_event(event)).await?;
        let device = attempt.succeed(client, &user.name).await?;
        Ok(NewSession { user: user.id, name: user.name, epoch: user.session_epoch, device, identity: None })
    }
}
