//! Sign-in with OpenID Connect: providers, the roles of their groups, and what a provider said about a user.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::kubernetes::name;
use crate::kubernetes::time::Timestamp;
use crate::text::finding::Finding;

mod connection;
mod failure;

pub use connection::{ProviderCheck, ProviderCheckKind, ProviderCheckOutcome, ProviderTest};
pub use failure::SignInFailure;

/// Code of the findings about a provider.
const CODE: &str = "IdentityProvider";
/// Longest text of a provider, in bytes; its secret may have more.
const MAX_TEXT_BYTES: usize = 256;
/// Longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 4 << 10;
/// Most roles of groups, and most scopes.
const MAX_BINDINGS: usize = 200;
const MAX_SCOPES: usize = 20;

/// The scopes that are requested unless others are set.
pub const DEFAULT_SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];
/// The claim with the groups, and the one with the name, unless others are set.
pub const DEFAULT_GROUPS_CLAIM: &str = "groups";
/// The claim from which the name of a new user is made unless another one is set.
pub const DEFAULT_NAME_CLAIM: &str = "preferred_username";

/// The role of the members of a group of a provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupRole {
    /// The group, exactly as the provider writes it: a name, or an id.
    pub group: String,
    /// The role of its members.
    pub role: Role,
}

/// What is requested of a provider, and how roles follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct IdentityProviderSettings {
    /// The requested scopes, with `openid`.
    pub scopes: Vec<String>,
    /// The claim with the groups: a name, or a JSON pointer such as `/realm_access/roles`.
    pub groups_claim: String,
    /// The claim from which the name of a new user is made: a name, or a JSON pointer.
    pub name_claim: String,
    /// The roles of groups. A user has the highest role of all groups; a user of none can't sign in.
    pub roles: Vec<GroupRole>,
}

impl Default for IdentityProviderSettings {
    fn default() -> Self {
        Self {
            scopes: DEFAULT_SCOPES.map(str::to_owned).to_vec(),
            groups_claim: DEFAULT_GROUPS_CLAIM.to_owned(),
            name_claim: DEFAULT_NAME_CLAIM.to_owned(),
            roles: Vec::new(),
        }
    }
}

impl IdentityProviderSettings {
    /// The roles of groups that apply to a user with these groups, and the highest of them.
    pub fn match_roles(&self, groups: &BTreeSet<String>) -> (Vec<GroupRole>, Option<Role>) {
        let matched: Vec<GroupRole> =
            self.roles.iter().filter(|binding| groups.contains(&binding.group)).cloned().collect();
        let role = matched.iter().map(|binding| binding.role).max();
        (matched, role)
    }
}

/// A provider to add or to change.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IdentityProviderPut {
    /// Its name on the button of the sign-in page; the name in its address if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Its issuer, exactly as its discovery document names it. It can't be changed.
    pub issuer: String,
    /// The id of this client at the provider.
    pub client_id: String,
    /// The secret of this client. Absent to retain the stored one; without one, the client is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The requested scopes; `openid`, `profile`, `email` and `offline_access` if absent. The provider has to return a refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// The claim with the groups, a name or a JSON pointer; `groups` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// The claim from which the name of a new user is made; `preferred_username` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_claim: Option<String>,
    /// The roles of groups.
    #[serde(default)]
    pub roles: Vec<GroupRole>,
    /// Whether users can sign in with it; `true` if absent. A provider that is disabled ends its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Without the secret: it must not appear in a log.
impl fmt::Debug for IdentityProviderPut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProviderPut").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// A provider, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// Its name, in its addresses.
    pub name: String,
    /// Its name on the button of the sign-in page.
    pub display_name: String,
    /// Its issuer.
    pub issuer: String,
    /// The id of this client.
    pub client_id: String,
    /// Whether this client has a secret.
    pub has_client_secret: bool,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The claim with the groups.
    pub groups_claim: String,
    /// The claim from which the name of a new user is made.
    pub name_claim: String,
    /// The roles of groups.
    pub roles: Vec<GroupRole>,
    /// Whether users can sign in with it.
    pub enabled: bool,
    /// The redirect URI to register at the provider.
    pub redirect_uri: String,
    /// The back-channel logout URI to register at the provider.
    pub logout_uri: String,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision.
    pub revision: i64,
}

