//! Invites a user.

use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::user::{NewUser, PasswordLink};
use domain::{Timestamp, UserId};
use store::role_binding;
use store::user::UserRow;

use super::to_view;
use crate::hub::CommitEffects;
use crate::sign_in::{check_user_name, issue_password_link};
use crate::{Actor, Error, Hub};

/// How long the link of an invitation is valid, in milliseconds: seven days.
const INVITATION_MILLIS: i64 = 7 * 86_400_000;

impl Hub {
    /// Creates a user without a password, and the link with which the user sets one.
    ///
    /// # Errors
    /// The name is invalid or in use.
    pub async fn invite_user(&self, actor: &Actor, new: NewUser) -> Result<PasswordLink, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        if let Some(finding) = check_user_name(&new.name) {
            return Err(Error::Invalid(vec![finding]));
        }
        let now = self.clock().now();
        let account = new_account(self.ids().generate(UserId::from_parts), new.name, now);
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        match store::user::insert(&mut tx, &account).await {
            Err(store::Error::AlreadyExists { .. }) => {
                return Err(Error::AlreadyExists(format!("There is a user {} already.", account.name)));
            }
            result => result?,
        }
        role_binding::put(&mut tx, account.id, new.role).await?;
        let expires_at = now.plus_millis(INVITATION_MILLIS);
        let path = issue_password_link(&mut tx, self.ids(), account.id, expires_at).await?;
        let link = PasswordLink {
            user: to_view(&account, Some(new.role), None),
            link: Some(path),
            expires_at,
            omitted: None,
        };
        let message = format!("{} was invited as {}.", account.name, new.role);
        let event =
            NewEvent::new(EventKind::UserAdded, &actor.name, message).with_object("user", &account.name);
        let effects = CommitEffects::with_event(event).with_response(actor, 201, &link.without_secret());
        self.commit(tx, effects).await?;
        Ok(link)
    }
}

fn new_account(id: UserId, name: String, created_at: Timestamp) -> UserRow {
    UserRow {
        id,
        name,
        password_hash: String::new(),
        created_at,
        session_epoch: 0,
        disabled_at: None,
        last_sign_in_at: None,
    }
}
