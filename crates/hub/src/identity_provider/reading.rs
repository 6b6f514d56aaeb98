//! What a provider says about a user, and the role that follows from it.

use std::collections::BTreeSet;

use domain::identity_provider::{IdentityProviderSettings, IdentityReading, ReceivedClaim, SignInFailure};
use domain::name::suggest_label;
use identity::{GroupsError, read_groups, read_text_claim};
use serde_json::Value;
use store::identity_provider::IdentityProviderRow;

use super::documents::ProviderDocuments;
use crate::Hub;

/// Most claims and groups that are stored, and the longest value of a claim in characters.
const MAX_CLAIMS: usize = 50;
const MAX_SHOWN_GROUPS: usize = 200;
const MAX_VALUE_CHARS: usize = 200;
/// Claims that say nothing about the user.
const TECHNICAL_CLAIMS: [&str; 5] = ["nonce", "at_hash", "c_hash", "s_hash", "jti"];

/// Where what a provider says about a user is read.
pub(super) struct IdentitySource<'a> {
    /// The claims of the ID token.
    pub claims: Value,
    /// For the user info.
    pub access_token: &'a str,
    pub subject: &'a str,
    /// Whether the user info is also read for the name, which only a new user needs.
    pub needs_name: bool,
}

/// What a provider said, evaluated.
pub(super) struct EvaluatedIdentity {
    pub reading: IdentityReading,
    /// The name for a new user, if one can be made.
    pub name: Option<String>,
}

impl Hub {
    /// Reads the groups of the ID token, or of the user info if the token has none.
    pub(super) async fn evaluate_identity(
        &self,
        provider: &IdentityProviderRow,
        documents: &ProviderDocuments,
        source: IdentitySource<'_>,
    ) -> Result<EvaluatedIdentity, SignInFailure> {
        let settings = &provider.settings;
        let mut groups = find_groups(&source.claims, settings)?;
        let has_name = read_text_claim(&source.claims, &settings.name_claim).is_some();
        let mut all = vec![source.claims];
        if groups.is_none() || source.needs_name && !has_name {
            let user_info = self.request_user_info(documents, source.access_token, source.subject).await?;
            if let Some(claims) = user_info {
                if groups.is_none() {
                    groups = find_groups(&claims, settings)?;
                }
                all.push(claims);
            }
        }
        let groups = groups.ok_or(SignInFailure::NoGroups)?;
        let name = all.iter().find_map(|claims| read_text_claim(claims, &settings.name_claim));
        // An e-mail address is named by what stands before its host.
        let name = name.and_then(|name| suggest_label(name.split('@').next().unwrap_or_default()));
        Ok(EvaluatedIdentity { reading: build_reading(&all, &groups, settings), name })
    }
}

fn find_groups(
    claims: &Value,
    settings: &IdentityProviderSettings,
) -> Result<Option<BTreeSet<String>>, SignInFailure> {
    read_groups(claims, &settings.groups_claim).map_err(|error| {
        tracing::warn!(claim = settings.groups_claim, %error, "the groups of a user are unknown");
        match error {
            GroupsError::Overage => SignInFailure::TooManyGroups,
            GroupsError::Invalid => SignInFailure::InvalidResponse,
        }
    })
}

fn build_reading(
    all: &[Value],
    groups: &BTreeSet<String>,
    settings: &IdentityProviderSettings,
) -> IdentityReading {
    let (matched, role) = settings.match_roles(groups);
    let claims = all.iter().filter_map(Value::as_object).flatten();
    let mut shown: Vec<ReceivedClaim> = Vec::new();
    for (name, value) in claims.filter(|(name, _)| !TECHNICAL_CLAIMS.contains(&name.as_str())) {
        if shown.len() < MAX_CLAIMS && shown.iter().all(|claim| claim.name != *name) {
            let value = value.to_string().chars().take(MAX_VALUE_CHARS).collect();
            shown.push(ReceivedClaim { name: name.chars().take(MAX_VALUE_CHARS).collect(), value });
        }
    }
    IdentityReading {
        claims: shown,
        groups: groups.iter().take(MAX_SHOWN_GROUPS).cloned().collect(),
        group_count: u32::try_from(groups.len()).unwrap_or(u32::MAX),
        matched,
        role,
    }
}

#[cfg(test)]
mod tests {
    use domain::identity_provider::GroupRole;
    use domain::role::Role;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_stored_of_the_claims_is_bounded_and_contains_nothing_of_the_protocol() {
        let roles = vec![GroupRole { group: "ops".to_owned(), role: Role::Editor }];
        let settings = IdentityProviderSettings { roles, ..IdentityProviderSettings::default() };
        let groups: BTreeSet<String> = (0..300).map(|n| format!("g{n}")).chain(["ops".to_owned()]).collect();
        let mut claims = json!({"sub": "1", "nonce": "secret", "at_hash": "x", "long": "y".repeat(1_000)});
        for n in 0..100 {
            claims[format!("claim-{n}")] = n.into();
        }
        let reading = build_reading(&[claims, json!({"sub": "2", "email": "a@b"})], &groups, &settings);
        assert_eq!((reading.claims.len(), reading.groups.len(), reading.group_count), (50, 200, 301));
        assert_eq!((reading.matched.len(), reading.role), (1, Some(Role::Editor)));
        assert_eq!(reading.claims[0], ReceivedClaim { name: "sub".to_owned(), value: "\"1\"".to_owned() });
        let long = reading.claims.iter().find(|claim| claim.name == "long").unwrap();
        assert_eq!(long.value.chars().count(), MAX_VALUE_CHARS);
        assert!(!serde_json::to_string(&reading).unwrap().contains("secret"));
    }
}
