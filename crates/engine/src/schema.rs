//! What the API server says of the structure of its kinds (G403), as the hub is told it: in the written form of
//! [`domain::schema`].
//!
//! Nothing waits for it. It is read a while after the start and after definitions changed, and only if the server's own
//! index of it says that it is another one by now.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::Digest;
use domain::cluster::facts::minor_version;
use domain::schema::{Documents, Schema, Written};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::api::Api;
use crate::error::Error;

const INDEX: &str = "/openapi/v3";
/// The start belongs to what should be on the cluster; and a server takes a moment to describe a kind that is new.
const LATER: Duration = Duration::from_secs(2);
/// So long a slow server may take to describe a new kind.
const AGAIN: Duration = Duration::from_secs(15);
/// Longest document that is read, in bytes: many times Kubernetes' own longest.
const DOCUMENT_MAX: usize = 32 << 20;

/// The latest reading.
#[derive(Default)]
pub(crate) struct Structure {
    latest: watch::Sender<Option<Arc<Written>>>,
    /// Digest of the index that it was read by.
    index: Mutex<Option<Digest>>,
    stale: Notify,
}

impl Structure {
    /// The latest reading, and the next ones.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<Written>>> {
        self.latest.subscribe()
    }

    /// The kinds of the cluster may have changed.
    pub(crate) fn look_again(&self) {
        self.stale.notify_one();
    }

    /// Keeps the reading fresh, for ever.
    pub(crate) async fn follow(&self, api: &Api) {
        loop {
            for wait in [LATER, AGAIN] {
                tokio::time::sleep(wait).await;
                if let Err(error) = self.refresh(api).await {
                    tracing::debug!(reason = error.label(), "the structure of the kinds could not be read");
                }
            }
            self.stale.notified().await;
        }
    }

    async fn refresh(&self, api: &Api) -> Result<(), Error> {
        let index = match api.get(INDEX).await {
            // A server from before 1.24 does not describe itself so.
            Err(Error::NotFound(_) | Error::ApiMissing(_)) => return Ok(()),
            other => other?,
        };
        let digest = Digest::of(index.to_string().as_bytes());
        if *self.index.lock().unwrap_or_else(PoisonError::into_inner) == Some(digest.clone()) {
            return Ok(());
        }
        let (written, whole) = read(api, &index).await?;
        let seen = whole.then_some(digest);
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        self.latest.send_if_modified(|latest| {
            let other = latest.as_ref().is_none_or(|latest| latest.digest != written.digest);
            if other {
                *latest = Some(Arc::new(written));
            }
            other
        });
        Ok(())
    }
}

/// What this API server says of its kinds now.
///
/// # Errors
/// It can't be read, or says something else.
pub async fn schema(client: kube::Client, options: &crate::Options) -> Result<Written, Error> {
    let api = Api::new(client, options);
    let index = api.get(INDEX).await?;
    Ok(read(&api, &index).await?.0)
}

/// The documents that an index lists, and whether all could be read: an extension server that is down hides its own
/// kinds, of which nothing is known then.
async fn read(api: &Api, index: &Value) -> Result<(Written, bool), Error> {
    let version = api.get("/version").await?;
    let minor = minor_version(version["gitVersion"].as_str().unwrap_or_default()).unwrap_or_default();
    let mut documents = Documents::default();
    let mut whole = true;
    for (path, entry) in index["paths"].as_object().into_iter().flatten() {
        let of_a_version = path == "api/v1" || path.matches('/').count() == 2 && path.starts_with("apis/");
        let address = entry["serverRelativeURL"].as_str().unwrap_or_default();
        if !of_a_version || !address.starts_with(INDEX) {
            continue;
        }
        let bytes = match api.bytes(address).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_silence() => return Err(error),
            Err(_) => {
                whole = false;
                continue;
            }
        };
        if bytes.len() > DOCUMENT_MAX {
            tracing::debug!(path, bytes = bytes.len(), "a description of kinds is too long; it is left out");
            continue;
        }
        let added = tokio::task::spawn_blocking(move || {
            let added = documents.add(&bytes);
            (documents, added)
        });
        let (all, added) = added.await.map_err(|error| Error::Unreadable(error.to_string()))?;
        documents = all;
        if let Err(error) = added {
            tracing::debug!(path, %error, "a description of kinds can't be read; it is left out");
        }
    }
    let written = tokio::task::spawn_blocking(move || {
        Written::new(Schema::from_openapi(minor, &documents).write_short())
    });
    Ok((written.await.map_err(|error| Error::Unreadable(error.to_string()))?, whole))
}
