//! Disables and enables a user.

use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::User;

use super::elevation::find_elevation;
use super::{find_issuer, require_other_admin, to_view, user_event};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Disables a user: no session, no API token and no link of the user is accepted any more, and an elevation ends.
    ///
    /// # Errors
    /// There is no such user, or it is the last administrator.
    pub async fn disable_user(&self, actor: &Actor, name: &str) -> Result<User, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (mut account, role) = self.lock_user(&mut tx, name).await?;
        let issuer = find_issuer(&mut tx, account.id).await?;
        if account.disabled_at.is_some() {
            return Ok(to_view(&account, Some(role), issuer));
        }
        if role == Role::Admin {
            require_other_admin(&mut tx, account.id, name).await?;
        }
        account.disabled_at = Some(self.clock().now());
        account.session_epoch += 1;
        store::user::update(&mut tx, &account).await?;
        store::password_link::delete(&mut tx, account.id).await?;
        store::elevation::delete(&mut tx, account.id).await?;
        let user = to_view(&account, Some(role), issuer);
        let event = user_event(actor, name, format!("{name} was disabled."));
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 200, &user)).await?;
        self.live().notify_credentials();
        Ok(user)
    }

    /// Enables a user again, with the role, the password and the API tokens from before.
    ///
    /// # Errors
    /// There is no such user.
    pub async fn enable_user(&self, actor: &Actor, name: &str) -> Result<User, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (mut account, role) = self.lock_user(&mut tx, name).await?;
        let issuer = find_issuer(&mut tx, account.id).await?;
        if account.disabled_at.take().is_none() {
            let elevation = find_elevation(&mut tx, account.id, self.clock().now()).await?;
            return Ok(User { elevation, ..to_view(&account, Some(role), issuer) });
        }
        store::user::update(&mut tx, &account).await?;
        let user = to_view(&account, Some(role), issuer);
        let event = user_event(actor, name, format!("{name} was enabled."));
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 200, &user)).await?;
        Ok(user)
    }
}
