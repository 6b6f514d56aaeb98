//! Groups and other claims, at the path that an administrator has configured.

use std::collections::BTreeSet;

use serde_json::Value;

/// Most groups of a user.
pub const MAX_GROUPS: usize = 2_000;
/// Longest name of a group, and of another text that is read, in bytes.
const MAX_TEXT_BYTES: usize = 256;

/// Why the groups of a user are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupsError {
    /// The token only refers to the groups, because there are too many of them (`_claim_names`, `hasgroups`).
    #[error("the user has too many groups for the token")]
    Overage,
    /// The claim is no text and no list of texts, or too long.
    #[error("the claim with the groups is not a list of names")]
    Invalid,
}

fn find_claim<'a>(claims: &'a Value, path: &str) -> Option<&'a Value> {
    let found = if path.starts_with('/') { claims.pointer(path) } else { claims.get(path) };
    found.filter(|value| !value.is_null())
}

/// The groups of claims; `None` if the claim is absent, which is not the same as no groups.
///
/// # Errors
/// The groups are unknown although they are mentioned.
pub fn read_groups(claims: &Value, path: &str) -> Result<Option<BTreeSet<String>>, GroupsError> {
    let read = |value: &Value| {
        let name = value.as_str().filter(|name| !name.is_empty() && name.len() <= MAX_TEXT_BYTES);
        name.map(str::to_owned).ok_or(GroupsError::Invalid)
    };
    match find_claim(claims, path) {
        Some(Value::Array(all)) if all.len() <= MAX_GROUPS => {
            let names: Result<BTreeSet<String>, GroupsError> = all.iter().map(read).collect();
            names.map(Some)
        }
        Some(only @ Value::String(_)) => Ok(Some(BTreeSet::from([read(only)?]))),
        Some(_) => Err(GroupsError::Invalid),
        None if is_overage(claims, path) => Err(GroupsError::Overage),
        None => Ok(None),
    }
}

/// Whether the claim stands elsewhere: distributed claims, or the implicit form of Entra ID.
fn is_overage(claims: &Value, path: &str) -> bool {
    let name = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_elsewhere = claims.get("_claim_names").and_then(|names| names.get(name)).is_some();
    is_elsewhere || name == "groups" && claims.get("hasgroups").is_some_and(|has| *has != Value::Bool(false))
}

/// A claim that is a text of at most 256 bytes.
pub fn read_text_claim<'a>(claims: &'a Value, path: &str) -> Option<&'a str> {
    let text = find_claim(claims, path).and_then(Value::as_str);
    text.filter(|text| !text.is_empty() && text.len() <= MAX_TEXT_BYTES)
}
