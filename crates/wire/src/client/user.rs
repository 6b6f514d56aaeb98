//! Operations on users, and what the caller may do.

use domain::authorization::UserAction;
use domain::role::Role;
use http::Method;

use super::Client;
use crate::{AccessReview, Error, NewUser, PasswordLink, RoleChange, User};

impl Client {
    /// Whether the caller may do this.
    pub async fn review_access(&self, action: UserAction) -> Result<AccessReview, Error> {
        let query = serde_json::json!({ "action": action });
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
}
