//! Schemas of the kinds of a cluster's API server (G403): uploaded by agents, stored once per digest.
//!
//! What a schema needs in memory follows from its text, and is reserved before it is parsed. Parsed ones are retained for the next check, until
//! another one needs the memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::cluster::{Cluster, ClusterSummary};
use domain::condition::ConditionStatus;
use domain::join::{self, ClusterCondition};
use domain::schema::{MAX_BYTES, MAX_MEMORY_BYTES, Schema, estimate_memory, kubernetes_schema};
use domain::{ClusterId, Digest, Finding};
use parking_lot::Mutex;
use source::memory_budget::{MemoryReservation, PARSED_SCHEMAS, RESERVE_WAIT};
use store::Tx;

use crate::blocking::run_blocking;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Most parsed schemas that are retained; a fleet has few versions.
const MAX_RETAINED: usize = 32;
/// How often what is retained is released while a check waits for memory.
const RESERVE_ATTEMPTS: u32 = 5;
/// Most schemas of which the size is known.
const MAX_SIZES: usize = 10_000;
/// Most schemas that are measured for one list of clusters.
const MAX_MEASURED: usize = 16;
/// More than the encryption of stored bytes adds to them.
const MAX_SEAL_BYTES: usize = 4 << 10;

/// Maximum schemas in one check, the most common first; other clusters are checked against Kubernetes' own schema.
const MAX_PER_CHECK: usize = 16;

/// The schemas that clusters have reported.
pub(crate) struct NamedSchemas {
    /// The digests of those that one check may read, the most common first, with the clusters that have reported them.
    common: Vec<(Digest, Vec<ClusterId>)>,
    /// The clusters that have reported others.
    others: Vec<ClusterId>,
}

/// The parsed schemas of clusters. Their memory is released when they are dropped.
#[derive(Default)]
pub(crate) struct ReportedSchemas {
    by_cluster: HashMap<ClusterId, Arc<Schema>>,
    /// The clusters whose schema is stored and was not read.
    unread: HashSet<ClusterId>,
    memory: Vec<Arc<MemoryReservation>>,
}

impl ReportedSchemas {
    /// By cluster; a cluster whose schema is not known is left out.
    pub(crate) const fn by_cluster(&self) -> &HashMap<ClusterId, Arc<Schema>> {
        &self.by_cluster
    }

    /// The finding about those of these clusters whose schema is stored and was not read.
    pub(crate) fn unread_finding(&self, clusters: &[Cluster]) -> Option<Finding> {
        let unread = clusters.iter().filter(|cluster| self.unread.contains(&cluster.id));
        let names: Vec<String> = unread.map(|cluster| cluster.name.clone()).collect();
        if names.is_empty() {
            return None;
        }
        let message = format!(
            "The schemas of these clusters were not read: a check reads at most {MAX_PER_CHECK}, the most common first, of {} MiB in all, and none \
             that is too large or invalid. Custom kinds were not checked there, and the others by those of Kubernetes 1.{}.",
            PARSED_SCHEMAS.bytes() >> 20,
            kubernetes_schema().minor()
        );
        let hint = "Plan the publish: the dry run on these clusters checks every object.";
        Some(Finding::warning("G403", message, hint).with_clusters(names))
    }
}

/// A parsed schema with the memory that is reserved for it, and for those that were parsed together with it.
#[derive(Clone)]
struct RetainedSchema {
    schema: Arc<Schema>,
    memory: Arc<MemoryReservation>,
}

/// Parsed schemas, and what others need in memory.
#[derive(Default)]
pub(crate) struct SchemaCache {
    retained: Mutex<HashMap<Digest, RetainedSchema>>,
    sizes: Mutex<HashMap<Digest, u64>>,
}

impl SchemaCache {
    /// Those of these schemas that are retained.
    fn get_many(&self, digests: &[Digest]) -> HashMap<Digest, RetainedSchema> {
        let retained = self.retained.lock();
        let find = |digest: &Digest| Some((digest.clone(), retained.get(digest)?.clone()));
        digests.iter().filter_map(find).collect()
    }

