//! Joining: a key made here that never leaves, a token that a person gave, and in the end a certificate.

use std::time::Duration;

use domain::{ClusterId, JoinTokenId, Timestamp};
use rcgen::{CertificateParams, KeyPair, PublicKeyData as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wire::agent::{Issued, JoinTokenText, Register, Registered};
use wire::{AgentClient, AgentError};

use crate::connect::Backoff;
use crate::keep::{KeepError, Keeper};
use crate::run::Options;

const NAME: &str = "identity";
/// How often an agent that waits for a person asks again.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// With what a cluster joins.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// The hub's address for agents.
    pub hub: String,
    /// The name the cluster should have.
    pub name: String,
    /// The token.
    pub token: JoinTokenText,
}

/// Who the agent is, as it is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The hub's address.
    pub hub: String,
    /// The token it asked to join with: another token is a reason to join anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<JoinTokenId>,
    /// The private key, PKCS #8 as PEM.
    key: String,
    /// What the hub gave out for it; nothing while the agent still asks to join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<Given>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    cluster: ClusterId,
    certificate: String,
    authority: String,
    since: Timestamp,
    not_after: Timestamp,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("hub", &self.hub).finish_non_exhaustive()
    }
}

/// Why a cluster does not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no certificate, and no token to get one with.
    #[error("this agent has no certificate that holds: give it a join token")]
    NoToken,
    /// The hub said no.
    #[error("the hub says no: {0}")]
    Refused(String),
    /// The hub showed an authority that the token does not name.
    #[error("the hub's authority is not the one that the join token names")]
    OtherAuthority,
    /// Key or certificate can't be kept.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// A key can't be made or used.
    #[error("a key or certificate can't be used: {0}")]
    Crypto(String),
}

impl Identity {
    /// A new key for this hub.
    fn make(hub: &str, token: Option<JoinTokenId>) -> Result<Self, JoinError> {
        let key = KeyPair::generate().map_err(crypto)?;
        Ok(Self { hub: hub.to_owned(), token, key: key.serialize_pem(), given: None })
    }

    /// What was kept, if it can be read.
    async fn load(keeper: &Keeper) -> Result<Option<Self>, KeepError> {
        let kept = keeper.get(NAME).await?;
        let read = |bytes: Vec<u8>| {
            let read = serde_json::from_slice(&bytes);
            read.inspect_err(|_| tracing::warn!("the kept identity can't be read; a new one is made")).ok()
        };
        Ok(kept.and_then(read))
    }

    pub(crate) async fn save(&self, keeper: &Keeper) -> Result<(), KeepError> {
        let bytes = serde_json::to_vec(self).map_err(|error| KeepError::new(NAME, &error))?;
        keeper.put(NAME, &bytes).await
    }

    /// The cluster it speaks for; `None` while it still asks to join.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.given.as_ref().map(|given| given.cluster)
    }

    /// By what its hub is known, wherever it is dialled: SHA-256 of the hub's authority, in hex.
    pub fn authority(&self) -> Option<String> {
        self.given.as_ref().and_then(|given| wire::tls::fingerprint(&given.authority))
    }

    /// When its certificate was given and when it ends.
    pub(crate) fn life(&self) -> Option<(Timestamp, Timestamp)> {
        self.given.as_ref().map(|given| (given.since, given.not_after))
    }

    /// A request to sign this key, as PEM.
    fn request(&self) -> Result<String, JoinError> {
        let key = KeyPair::from_pem(&self.key).map_err(crypto)?;
        CertificateParams::default().serialize_request(&key).and_then(|csr| csr.pem()).map_err(crypto)
    }

    /// A new key for the same hub, and the request to sign it.
    pub(crate) fn successor(&self) -> Result<(Self, String), JoinError> {
        let next = Self::make(&self.hub, self.token)?;
        let request = next.request()?;
        Ok((next, request))
    }

    /// SHA-256 of the public key, in hex: what a person compares.
    fn fingerprint(&self) -> Result<String, JoinError> {
        let key = KeyPair::from_pem(&self.key).map_err(crypto)?;
        Ok(hex::encode(Sha256::digest(key.subject_public_key_info())))
    }

    pub(crate) fn given(self, issued: Issued, now: Timestamp) -> Self {
        let Issued { cluster, certificate, authority, not_after } = issued;
        let given = Some(Given { cluster, certificate, authority, since: now, not_after });
        Self { given, ..self }
    }

    /// A client in the name of this certificate.
    ///
    /// # Errors
    /// There is none, or it can't be used.
    pub fn client(&self) -> Result<AgentClient, JoinError> {
        let given = self.given.as_ref().ok_or(JoinError::NoToken)?;
        let tls =
            wire::tls::with_identity(&given.authority, &given.certificate, &self.key).map_err(crypto)?;
        AgentClient::new(&self.hub, tls).map_err(crypto)
    }

    fn holds(&self, now: Timestamp) -> bool {
        self.given.as_ref().is_some_and(|given| now < given.not_after)
    }
}

