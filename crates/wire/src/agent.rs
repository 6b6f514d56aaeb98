//! Messages between agent and hub over HTTP, in addition to the desired state and reports of `domain::report`.
//!
//! A message never names its cluster: the hub reads it from the certificate. Either side may be older than the other by
//! some versions (P23): fields are only added, and unknown fields are ignored.

use domain::cluster::ClusterFacts;
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::{ClusterId, JoinTokenId, Timestamp};
use serde::{Deserialize, Serialize};

/// Prefix of every join token, for secret scanners.
const TOKEN_PREFIX: &str = "flj";

/// The parts of a join token's text: its id, its secret, and the fingerprint that identifies the hub.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinTokenParts {
    /// Its id.
    pub id: JoinTokenId,
    /// Its secret.
    pub secret: String,
    /// SHA-256 of the hub's CA certificate, in hex.
    pub authority: String,
}

impl std::fmt::Debug for JoinTokenParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinTokenParts({})", self.id)
    }
}

impl std::fmt::Display for JoinTokenParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{TOKEN_PREFIX}_{}_{}_{}", self.id, self.secret, self.authority)
    }
}

/// Text that is not a join token. The error does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a join token; a join token begins with flj_ and is shown once, when it is created")]
pub struct InvalidJoinToken;

impl std::str::FromStr for JoinTokenParts {
    type Err = InvalidJoinToken;

    fn from_str(text: &str) -> Result<Self, InvalidJoinToken> {
        let mut parts = text.trim().split('_');
        let (head, id, secret, authority) = (parts.next(), parts.next(), parts.next(), parts.next());
        let is_hash = |part: &str| part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let hash = |part: Option<&str>| part.filter(|part| is_hash(part)).map(str::to_owned);
        if head != Some(TOKEN_PREFIX) || parts.next().is_some() {
            return Err(InvalidJoinToken);
        }
        Ok(Self {
            id: id.and_then(|id| id.parse().ok()).ok_or(InvalidJoinToken)?,
            secret: hash(secret).ok_or(InvalidJoinToken)?,
            authority: hash(authority).ok_or(InvalidJoinToken)?,
        })
    }
}

/// Registration of an agent; repeated with the same key, it returns the current state of the registration.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterRequest {
    /// The whole join token.
    pub token: String,
    /// The name of the cluster.
    pub name: String,
    /// A certificate signing request, as PEM. Only its public key is used.
    pub csr: String,
    /// Facts of the cluster.
    #[serde(default)]
    pub facts: ClusterFacts,
}

/// State of a registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum RegisterResponse {
    /// A person has to accept it; the agent polls.
    #[serde(rename_all = "camelCase")]
    Pending {
        /// SHA-256 of its public key, for that person to compare.
        fingerprint: String,
    },
    /// It was accepted.
    Joined(IssuedCertificate),
}

/// A certificate that the hub issued to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuedCertificate {
    /// The cluster that it identifies.
    pub cluster: ClusterId,
    /// The certificate, as PEM.
    pub certificate: String,
    /// The hub's CA certificate, as PEM: from then on the only one that the agent trusts.
    pub authority: String,
    /// When the certificate expires.
    pub not_after: Timestamp,
}

/// Request of a joined agent for a new certificate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewRequest {
    /// A certificate signing request, as PEM.
    pub csr: String,
}

/// Request to start a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRequest {
    /// The agent's version.
    pub version: String,
    /// Capabilities of the agent beyond the first version of this protocol.
    pub capabilities: Vec<String>,
}

/// A started session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionResponse {
    /// Fences the agent's reports: greater than every earlier incarnation of this cluster.
    pub incarnation: i64,
    /// Lease in seconds: the cluster counts as late when it expires; the agent renews it three times in that time.
    pub lease_seconds: u32,
    /// The hub's version.
    pub version: String,
    /// Capabilities of the hub beyond the first version of this protocol.
    pub capabilities: Vec<String>,
}

/// The answer to a request for a Helm release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmittedHelmRelease {
    /// The request.
    pub request: HelmReleaseRequest,
    /// What the cluster has.
    pub reading: HelmReleaseReading,
}

/// A notice on the stream: the current version of the desired state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DesiredStateNotice {
    /// The version.
    pub version: i64,
}

