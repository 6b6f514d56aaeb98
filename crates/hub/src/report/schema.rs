//! Schemas of the kinds of a cluster's API server (G403): uploaded by agents, stored once per digest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::schema::{MAX_BYTES, Schema};
use domain::{ClusterId, Digest};
use store::Tx;

use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Maximum parsed schemas in memory, about 1 MB each; a fleet has few versions.
const MAX_CACHED: usize = 32;

/// Maximum schemas in one check, the most common first; other clusters are checked against Kubernetes' own schema.
const MAX_PER_CHECK: usize = 16;

/// Cache of parsed schemas.
#[derive(Default)]
pub(crate) struct SchemaCache(Mutex<HashMap<Digest, Arc<Schema>>>);

impl SchemaCache {
    fn get(&self, digest: &Digest) -> Option<Arc<Schema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    fn insert(&self, digest: Digest, schema: Arc<Schema>) {
        let mut schemas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.len() >= MAX_CACHED {
            // No eviction order: parsing one again takes about a millisecond.
            schemas.clear();
        }
        schemas.insert(digest, schema);
    }
}

impl Hub {
    /// Stores the schema that the last report of this cluster named.
    ///
    /// # Errors
    /// The last report names another digest, the bytes have another digest or are not a schema: nothing is stored.
    pub async fn store_schema(
        &self,
        cluster: ClusterId,
        digest: &Digest,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let rejected = || Error::not_found("schema", digest.short());
        let mut tx = self.read().await?;
        let named = store::cluster::list_schema_digests(&mut tx, &[cluster]).await?;
        drop(tx);
        if named.into_iter().all(|(_, named)| named != *digest) || bytes.len() > MAX_BYTES {
            return Err(rejected());
        }
        let (bytes, schema) = tokio::task::spawn_blocking(move || {
            let read = (Digest::compute(&bytes), Schema::from_json(&bytes).ok());
            (bytes, read)
        })
        .await
        .map_err(|error| Error::Internal(Box::new(error)))?;
        let (computed, Some(schema)) = schema else { return Err(rejected()) };
        if computed != *digest {
            return Err(rejected());
        }
        let mut tx = self.write().await?;
        store::artifact::put(&mut tx, digest, &bytes, self.clock().now()).await?;
        self.commit(tx, CommitEffects::default()).await?;
        self.schema_cache().insert(computed, Arc::new(schema));
        Ok(())
    }

    /// The schemas of those of these clusters that have reported one.
    pub(crate) async fn schemas_by_cluster(
        &self,
        tx: &mut Tx,
        clusters: &[ClusterId],
    ) -> Result<HashMap<ClusterId, Arc<Schema>>, Error> {
        let mut by_digest: HashMap<Digest, Vec<ClusterId>> = HashMap::new();
        for (cluster, digest) in store::cluster::list_schema_digests(tx, clusters).await? {
            by_digest.entry(digest).or_default().push(cluster);
        }
        let mut common: Vec<(Digest, Vec<ClusterId>)> = by_digest.into_iter().collect();
        common.sort_by(|(one, a), (other, b)| (b.len(), one).cmp(&(a.len(), other)));
        let mut found = HashMap::new();
        for (digest, clusters) in common.into_iter().take(MAX_PER_CHECK) {
            let Some(schema) = self.load_schema(tx, &digest).await? else { continue };
            found.extend(clusters.into_iter().map(|cluster| (cluster, schema.clone())));
        }
        Ok(found)
    }

    async fn load_schema(&self, tx: &mut Tx, digest: &Digest) -> Result<Option<Arc<Schema>>, Error> {
        if let Some(read) = self.schema_cache().get(digest) {
            return Ok(Some(read));
        }
        let Some(bytes) = store::artifact::get(tx, digest).await? else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || Schema::from_json(&bytes));
        let schema = match read.await.map_err(|error| Error::Internal(Box::new(error)))? {
            Ok(schema) => Arc::new(schema),
            Err(error) => {
                tracing::warn!(%error, digest = digest.short(), "a stored schema can't be parsed; it is ignored");
                return Ok(None);
            }
        };
        self.schema_cache().insert(digest.clone(), schema.clone());
        Ok(Some(schema))
    }
}
