//! The agent of a cluster: the stages in which it joined, and the certificate by which it authenticates.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::onboarding::{OnboardingRecords, OnboardingStage, OnboardingStageName, evaluate_onboarding};
use crate::kubernetes::time::Timestamp;

/// Whether the certificate of an agent is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum CertificateState {
    /// It is valid.
    Valid,
    /// It is valid, but the agent should have renewed it by now.
    RenewalOverdue,
    /// It has expired: the agent can't connect.
    Expired,
    /// It was revoked: the agent can't connect.
    Revoked,
}

impl CertificateState {
    /// The name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the agent can connect with it.
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid | Self::RenewalOverdue)
    }
}

/// The certificate of an agent, without the certificate itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterCertificate {
    /// Its serial number, in hex.
    pub serial: String,
    /// SHA-256 of its public key, in hex.
    pub fingerprint: String,
    /// Whether it is valid, at the time of the response.
    pub state: CertificateState,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When its agent renews it, with a new key; earlier or later by a twentieth of its lifetime.
    pub renewal_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl ClusterCertificate {
    /// The certificate with this serial number and key.
    pub fn new(serial: String, fingerprint: String, validity: CertificateValidity, now: Timestamp) -> Self {
        let CertificateValidity { issued_at, expires_at, revoked_at } = validity;
        Self {
            serial,
            fingerprint,
            state: validity.state(now),
            issued_at,
            renewal_at: certificate_renewal_at(issued_at, expires_at),
            expires_at,
            revoked_at,
        }
    }

    /// What a user can do about its state; empty if nothing is necessary.
    pub const fn hint(&self) -> &'static str {
        match self.state {
            CertificateState::Valid => "",
            CertificateState::RenewalOverdue => {
                "Check the log of its agent for the error of the renewal: \
                 kubectl -n flotilla-agent logs deployment/flotilla-agent."
            }
            CertificateState::Expired | CertificateState::Revoked => {
                "Generate new manifests, apply them, and accept the agent."
            }
        }
    }
}

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateValidity {
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl CertificateValidity {
    fn state(&self, now: Timestamp) -> CertificateState {
        let lifetime = self.expires_at.millis_since(self.issued_at);
        // A renewal begins up to a twentieth of the lifetime later than `renewal_at`.
        let overdue_at = self.issued_at.plus_millis(lifetime - lifetime / 4);
        if self.revoked_at.is_some() {
            CertificateState::Revoked
        } else if now >= self.expires_at {
            CertificateState::Expired
        } else if now > overdue_at {
            CertificateState::RenewalOverdue
        } else {
            CertificateState::Valid
        }
    }
}

/// When an agent renews a certificate: after two thirds of its lifetime.
pub const fn certificate_renewal_at(issued_at: Timestamp, expires_at: Timestamp) -> Timestamp {
    issued_at.plus_millis(expires_at.millis_since(issued_at) * 2 / 3)
}

/// The agent of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterAgent {
    /// The version that it reported; empty before it has connected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The stages in which it joined; empty if its registration is no longer stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<OnboardingStage>,
    /// Its newest certificate; omitted if none is stored: before the first is issued, and 30 days after the last has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<ClusterCertificate>,
}

/// The agent of the cluster of this name, from the records of its own registration. Those of a later join token are not part of them:
/// it is not known yet who uses it.
pub fn evaluate_cluster_agent(
    name: &str,
    records: OnboardingRecords,
    certificate: Option<ClusterCertificate>,
    now: Timestamp,
) -> ClusterAgent {
    let version = records.joining.as_ref().map(|joining| joining.agent_version.clone()).unwrap_or_default();
    if records.registration.is_none() {
        return ClusterAgent { version, stages: Vec::new(), certificate };
    }
    let has_token = records.token.is_some();
    let mut stages = evaluate_onboarding(name, records, now).stages;
    let generated =
        stages.iter_mut().find(|stage| stage.name == OnboardingStageName::ManifestsGenerated && !has_token);
    if let Some(generated) = generated {
        "its join token is no longer stored".clone_into(&mut generated.message);
    }
    ClusterAgent { version, stages, certificate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::JoinTokenId;
    use crate::model::cluster::ClusterFacts;
    use crate::model::join::{JoinStatus, OnboardingState, Registration, RegistrationState};

    const fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_certificate_is_valid_until_its_renewal_is_overdue_it_expires_or_is_revoked() {
        let state = |revoked_at, now| {
            let validity = CertificateValidity { issued_at: at(0), expires_at: at(60), revoked_at };
            let certificate = ClusterCertificate::new("1".to_owned(), "key".to_owned(), validity, at(now));
            assert_eq!(certificate.renewal_at, at(40));
            assert_eq!(certificate.hint().is_empty(), certificate.state == CertificateState::Valid);
            certificate.state
        };
        assert_eq!(state(None, 0), CertificateState::Valid);
        assert_eq!(state(None, 45), CertificateState::Valid, "a renewal has some time");
        assert_eq!(state(None, 46), CertificateState::RenewalOverdue);
        assert_eq!(state(None, 60), CertificateState::Expired);
        assert_eq!(state(Some(at(5)), 10), CertificateState::Revoked);
        assert_eq!(state(Some(at(5)), 90), CertificateState::Revoked);
    }

    #[test]
    fn a_join_whose_records_were_deleted_is_not_described_as_one_that_failed() {
        let joining = JoinStatus { agent_version: "1.2.0".to_owned(), ..JoinStatus::default() };
        let records = OnboardingRecords { joining: Some(joining), ..OnboardingRecords::default() };
        let unknown = evaluate_cluster_agent("eu-1", records.clone(), None, at(50));
        assert_eq!((&*unknown.version, unknown.stages.len()), ("1.2.0", 0));

        let registration = Registration {
            name: "eu-1".to_owned(),
            fingerprint: "ab".repeat(32),
            state: RegistrationState::Accepted,
            token: JoinTokenId::from_parts(1, 1),
            labels: Default::default(),
            facts: ClusterFacts::default(),
            requested_at: at(20),
            cluster: None,
            decided_by: Some("ben".to_owned()),
        };
        let records = OnboardingRecords { registration: Some(registration), ..records };
        let agent = evaluate_cluster_agent("eu-1", records, None, at(50));
        assert_eq!(agent.stages[0].message, "its join token is no longer stored");
        assert_eq!(agent.stages[2].state, OnboardingState::Done);
        assert_eq!(agent.stages[2].message, "by ben");
    }
}
