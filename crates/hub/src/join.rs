//! How clusters join: a token that a person makes, a key that the agent makes, a person's word, a certificate (S0-16).
//!
//! Whoever holds a certificate speaks for the cluster that is written in it and for no other. The certificate itself is
//! not enough: it must stand in the table of identities, not revoked and not over, at every request.

use domain::cluster::ClusterFacts;
use domain::{ClusterId, JoinTokenId, Timestamp};

mod accept;
mod admit;
mod install;
mod issue;
mod register;
mod reject;
mod renew;
mod revoke;
mod token;

pub use install::Install;

/// A new join token; the secret is shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinSecret {
    /// Its id.
    pub id: JoinTokenId,
    /// The secret.
    pub secret: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for JoinSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JoinSecret({})", self.id)
    }
}

/// What an agent says that wants to join.
#[derive(Clone)]
pub struct JoinRequest {
    /// The token it was given.
    pub token: JoinTokenId,
    /// The token's secret.
    pub secret: String,
    /// The name it wants to have.
    pub name: String,
    /// A certificate request, as PEM.
    pub csr: String,
    /// What it found out about its cluster.
    pub facts: ClusterFacts,
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// A person has to accept it first; it asks again.
    Pending {
        /// SHA-256 of its public key, to be compared by that person.
        fingerprint: String,
    },
    /// It is in.
    Certificate(AgentCertificate),
}

/// A certificate for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCertificate {
    /// The cluster it speaks for.
    pub cluster: ClusterId,
    /// The certificate, as PEM.
    pub certificate: String,
    /// When it ends.
    pub not_after: Timestamp,
    /// The lease of the cluster, in seconds.
    pub lease_seconds: u32,
}

/// An agent whose certificate was found good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentId {
    /// The cluster it speaks for.
    pub cluster: ClusterId,
    /// The serial number of its certificate.
    pub serial: String,
}
