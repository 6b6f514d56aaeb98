//! How clusters join: join token, the agent's key, acceptance by a person, certificate (S0-16).
//!
//! A certificate is valid for the cluster in its subject and for no other. It is not sufficient: at every request it must
//! also be in the table of identities, not revoked and not expired.

use domain::cluster::ClusterFacts;
use domain::{ClusterId, JoinTokenId, Timestamp};

mod accept;
mod agent;
mod authenticate;
mod install;
mod issue;
mod onboarding;
mod register;
mod reject;
mod renew;
mod revoke;
mod token;
mod wait;

pub(crate) use agent::load_cluster_agent;
pub use authenticate::read_certificate_cluster;
pub use install::InstallOptions;

/// A new join token; the secret is shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinTokenSecret {
    /// Its id.
    pub id: JoinTokenId,
    /// The secret.
    pub secret: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for JoinTokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinSecret({})", self.id)
    }
}

/// An agent's request to join.
#[derive(Clone)]
pub struct JoinRequest {
    /// The id of its join token.
    pub token: JoinTokenId,
    /// The token's secret.
    pub secret: String,
    /// The requested cluster name.
    pub name: String,
    /// A certificate request, as PEM.
    pub csr: String,
    /// Facts about its cluster.
    pub facts: ClusterFacts,
}

/// The result of an agent's request to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationResult {
    /// A person has to accept it first; the agent repeats the request.
    Pending {
        /// SHA-256 of its public key, for that person to compare.
        fingerprint: String,
    },
    /// It was accepted.
    Certificate(AgentCertificate),
}

/// A certificate for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCertificate {
    /// The cluster it is issued for.
    pub cluster: ClusterId,
    /// The certificate, as PEM.
    pub certificate: String,
    /// When it expires.
    pub not_after: Timestamp,
    /// The lease of the cluster, in seconds.
    pub lease_seconds: u32,
}

/// An agent whose certificate was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedAgent {
    /// Its cluster.
    pub cluster: ClusterId,
    /// The serial number of its certificate.
    pub serial: String,
}
