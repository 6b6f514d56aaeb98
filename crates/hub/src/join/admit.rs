//! Who is this? The answer is taken from the certificate and the table of identities, never from a message.

use std::time::Duration;

use domain::ClusterId;
use domain::event::{EventKind, NewEvent};
use sha2::{Digest as _, Sha256};
use store::Tx;

use super::AgentId;
use crate::hub::Done;
use crate::{Error, Hub};

const STRANGER: Error =
    Error::Unauthenticated("This certificate does not speak for any cluster, or no longer.");
/// How often a long request looks whether its certificate still holds, if nobody tells it to.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Longest version text kept of an agent.
const LONGEST_VERSION: usize = 64;

/// What is read of a certificate.
struct Claim {
    cluster: ClusterId,
    serial: String,
    fingerprint: String,
}

impl Claim {
    /// Reads a certificate in DER whose signature was checked during the handshake.
    fn read(der: &[u8]) -> Option<Self> {
        let (rest, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let mut names = certificate.subject().iter_common_name();
        let (name, none) = (names.next()?, names.next());
        let cluster = name.as_str().ok()?.parse().ok()?;
        let fingerprint = hex::encode(Sha256::digest(certificate.public_key().raw));
        none.is_none().then(|| Self { cluster, serial: hex::encode(certificate.raw_serial()), fingerprint })
    }
}

impl Hub {
    /// Who holds this certificate (DER, its chain already checked).
    pub async fn agent_admit(&self, certificate: &[u8]) -> Result<AgentId, Error> {
        let claim = Claim::read(certificate).ok_or(STRANGER)?;
        let mut tx = self.read().await?;
        let known = store::identity::get(&mut tx, &claim.serial).await?.ok_or(STRANGER)?;
        if known.cluster != claim.cluster || known.fingerprint != claim.fingerprint {
            tracing::warn!(serial = claim.serial, "a certificate is not the one that was given out");
            return Err(STRANGER);
        }
        let agent = AgentId { cluster: claim.cluster, serial: claim.serial };
        self.admitted(&mut tx, &agent).await?;
        Ok(agent)
    }

    /// Whether its certificate still holds.
    pub(super) async fn admitted(&self, tx: &mut Tx, agent: &AgentId) -> Result<(), Error> {
        let known = store::identity::get(tx, &agent.serial).await?;
        let now = self.clock().now();
        let holds = known.is_some_and(|known| known.revoked_at.is_none() && now < known.not_after);
        if holds { Ok(()) } else { Err(STRANGER) }
    }

    /// Refuses an agent whose certificate no longer holds: asked again before what took long is answered.
    pub async fn agent_check(&self, agent: &AgentId) -> Result<(), Error> {
        let mut tx = self.read().await?;
        self.admitted(&mut tx, agent).await
    }

    /// Ends when the certificate no longer holds: what is answered for long is cut off then.
    pub async fn agent_until_revoked(&self, agent: &AgentId) -> Error {
        let mut told = self.live().wants_of(agent.cluster);
        loop {
            told.borrow_and_update();
            if let Err(error @ Error::Unauthenticated(_)) = self.agent_check(agent).await {
                return error;
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, told.changed()).await;
        }
    }

    /// An agent with this version begins; see [`Hub::agent_begin`]. Returns the incarnation and the lease in seconds.
    pub async fn agent_join(&self, cluster: ClusterId, version: &str) -> Result<(i64, u32), Error> {
        let version: String = version.chars().filter(|c| !c.is_control()).take(LONGEST_VERSION).collect();
        let incarnation = self.agent_begin(cluster).await?;
        let mut tx = self.write().await?;
        let found = store::cluster::by_id(&mut tx, cluster).await?;
        let found = found.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        let mut done = Done::default();
        if store::identity::joined(&mut tx, cluster, &version, self.clock().now()).await? {
            let message = format!("The agent of cluster {} has come, version {version}.", found.name);
            let event =
                NewEvent::new(EventKind::ClusterJoined, "agent", message).cluster(cluster, &found.name);
            done.events.push(event);
        }
        self.commit(tx, done).await?;
        Ok((incarnation, found.lease_seconds))
    }
}
