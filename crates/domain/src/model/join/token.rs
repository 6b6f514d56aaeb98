//! Join tokens, with which agents register.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::kubernetes::id::JoinTokenId;
use crate::kubernetes::labels::Labels;
use crate::kubernetes::time::Timestamp;
use crate::text::finding::Finding;

/// Default lifetime of a join token, in minutes.
pub const DEFAULT_TOKEN_MINUTES: u32 = 24 * 60;
/// Longest lifetime of a join token, in minutes: thirty days.
pub const MAX_TOKEN_MINUTES: u32 = 30 * 24 * 60;
/// Most registrations with one join token.
pub const MAX_TOKEN_USES: u32 = 10_000;

/// A join token in lists, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoinToken {
    /// Its id.
    pub id: JoinTokenId,
    /// The only cluster name that may use it, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Labels of clusters that join with it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Whether clusters that join with it are accepted automatically.
    pub auto_accept: bool,
    /// How many agent keys may register with it.
    pub max_uses: u32,
    /// How many agent keys have registered with it.
    pub uses: u32,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl JoinToken {
    /// Its state at `now`.
    pub fn state(&self, now: Timestamp) -> JoinTokenState {
        match self {
            token if token.revoked_at.is_some() => JoinTokenState::Revoked,
            token if token.expires_at <= now => JoinTokenState::Expired,
            token if token.uses >= token.max_uses => JoinTokenState::UsedUp,
            _ => JoinTokenState::Valid,
        }
    }

    /// Whether a new agent key may register with it under this cluster name at `now`.
    pub fn is_valid_for(&self, name: &str, now: Timestamp) -> bool {
        self.state(now) == JoinTokenState::Valid
            && self.cluster_name.as_deref().is_none_or(|bound| bound == name)
    }

    /// Whether a registration with this cluster name is accepted automatically. An existing cluster is taken over
    /// automatically only with a token that is bound to its name.
    pub fn can_auto_accept(&self, name: &str, exists: bool) -> bool {
        self.auto_accept && (!exists || self.cluster_name.as_deref() == Some(name))
    }
}

/// Whether agents can still register with a join token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum JoinTokenState {
    /// Agents can register with it.
    Valid,
    /// It was revoked.
    Revoked,
    /// It has expired.
    Expired,
    /// As many agents have registered with it as may.
    #[strum(serialize = "used up")]
    UsedUp,
}

impl JoinTokenState {
    /// The displayed name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The parameters of a new join token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NewJoinToken {
    /// The only cluster name that may use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Labels of clusters that join with it.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub labels: Labels,
    /// Whether clusters that join with it are accepted automatically.
    pub auto_accept: bool,
    /// How many agent keys may register with it, 1 to 10 000.
    pub max_uses: u32,
    /// Its lifetime in minutes, at most thirty days.
    pub minutes: u32,
}

impl Default for NewJoinToken {
    fn default() -> Self {
        Self {
            cluster_name: None,
            labels: Labels::new(),
            auto_accept: false,
            max_uses: 1,
            minutes: DEFAULT_TOKEN_MINUTES,
        }
    }
}

impl NewJoinToken {
    /// Findings about invalid parameters.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = crate::model::cluster::check_labels(&self.labels);
        let name = self.cluster_name.as_deref();
        findings.extend(name.and_then(|name| crate::text::name_check::check_label("Cluster name", name)));
        if !(1..=MAX_TOKEN_MINUTES).contains(&self.minutes) {
            let message =
                format!("A join token is valid for 1 to {MAX_TOKEN_MINUTES} minutes, not {}.", self.minutes);
            findings.push(Finding::error("TokenLifetime", message, "A day (1440) suits most uses."));
        }
        if !(1..=MAX_TOKEN_USES).contains(&self.max_uses) {
            let message =
                format!("A join token admits 1 to {MAX_TOKEN_USES} clusters, not {}.", self.max_uses);
            findings.push(Finding::error("TokenUses", message, "One token for each cluster is safest."));
        }
        if name.is_some() && self.max_uses > 1 {
            let message = "A token that is bound to one cluster name can be used only once.";
            findings.push(Finding::error("TokenUses", message, "Remove the name, or the number of uses."));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> JoinToken {
        JoinToken {
            id: JoinTokenId::from_parts(1, 1),
            cluster_name: None,
            labels: Labels::new(),
            auto_accept: true,
            max_uses: 1,
            uses: 0,
            created_by: "ana".to_owned(),
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(10),
            revoked_at: None,
        }
    }

    #[test]
    fn a_token_is_valid_until_it_is_used_up_expired_or_revoked_and_only_for_the_name_it_is_bound_to() {
        let at = Timestamp::from_millis;
        assert!(token().is_valid_for("eu-1", at(9)));
        assert!(!token().is_valid_for("eu-1", at(10)));
        assert!(!JoinToken { uses: 1, ..token() }.is_valid_for("eu-1", at(0)));
        assert!(!JoinToken { revoked_at: Some(at(0)), ..token() }.is_valid_for("eu-1", at(0)));
        assert_eq!(JoinToken { uses: 1, ..token() }.state(at(0)).as_str(), "used up");
        let bound = JoinToken { cluster_name: Some("eu-1".to_owned()), ..token() };
        assert!(
            bound.is_valid_for("eu-1", at(0))
                && !bound.is_valid_for("eu-10", at(0))
                && !bound.is_valid_for("eu", at(0))
        );
    }

    #[test]
    fn an_existing_cluster_is_taken_over_automatically_only_with_a_token_for_its_name() {
        assert!(token().can_auto_accept("eu-1", false) && !token().can_auto_accept("eu-1", true));
        let bound = JoinToken { cluster_name: Some("eu-1".to_owned()), ..token() };
        assert!(bound.can_auto_accept("eu-1", true));
        assert!(!JoinToken { auto_accept: false, ..bound }.can_auto_accept("eu-1", true));
    }

    #[test]
    fn a_new_token_has_limits() {
        assert!(NewJoinToken::default().check().is_empty());
        let wrong = [
            NewJoinToken { minutes: 0, ..NewJoinToken::default() },
            NewJoinToken { minutes: MAX_TOKEN_MINUTES + 1, ..NewJoinToken::default() },
            NewJoinToken { max_uses: 0, ..NewJoinToken::default() },
            NewJoinToken { cluster_name: Some("No".to_owned()), ..NewJoinToken::default() },
            NewJoinToken { cluster_name: Some("eu".to_owned()), max_uses: 2, ..NewJoinToken::default() },
        ];
        for wrong in wrong {
            assert_eq!(wrong.check().len(), 1, "{wrong:?}");
        }
    }
}
