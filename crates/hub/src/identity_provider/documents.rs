//! What providers publish: the discovery document and the keys, in memory for ten minutes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use domain::Timestamp;
use domain::identity_provider::SignInFailure;
use futures::future::BoxFuture;
use identity::{KeySet, ProviderMetadata, TokenError, discovery_url, hash_to_text, parse_json, read_key_id};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::Hub;

/// How long documents are used, in milliseconds.
const DOCUMENT_MILLIS: i64 = 10 * 60_000;
/// Pause between two reads of the keys because of a key that is not known, in milliseconds: for tokens that the provider returned, and for those
/// that anyone can send.
const KEY_PAUSE_MILLIS: i64 = 10_000;
/// How long the keys are not read again for an id that anyone has named and the provider did not have, in milliseconds, and most such ids.
const MISSING_KEY_MILLIS: i64 = 60_000;
const MAX_MISSING_KEYS: usize = 256;
/// Most renewals of sign-ins with one provider at the same time.
const MAX_RENEWALS: usize = 64;
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

/// Who sent a token whose signature is verified. Without `Debug`: it must not appear in a log.
#[derive(Clone, Copy)]
pub(super) enum TokenSource<'a> {
    /// The provider, in a response to this server.
    Provider,
    /// Anyone, in a request: this token.
    Anyone(&'a str),
}

/// When the keys of a provider may be read again because of one that is not known. What anyone can send takes no read from the tokens that
/// the provider returned.
#[derive(Default)]
struct KeyReads {
    next_for_provider: Timestamp,
    next_for_anyone: Timestamp,
    /// Hashes of the ids that anyone has named and the provider did not have, with the time, oldest first.
    missing: VecDeque<(String, Timestamp)>,
}

impl KeyReads {
    /// Whether the keys are read because of a token of the provider, or of one that anyone sent, which names this key.
    fn admit(&mut self, key: Option<&str>, now: Timestamp) -> bool {
        let is_missing = |(known, at): &(String, Timestamp)| {
            Some(known.as_str()) == key && now.millis_since(*at) < MISSING_KEY_MILLIS
        };
        if self.missing.iter().any(is_missing) {
            return false;
        }
        let next = if key.is_none() { &mut self.next_for_provider } else { &mut self.next_for_anyone };
        // No longer than the pause, also after the clock was set back.
        if (1..=KEY_PAUSE_MILLIS).contains(&next.millis_since(now)) {
            return false;
        }
        *next = now.plus_millis(KEY_PAUSE_MILLIS);
        true
    }

    fn record_missing(&mut self, key: String, now: Timestamp) {
        self.missing.retain(|(known, _)| *known != key);
        if self.missing.len() >= MAX_MISSING_KEYS {
            self.missing.pop_front();
        }
        self.missing.push_back((key, now));
    }
}

/// What was read of one issuer, and when it may be read again.
#[derive(Default)]
struct ProviderState {
    documents: Option<Arc<ProviderDocuments>>,
    /// After a read that failed.
    retry_at: Timestamp,
    key_reads: KeyReads,
}

/// One issuer.
#[derive(Default)]
struct ProviderSlot {
    /// Locked while the documents or the keys are read. What was read before is used meanwhile.
    reading: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<ProviderState>,
}

impl ProviderSlot {
    fn fresh_documents(&self, now: Timestamp) -> Option<Arc<ProviderDocuments>> {
        let documents = self.state.lock().documents.clone();
        documents.filter(|documents| now.millis_since(documents.read_at) < DOCUMENT_MILLIS)
    }
}

