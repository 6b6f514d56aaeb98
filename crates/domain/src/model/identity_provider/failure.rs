//! Why a sign-in with a provider failed: a closed set, so that no text of a provider or of a browser is displayed.

use strum::{IntoStaticStr, VariantArray};

/// Why a sign-in failed. Its name is in the address of the sign-in page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "camelCase")]
pub enum SignInFailure {
    /// There is no such provider, or it is disabled.
    UnknownProvider,
    /// The response belongs to no sign-in of this browser, or the sign-in took too long.
    StateMismatch,
    /// The response was used before.
    AlreadyUsed,
    /// The provider refused the sign-in.
    Denied,
    /// The response comes from another provider.
    WrongIssuer,
    /// The provider can't be reached.
    ProviderUnavailable,
    /// The provider answered with what this server can't use.
    InvalidResponse,
    /// The token of the provider is not valid.
    InvalidToken,
    /// The provider returned no refresh token.
    NoRefreshToken,
    /// Neither token nor user info have the claim with the groups.
    NoGroups,
    /// The user has too many groups for the token.
    TooManyGroups,
    /// No role is bound to a group of the user.
    NoRole,
    /// The claim of the name is missing, or no name of a user can be made of it.
    InvalidName,
    /// Another user has the name.
    NameTaken,
    /// The user is disabled.
    Disabled,
    /// Too many sign-ins of one network ended.
    TooManyAttempts,
    /// The database does not respond.
    ServerUnavailable,
}

impl SignInFailure {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in an address.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The failure with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|failure| failure.as_str() == name)
    }

    /// What happened, and what to do, as sentences for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::UnknownProvider => {
                "There is no such identity provider, or it is disabled. Sign in in another way."
            }
            Self::StateMismatch => {
                "The response of the identity provider belongs to no sign-in that this browser has started in the last 10 minutes. Sign in again."
            }
            Self::AlreadyUsed => "This response of the identity provider was used before. Sign in again.",
            Self::Denied => {
                "The identity provider refused the sign-in. Sign in again, or ask its administrator for access."
            }
            Self::WrongIssuer => {
                "The response does not come from the identity provider that the sign-in was started with. Sign in again; if it happens again, tell an administrator."
            }
            Self::ProviderUnavailable => "The identity provider can't be reached. Try again in a moment.",
            Self::InvalidResponse => {
                "The identity provider answered with something that Flotilla can't use. An administrator finds the reason in the log of the server."
            }
            Self::InvalidToken => {
                "The token of the identity provider is not valid. An administrator finds the reason in the log of the server; often clocks differ by more than a minute."
            }
            Self::NoRefreshToken => {
                "The identity provider returned no refresh token, without which roles can't be kept up to date. An administrator has to allow it for this client, usually by the scope offline_access."
            }
            Self::NoGroups => {
                "The identity provider does not say which groups you are in. An administrator has to add the claim with the groups to the ID token or to the user info."
            }
            Self::TooManyGroups => {
                "You are in too many groups for the token of the identity provider. An administrator has to restrict the claim to the groups that are assigned to this application."
            }
            Self::NoRole => "None of your groups has a role here. Ask an administrator for one.",
            Self::InvalidName => {
                "The identity provider sent no name from which a user name can be made. An administrator can choose another claim for it."
            }
            Self::NameTaken => {
                "Another user has your name already. Users are never joined by their name; an administrator can choose another claim for names."
            }
            Self::Disabled => "Your user is disabled. An administrator can enable it again.",
            Self::TooManyAttempts => {
                "Too many sign-ins with identity providers come from your network. Wait a few seconds, then sign in again."
            }
            Self::ServerUnavailable => "The server can't reach its database. Try again in a moment.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_found_by_its_name_and_no_other_text_is() {
        for failure in SignInFailure::ALL {
            assert_eq!(SignInFailure::parse(failure.as_str()), Some(*failure));
            assert!(failure.message().ends_with('.'));
        }
        assert_eq!(SignInFailure::parse("<script>"), None);
    }
}
