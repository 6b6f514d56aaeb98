//! Joining: the agent generates a key that never leaves it, presents a join token, and receives a certificate.

use std::time::{Duration, Instant};

use domain::cluster::ClusterFacts;
use domain::{ClusterId, JoinTokenId, Timestamp};
use rcgen::{CertificateParams, KeyPair, PublicKeyData as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wire::agent::{IssuedCertificate, JoinTokenParts, RegisterRequest, RegisterResponse};
use wire::{AgentClient, AgentError};

use crate::backoff::Backoff;
use crate::cache::{CacheError, SharedCache};
use crate::options::AgentOptions;

const IDENTITY_ENTRY: &str = "identity";
/// Polling interval while the registration waits to be accepted.
const PENDING_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// What an agent needs to join.
#[derive(Debug, Clone)]
pub struct JoinConfig {
    /// The hub's URL for agents.
    pub hub: String,
    /// The name of the cluster.
    pub name: String,
    /// The join token.
    pub token: JoinTokenParts,
}

/// The agent's identity, as it is stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentIdentity {
    /// The hub's URL.
    pub hub: String,
    /// The token it joined with: another token makes the agent join again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<JoinTokenId>,
    /// The private key, PKCS #8 as PEM.
    key: String,
    /// The certificate that the hub issued for the key; `None` while the registration is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<StoredCertificate>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCertificate {
    cluster: ClusterId,
    certificate: String,
    authority: String,
    issued_at: Timestamp,
    not_after: Timestamp,
}

impl std::fmt::Debug for AgentIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentIdentity").field("hub", &self.hub).finish_non_exhaustive()
    }
}

/// Why a cluster does not join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no certificate and no join token.
    #[error("this agent has no valid certificate; start it with a join token")]
    NoToken,
    /// The hub rejected the registration.
    #[error("the hub rejected the registration: {0}")]
    Rejected(String),
    /// The hub's certificate authority is not the one in the token.
    #[error(
        "the hub's certificate authority does not match the join token; check --hub, or create a new token"
    )]
    AuthorityMismatch,
    /// The key or certificate can't be stored.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A key can't be generated, or a key or certificate can't be used.
    #[error("a key or certificate can't be used: {0}")]
    Crypto(String),
}

impl AgentIdentity {
    /// Generates a key for this hub.
    fn generate(hub: &str, token: Option<JoinTokenId>) -> Result<Self, JoinError> {
        let key = KeyPair::generate().map_err(crypto_error)?;
        Ok(Self { hub: hub.to_owned(), token, key: key.serialize_pem(), certificate: None })
    }

    /// The stored identity; `None` if there is none or it can't be parsed.
    async fn load(cache: &SharedCache) -> Result<Option<Self>, CacheError> {
        let stored = cache.get(IDENTITY_ENTRY).await?;
        let parse = |bytes: Vec<u8>| {
            let identity = serde_json::from_slice(&bytes);
            identity
                .inspect_err(|_| tracing::warn!("the stored identity can't be parsed and is ignored"))
                .ok()
        };
        Ok(stored.and_then(parse))
    }

    pub(crate) async fn save(&self, cache: &SharedCache) -> Result<(), CacheError> {
        let bytes = serde_json::to_vec(self).map_err(|error| CacheError::new(IDENTITY_ENTRY, &error))?;
        cache.put(IDENTITY_ENTRY, &bytes).await
    }

    /// The cluster of its certificate; `None` while the registration is pending.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.certificate.as_ref().map(|issued| issued.cluster)
    }

    /// Identifies the hub independently of its URL: SHA-256 of the hub's certificate authority, in hex.
    pub fn authority_fingerprint(&self) -> Option<String> {
        self.certificate.as_ref().and_then(|issued| wire::tls::certificate_fingerprint(&issued.authority))
    }

    /// When its certificate was issued and when it expires.
    pub(crate) fn validity(&self) -> Option<(Timestamp, Timestamp)> {
        self.certificate.as_ref().map(|issued| (issued.issued_at, issued.not_after))
    }

    /// A certificate signing request for this key, as PEM.
    fn signing_request(&self) -> Result<String, JoinError> {
        let key = KeyPair::from_pem(&self.key).map_err(crypto_error)?;
        CertificateParams::default().serialize_request(&key).and_then(|csr| csr.pem()).map_err(crypto_error)
    }

    /// A new key for the same hub, and its certificate signing request.
    pub(crate) fn rotate_key(&self) -> Result<(Self, String), JoinError> {
        let next = Self::generate(&self.hub, self.token)?;
        let request = next.signing_request()?;
        Ok((next, request))
    }

    /// SHA-256 of the public key, in hex, for a person to compare.
    fn key_fingerprint(&self) -> Result<String, JoinError> {
        let key = KeyPair::from_pem(&self.key).map_err(crypto_error)?;
        Ok(hex::encode(Sha256::digest(key.subject_public_key_info())))
    }

    pub(crate) fn with_certificate(self, issued: IssuedCertificate, now: Timestamp) -> Self {
        let IssuedCertificate { cluster, certificate, authority, not_after } = issued;
        let given = Some(StoredCertificate { cluster, certificate, authority, issued_at: now, not_after });
        Self { certificate: given, ..self }
    }

    /// A client that authenticates with this certificate.
    ///
    /// # Errors
    /// There is no certificate, or it can't be used.
    pub fn client(&self) -> Result<AgentClient, JoinError> {
        let issued = self.certificate.as_ref().ok_or(JoinError::NoToken)?;
        let tls = wire::tls::identity_config(&issued.authority, &issued.certificate, &self.key)
            .map_err(crypto_error)?;
        AgentClient::new(&self.hub, tls).map_err(crypto_error)
    }

    fn is_valid_at(&self, now: Timestamp) -> bool {
        self.certificate.as_ref().is_some_and(|issued| now < issued.not_after)
    }
}

