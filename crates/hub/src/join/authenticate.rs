//! Authentication of agents: by certificate and the table of identities, never by the content of a message.

use std::time::Duration;

use domain::ClusterId;
use domain::event::{EventDetail, EventSubject, NewEvent};
use sha2::{Digest as _, Sha256};
use store::Tx;

use super::AuthenticatedAgent;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

const NOT_AUTHENTICATED: Error = Error::Unauthenticated(
    "This certificate is not valid for any cluster, or it was revoked or has expired.",
);
/// How often a long-lived request checks its certificate again without a notice.
const RECHECK_EVERY: Duration = Duration::from_secs(30);
/// Maximum length of an agent's version text.
const MAX_VERSION_CHARS: usize = 64;

/// The fields of a certificate that are checked.
struct CertificateClaims {
    cluster: ClusterId,
    serial: String,
    fingerprint: String,
}

impl CertificateClaims {
    /// Parses a certificate in DER; the TLS handshake checked its signature.
    fn from_der(der: &[u8]) -> Option<Self> {
        let (rest, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let mut names = certificate.subject().iter_common_name();
        let (name, second) = (names.next()?, names.next());
        let cluster = name.as_str().ok()?.parse().ok()?;
        let fingerprint = hex::encode(Sha256::digest(certificate.public_key().raw));
        second.is_none().then(|| Self { cluster, serial: hex::encode(certificate.raw_serial()), fingerprint })
    }
}

/// The cluster that a certificate (DER, chain already verified) names. It says nothing about whether the certificate is
/// valid now: [`Hub::authenticate_agent`] does.
pub fn read_certificate_cluster(der: &[u8]) -> Option<ClusterId> {
    CertificateClaims::from_der(der).map(|claims| claims.cluster)
}

impl Hub {
    /// The agent that holds this certificate (DER, chain already verified).
    pub async fn authenticate_agent(&self, certificate: &[u8]) -> Result<AuthenticatedAgent, Error> {
        let claim = CertificateClaims::from_der(certificate).ok_or(NOT_AUTHENTICATED)?;
        let mut tx = self.read().await?;
        let known = store::certificate::get(&mut tx, &claim.serial).await?.ok_or(NOT_AUTHENTICATED)?;
        if known.cluster != claim.cluster || known.fingerprint != claim.fingerprint {
            tracing::warn!(
                serial = claim.serial,
                "the certificate differs from the one that was issued with this serial number"
            );
            return Err(NOT_AUTHENTICATED);
        }
        let agent = AuthenticatedAgent { cluster: claim.cluster, serial: claim.serial };
        self.check_identity(&mut tx, &agent).await?;
        Ok(agent)
    }

    /// Fails unless the agent's certificate is known, not revoked and not expired.
    pub(super) async fn check_identity(&self, tx: &mut Tx, agent: &AuthenticatedAgent) -> Result<(), Error> {
        let known = store::certificate::get(tx, &agent.serial).await?;
        let now = self.clock().now();
        let is_valid = known.is_some_and(|known| known.revoked_at.is_none() && now < known.not_after);
        if is_valid { Ok(()) } else { Err(NOT_AUTHENTICATED) }
    }

    /// Rejects an agent whose certificate is no longer valid; called again before a long-lived request is answered.
    pub async fn verify_agent(&self, agent: &AuthenticatedAgent) -> Result<(), Error> {
        let mut tx = self.read().await?;
        self.check_identity(&mut tx, agent).await
    }

    /// Returns when the certificate is no longer valid, to end a long-lived response.
    pub async fn wait_until_agent_revoked(&self, agent: &AuthenticatedAgent) -> Error {
        let mut changes = self.live().subscribe_desired_state(agent.cluster);
        loop {
            changes.borrow_and_update();
            if let Err(error @ Error::Unauthenticated(_)) = self.verify_agent(agent).await {
                return error;
            }
            let _ = tokio::time::timeout(RECHECK_EVERY, changes.changed()).await;
        }
    }

    /// Starts a session of an agent with this version; see [`Hub::begin_agent_incarnation`]. Returns the incarnation and the lease in seconds.
    pub async fn start_agent_session(&self, cluster: ClusterId, version: &str) -> Result<(i64, u32), Error> {
        let version: String = version.chars().filter(|c| !c.is_control()).take(MAX_VERSION_CHARS).collect();
        let incarnation = self.begin_agent_incarnation(cluster).await?;
        let mut tx = self.write().await?;
        let found = store::cluster::get_by_id(&mut tx, cluster).await?;
        let found = found.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        let mut effects = CommitEffects::default();
        let now = self.clock().now();
        if store::certificate::record_join(&mut tx, cluster, &version, now).await? {
            let subject = EventSubject::cluster(cluster, &found.name);
            let detail = EventDetail::AgentConnected { version };
            effects.events.push(NewEvent::from_detail(detail, "agent", subject, now));
        }
        self.commit(tx, effects).await?;
        Ok((incarnation, found.lease_seconds))
    }
}
