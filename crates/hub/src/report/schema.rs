//! Schemas of the kinds of a cluster's API server (G403): uploaded by agents, stored once per digest.

use std::collections::HashMap;
use std::sync::Arc;

use domain::schema::{MAX_BYTES, Schema};
use domain::{ClusterId, Digest};
use parking_lot::Mutex;
use store::Tx;

use crate::blocking::run_blocking;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Maximum parsed schemas in memory, about 1 MB each; a fleet has few versions.
const MAX_CACHED: usize = 32;

/// Maximum schemas in one check, the most common first; other clusters are checked against Kubernetes' own schema.
const MAX_PER_CHECK: usize = 16;

/// Schemas of clusters as read in a transaction, to be parsed after it.
pub(crate) struct SchemaRows(Vec<(StoredSchema, Vec<ClusterId>)>);

enum StoredSchema {
    Parsed(Arc<Schema>),
    Bytes(Digest, Vec<u8>),
}

/// Cache of parsed schemas.
#[derive(Default)]
pub(crate) struct SchemaCache(Mutex<HashMap<Digest, Arc<Schema>>>);

impl SchemaCache {
    fn get(&self, digest: &Digest) -> Option<Arc<Schema>> {
        self.0.lock().get(digest).cloned()
    }

    fn insert(&self, digest: Digest, schema: Arc<Schema>) {
        let mut schemas = self.0.lock();
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
        let (bytes, schema) = run_blocking(move || {
            let read = (Digest::compute(&bytes), Schema::from_json(&bytes).ok());
            (bytes, read)
        })
        .await?;
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

    /// Reads the schemas of those of these clusters that have reported one.
    pub(crate) async fn load_schemas(
        &self,
        tx: &mut Tx,
        clusters: &[ClusterId],
    ) -> Result<SchemaRows, Error> {
        let mut by_digest: HashMap<Digest, Vec<ClusterId>> = HashMap::new();
        for (cluster, digest) in store::cluster::list_schema_digests(tx, clusters).await? {
            by_digest.entry(digest).or_default().push(cluster);
        }
        let mut common: Vec<(Digest, Vec<ClusterId>)> = by_digest.into_iter().collect();
        common.sort_by(|(one, a), (other, b)| (b.len(), one).cmp(&(a.len(), other)));
        let mut rows = Vec::new();
        for (digest, clusters) in common.into_iter().take(MAX_PER_CHECK) {
            if let Some(schema) = self.schema_cache().get(&digest) {
                rows.push((StoredSchema::Parsed(schema), clusters));
            } else if let Some(bytes) = store::artifact::get(tx, &digest).await? {
                rows.push((StoredSchema::Bytes(digest, bytes), clusters));
            }
        }
        Ok(SchemaRows(rows))
    }

    /// Parses the schemas that are not in the cache; call it off the async threads.
    pub(crate) fn parse_schemas(&self, rows: SchemaRows) -> HashMap<ClusterId, Arc<Schema>> {
        let mut found = HashMap::new();
        for (stored, clusters) in rows.0 {
            let schema = match stored {
                StoredSchema::Parsed(schema) => Some(schema),
                StoredSchema::Bytes(digest, bytes) => self.parse_schema(digest, &bytes),
            };
            let Some(schema) = schema else { continue };
            found.extend(clusters.into_iter().map(|cluster| (cluster, schema.clone())));
        }
        found
    }

    fn parse_schema(&self, digest: Digest, bytes: &[u8]) -> Option<Arc<Schema>> {
        let schema = Schema::from_json(bytes).map(Arc::new).inspect_err(|error| {
            tracing::warn!(%error, digest = digest.short(), "a stored schema can't be parsed; it is ignored");
        });
        let schema = schema.ok()?;
        self.schema_cache().insert(digest, schema.clone());
        Some(schema)
    }
}
