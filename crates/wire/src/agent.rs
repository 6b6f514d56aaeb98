//! What agent and hub say to each other over HTTP, besides the wants and reports of `domain::report`.
//!
//! The cluster is never in a message: the hub takes it from the certificate. Either side may be older than the other by
//! some versions (P23): fields are only ever added, and what a side does not know it ignores.

use domain::cluster::ClusterFacts;
use domain::{ClusterId, JoinTokenId, Timestamp};
use serde::{Deserialize, Serialize};

/// Head of every join token, so that secret scanners know it.
const HEAD: &str = "flj";

/// The text of a join token: which one, its secret, and by what to know the hub.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinTokenText {
    /// Its id.
    pub id: JoinTokenId,
    /// Its secret.
    pub secret: String,
    /// SHA-256 of the certificate of the hub's authority, in hex.
    pub authority: String,
}

impl std::fmt::Debug for JoinTokenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinTokenText({})", self.id)
    }
}

impl std::fmt::Display for JoinTokenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{HEAD}_{}_{}_{}", self.id, self.secret, self.authority)
    }
}

/// Text that is no join token. Does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no join token; it begins with flj_ and was shown once, when it was made")]
pub struct NotAJoinToken;

impl std::str::FromStr for JoinTokenText {
    type Err = NotAJoinToken;

    fn from_str(text: &str) -> Result<Self, NotAJoinToken> {
        let mut parts = text.trim().split('_');
        let (head, id, secret, authority) = (parts.next(), parts.next(), parts.next(), parts.next());
        let is_hash = |part: &str| part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let hash = |part: Option<&str>| part.filter(|part| is_hash(part)).map(str::to_owned);
        if head != Some(HEAD) || parts.next().is_some() {
            return Err(NotAJoinToken);
        }
        Ok(Self {
            id: id.and_then(|id| id.parse().ok()).ok_or(NotAJoinToken)?,
            secret: hash(secret).ok_or(NotAJoinToken)?,
            authority: hash(authority).ok_or(NotAJoinToken)?,
        })
    }
}

/// An agent asks to join; asked again with the same key, it is told how far it is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Register {
    /// The whole join token.
    pub token: String,
    /// The name the cluster should have.
    pub name: String,
    /// A certificate request, as PEM. Only its public key counts.
    pub csr: String,
    /// What is known of the cluster.
    #[serde(default)]
    pub facts: ClusterFacts,
}

/// How far the agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Registered {
    /// A person has to accept it; ask again later.
    #[serde(rename_all = "camelCase")]
    Pending {
        /// SHA-256 of its public key, for that person to compare.
        fingerprint: String,
    },
    /// It is in.
    Joined(Issued),
}

/// A certificate that was given out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issued {
    /// The cluster it speaks for.
    pub cluster: ClusterId,
    /// The certificate, as PEM.
    pub certificate: String,
    /// The certificate of the hub's authority, as PEM: from now on the only one to be trusted.
    pub authority: String,
    /// When the certificate ends.
    pub not_after: Timestamp,
}

/// An agent that is in asks for a new certificate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renew {
    /// A certificate request, as PEM.
    pub csr: String,
}

/// An agent begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Begin {
    /// Its version.
    pub version: String,
    /// What it can do beyond the first version of this protocol.
    pub capabilities: Vec<String>,
}

/// What the hub answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Begun {
    /// Fences its reports: greater than any given to this cluster before.
    pub incarnation: i64,
    /// How long the cluster may be silent before it counts as late, in seconds; the agent beats thrice in that time.
    pub lease_seconds: u32,
    /// The hub's version.
    pub version: String,
    /// What the hub can do beyond the first version of this protocol.
    pub capabilities: Vec<String>,
}

/// A notice on the stream: the list of wants has this version now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WantsNotice {
    /// The version.
    pub version: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_token_reads_back_and_nothing_else_does() {
        let text = JoinTokenText {
            id: JoinTokenId::from_parts(1, 2),
            secret: "ab".repeat(32),
            authority: "cd".repeat(32),
        };
        assert_eq!(text.to_string().parse(), Ok(text.clone()));
        assert!(!format!("{text:?}").contains("abab"));
        for wrong in ["", "flj_", "flt_x", &format!("{text}_x"), &text.to_string()[..90], &"flj_".repeat(99)]
        {
            assert!(wrong.parse::<JoinTokenText>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn p23_an_older_or_newer_side_is_understood() {
        let begun: Begun = serde_json::from_str(r#"{"incarnation":7,"colour":"blue"}"#).unwrap();
        assert_eq!((begun.incarnation, begun.lease_seconds), (7, 0));
        assert_eq!(serde_json::from_str::<Begin>("{}").unwrap(), Begin::default());
        let pending = r#"{"state":"pending","fingerprint":"x","position":3}"#;
        assert_eq!(
            serde_json::from_str::<Registered>(pending).unwrap(),
            Registered::Pending { fingerprint: "x".to_owned() }
        );
    }
}