fn crypto(error: impl std::fmt::Display) -> JoinError {
    JoinError::Crypto(error.to_string())
}

/// The kept identity while its certificate holds; otherwise joins with the invitation, and asks until it is accepted.
///
/// # Errors
/// There is nothing to join with, the hub says no, or the key can't be kept. A hub that does not answer is asked for ever.
pub async fn join(
    keeper: &Keeper,
    invitation: Option<&Invitation>,
    options: &Options,
) -> Result<Identity, JoinError> {
    let now = || (options.engine.clock)();
    let kept = Identity::load(keeper).await?;
    let Some(invitation) = invitation else {
        // Also one that is over: the hub will not answer, but the cluster is kept as it was wanted last.
        return kept.filter(|kept| kept.given.is_some()).ok_or(JoinError::NoToken);
    };
    let kept = kept.filter(|kept| kept.hub == invitation.hub && kept.token == Some(invitation.token.id));
    if let Some(kept) = kept.as_ref().filter(|kept| kept.holds(now())) {
        return Ok(kept.clone());
    }
    let asking = kept.filter(|kept| kept.given.is_none());
    let identity = match asking {
        Some(asking) => asking,
        None => {
            // Kept before it is shown to anybody: asked again after a crash, it is the same key.
            let made = Identity::make(&invitation.hub, Some(invitation.token.id))?;
            made.save(keeper).await?;
            made
        }
    };
    let issued = ask(&identity, invitation, options).await?;
    if wire::tls::fingerprint(&issued.authority).as_deref() != Some(&invitation.token.authority) {
        return Err(JoinError::OtherAuthority);
    }
    let joined = identity.given(issued, now());
    joined.client()?;
    joined.save(keeper).await?;
    Ok(joined)
}

async fn ask(identity: &Identity, invitation: &Invitation, options: &Options) -> Result<Issued, JoinError> {
    let tls = wire::tls::pinned(&invitation.token.authority).map_err(crypto)?;
    let client = AgentClient::new(&invitation.hub, tls).map_err(crypto)?;
    let register = Register {
        token: invitation.token.to_string(),
        name: invitation.name.clone(),
        csr: identity.request()?,
        facts: domain::cluster::ClusterFacts::default(),
    };
    tracing::info!(key = identity.fingerprint()?, name = invitation.name, "asking to join");
    let mut backoff = Backoff::new(options);
    loop {
        let delay = match client.register(&register).await {
            Ok(Registered::Joined(issued)) => return Ok(issued),
            Ok(Registered::Pending { fingerprint }) => {
                tracing::info!(key = fingerprint, "a person has to accept this cluster");
                backoff.reset();
                ASK_AGAIN.min(options.retry_max)
            }
            Err(AgentError { error, retry_after: None }) if is_final(&error) => {
                return Err(JoinError::Refused(error.to_string()));
            }
            Err(AgentError { error, retry_after }) => {
                tracing::warn!(%error, "the hub does not let this cluster join now");
                backoff.delay().max(retry_after.unwrap_or_default())
            }
        };
        tokio::time::sleep(delay).await;
    }
}

/// Whether asking again can't help.
fn is_final(error: &wire::Error) -> bool {
    let status = error.problem().map(|problem| problem.status);
    matches!(status, Some(400..=428))
}
