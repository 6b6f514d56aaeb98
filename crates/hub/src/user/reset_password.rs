//! Resets the password of a user.

use domain::authorization::UserAction;
use domain::user::PasswordLink;

use super::{to_view, user_event};
use crate::hub::CommitEffects;
use crate::sign_in::{issue_password_link, require_password_user};
use crate::{Actor, Error, Hub};

/// How long the link of a reset is valid, in milliseconds: a day.
const RESET_MILLIS: i64 = 86_400_000;

impl Hub {
    /// Creates a link with which the user sets a new password, in place of an earlier link. The password and the sessions of
    /// the user stay valid until it is used.
    ///
    /// # Errors
    /// There is no such user, or the user is disabled or signs in with an identity provider.
    pub async fn reset_password(&self, actor: &Actor, name: &str) -> Result<PasswordLink, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (account, role) = self.lock_user(&mut tx, name).await?;
        if account.disabled_at.is_some() {
            return Err(domain::actions::user_disabled(name).into());
        }
        require_password_user(&mut tx, account.id, name).await?;
        let expires_at = self.clock().now().plus_millis(RESET_MILLIS);
        let path = issue_password_link(&mut tx, self.ids(), account.id, expires_at).await?;
        let link = PasswordLink {
            user: to_view(&account, Some(role), None),
            link: Some(path),
            expires_at,
            omitted: None,
        };
        let event = user_event(actor, name, format!("A link to set a new password was created for {name}."));
        let effects = CommitEffects::with_event(event).with_response(actor, 200, &link.without_secret());
        self.commit(tx, effects).await?;
        Ok(link)
    }
}
