//! The test of the connection to a provider: what can be known before somebody signs in with it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What is checked of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ProviderCheckKind {
    /// Its discovery document. Without it nothing else is checked.
    Discovery,
    /// Its keys.
    Keys,
    /// The requested scopes, if the provider lists the supported ones.
    Scopes,
    /// The id and the secret of this client.
    Client,
}

impl ProviderCheckKind {
    /// Its name on pages and in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Discovery => "Discovery document",
            Self::Keys => "Keys",
            Self::Scopes => "Scopes",
            Self::Client => "Client",
        }
    }
}

/// What a check found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ProviderCheckOutcome {
    /// It is as a sign-in needs it.
    Passed,
    /// A sign-in would fail.
    Failed,
    /// The answer of the provider does not tell. It is no success.
    Unknown,
}

impl ProviderCheckOutcome {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One check of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderCheck {
    /// What was checked.
    pub check: ProviderCheckKind,
    /// What was found out.
    pub outcome: ProviderCheckOutcome,
    /// The same as a sentence, with what to do.
    pub message: String,
}

impl ProviderCheck {
    /// A check with this outcome.
    pub fn new(check: ProviderCheckKind, outcome: ProviderCheckOutcome, message: impl Into<String>) -> Self {
        Self { check, outcome, message: message.into() }
    }
}

/// The result of a test of the connection to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderTest {
    /// Whether every check passed.
    pub succeeded: bool,
    /// The checks, in the order in which they were made.
    pub checks: Vec<ProviderCheck>,
}

impl ProviderTest {
    /// The result of these checks. Without a check it is no success.
    pub fn new(checks: Vec<ProviderCheck>) -> Self {
        let has_passed = |check: &ProviderCheck| check.outcome == ProviderCheckOutcome::Passed;
        Self { succeeded: !checks.is_empty() && checks.iter().all(has_passed), checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_succeeds_only_if_every_check_passed() {
        let test = |outcomes: &[ProviderCheckOutcome]| {
            let check =
                |outcome: &ProviderCheckOutcome| ProviderCheck::new(ProviderCheckKind::Client, *outcome, "");
            ProviderTest::new(outcomes.iter().map(check).collect()).succeeded
        };
        let passed = ProviderCheckOutcome::Passed;
        assert!(test(&[passed, passed]));
        assert!(!test(&[passed, ProviderCheckOutcome::Unknown]));
        assert!(!test(&[passed, ProviderCheckOutcome::Failed]));
        assert!(!test(&[]));
    }
}