#[cfg(test)]
mod tests {
    use domain::ReleaseId;
    use domain::health::Health;
    use domain::release::SyncStatus;
    use domain::report::{
        DesiredPhase, DesiredRelease, DesiredState, ReleaseReport, ReportBatch, ResourceStatus,
    };
    use domain::workload::{DeletionPolicy, Policies};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_join_token_round_trips_and_other_text_is_rejected() {
        let text = JoinTokenParts {
            id: JoinTokenId::from_parts(1, 2),
            secret: "ab".repeat(32),
            authority: "cd".repeat(32),
        };
        assert_eq!(text.to_string().parse(), Ok(text.clone()));
        assert!(!format!("{text:?}").contains("abab"));
        for wrong in ["", "flj_", "flt_x", &format!("{text}_x"), &text.to_string()[..90], &"flj_".repeat(99)]
        {
            assert!(wrong.parse::<JoinTokenParts>().is_err(), "{wrong}");
        }
    }

    /// Adds a field that no version knows to every object.
    fn add_unknown_fields(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
            Value::Object(fields) => {
                fields.values_mut().for_each(add_unknown_fields);
                fields.insert("colour".to_owned(), json!({"name": "blue"}));
            }
            _ => {}
        }
    }

    /// Asserts that `older`, which has the fields of the first version only, is read as `message`, also when a newer version
    /// adds fields.
    fn assert_versions_agree<T: Serialize + DeserializeOwned>(older: Value, message: &T) {
        let message = serde_json::to_value(message).unwrap();
        let mut newer = message.clone();
        add_unknown_fields(&mut newer);
        assert_ne!(newer, message);
        for received in [&older, &newer] {
            let parsed: T = serde_json::from_value(received.clone()).unwrap_or_else(|error| {
                panic!("{error}: {received:#}");
            });
            assert_eq!(serde_json::to_value(parsed).unwrap(), message, "from {received:#}");
        }
    }

    #[test]
    fn p23_the_hub_reads_messages_of_older_and_newer_agents() {
        assert_versions_agree(json!({}), &SessionRequest::default());
        assert_versions_agree(json!({"csr": "c"}), &RenewRequest { csr: "c".to_owned() });
        let register = RegisterRequest {
            token: "t".to_owned(),
            name: "eu".to_owned(),
            csr: "c".to_owned(),
            facts: ClusterFacts::default(),
        };
        assert_versions_agree(json!({"token": "t", "name": "eu", "csr": "c"}), &register);
        let release = ReleaseId::from_parts(1, 2);
        let object = json!({"version": "v1", "kind": "Namespace", "name": "shop"});
        let resource =
            json!({"ordinal": 0, "object": object, "applied": true, "health": {"status": "Healthy"}});
        let report = json!({"release": release, "generation": 1, "stages": [], "sync": "Synced",
            "health": {"status": "Healthy"}, "resources": [resource], "removed": false});
        let resource = ResourceStatus {
            object: serde_json::from_value(object).unwrap(),
            applied: true,
            health: Health::healthy(),
            ..ResourceStatus::default()
        };
        let parsed = ReleaseReport {
            release,
            generation: 1,
            applied: None,
            stages: Vec::new(),
            sync: SyncStatus::Synced,
            health: Health::healthy(),
            resources: vec![resource],
            drift: Vec::new(),
            drift_omitted: 0,
            removed: false,
        };
        let batch = ReportBatch {
            incarnation: 7,
            seq: 1,
            facts: None,
            schema: None,
            leftovers: None,
            releases: vec![parsed],
        };
        assert_versions_agree(json!({"incarnation": 7, "seq": 1, "releases": [report]}), &batch);
    }

    #[test]
    fn p23_the_agent_reads_messages_of_older_and_newer_hubs() {
        let session = SessionResponse { incarnation: 7, ..SessionResponse::default() };
        assert_versions_agree(json!({"incarnation": 7}), &session);
        assert_versions_agree(json!({"version": 3}), &DesiredStateNotice { version: 3 });
        let pending = RegisterResponse::Pending { fingerprint: "x".to_owned() };
        assert_versions_agree(json!({"state": "pending", "fingerprint": "x"}), &pending);
        let release = ReleaseId::from_parts(1, 2);
        let phase = DesiredPhase::Absent { deletion: DeletionPolicy::Orphan, policies: Policies::default() };
        let desired =
            DesiredRelease { release, workload: "web".to_owned(), generation: 1, sync_nonce: 0, phase };
        let state = DesiredState { version: 3, releases: vec![desired], ..DesiredState::default() };
        let phase = json!({"type": "absent", "deletion": DeletionPolicy::Orphan});
        let desired = json!({"release": release, "workload": "web", "generation": 1, "syncNonce": 0,
            "phase": phase});
        assert_versions_agree(json!({"version": 3, "releases": [desired]}), &state);
    }
}
