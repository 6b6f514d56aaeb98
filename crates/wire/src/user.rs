//! Users, and what they may do.

use domain::authorization::{UserAction, authorize};
use domain::role::Role;
use domain::token_actions::TokenActions;
use serde::{Deserialize, Serialize};

pub use domain::user::{NewUser, PasswordChange, PasswordLink, RoleChange, User};

/// Whether the caller may do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccessReview {
    /// Name of the user.
    pub user: String,
    /// The effective role: that of the user, limited by that of the API token.
    pub role: Role,
    /// The only actions of the API token in addition to reading; absent if it may do all that its role allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_actions: Option<Vec<String>>,
    /// The action.
    pub action: UserAction,
    /// Whether role and API token allow it.
    pub allowed: bool,
    /// The least role that does.
    pub required_role: Role,
    /// Why it is not allowed, and who can grant it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AccessReview {
    /// Whether a user with this role may do this.
    pub fn new(user: &str, role: Role, action: UserAction) -> Self {
        let refusal = authorize(role, action).err();
        Self {
            user: user.to_owned(),
            role,
            token_actions: None,
            action,
            allowed: refusal.is_none(),
            required_role: action.required_role(),
            reason: refusal.map(|refusal| refusal.to_string()),
        }
    }

    /// The same with an API token that is limited to these actions.
    #[must_use]
    pub fn limited_to(mut self, actions: Option<&TokenActions>) -> Self {
        let Some(actions) = actions else { return self };
        self.token_actions = Some(actions.names());
        if let Err(refusal) = actions.require(self.role, self.action)
            && self.allowed
        {
            (self.allowed, self.reason) = (false, Some(refusal.to_string()));
        }
        self
    }
}