fn crypto_error(error: impl std::fmt::Display) -> JoinError {
    JoinError::Crypto(error.to_string())
}

/// The stored identity if its certificate is valid; otherwise joins with the token and polls until accepted. The registration
/// contains the version and the location of the cluster, if a client for it is given.
///
/// # Errors
/// There is neither certificate nor token, the hub rejects the registration, or the key can't be stored. A hub that
/// does not answer is retried without limit.
pub async fn join(
    cache: &SharedCache,
    config: Option<&JoinConfig>,
    options: &AgentOptions,
    cluster: Option<kube::Client>,
) -> Result<AgentIdentity, JoinError> {
    let now = || (options.engine.clock)();
    let stored = AgentIdentity::load(cache).await?;
    let Some(config) = config else {
        // Also an expired one: the hub will reject it, but the agent still applies the last desired state.
        return stored.filter(|identity| identity.certificate.is_some()).ok_or(JoinError::NoToken);
    };
    let stored = stored.filter(|identity| identity.hub == config.hub);
    let stored = stored.filter(|identity| identity.token == Some(config.token.id));
    if let Some(valid) = stored.as_ref().filter(|identity| identity.is_valid_at(now())) {
        return Ok(valid.clone());
    }
    let pending = stored.filter(|identity| identity.certificate.is_none());
    let identity = match pending {
        Some(pending) => pending,
        None => {
            // Stored before it is sent, so that an agent that crashed registers again with the same key.
            let identity = AgentIdentity::generate(&config.hub, Some(config.token.id))?;
            identity.save(cache).await?;
            identity
        }
    };
    let facts = match cluster {
        Some(client) => engine::read_registration_facts(client, &options.engine).await,
        None => ClusterFacts::default(),
    };
    let issued = request_certificate(&identity, (config, facts), options).await?;
    if wire::tls::certificate_fingerprint(&issued.authority).as_deref() != Some(&config.token.authority) {
        return Err(JoinError::AuthorityMismatch);
    }
    let joined = identity.with_certificate(issued, now());
    joined.client()?;
    joined.save(cache).await?;
    Ok(joined)
}

async fn request_certificate(
    identity: &AgentIdentity,
    (config, facts): (&JoinConfig, ClusterFacts),
    options: &AgentOptions,
) -> Result<IssuedCertificate, JoinError> {
    let tls = wire::tls::pinned_config(&config.token.authority).map_err(crypto_error)?;
    let client = AgentClient::new(&config.hub, tls).map_err(crypto_error)?;
    let register = RegisterRequest {
        token: config.token.to_string(),
        name: config.name.clone(),
        csr: identity.signing_request()?,
        facts,
    };
    tracing::info!(key = identity.key_fingerprint()?, name = config.name, "registering with the hub");
    let mut backoff = Backoff::new(options);
    loop {
        let requested_at = Instant::now();
        let delay = match client.register(&register).await {
            Ok(RegisterResponse::Joined(issued)) => return Ok(issued),
            Ok(RegisterResponse::Pending { fingerprint }) => {
                tracing::info!(
                    key = fingerprint,
                    "the registration waits to be accepted (`flotilla cluster accept`)"
                );
                backoff.reset();
                // The hub delays its response; an earlier version of it does not.
                PENDING_POLL_INTERVAL.min(options.retry_max_delay).saturating_sub(requested_at.elapsed())
            }
            Err(AgentError { error, retry_after: None }) if is_permanent(&error) => {
                return Err(JoinError::Rejected(error.to_string()));
            }
            Err(AgentError { error, retry_after }) => {
                tracing::warn!(%error, "the registration failed and will be retried");
                backoff.next_delay().max(retry_after.unwrap_or_default())
            }
        };
        tokio::time::sleep(delay).await;
    }
}

/// Whether a retry can't succeed.
fn is_permanent(error: &wire::Error) -> bool {
    let status = error.problem().map(|problem| problem.status);
    matches!(status, Some(400..=428))
}