/// How this server reads providers, and what it has read.
#[derive(Default)]
pub(crate) struct ProviderDirectory {
    fetcher: OnceLock<Box<dyn IdentityFetcher>>,
    /// By issuer.
    slots: Mutex<HashMap<String, Arc<ProviderSlot>>>,
    /// Places for renewals, by the name of the provider.
    renewals: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl ProviderDirectory {
    fn slot(&self, issuer: &str) -> Arc<ProviderSlot> {
        self.slots.lock().entry(issuer.to_owned()).or_default().clone()
    }

    /// A place for the renewal of a sign-in with the provider of this name, if one is free: a provider that responds slowly has no more
    /// requests than that.
    pub(super) fn try_reserve_renewal(&self, provider: &str) -> Option<OwnedSemaphorePermit> {
        let mut renewals = self.renewals.lock();
        let new = || Arc::new(Semaphore::new(MAX_RENEWALS));
        let places = renewals.entry(provider.to_owned()).or_insert_with(new).clone();
        places.try_acquire_owned().ok()
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
        let slot = self.provider_directory().slot(issuer);
        if let Some(documents) = slot.fresh_documents(self.clock().now()) {
            return Ok(documents);
        }
        let reading = slot.reading.clone().lock_owned().await;
        let now = self.clock().now();
        // Another request may have read them meanwhile.
        if let Some(documents) = slot.fresh_documents(now) {
            return Ok(documents);
        }
        let retry_at = slot.state.lock().retry_at;
        if retry_at > now {
            return Err(SignInFailure::ProviderUnavailable);
        }
        let (hub, issuer) = (self.clone(), issuer.to_owned());
        await_reading(tokio::spawn(async move { hub.read_documents(&issuer, &slot, reading).await })).await
    }

    /// Reads the documents of a provider, in a task of its own: anyone can start a sign-in and cut it off.
    async fn read_documents(
        &self,
        issuer: &str,
        slot: &ProviderSlot,
        reading: OwnedMutexGuard<()>,
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
        let read = read.await.map(|(metadata, keys)| {
            let (read_at, keys_read_at) = (started_at, started_at);
            Arc::new(ProviderDocuments { metadata, keys, read_at, keys_read_at })
        });
        let mut state = slot.state.lock();
        match &read {
            Ok(documents) => state.documents = Some(documents.clone()),
            // From its end: a read may take longer than the pause, and others wait for it.
            Err(_) => state.retry_at = self.clock().now().plus_millis(FAILURE_PAUSE_MILLIS),
        }
        drop(state);
        drop(reading);
        read
    }

    /// Verifies something with the keys of a provider; with a key that is not known, once more with keys that are read again, unless that
    /// was done lately.
    ///
    /// # Errors
    /// The token is not accepted; or the keys can't be read, or are not read again for what anyone can send, so that it is not known.
    pub(super) async fn verify_with_keys<T>(
        &self,
        issuer: &str,
        documents: &ProviderDocuments,
        source: TokenSource<'_>,
        verify: impl Fn(&KeySet) -> Result<T, TokenError>,
    ) -> Result<T, SignInFailure> {
        let mut verified = verify(&documents.keys);
        if matches!(verified, Err(TokenError::UnknownKey)) {
            // Another request may have read them since.
            verified = verify(&self.load_documents(issuer).await?.keys);
        }
        if matches!(verified, Err(TokenError::UnknownKey)) {
            let key = match source {
                TokenSource::Provider => None,
                TokenSource::Anyone(token) => Some(hash_to_text(&read_key_id(token).unwrap_or_default())),
            };
            let (documents, is_current) = self.reload_keys(issuer, key.as_deref()).await?;
            verified = verify(&documents.keys);
            if let (Err(TokenError::UnknownKey), Some(key)) = (&verified, key) {
                // It may be one that the provider has published since: the token is to be sent again.
                if !is_current {
                    return Err(SignInFailure::ProviderUnavailable);
                }
                let slot = self.provider_directory().slot(issuer);
                slot.state.lock().key_reads.record_missing(key, self.clock().now());
            }
        }
        verified.map_err(|error| {
            tracing::warn!(issuer, %error, "a token of an identity provider is not accepted");
            SignInFailure::InvalidToken
        })
    }

    /// The documents with keys that are read now, because of a token that the provider returned, or of one that anyone sent, which names
    /// this key; and whether they were: otherwise it is too early for that, and they are those that were read last.
    async fn reload_keys(
        &self,
        issuer: &str,
        key: Option<&str>,
    ) -> Result<(Arc<ProviderDocuments>, bool), SignInFailure> {
        let requested_at = self.clock().now();
        let slot = self.provider_directory().slot(issuer);
        let reading = slot.reading.clone().lock_owned().await;
        let now = self.clock().now();
        let Some(documents) = slot.fresh_documents(now) else {
            drop(reading);
            return Ok((self.load_documents(issuer).await?, true));
        };
        // Another request has read them meanwhile.
        if documents.keys_read_at > requested_at {
            return Ok((documents, true));
        }
        let is_admitted = slot.state.lock().key_reads.admit(key, now);
        if !is_admitted {
            return Ok((documents, false));
        }
        let hub = self.clone();
        let read = async move { hub.read_keys_again(&documents, &slot, reading).await };
        Ok((await_reading(tokio::spawn(read)).await?, true))
    }

    /// Reads the keys of a provider again, in a task of its own: anyone can send a token and cut the request off.
    async fn read_keys_again(
        &self,
        documents: &ProviderDocuments,
        slot: &ProviderSlot,
        reading: OwnedMutexGuard<()>,
    ) -> Result<Arc<ProviderDocuments>, SignInFailure> {
        let keys_read_at = self.clock().now();
        let keys = self.read_keys(&documents.metadata).await?;
        let (metadata, read_at) = (documents.metadata.clone(), documents.read_at);
        let documents = Arc::new(ProviderDocuments { metadata, keys, read_at, keys_read_at });
        slot.state.lock().documents = Some(documents.clone());
        drop(reading);
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