/// A provider on the sign-in page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInProvider {
    /// Its name, in its address.
    pub name: String,
    /// Its name on the button.
    pub display_name: String,
}

/// A claim that a provider sent about a user, shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReceivedClaim {
    /// Its name.
    pub name: String,
    /// Its value as JSON, at most 200 characters.
    pub value: String,
}

/// What a provider said about a user, and which roles follow from it. It contains no token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct IdentityReading {
    /// The claims, at most 50.
    pub claims: Vec<ReceivedClaim>,
    /// The groups, at most 200; `groupCount` is the number of all.
    pub groups: Vec<String>,
    /// How many groups there are.
    pub group_count: u32,
    /// The roles of groups that applied.
    pub matched: Vec<GroupRole>,
    /// The highest of them; absent if none applied, and then the user may nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// Why a user has the role: who the user is at the provider, what the provider said, and which roles of groups applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserIdentity {
    /// The name of the user.
    pub user: String,
    /// The name of the provider; absent if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Its issuer.
    pub issuer: String,
    /// The subject there.
    pub subject: String,
    /// What it said.
    pub reading: IdentityReading,
    /// When that was.
    pub checked_at: Timestamp,
}

impl IdentityProviderPut {
    /// The settings, with defaults for what is absent.
    pub fn settings(&self) -> IdentityProviderSettings {
        let defaults = IdentityProviderSettings::default();
        IdentityProviderSettings {
            scopes: self.scopes.clone().unwrap_or(defaults.scopes),
            groups_claim: self.groups_claim.clone().unwrap_or(defaults.groups_claim),
            name_claim: self.name_claim.clone().unwrap_or(defaults.name_claim),
            roles: self.roles.clone(),
        }
    }

    /// Checks the fields themselves.
    pub fn check(&self, name: &str) -> Vec<Finding> {
        let rules = self.client_rules(name).into_iter().chain(self.settings_rules());
        let broken = rules.filter(|rule| !rule.is_kept);
        broken.map(|rule| Finding::error(CODE, rule.message, rule.hint).with_path(rule.path)).collect()
    }

    fn client_rules(&self, name: &str) -> [FieldRule; 5] {
        let is_secret = |secret: &String| !secret.is_empty() && secret.len() <= MAX_SECRET_BYTES;
        [
            FieldRule {
                is_kept: name::is_label(name),
                message: "This is no name of an identity provider.",
                hint: "Use lower-case letters, digits and \"-\", at most 63.",
                path: "/name",
            },
            FieldRule {
                is_kept: self.display_name.as_deref().is_none_or(is_filled_text),
                message: "The name on the button is empty or too long.",
                hint: "Write at most 256 bytes, such as Example Inc.",
                path: "/displayName",
            },
            FieldRule {
                is_kept: is_issuer(&self.issuer),
                message: "The issuer is not an https address without a query.",
                hint: "Write it exactly as the discovery document of the provider does, such as https://id.example.com/realms/main.",
                path: "/issuer",
            },
            FieldRule {
                is_kept: is_filled_text(&self.client_id),
                message: "The client id is empty or too long.",
                hint: "Register Flotilla as a client at the provider, and write its id.",
                path: "/clientId",
            },
            FieldRule {
                is_kept: self.client_secret.as_ref().is_none_or(is_secret),
                message: "The client secret is empty or has more than 4096 bytes.",
                hint: "Leave it out to retain the stored one.",
                path: "/clientSecret",
            },
        ]
    }

