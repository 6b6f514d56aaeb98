//! Operations on users.

use serde::Deserialize;

pub mod change_password;
pub mod delete_token;
pub mod disable;
pub mod elevation;
pub mod enable;
pub mod identity;
pub mod invite;
pub mod list;
pub mod list_sessions;
pub mod list_tokens;
pub mod reset_password;
pub mod revoke_session;
pub mod revoke_sessions;
pub mod set_role;

/// Path parameters of a user.
#[derive(Debug, Deserialize)]
pub struct UserPath {
    /// The name.
    user: String,
}

/// Path parameters of a session or an API token of a user.
#[derive(Debug, Deserialize)]
pub struct UserCredentialPath {
    /// The name of the user.
    user: String,
    /// The id, as text: an unparsable one is answered with 404.
    id: String,
}
