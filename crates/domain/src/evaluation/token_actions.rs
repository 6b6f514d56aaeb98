//! The actions that an API token is limited to, in addition to its role.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::authorization::{InvalidAction, RoleRequired, UserAction, authorize};
use crate::model::role::Role;
use crate::text::finding::Finding;

/// Code of the findings about actions of a token.
const CODE: &str = "TokenActions";

/// What a token may do: these actions, and to read what its role may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenActions(BTreeSet<UserAction>);

impl TokenActions {
    /// The actions with these names, for a token with this role.
    ///
    /// # Errors
    /// There is no name, one is not that of an action, or the role does not allow it.
    pub fn check(names: &[String], role: Role) -> Result<Self, Finding> {
        let invalid = |message: String, hint: &str| Finding::error(CODE, message, hint).with_path("/actions");
        if names.is_empty() {
            let message = "The token has no action.".to_owned();
            return Err(invalid(message, "Leave actions out for a token with all actions of its role."));
        }
        let mut actions = BTreeSet::new();
        for name in names {
            let action = UserAction::parse(name).map_err(|error| {
                let all: Vec<&str> = UserAction::ALL.iter().map(|action| action.as_str()).collect();
                invalid(format!("{error}."), &format!("The actions are {}.", all.join(", ")))
            })?;
            if authorize(role, action).is_err() {
                let message = format!("The role {role} of the token does not allow {}.", action.as_str());
                return Err(invalid(
                    message,
                    "Leave the action out, or create the token with a higher role.",
                ));
            }
            actions.insert(action);
        }
        Ok(Self(actions))
    }

    /// Whether the token may do this. It may always read: what, its role decides.
    pub fn allows(&self, action: UserAction) -> bool {
        matches!(action, UserAction::View | UserAction::Validate) || self.0.contains(&action)
    }

    /// Rejects an action that is not one of them.
    ///
    /// # Errors
    /// The token was not created for it.
    pub fn require(&self, role: Role, action: UserAction) -> Result<(), RoleRequired> {
        if self.allows(action) {
            return Ok(());
        }
        Err(RoleRequired { action, role, required: action.required_role(), is_of_token: true })
    }

    /// Whether the other one allows all of these.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|action| other.allows(*action))
    }

    /// Their names, in the order of the roles that they need.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|action| action.as_str().to_owned()).collect()
    }
}

/// The names, separated by spaces, as they are stored.
impl fmt::Display for TokenActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(" "))
    }
}

/// What is stored. An action of a later version is an error: what the token may do is not known.
impl FromStr for TokenActions {
    type Err = InvalidAction;

    fn from_str(text: &str) -> Result<Self, InvalidAction> {
        text.split(' ').map(UserAction::parse).collect::<Result<BTreeSet<_>, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], role: Role) -> Result<TokenActions, Finding> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        TokenActions::check(&names, role)
    }

    #[test]
    fn a_limited_token_may_read_and_do_its_actions_and_nothing_else() {
        let actions = check(&["publish", "edit", "publish"], Role::Admin).unwrap();
        let allowed: Vec<&str> = UserAction::ALL
            .iter()
            .filter(|action| actions.require(Role::Admin, **action).is_ok())
            .map(|action| action.as_str())
            .collect();
        assert_eq!(allowed, ["view", "validate", "edit", "publish"]);
        let refusal = actions.require(Role::Admin, UserAction::Unpublish).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "To unpublish this API token needs the action unpublish, with which it was not created. Create another token under Settings."
        );
    }

    #[test]
    fn actions_that_do_not_exist_or_that_the_role_does_not_allow_are_refused() {
        assert!(check(&["publish"], Role::Editor).unwrap_err().message.contains("role editor"));
        assert!(check(&["fly"], Role::Admin).unwrap_err().message.contains("\"fly\" is not an action"));
        assert!(check(&[], Role::Admin).is_err());
    }

    #[test]
    fn what_is_stored_is_read_again_and_an_unknown_action_is_no_limit_that_can_be_read() {
        let actions = check(&["sync", "edit"], Role::Publisher).unwrap();
        assert_eq!(actions.to_string(), "edit sync");
        assert_eq!("edit sync".parse(), Ok(actions));
        assert!("edit fly".parse::<TokenActions>().is_err());
        assert!("".parse::<TokenActions>().is_err());
    }

    #[test]
    fn no_action_is_within_fewer() {
        let all = |names: &[&str]| check(names, Role::Admin).unwrap();
        assert!(all(&["edit", "view"]).is_within(&all(&["edit", "plan"])));
        assert!(!all(&["edit", "sync"]).is_within(&all(&["edit"])));
    }
}