    fn insert(&self, digest: Digest, schema: RetainedSchema) {
        let mut retained = self.retained.lock();
        if retained.len() >= MAX_RETAINED {
            // No eviction order: parsing one again takes milliseconds.
            retained.clear();
        }
        retained.insert(digest, schema);
    }

    /// Releases the memory of all that no check uses.
    fn clear(&self) {
        self.retained.lock().clear();
    }

    /// What a schema needs in memory, if that is known.
    pub(crate) fn size(&self, digest: &Digest) -> Option<u64> {
        self.sizes.lock().get(digest).copied()
    }

    fn note_size(&self, digest: &Digest, bytes: u64) {
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MAX_SIZES {
            sizes.clear();
        }
        sizes.insert(digest.clone(), bytes);
    }

    /// Reserves memory; releases what is retained for later if it is not free otherwise.
    async fn reserve(&self, bytes: u64) -> Result<Arc<MemoryReservation>, Error> {
        let mut attempt = 1;
        loop {
            if PARSED_SCHEMAS.free_bytes() < bytes {
                self.clear();
            }
            match PARSED_SCHEMAS.reserve_within(bytes, RESERVE_WAIT / RESERVE_ATTEMPTS).await {
                Ok(reserved) => return Ok(Arc::new(reserved)),
                Err(exhausted) if attempt == RESERVE_ATTEMPTS => return Err(exhausted.into()),
                // What a check has released meanwhile may be retained.
                Err(_) => attempt += 1,
            }
        }
    }
}

/// The most that a schema may need in memory on this server, in bytes.
fn max_schema_bytes() -> u64 {
    MAX_MEMORY_BYTES.min(PARSED_SCHEMAS.bytes())
}

