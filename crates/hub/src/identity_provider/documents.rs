//! What providers publish: the discovery document and the keys, in memory for ten minutes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use domain::Timestamp;
use domain::identity_provider::SignInFailure;
use futures::future::BoxFuture;
use identity::{KeySet, ProviderMetadata, TokenError, discovery_url, parse_json};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;

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

    /// Sends a request to a provider, or returns the reason as a sentence that contains no secret.
    pub(super) async fn send_identity_request(
        &self,
        request: IdentityRequest,
    ) -> Result<IdentityResponse, String> {
        let Some(fetcher) = self.provider_directory().fetcher.get() else {
            return Err(
                "this server sends no requests to identity providers (--identity-providers off)".to_owned()
            );
        };
        fetcher.fetch(request).await
    }

    /// Sends a request to a provider for a sign-in: the log has the reason of a failure.
    pub(super) async fn fetch_identity(
        &self,
        request: IdentityRequest,
    ) -> Result<IdentityResponse, SignInFailure> {
        self.send_identity_request(request).await.map_err(|error| {
            tracing::warn!(error, "an identity provider can't be read");
            SignInFailure::ProviderUnavailable
        })
    }

    /// The documents of a provider.
    pub(super) async fn load_documents(&self, issuer: &str) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let slot = self.provider_directory().slot(issuer).lock_owned().await;
        if let Some(documents) = &slot.documents
            && self.clock().now().millis_since(documents.read_at) < DOCUMENT_MILLIS
        {
            return Ok(documents.clone());
        }
        if slot.retry_at > self.clock().now() {
            return Err(SignInFailure::ProviderUnavailable);
        }
        let (hub, issuer) = (self.clone(), issuer.to_owned());
        await_reading(tokio::spawn(async move { hub.read_documents(&issuer, slot).await })).await
    }

    /// Reads the documents of a provider, in a task of its own: anyone can start a sign-in and cut it off.
    async fn read_documents(
        &self,
        issuer: &str,
        mut slot: OwnedMutexGuard<ProviderSlot>,
    ) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let read = async {
            let document = self.read_document(&discovery_url(issuer)).await?;
            let metadata = ProviderMetadata::parse(&document, issuer).map_err(|error| {
                tracing::warn!(issuer, %error, "the discovery document of an identity provider is not used");
                SignInFailure::InvalidResponse
            })?;
            let keys = self.read_keys(&metadata).await?;
            Ok::<_, SignInFailure>((metadata, keys))
        };
        let started_at = self.clock().now();
        match read.await {
            Ok((metadata, keys)) => {
                let (read_at, keys_read_at) = (started_at, started_at);
                let documents = Arc::new(ProviderDocuments { metadata, keys, read_at, keys_read_at });
                slot.documents = Some(documents.clone());
                Ok(documents)
            }
            Err(failure) => {
                // From its end: a read may take longer than the pause, and others wait for it.
                slot.retry_at = self.clock().now().plus_millis(FAILURE_PAUSE_MILLIS);
                Err(failure)
            }
        }
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
        let slot = self.provider_directory().slot(issuer).lock_owned().await;
        // Another request may have read them meanwhile.
        if let Some(newer) = &slot.documents
            && now.millis_since(newer.keys_read_at) < KEY_PAUSE_MILLIS
        {
            return Ok(newer.clone());
        }
        let hub = self.clone();
        await_reading(tokio::spawn(async move { hub.read_keys_again(&documents, slot).await })).await
    }

    /// Reads the keys of a provider again, in a task of its own: anyone can send a token and cut the request off.
    async fn read_keys_again(
        &self,
        documents: &ProviderDocuments,
        mut slot: OwnedMutexGuard<ProviderSlot>,
    ) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let with_keys = |keys: KeySet| ProviderDocuments {
            metadata: documents.metadata.clone(),
            keys,
            read_at: documents.read_at,
            keys_read_at: self.clock().now(),
        };
        // Also after a read that fails, the next one is a minute later.
        slot.documents = Some(Arc::new(with_keys(documents.keys.clone())));
        let keys = self.read_keys(&documents.metadata).await?;
        let documents = Arc::new(with_keys(keys));
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

/// What a task has read; it goes on if nobody awaits it any more.
async fn await_reading(
    task: JoinHandle<Result<Arc<ProviderDocuments>, SignInFailure>>,
) -> Result<Arc<ProviderDocuments>, SignInFailure> {
    task.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the read of an identity provider ended unexpectedly");
        Err(SignInFailure::ProviderUnavailable)
    })
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::{Clock, HubConfig};

    const ISSUER: &str = "https://id.example.com";

    /// A provider that answers with an error, and only when there is a permit.
    struct StalledProvider {
        requests: Arc<AtomicUsize>,
        permits: Arc<Semaphore>,
    }

    impl IdentityFetcher for StalledProvider {
        fn fetch(&self, _: IdentityRequest) -> BoxFuture<'_, Result<IdentityResponse, String>> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            async move {
                let _permit = self.permits.acquire().await;
                Err("it does not respond".to_owned())
            }
            .boxed()
        }
    }

    #[tokio::test]
    async fn a_read_that_is_cut_off_goes_on_and_who_waits_for_a_failed_one_does_not_repeat_it() {
        let folder = tempfile::tempdir().unwrap();
        let seconds = Arc::new(AtomicI64::new(1_000_000));
        let source = seconds.clone();
        let clock = Clock::from_fn(move || Timestamp::from_millis(1_000 * source.load(Ordering::Relaxed)));
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, clock)).await.unwrap();
        let (requests, permits) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        hub.set_identity_fetcher(StalledProvider { requests: requests.clone(), permits: permits.clone() });
        {
            let mut cut_off = pin!(hub.load_documents(ISSUER));
            assert!(futures::poll!(cut_off.as_mut()).is_pending());
        }
        let mut waiting = pin!(hub.load_documents(ISSUER));
        assert!(futures::poll!(waiting.as_mut()).is_pending(), "the read goes on");
        // It takes longer than the pause.
        seconds.fetch_add(12, Ordering::Relaxed);
        permits.add_permits(1);
        assert!(waiting.await.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), 1);
        assert!(hub.load_documents(ISSUER).await.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), 1, "the pause is from its end");
        seconds.fetch_add(5, Ordering::Relaxed);
        assert!(hub.load_documents(ISSUER).await.is_err());
        assert_eq!(requests.load(Ordering::Relaxed), 2);
    }
}
