//! The schema of the served kinds (G403), in the serialized form of [`domain::schema`].
//!
//! No other task waits for it. It is read with a delay after the start and after definitions changed, and only if the
//! server's OpenAPI index changed.

use std::sync::Arc;
use std::time::Duration;

use domain::Digest;
use domain::cluster::facts::parse_minor_version;
use domain::schema::{EncodedSchema, OpenApiDocuments, Schema};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::api::ApiClient;
use crate::error::Error;

const INDEX: &str = "/openapi/v3";
/// First delay: reconciliation comes first, and a server needs time to publish a new kind.
const FIRST_DELAY: Duration = Duration::from_secs(2);
/// Second delay, for servers that publish a new kind late.
const SECOND_DELAY: Duration = Duration::from_secs(15);
/// Largest document that is parsed, in bytes: several times the largest of Kubernetes itself.
const DOCUMENT_MAX: usize = 32 << 20;

/// Reads and caches the schema of the served kinds.
#[derive(Default)]
pub(crate) struct SchemaReader {
    latest: watch::Sender<Option<Arc<EncodedSchema>>>,
    /// Digest of the index of that schema; `None` if a document was missing.
    index: Mutex<Option<Digest>>,
    stale: Notify,
}

impl SchemaReader {
    /// The latest schema, and every change of it.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<EncodedSchema>>> {
        self.latest.subscribe()
    }

    /// Requests another read, because the kinds may have changed.
    pub(crate) fn mark_stale(&self) {
        self.stale.notify_one();
    }

    /// Reads the schema whenever it may have changed. Never returns.
    pub(crate) async fn run(&self, api: &ApiClient) {
        loop {
            for wait in [FIRST_DELAY, SECOND_DELAY] {
                tokio::time::sleep(wait).await;
                if let Err(error) = self.refresh(api).await {
                    tracing::debug!(
                        reason = %error.reason(),
                        "the schema of the served kinds could not be read; the last known schema stays in use"
                    );
                }
            }
            self.stale.notified().await;
        }
    }

    async fn refresh(&self, api: &ApiClient) -> Result<(), Error> {
        let index = match api.get(INDEX).await {
            // Kubernetes before 1.24 publishes no OpenAPI v3 documents.
            Err(Error::NotFound(_) | Error::ApiMissing(_)) => return Ok(()),
            other => other?,
        };
        let digest = Digest::compute(index.to_string().as_bytes());
        if *self.index.lock() == Some(digest.clone()) {
            return Ok(());
        }
        let (written, is_complete) = read_documents(api, &index).await?;
        *self.index.lock() = is_complete.then_some(digest);
        self.latest.send_if_modified(|latest| {
            let is_changed = latest.as_ref().is_none_or(|latest| latest.digest != written.digest);
            if is_changed {
                *latest = Some(Arc::new(written));
            }
            is_changed
        });
        Ok(())
    }
}

/// Reads the current schema of an API server.
///
/// # Errors
/// A request failed, or a response is not valid.
pub async fn read_schema(client: kube::Client, options: &crate::Options) -> Result<EncodedSchema, Error> {
    let api = ApiClient::new(client, options);
    let index = api.get(INDEX).await?;
    Ok(read_documents(&api, &index).await?.0)
}

/// Reads the documents of an index; `false` if one is missing: the kinds of an unavailable extension server are
/// unknown.
async fn read_documents(api: &ApiClient, index: &Value) -> Result<(EncodedSchema, bool), Error> {
    let version = api.get("/version").await?;
    let minor = parse_minor_version(version["gitVersion"].as_str().unwrap_or_default()).unwrap_or_default();
    let mut documents = OpenApiDocuments::default();
    let mut is_complete = true;
    for (path, entry) in index["paths"].as_object().into_iter().flatten() {
        let is_group_version =
            path == "api/v1" || path.matches('/').count() == 2 && path.starts_with("apis/");
        let address = entry["serverRelativeURL"].as_str().unwrap_or_default();
        if !is_group_version || !address.starts_with(INDEX) {
            continue;
        }
        let bytes = match api.get_bytes(address).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_unreachable() => return Err(error),
            Err(_) => {
                is_complete = false;
                continue;
            }
        };
        if bytes.len() > DOCUMENT_MAX {
            tracing::warn!(
                path,
                bytes = bytes.len(),
                "an OpenAPI document exceeds the size limit; its kinds are not checked before a publish"
            );
            continue;
        }
        let added = tokio::task::spawn_blocking(move || {
            let added = documents.add(&bytes);
            (documents, added)
        });
        let (all, added) = added.await.map_err(|error| Error::Unreadable(error.to_string()))?;
        documents = all;
        if let Err(error) = added {
            tracing::warn!(path, %error, "an OpenAPI document can't be read; its kinds are not checked before a publish");
        }
    }
    let written = tokio::task::spawn_blocking(move || {
        EncodedSchema::new(Schema::from_openapi(minor, &documents).to_bounded_json())
    });
    Ok((written.await.map_err(|error| Error::Unreadable(error.to_string()))?, is_complete))
}
