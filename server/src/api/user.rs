//! Operations on users.

use serde::Deserialize;

pub mod disable;
pub mod enable;
pub mod identity;
pub mod invite;
pub mod list;
pub mod reset_password;
pub mod set_role;

/// Path parameters of a user.
#[derive(Debug, Deserialize)]
pub struct UserPath {
    /// The name.
    user: String,
}
