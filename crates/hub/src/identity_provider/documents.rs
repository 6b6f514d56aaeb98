//! What providers publish: the discovery document and the keys, in memory for ten minutes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use domain::Timestamp;
use domain::identity_provider::SignInFailure;
use futures::future::BoxFuture;
use identity::{KeySet, ProviderMetadata, TokenError, discovery_url, parse_json};
use parking_lot::Mutex;
use serde_json::Value;

use crate::Hub;

/// How long documents are used, in milliseconds.
const DOCUMENT_MILLIS: i64 = 10 * 60_000;
/// Pause between two reads of the keys because of a key that is not known, in milliseconds: anyone can send tokens.
const KEY_PAUSE_MILLIS: i64 = 60_000;
/// Pause after a read that failed, in milliseconds.
const FAILURE_PAUSE_MILLIS: i64 = 5_000;

/// A request to a provider.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct IdentityRequest {
    /// Where to.
    pub url: String,
    /// The value of the header `Authorization`, which is a secret.
    pub authorization: Option<String>,
    /// The form of a `POST`; `None` for a `GET`. It may contain secrets.
    pub form: Option<String>,
}

/// The response of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityResponse {
    /// The status.
    pub status: u16,
    /// The body, at most [`identity::MAX_DOCUMENT_BYTES`].
    pub body: Vec<u8>,
}

/// Sends requests to providers. The server implements it; tests replace it.
pub trait IdentityFetcher: Send + Sync {
    /// Sends a request. No redirect is followed.
    ///
    /// # Errors
    /// There is no response, or the address may not be connected to: a sentence for the log that contains no secret.
    fn fetch(&self, request: IdentityRequest) -> BoxFuture<'_, Result<IdentityResponse, String>>;
}

/// What a provider publishes.
pub(super) struct ProviderDocuments {
    pub metadata: ProviderMetadata,
    pub keys: KeySet,
    read_at: Timestamp,
    keys_read_at: Timestamp,
}

/// The documents of one issuer, and when they may be read again after a failure.
#[derive(Default)]
struct ProviderSlot {
    documents: Option<Arc<ProviderDocuments>>,
    retry_at: Timestamp,
}

/// How this server reads providers, and what it has read.
#[derive(Default)]
pub(crate) struct ProviderDirectory {
    fetcher: OnceLock<Box<dyn IdentityFetcher>>,
    /// By issuer; a slot is locked while its documents are read.
    slots: Mutex<HashMap<String, Arc<tokio::sync::Mutex<ProviderSlot>>>>,
}

impl ProviderDirectory {
    fn slot(&self, issuer: &str) -> Arc<tokio::sync::Mutex<ProviderSlot>> {
        self.slots.lock().entry(issuer.to_owned()).or_default().clone()
    }
}

impl Hub {
    /// Sets what sends requests to identity providers. Without it, nobody can sign in with one.
    pub fn set_identity_fetcher(&self, fetcher: impl IdentityFetcher + 'static) {
        if self.provider_directory().fetcher.set(Box::new(fetcher)).is_err() {
            tracing::warn!("the client of identity providers was set before; the first one is used");
        }
    }

    /// Sends a request to a provider.
    pub(super) async fn fetch_identity(
        &self,
        request: IdentityRequest,
    ) -> Result<IdentityResponse, SignInFailure> {
        let Some(fetcher) = self.provider_directory().fetcher.get() else {
            tracing::warn!("this server sends no requests to identity providers (--identity-providers off)");
            return Err(SignInFailure::ProviderUnavailable);
        };
        fetcher.fetch(request).await.map_err(|error| {
            tracing::warn!(error, "an identity provider can't be read");
            SignInFailure::ProviderUnavailable
        })
    }

