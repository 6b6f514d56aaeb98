//! Changes the role of a user.

use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::User;
use store::role_binding;

use super::elevation::find_elevation;
use super::{require_other_admin, to_view, user_event};
use crate::hub::CommitEffects;
use crate::sign_in::require_password_user;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Changes the role of a user. It applies from the next request on; open streams end, and so does an elevation.
    ///
    /// # Errors
    /// There is no such user, it is the last administrator, or the role comes from an identity provider.
    pub async fn set_user_role(&self, actor: &Actor, name: &str, role: Role) -> Result<User, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (account, before) = self.lock_user(&mut tx, name).await?;
        require_password_user(&mut tx, account.id, name).await?;
        if before == role {
            let elevation = find_elevation(&mut tx, account.id, self.clock().now()).await?;
            return Ok(User { elevation, ..to_view(&account, Some(role), None) });
        }
        if before == Role::Admin {
            require_other_admin(&mut tx, account.id, name).await?;
        }
        role_binding::put(&mut tx, account.id, role).await?;
        let user = to_view(&account, Some(role), None);
        let event =
            user_event(actor, name, format!("The role of {name} was changed from {before} to {role}."));
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 200, &user)).await?;
        self.live().notify_credentials();
        Ok(user)
    }
}
