//! What a cluster's API server says of the structure of its kinds (G403): taken from agents, and kept once for all
//! clusters that say the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::schema::{MAX_BYTES, Schema};
use domain::{ClusterId, Digest};
use store::Tx;

use crate::hub::Done;
use crate::{Error, Hub};

/// Schemas that are kept read. A fleet runs a handful of versions; each takes about a megabyte.
const READ_MAX: usize = 32;

/// Different schemas that one check goes by, the most common first; clusters with others are judged by Kubernetes' own.
const AT_ONCE: usize = 16;

/// Schemas that have been read.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<HashMap<Digest, Arc<Schema>>>);

impl Schemas {
    fn get(&self, digest: &Digest) -> Option<Arc<Schema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    fn keep(&self, digest: Digest, schema: Arc<Schema>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= READ_MAX {
            // Which one goes does not matter much: it is read again in a millisecond.
            all.clear();
        }
        all.insert(digest, schema);
    }
}

impl Hub {
    /// Takes the schema that a report of this cluster named.
    ///
    /// # Errors
    /// The last report names another one, or these bytes are not what was named or no schema: nothing is kept then.
    pub async fn schema_given(
        &self,
        cluster: ClusterId,
        digest: &Digest,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let refused = || Error::not_found("schema", digest.short());
        let mut tx = self.read().await?;
        let told = store::cluster::schemas(&mut tx, &[cluster]).await?;
        drop(tx);
        if told.into_iter().all(|(_, told)| told != *digest) || bytes.len() > MAX_BYTES {
            return Err(refused());
        }
        let (bytes, schema) = tokio::task::spawn_blocking(move || {
            let read = (Digest::of(&bytes), Schema::read(&bytes).ok());
            (bytes, read)
        })
        .await
        .map_err(|error| Error::Internal(Box::new(error)))?;
        let (made, Some(schema)) = schema else { return Err(refused()) };
        if made != *digest {
            return Err(refused());
        }
        let mut tx = self.write().await?;
        store::artifact::put(&mut tx, digest, &bytes, self.clock().now()).await?;
        self.commit(tx, Done::default()).await?;
        self.schemas().keep(made, Arc::new(schema));
        Ok(())
    }

    /// The schemas of these clusters, of those that have told theirs.
    pub(crate) async fn schemas_of(
        &self,
        tx: &mut Tx,
        clusters: &[ClusterId],
    ) -> Result<HashMap<ClusterId, Arc<Schema>>, Error> {
        let mut by_digest: HashMap<Digest, Vec<ClusterId>> = HashMap::new();
        for (cluster, digest) in store::cluster::schemas(tx, clusters).await? {
            by_digest.entry(digest).or_default().push(cluster);
        }
        let mut common: Vec<(Digest, Vec<ClusterId>)> = by_digest.into_iter().collect();
        common.sort_by(|(one, a), (other, b)| (b.len(), one).cmp(&(a.len(), other)));
        let mut found = HashMap::new();
        for (digest, clusters) in common.into_iter().take(AT_ONCE) {
            let Some(schema) = self.schema(tx, &digest).await? else { continue };
            found.extend(clusters.into_iter().map(|cluster| (cluster, schema.clone())));
        }
        Ok(found)
    }

    async fn schema(&self, tx: &mut Tx, digest: &Digest) -> Result<Option<Arc<Schema>>, Error> {
        if let Some(read) = self.schemas().get(digest) {
            return Ok(Some(read));
        }
        let Some(bytes) = store::artifact::get(tx, digest).await? else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || Schema::read(&bytes));
        let schema = match read.await.map_err(|error| Error::Internal(Box::new(error)))? {
            Ok(schema) => Arc::new(schema),
            Err(error) => {
                tracing::warn!(%error, digest = digest.short(), "a stored schema can't be read; nothing is known by it");
                return Ok(None);
            }
        };
        self.schemas().keep(digest.clone(), schema.clone());
        Ok(Some(schema))
    }
}