    fn settings_rules(&self) -> [FieldRule; 4] {
        let settings = self.settings();
        let is_scope = |scope: &String| is_text(scope) && scope.bytes().all(|byte| byte.is_ascii_graphic());
        let has_openid = settings.scopes.iter().any(|scope| scope == "openid");
        let claim = |claim: &str, path| FieldRule {
            is_kept: is_filled_text(claim) && !claim.contains(char::is_whitespace),
            message: "This is no path of a claim.",
            hint: "Write the name of a claim, or a JSON pointer such as /realm_access/roles.",
            path,
        };
        [
            FieldRule {
                is_kept: has_openid
                    && settings.scopes.len() <= MAX_SCOPES
                    && settings.scopes.iter().all(is_scope),
                message: "The scopes are at most 20 names, one of which is openid.",
                hint: "Leave them out for openid, profile, email and offline_access.",
                path: "/scopes",
            },
            claim(&settings.groups_claim, "/groupsClaim"),
            claim(&settings.name_claim, "/nameClaim"),
            FieldRule {
                is_kept: self.roles.len() <= MAX_BINDINGS
                    && self.roles.iter().all(|binding| is_filled_text(&binding.group)),
                message: "There are more than 200 roles of groups, or a group has no name.",
                hint: "Write each group as the provider does, and its role.",
                path: "/roles",
            },
        ]
    }
}

/// A rule about a field of a provider, and what is said if it is broken.
struct FieldRule {
    is_kept: bool,
    message: &'static str,
    hint: &'static str,
    path: &'static str,
}

fn is_filled_text(text: &str) -> bool {
    !text.trim().is_empty() && is_text(text)
}

fn is_text(text: &str) -> bool {
    text.len() <= MAX_TEXT_BYTES && !text.chars().any(char::is_control)
}

/// Whether this may be an issuer. Whether it may be requested is decided when it is.
fn is_issuer(issuer: &str) -> bool {
    let rest = issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://"));
    let has_host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let is_plain = issuer.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'@'));
    has_host && is_plain && issuer.len() <= MAX_TEXT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put() -> IdentityProviderPut {
        IdentityProviderPut {
            display_name: None,
            issuer: "https://id.example.com".to_owned(),
            client_id: "flotilla".to_owned(),
            client_secret: Some("canary".to_owned()),
            scopes: None,
            groups_claim: None,
            name_claim: None,
            roles: vec![GroupRole { group: "ops".to_owned(), role: Role::Publisher }],
            enabled: None,
        }
    }

    fn paths(put: &IdentityProviderPut) -> Vec<String> {
        put.check("corp").into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn every_field_of_a_provider_is_checked_with_its_path() {
        assert_eq!(paths(&put()), [""; 0]);
        for issuer in
            ["id.example.com", "https://", "https://id.example.com/?a=1", "ftp://id", "https://a@b", ""]
        {
            assert_eq!(
                paths(&IdentityProviderPut { issuer: issuer.to_owned(), ..put() }),
                ["/issuer"],
                "{issuer}"
            );
        }
        let wrong = IdentityProviderPut {
            client_id: " ".to_owned(),
            client_secret: Some(String::new()),
            scopes: Some(vec!["profile".to_owned()]),
            groups_claim: Some("a b".to_owned()),
            roles: vec![GroupRole { group: String::new(), role: Role::Viewer }],
            display_name: Some(String::new()),
            ..put()
        };
        let expected = ["/displayName", "/clientId", "/clientSecret", "/scopes", "/groupsClaim", "/roles"];
        assert_eq!(paths(&wrong), expected);
        assert_eq!(put().check("No Name")[0].path, "/name");
        assert!(!format!("{:?}", put()).contains("canary"));
    }

    #[test]
    fn a_user_has_the_highest_role_of_all_groups_and_none_without_a_group() {
        let role = |group: &str, role| GroupRole { group: group.to_owned(), role };
        let roles = vec![role("all", Role::Viewer), role("ops", Role::Publisher), role("root", Role::Admin)];
        let settings = IdentityProviderSettings { roles, ..IdentityProviderSettings::default() };
        let groups = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let (matched, highest) = settings.match_roles(&groups(&["ops", "all", "other"]));
        assert_eq!((matched.len(), highest), (2, Some(Role::Publisher)));
        assert_eq!(settings.match_roles(&groups(&["Ops"])), (Vec::new(), None));
    }
}
