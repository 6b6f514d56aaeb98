//! Users: list, invite, roles, disable, and the links with which they set their passwords.

use domain::UserId;
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::role::Role;
use domain::user::{User, UserState};
use store::user::{ListedUser, UserRow};
use store::{Tx, role_binding};

use crate::{Actor, Error, Hub};

mod credentials;
mod disable;
mod elevation;
mod invite;
mod reset_password;
mod set_role;

/// The most users that are listed.
const MAX_LISTED: u32 = 1_000;

impl Hub {
    /// All users, by name.
    ///
    /// # Errors
    /// The actor may not manage users.
    pub async fn list_users(&self, actor: &Actor) -> Result<Vec<User>, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.read().await?;
        let users = store::user::list(&mut tx, MAX_LISTED).await?;
        let now = self.clock().now();
        let elevations = store::elevation::list(&mut tx, now).await?;
        let view = |listed: ListedUser| {
            let link = listed.link_expires_at.filter(|at| *at > now);
            let elevation = elevations.iter().find(|one| one.user == listed.user.id).map(elevation::to_view);
            User { link_expires_at: link, elevation, ..to_view(&listed.user, listed.role, listed.issuer) }
        };
        Ok(users.into_iter().map(view).collect())
    }

    /// The account with this name, locked until the transaction ends, with its role.
    async fn lock_user(&self, tx: &mut Tx, name: &str) -> Result<(UserRow, Role), Error> {
        let missing = || Error::not_found("user", name.chars().take(80).collect::<String>());
        let found = store::user::get_by_name(tx, name).await?.ok_or_else(missing)?;
        let account = store::user::lock(tx, found.id).await?.ok_or_else(missing)?;
        let role = role_binding::get(tx, account.id).await?.unwrap_or(Role::Viewer);
        Ok((account, role))
    }
}

/// The issuer of the identity provider that a user signs in with.
async fn find_issuer(tx: &mut Tx, user: UserId) -> Result<Option<String>, Error> {
    Ok(store::user_identity::get(tx, user).await?.map(|identity| identity.issuer))
}

/// A user without a link. `issuer` is that of the identity provider that the user signs in with.
fn to_view(account: &UserRow, role: Option<Role>, issuer: Option<String>) -> User {
    let is_invited = account.password_hash.is_empty() && issuer.is_none();
    let state = match (account.disabled_at, is_invited) {
        (Some(_), _) => UserState::Disabled,
        (None, true) => UserState::Invited,
        (None, false) => UserState::Active,
    };
    User {
        id: account.id,
        name: account.name.clone(),
        role: role.unwrap_or(Role::Viewer),
        state,
        created_at: account.created_at,
        last_sign_in_at: account.last_sign_in_at,
        link_expires_at: None,
        issuer,
        elevation: None,
    }
}

/// An event about the user with this name.
fn user_event(actor: &Actor, name: &str, message: String) -> NewEvent {
    NewEvent::new(EventKind::UserChanged, &actor.name, message).with_object("user", name)
}

/// Rejects a change that would leave nobody who can manage users.
async fn require_other_admin(tx: &mut Tx, user: UserId, name: &str) -> Result<(), Error> {
    if role_binding::count_others_with(tx, Role::Admin, user).await? == 0 {
        return Err(domain::actions::last_admin(name).into());
    }
    Ok(())
}