impl Hub {
    /// Stores the schema that the last report of this cluster named.
    ///
    /// # Errors
    /// [`Error::NotFound`]: the last report names another digest, or the bytes have another digest or are not a schema. [`Error::Invalid`]: it
    /// needs more memory than this server has for one. Nothing is stored.
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
        let (bytes, computed, needed) = run_blocking(move || {
            let (computed, needed) = (Digest::compute(&bytes), estimate_memory(&bytes));
            (bytes, computed, needed)
        })
        .await?;
        if computed != *digest {
            return Err(rejected());
        }
        self.schema_cache().note_size(digest, needed);
        if needed > max_schema_bytes() {
            tracing::warn!(%cluster, needed, "the schema of the kinds of a cluster is too large; it is not stored");
            return Err(Error::Invalid(vec![too_large(needed)]));
        }
        let memory = self.schema_cache().reserve(needed).await?;
        let (bytes, schema) = run_blocking(move || {
            let schema = Schema::from_json(&bytes).ok();
            (bytes, schema)
        })
        .await?;
        let schema = Arc::new(schema.ok_or_else(rejected)?);
        let mut tx = self.write().await?;
        store::artifact::put(&mut tx, digest, &bytes, self.clock().now()).await?;
        self.commit(tx, CommitEffects::default()).await?;
        self.schema_cache().insert(computed, RetainedSchema { schema, memory });
        Ok(())
    }

    /// Finds the schemas of those of these clusters that have reported one.
    pub(crate) async fn find_schemas(
        &self,
        tx: &mut Tx,
        clusters: &[ClusterId],
    ) -> Result<NamedSchemas, Error> {
        let mut by_digest: HashMap<Digest, Vec<ClusterId>> = HashMap::new();
        for (cluster, digest) in store::cluster::list_schema_digests(tx, clusters).await? {
            by_digest.entry(digest).or_default().push(cluster);
        }
        let mut common: Vec<(Digest, Vec<ClusterId>)> = by_digest.into_iter().collect();
        common.sort_by(|(one, a), (other, b)| (b.len(), one).cmp(&(a.len(), other)));
        let others = common.split_off(MAX_PER_CHECK.min(common.len()));
        Ok(NamedSchemas { common, others: others.into_iter().flat_map(|(_, clusters)| clusters).collect() })
    }

    /// Reads and parses schemas, as many as the memory for all of them has room for; the clusters of the others are noted. Who holds them must
    /// not wait for other memory.
    ///
    /// # Errors
    /// Others use the memory for longer than a request waits.
    pub(crate) async fn load_schemas(&self, named: &NamedSchemas) -> Result<ReportedSchemas, Error> {
        let mut reported =
            ReportedSchemas { unread: named.others.iter().copied().collect(), ..ReportedSchemas::default() };
        let (mut wanted, mut free) = (Vec::new(), PARSED_SCHEMAS.bytes());
        for (digest, clusters) in &named.common {
            match self.measure_schema(digest).await? {
                Some(needed) if needed <= free.min(max_schema_bytes()) => {
                    free -= needed;
                    wanted.push((digest, clusters));
                }
                Some(_) => reported.unread.extend(clusters),
                // Its cluster has a condition that says so, and is checked as one that has reported none.
                None => {}
            }
        }
        let digests: Vec<Digest> = wanted.iter().map(|(digest, _)| Digest::clone(digest)).collect();
        let parsed = Box::pin(self.parse_schemas(&digests)).await?;
        for (digest, clusters) in wanted {
            let Some(RetainedSchema { schema, memory }) = parsed.get(digest) else {
                reported.unread.extend(clusters);
                continue;
            };
            reported.by_cluster.extend(clusters.iter().map(|cluster| (*cluster, schema.clone())));
            reported.memory.push(memory.clone());
        }
        Ok(reported)
    }

    /// What a stored schema needs in memory; `None` if it is not stored.
    async fn measure_schema(&self, digest: &Digest) -> Result<Option<u64>, Error> {
        if let Some(known) = self.schema_cache().size(digest) {
            return Ok(Some(known));
        }
        let mut tx = self.read().await?;
        self.measure_stored_schema(&mut tx, digest).await
    }

    /// The same of one whose size is not known, in a transaction.
    async fn measure_stored_schema(&self, tx: &mut Tx, digest: &Digest) -> Result<Option<u64>, Error> {
        // A cluster may name the digest of anything that is stored.
        let Some(length) = store::artifact::measure(tx, digest).await? else { return Ok(None) };
        let needed = if length > MAX_BYTES + MAX_SEAL_BYTES {
            MAX_MEMORY_BYTES + length as u64
        } else {
            let Some(bytes) = store::artifact::get(tx, digest).await? else { return Ok(None) };
            run_blocking(move || estimate_memory(&bytes)).await?
        };
        self.schema_cache().note_size(digest, needed);
        Ok(Some(needed))
    }

    /// Adds to each of these clusters of whose kinds the schema is not known the condition that says so. A server that has been started
    /// measures the stored ones a few at a time.
    pub(crate) async fn add_unknown_kinds(
        &self,
        tx: &mut Tx,
        clusters: &mut [ClusterSummary],
    ) -> Result<(), Error> {
        let ids: Vec<ClusterId> = clusters.iter().map(|summary| summary.cluster.id).collect();
        let reported = store::cluster::list_reported_schemas(tx, &ids).await?;
        let reported: HashMap<ClusterId, (Option<Digest>, bool)> =
            reported.into_iter().map(|(id, digest, is_stored)| (id, (digest, is_stored))).collect();
        let mut measured = 0;
        for ClusterSummary { cluster, conditions, .. } in clusters {
            let Some((digest, is_stored)) = reported.get(&cluster.id) else { continue };
            let mut needed = digest.as_ref().and_then(|digest| self.schema_cache().size(digest));
            if let Some(digest) = digest
                && needed.is_none()
                && *is_stored
                && measured < MAX_MEASURED
            {
                measured += 1;
                needed = match self.measure_stored_schema(tx, digest).await {
                    // It is not known, and the condition says so.
                    Err(error) if error.unreadable_row().is_some() => None,
                    found => found?,
                };
            }
            conditions.extend(unknown_kinds(&cluster.name, needed, *is_stored));
        }
        Ok(())
    }

    async fn read_schema(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
        let mut tx = self.read().await?;
        Ok(store::artifact::get(&mut tx, digest).await?)
    }

    /// These schemas, parsed. Nothing is held while it waits for memory: two checks never wait for each other's.
    async fn parse_schemas(&self, digests: &[Digest]) -> Result<HashMap<Digest, RetainedSchema>, Error> {
        let cache = self.schema_cache();
        let list_missing = |found: &HashMap<Digest, RetainedSchema>| -> Vec<Digest> {
            digests.iter().filter(|digest| !found.contains_key(*digest)).cloned().collect()
        };
        let mut reserved_for = list_missing(&cache.get_many(digests));
        loop {
            let needed =
                reserved_for.iter().map(|digest| cache.size(digest).unwrap_or_else(max_schema_bytes)).sum();
            let memory = if reserved_for.is_empty() { None } else { Some(cache.reserve(needed).await?) };
            let mut found = cache.get_many(digests);
            let missing = list_missing(&found);
            // Others may have needed the memory of one meanwhile.
            let lost: Vec<Digest> =
                missing.iter().filter(|digest| !reserved_for.contains(digest)).cloned().collect();
            if !lost.is_empty() {
                reserved_for.extend(lost);
                continue;
            }
            let Some(memory) = memory else { return Ok(found) };
            for digest in missing {
                let Some(schema) = self.parse_schema(&digest).await? else { continue };
                let parsed = RetainedSchema { schema: Arc::new(schema), memory: memory.clone() };
                cache.insert(digest.clone(), parsed.clone());
                found.insert(digest, parsed);
            }
            return Ok(found);
        }
    }

    async fn parse_schema(&self, digest: &Digest) -> Result<Option<Schema>, Error> {
        let Some(bytes) = self.read_schema(digest).await? else { return Ok(None) };
        let parsed = run_blocking(move || Schema::from_json(&bytes)).await?;
        Ok(parsed
            .inspect_err(|error| {
                tracing::warn!(%error, digest = digest.short(), "a stored schema can't be parsed; it is ignored");
            })
            .ok())
    }
}

