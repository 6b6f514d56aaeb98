//! Operations on users, and what the caller may do.

use domain::TokenId;
use domain::authorization::UserAction;
use domain::role::Role;
use domain::session::UserSession;
use domain::user::NewElevation;
use http::Method;

use super::Client;
use crate::{AccessReview, ApiToken, Error, NewUser, PasswordChange, PasswordLink, RoleChange, User};

impl Client {
    /// Whether the caller may do this, with the workload or cluster of this name if there is one.
    pub async fn review_access(&self, action: UserAction, name: Option<&str>) -> Result<AccessReview, Error> {
        let query = serde_json::json!({ "action": action, "name": name });
        self.api_call(Method::GET, &["auth", "can-i"]).query(&query).send_json().await
    }

    /// All users.
    pub async fn list_users(&self) -> Result<Vec<User>, Error> {
        self.api_call(Method::GET, &["users"]).send_json().await
    }

    /// Invites a user. Only this response contains the link.
    pub async fn invite_user(&self, new: &NewUser) -> Result<PasswordLink, Error> {
        self.api_call(Method::POST, &["users"]).body(new).send_json().await
    }

    /// Changes the role of a user.
    pub async fn set_user_role(&self, name: &str, role: Role) -> Result<User, Error> {
        self.api_call(Method::PUT, &["users", name, "role"]).body(&RoleChange { role }).send_json().await
    }

    /// Gives a user a higher role until a time.
    pub async fn elevate_user(&self, name: &str, new: &NewElevation) -> Result<User, Error> {
        self.api_call(Method::PUT, &["users", name, "elevation"]).body(new).send_json().await
    }

    /// Ends the higher role of a user.
    pub async fn end_elevation(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["users", name, "elevation"]).send_ignoring_body().await
    }

    /// Creates a link with which the user sets a new password. Only this response contains it.
    pub async fn reset_password(&self, name: &str) -> Result<PasswordLink, Error> {
        self.api_call(Method::POST, &["users", &format!("{name}:resetPassword")]).send_json().await
    }

    /// Disables a user.
    pub async fn disable_user(&self, name: &str) -> Result<User, Error> {
        self.api_call(Method::POST, &["users", &format!("{name}:disable")]).send_json().await
    }

    /// Enables a user.
    pub async fn enable_user(&self, name: &str) -> Result<User, Error> {
        self.api_call(Method::POST, &["users", &format!("{name}:enable")]).send_json().await
    }

    /// Changes the password of the caller.
    pub async fn change_password(&self, change: &PasswordChange) -> Result<(), Error> {
        self.api_call(Method::PUT, &["password"]).body(change).send_ignoring_body().await
    }

    /// The sessions of a user.
    pub async fn list_user_sessions(&self, name: &str) -> Result<Vec<UserSession>, Error> {
        self.api_call(Method::GET, &["users", name, "sessions"]).send_json().await
    }

    /// Ends a session of a user.
    pub async fn revoke_user_session(&self, name: &str, id: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["users", name, "sessions", id]).send_ignoring_body().await
    }

    /// Ends all sessions of a user.
    pub async fn revoke_user_sessions(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["users", name, "sessions"]).send_ignoring_body().await
    }

    /// The API tokens of a user.
    pub async fn list_user_tokens(&self, name: &str) -> Result<Vec<ApiToken>, Error> {
        self.api_call(Method::GET, &["users", name, "tokens"]).send_json().await
    }

    /// Revokes an API token of a user.
    pub async fn delete_user_token(&self, name: &str, id: TokenId) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["users", name, "tokens", &id.to_string()]).send_ignoring_body().await
    }
}
