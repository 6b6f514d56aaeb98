//! Users, as administrators see them, and the links with which they set their passwords.

use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::kubernetes::id::UserId;
use crate::kubernetes::time::Timestamp;

/// Whether a user can sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum UserState {
    /// The user has not set a password yet.
    Invited,
    /// The user can sign in.
    Active,
    /// An administrator has disabled the user: no session and no API token of the user is accepted.
    Disabled,
}

impl UserState {
    /// Its label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Invited => "Invited",
            Self::Active => "Active",
            Self::Disabled => "Disabled",
        }
    }
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The name to sign in with.
    pub name: String,
    /// The role in the organisation.
    pub role: Role,
    /// Whether the user can sign in.
    pub state: UserState,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the user last signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sign_in_at: Option<Timestamp>,
    /// Until when a link to set a password is valid, if there is one that was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_expires_at: Option<Timestamp>,
    /// The issuer of the identity provider that the user signs in with, and that the role comes from; absent for a user with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// A higher role until a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevation: Option<Elevation>,
}

/// Longest elevation, in minutes.
pub const MAX_ELEVATION_MINUTES: u32 = 24 * 60;

/// A higher role of a user until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Elevation {
    /// The role.
    pub role: Role,
    /// Why.
    pub reason: String,
    /// Who granted it.
    pub created_by: String,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

/// A higher role to grant until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewElevation {
    /// The role, above that of the user and below admin: an admin could keep it.
    pub role: Role,
    /// For how long, in minutes, 1 to 1440.
    pub minutes: u32,
    /// Why, at most 200 characters.
    pub reason: String,
}

/// A user to invite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewUser {
    /// The name to sign in with.
    pub name: String,
    /// The role.
    pub role: Role,
}

/// The new role of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleChange {
    /// The role.
    pub role: Role,
}

/// A change of one's own password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasswordChange {
    /// The password until now.
    pub current_password: String,
    /// The password from now on, at least 12 characters.
    pub new_password: String,
    /// Whether all other sessions of the user end; by default they do.
    #[serde(default = "ends_other_sessions")]
    pub end_other_sessions: bool,
}

const fn ends_other_sessions() -> bool {
    true
}

/// Without the passwords: they must not appear in a log.
impl std::fmt::Debug for PasswordChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordChange")
            .field("end_other_sessions", &self.end_other_sessions)
            .finish_non_exhaustive()
    }
}

/// A link with which a user sets a password, once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PasswordLink {
    /// The user.
    pub user: User,
    /// The path of the link on this server, with its secret. Only in the first response; whoever has it sets the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Until when it is valid.
    pub expires_at: Timestamp,
    /// Why the link is missing, in a repeated response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
}

/// Without the link: it must not appear in a log.
impl std::fmt::Debug for PasswordLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordLink").field("user", &self.user.name).finish_non_exhaustive()
    }
}

impl PasswordLink {
    /// The same without the link, to be stored and sent to a client that repeats the request.
    #[must_use]
    pub fn without_secret(&self) -> Self {
        let omitted = "The link was only in the first response, because it is not stored. Create another one with \
            a password reset of the user.";
        Self { link: None, omitted: Some(omitted.to_owned()), ..self.clone() }
    }
}