/// The condition of a cluster whose schema can't be used, or of which that is not known: it needs so many bytes, and may be stored.
fn unknown_kinds(cluster: &str, needed: Option<u64>, is_stored: bool) -> Option<ClusterCondition> {
    let unknown = |reason: &str, message: &str, hint: String| {
        Some(join::kinds_unknown(ConditionStatus::Unknown, reason, message.to_owned(), hint))
    };
    match needed {
        Some(needed) if needed > max_schema_bytes() => {
            let finding = too_large(needed);
            let message = format!("{} Its custom kinds are not checked before a publish.", finding.message);
            Some(join::kinds_unknown(ConditionStatus::False, "SchemaTooLarge", message, finding.hint))
        }
        Some(_) if is_stored => None,
        None if is_stored => unknown(
            "SchemaNotMeasured",
            "Whether the schema of its kinds can be read is not known since this server was started.",
            "It is measured before a publish to the cluster, and when its page is opened; if it can't be read, the log of the server has \
             the reason."
                .to_owned(),
        ),
        _ => unknown(
            "SchemaMissing",
            "Its agent has not sent the schema of its kinds, or it was refused: its custom kinds are not checked before a publish.",
            format!(
                "If this stays, look for the schema in the log of the agent of {cluster}: it has the reason."
            ),
        ),
    }
}

/// The finding about a schema that needs so many bytes.
fn too_large(needed: u64) -> Finding {
    let message = format!(
        "The schema of the kinds of this cluster needs about {} MiB of memory; this server reads up to {} MiB.",
        needed.div_ceil(1 << 20),
        max_schema_bytes() >> 20
    );
    let hint = "Remove CustomResourceDefinitions that nobody uses, or give the server more memory.";
    Finding::error("Report", message, hint)
}
