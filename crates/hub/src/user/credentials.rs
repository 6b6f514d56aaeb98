//! Sessions and API tokens of other users, for administrators.

use domain::api_token::ApiToken;
use domain::authorization::UserAction;
use domain::event::describe_object;
use domain::session::UserSession;
use domain::{TokenId, UserId};
use store::Tx;

use crate::hub::CommitEffects;
use crate::sign_in::remove_token;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The sessions of a user, last used first, that of the request before them if it is one.
    ///
    /// # Errors
    /// The actor may not manage users; there is no such user.
    pub async fn list_user_sessions(
        &self,
        actor: &Actor,
        name: &str,
        current: Option<&str>,
    ) -> Result<Vec<UserSession>, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.read().await?;
        let user = find_user(&mut tx, name).await?;
        self.load_sessions(&mut tx, user, current).await
    }

    /// Ends a session of a user.
    ///
    /// # Errors
    /// The actor may not manage users; there is no such user, or the user has no such session.
    pub async fn revoke_user_session(&self, actor: &Actor, name: &str, id: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let user = find_user(&mut tx, name).await?;
        if !store::session::delete_by_public_id(&mut tx, user, id).await? {
            return Err(Error::not_found("session", id));
        }
        tx.describe_audit(describe_object("user", name), format!("The session {id} of {name} was ended."));
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// Ends all sessions of a user; returns how many. API tokens stay valid.
    ///
    /// # Errors
    /// The actor may not manage users; there is no such user.
    pub async fn revoke_user_sessions(&self, actor: &Actor, name: &str) -> Result<u64, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let user = find_user(&mut tx, name).await?;
        // Nobody else ends several sessions of the user meanwhile.
        store::user::lock(&mut tx, user).await?;
        let ended = store::session::delete_by_user(&mut tx, user, None).await?;
        let message = format!("All sessions of {name} were ended: {ended}.");
        tx.describe_audit(describe_object("user", name), message);
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(ended)
    }

    /// The API tokens of a user, without their secrets.
    ///
    /// # Errors
    /// The actor may not manage users; there is no such user.
    pub async fn list_user_tokens(&self, actor: &Actor, name: &str) -> Result<Vec<ApiToken>, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.read().await?;
        let user = find_user(&mut tx, name).await?;
        self.load_tokens(&mut tx, user).await
    }

    /// Revokes an API token of a user.
    ///
    /// # Errors
    /// The actor may not manage users, or is an API token that may not revoke others; there is no such user, or the user has no such token.
    pub async fn delete_user_token(&self, actor: &Actor, name: &str, id: TokenId) -> Result<(), Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let user = find_user(&mut tx, name).await?;
        remove_token(&mut tx, actor, (user, name), id).await?;
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }
}

/// The user with this name.
///
/// # Errors
/// There is none.
async fn find_user(tx: &mut Tx, name: &str) -> Result<UserId, Error> {
    let found = store::user::get_by_name(tx, name).await?;
    let missing = || Error::not_found("user", name.chars().take(80).collect::<String>());
    Ok(found.ok_or_else(missing)?.id)
}