    /// The documents of a provider.
    pub(super) async fn load_documents(&self, issuer: &str) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let slot = self.provider_directory().slot(issuer);
        let mut slot = slot.lock().await;
        let now = self.clock().now();
        if let Some(documents) = &slot.documents
            && now.millis_since(documents.read_at) < DOCUMENT_MILLIS
        {
            return Ok(documents.clone());
        }
        if slot.retry_at > now {
            return Err(SignInFailure::ProviderUnavailable);
        }
        slot.retry_at = now.plus_millis(FAILURE_PAUSE_MILLIS);
        let document = self.read_document(&discovery_url(issuer)).await?;
        let metadata = ProviderMetadata::parse(&document, issuer).map_err(|error| {
            tracing::warn!(issuer, %error, "the discovery document of an identity provider is not used");
            SignInFailure::InvalidResponse
        })?;
        let keys = self.read_keys(&metadata).await?;
        let documents = Arc::new(ProviderDocuments { metadata, keys, read_at: now, keys_read_at: now });
        slot.documents = Some(documents.clone());
        slot.retry_at = Timestamp::default();
        Ok(documents)
    }

    /// Verifies something with the keys of a provider; with a key that is not known, once more with keys that are read again, at most once a minute.
    pub(super) async fn verify_with_keys<T>(
        &self,
        issuer: &str,
        documents: &ProviderDocuments,
        verify: impl Fn(&KeySet) -> Result<T, TokenError>,
    ) -> Result<T, SignInFailure> {
        let mut verified = verify(&documents.keys);
        if matches!(verified, Err(TokenError::UnknownKey)) {
            verified = verify(&self.reload_keys(issuer).await?.keys);
        }
        verified.map_err(|error| {
            tracing::warn!(issuer, %error, "a token of an identity provider is not accepted");
            SignInFailure::InvalidToken
        })
    }

    async fn reload_keys(&self, issuer: &str) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let documents = self.load_documents(issuer).await?;
        let now = self.clock().now();
        if now.millis_since(documents.keys_read_at) < KEY_PAUSE_MILLIS {
            return Ok(documents);
        }
        let slot = self.provider_directory().slot(issuer);
        let mut slot = slot.lock().await;
        // Another request may have read them meanwhile.
        if let Some(newer) = &slot.documents
            && now.millis_since(newer.keys_read_at) < KEY_PAUSE_MILLIS
        {
            return Ok(newer.clone());
        }
        let (metadata, read_at) = (documents.metadata.clone(), documents.read_at);
        // Also after a read that fails, the next one is a minute later.
        let previous = documents.keys.clone();
        let unchanged = ProviderDocuments { metadata, keys: previous, read_at, keys_read_at: now };
        slot.documents = Some(Arc::new(unchanged));
        let keys = self.read_keys(&documents.metadata).await?;
        let metadata = documents.metadata.clone();
        let documents = Arc::new(ProviderDocuments { metadata, keys, read_at, keys_read_at: now });
        slot.documents = Some(documents.clone());
        Ok(documents)
    }

    async fn read_keys(&self, metadata: &ProviderMetadata) -> Result<KeySet, SignInFailure> {
        let document = self.read_document(&metadata.jwks_uri).await?;
        KeySet::parse(&document).ok_or_else(|| {
            tracing::warn!(url = metadata.jwks_uri, "the keys of an identity provider are no list");
            SignInFailure::InvalidResponse
        })
    }

    async fn read_document(&self, url: &str) -> Result<Value, SignInFailure> {
        let request = IdentityRequest { url: url.to_owned(), ..IdentityRequest::default() };
        let response = self.fetch_identity(request).await?;
        parse_success(&response, url)
    }
}

/// The JSON of a response with status 200. What else a provider answers is not used.
pub(super) fn parse_success(response: &IdentityResponse, url: &str) -> Result<Value, SignInFailure> {
    if response.status != 200 {
        tracing::warn!(url, status = response.status, "an identity provider answered with an error");
        return Err(match response.status {
            429 | 500.. => SignInFailure::ProviderUnavailable,
            _ => SignInFailure::InvalidResponse,
        });
    }
    parse_json(&response.body).map_err(|error| {
        tracing::warn!(url, %error, "an identity provider answered with something else than JSON");
        SignInFailure::InvalidResponse
    })
}
