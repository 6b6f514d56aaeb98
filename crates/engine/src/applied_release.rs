//! The record of a release on its cluster: one cluster-scoped `AppliedRelease` object (S3-7, S3-8, S3-11).
//!
//! It lists every object before the object is created, and its uid afterwards, so that after a crash at any point the
//! owned objects can be determined. Its finalizer is removed when the objects are gone.

use std::collections::HashMap;
use std::sync::Arc;

use domain::{Digest, ReleaseId, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::Options;
use crate::api::{ApiClient, ForceConflicts, ServedKind};
use crate::error::Error;

mod claims;
mod contested;
mod definition;
mod hook_progress;
mod inventory;

pub(crate) use contested::{ContestedFields, ContestedObject};
pub(crate) use definition::ensure_definition;
pub(crate) use hook_progress::{HookBundle, HookPhase, HookProgress};
pub(crate) use inventory::InventoryEntry;
use inventory::UNKNOWN_LEFT_FIELDS;

/// API group of `AppliedRelease`.
const GROUP: &str = "flotilla.dev";
/// API version of `AppliedRelease`.
const VERSION: &str = "v1alpha1";
/// Finalizer that blocks deletion of the record until its objects are gone.
const FINALIZER: &str = "flotilla.dev/applied-cleanup";
/// Annotation of the definition with the hash of its desired content.
const HASH_ANNOTATION: &str = crate::desired_object::HASH_ANNOTATION;

/// The content of an `AppliedRelease`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedRelease {
    pub name: String,
    pub uid: String,
    pub release: ReleaseId,
    pub workload: String,
    pub revision: u32,
    /// Generation of the hub's desired release at the last write; 0 in records of earlier versions. A hub with a lower
    /// generation was restored from a backup (P24).
    pub generation: i64,
    /// The bundle being applied.
    pub bundle: Option<Digest>,
    /// The bundle that is applied completely.
    pub applied: Option<Digest>,
    pub resources: Vec<InventoryEntry>,
    /// Whether the entries have which policies left fields of their objects to others; false in records of earlier versions.
    pub left_fields_recorded: bool,
    /// Which hooks have run; `None` as long as no bundle had hooks.
    pub hooks: Option<HookProgress>,
    /// The hooks of the removal, which have to be known when the bundle is not.
    pub removal_hooks: Vec<Value>,
    /// The fields that are left to another manager; `None` without any.
    pub contested: Option<ContestedFields>,
    /// Hash of the owning hub's address; empty in records of earlier versions.
    pub hub_hash: String,
    /// The agent that wrote it; informational.
    pub agent: String,
    /// Since when the release is missing from the desired state without a requested removal (S3-8). Informational;
    /// causes no removal.
    pub eviction_start: Option<Timestamp>,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
}

/// Summary of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedReleaseSummary {
    /// Id of the release.
    pub release: ReleaseId,
    /// Name of its workload.
    pub workload: String,
    /// Number of the revision that was applied last.
    pub revision: u32,
    /// The bundle that is applied completely, if one is.
    pub applied: Option<Digest>,
    /// Since when it is missing from the desired state (S3-8).
    pub eviction_start: Option<Timestamp>,
}

impl AppliedRelease {
    /// A record that is not on the cluster yet. Its name starts with the hash of the hub (S3-7).
    pub(crate) fn new(release: ReleaseId, workload: &str, hub_hash: &str) -> Self {
        Self {
            name: format!("{hub_hash}-{}", release.to_string().to_lowercase()),
            uid: String::new(),
            release,
            workload: workload.to_owned(),
            revision: 0,
            generation: 0,
            bundle: None,
            applied: None,
            resources: Vec::new(),
            left_fields_recorded: true,
            hooks: None,
            removal_hooks: Vec::new(),
            contested: None,
            hub_hash: hub_hash.to_owned(),
            agent: String::new(),
            eviction_start: None,
            deleting: false,
        }
    }

    /// Parses a record; `None` if it is not valid.
    pub(crate) fn from_object(value: &Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let resources = value.pointer("/spec/resources").cloned().unwrap_or_else(|| json!([]));
        Some(Self {
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            release: text("/spec/releaseId").parse().ok()?,
            workload: text("/spec/workload").to_owned(),
            revision: value.pointer("/spec/revision").and_then(Value::as_u64)?.try_into().ok()?,
            generation: value.pointer("/spec/generation").and_then(Value::as_i64).unwrap_or_default(),
            // Earlier versions wrote `bundle` instead of `specHash`.
            bundle: text("/spec/specHash").parse().or_else(|_| text("/spec/bundle").parse()).ok(),
            applied: text("/spec/applied").parse().ok(),
            resources: serde_json::from_value(resources).ok()?,
            left_fields_recorded: value.pointer("/spec/leftFieldsRecorded") == Some(&Value::Bool(true)),
            hooks: match value.pointer("/spec/hooks") {
                Some(hooks) => Some(serde_json::from_value(hooks.clone()).ok()?),
                None => None,
            },
            removal_hooks: value
                .pointer("/spec/removalHooks")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            // Unreadable is the same as none: the fields are reverted, and contested again.
            contested: value
                .pointer("/spec/contested")
                .and_then(|contested| serde_json::from_value(contested.clone()).ok()),
            hub_hash: text("/spec/hubHash").to_owned(),
            agent: text("/spec/agentId").to_owned(),
            eviction_start: text("/spec/evictionStart").parse().ok(),
            deleting: value.pointer("/metadata/deletionTimestamp").is_some(),
        })
    }

    fn to_manifest(&self) -> Value {
        let mut manifest = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "AppliedRelease",
            "metadata": { "name": self.name, "finalizers": [FINALIZER] },
            "spec": {
                "releaseId": self.release,
                "workload": self.workload,
                "revision": self.revision,
                "generation": self.generation,
                "state": self.state_label(),
                "hubHash": self.hub_hash,
                "agentId": self.agent,
                "specHash": self.bundle.as_ref().map_or("", Digest::as_str),
                "applied": self.applied.as_ref().map_or("", Digest::as_str),
                "resources": self.resources,
            },
        });
        if self.left_fields_recorded {
            manifest["spec"]["leftFieldsRecorded"] = json!(true);
        }
        if let Some(since) = self.eviction_start {
            manifest["spec"]["evictionStart"] = json!(since.to_string());
        }
        if let Some(hooks) = &self.hooks {
            manifest["spec"]["hooks"] = json!(hooks);
        }
        if !self.removal_hooks.is_empty() {
            manifest["spec"]["removalHooks"] = json!(self.removal_hooks);
        }
        if let Some(contested) = &self.contested {
            manifest["spec"]["contested"] = json!(contested);
        }
        manifest
    }

    /// The entries, for the application of this revision. If the record does not have which policies left fields to others, those of
    /// another revision may have left some: each object is then applied without force, as if they had.
    pub(crate) fn entries_for(&self, revision: u32) -> Vec<InventoryEntry> {
        let mut entries = self.resources.clone();
        if !self.left_fields_recorded && self.revision != revision {
            let is_unknown =
                |entry: &&mut InventoryEntry| !entry.hash.is_empty() && entry.left_fields.is_empty();
            for entry in entries.iter_mut().filter(is_unknown) {
                UNKNOWN_LEFT_FIELDS.clone_into(&mut entry.left_fields);
            }
        }
        entries
    }

    /// Printer column of `kubectl get`; not read back.
    fn state_label(&self) -> &'static str {
        match (self.deleting, &self.applied) {
            (true, _) => "Removing",
            (false, Some(applied)) if self.bundle.as_ref() == Some(applied) => "Applied",
            (false, _) => "Applying",
        }
    }

    /// Whether objects of the release are on the cluster.
    pub(crate) fn has_objects(&self) -> bool {
        self.applied.is_some() || self.resources.iter().any(|entry| !entry.uid.is_empty())
    }

    fn has_same_content(&self, other: &Self) -> bool {
        self.to_manifest() == other.to_manifest()
    }
}

/// Cache of all records on the cluster, as last written or read.
pub(crate) struct AppliedReleases {
    api: ApiClient,
    hub_hash: String,
    agent: String,
    known: Mutex<HashMap<ReleaseId, Arc<AppliedRelease>>>,
    /// Records written since the last list started, with their resource version: the list may lack or predate them.
    written: Mutex<HashMap<ReleaseId, u64>>,
    /// Records of other hubs by name; only their listed objects are used.
    foreign: Mutex<HashMap<String, AppliedRelease>>,
}

pub(crate) fn served_kind() -> ServedKind {
    ServedKind::new(GROUP, VERSION, "AppliedRelease", "appliedreleases", false)
}

impl AppliedReleases {
    pub(crate) fn new(api: ApiClient, options: &Options) -> Self {
        let hash = Digest::compute(options.hub.as_bytes());
        let hub_hash = hash.as_str().trim_start_matches("sha256:").to_owned();
        Self {
            api,
            hub_hash,
            agent: options.agent.clone(),
            known: Mutex::default(),
            written: Mutex::default(),
            foreign: Mutex::default(),
        }
    }

    /// A record of this hub that is not on the cluster yet.
    pub(crate) fn new_record(&self, release: ReleaseId, workload: &str) -> AppliedRelease {
        AppliedRelease::new(release, workload, &self.hub_hash)
    }

    fn lock_foreign(&self) -> MutexGuard<'_, HashMap<String, AppliedRelease>> {
        self.foreign.lock()
    }

    fn is_foreign(&self, record: &AppliedRelease) -> bool {
        !record.hub_hash.is_empty() && record.hub_hash != self.hub_hash
    }

    fn lock_known(&self) -> MutexGuard<'_, HashMap<ReleaseId, Arc<AppliedRelease>>> {
        self.known.lock()
    }

    /// The record of a release.
    pub(crate) fn get(&self, release: ReleaseId) -> Option<Arc<AppliedRelease>> {
        self.lock_known().get(&release).cloned()
    }

    /// Summaries of this hub's records, sorted by release.
    pub(crate) fn summaries(&self) -> Vec<AppliedReleaseSummary> {
        let mut all: Vec<AppliedReleaseSummary> = self
            .lock_known()
            .values()
            .map(|record| AppliedReleaseSummary {
                release: record.release,
                workload: record.workload.clone(),
                revision: record.revision,
                applied: record.applied.clone(),
                eviction_start: record.eviction_start,
            })
            .collect();
        all.sort_by_key(|recorded| recorded.release);
        all
    }

    fn lock_written(&self) -> MutexGuard<'_, HashMap<ReleaseId, u64>> {
        self.written.lock()
    }

    /// A list has started.
    pub(crate) fn begin_list(&self) {
        self.lock_written().clear();
    }

    /// Replaces the cache with a full list of resource version `version`, except records written after it.
    pub(crate) fn replace_listed(&self, values: &[Value], version: u64) {
        let (foreign, ours): (Vec<AppliedRelease>, Vec<AppliedRelease>) =
            values.iter().filter_map(AppliedRelease::from_object).partition(|record| self.is_foreign(record));
        *self.lock_foreign() = foreign.into_iter().map(|record| (record.name.clone(), record)).collect();
        let fresh = ours.into_iter().map(|record| (record.release, Arc::new(record)));
        let mut fresh: HashMap<ReleaseId, Arc<AppliedRelease>> = fresh.collect();
        let mut known = self.lock_known();
        for (release, written) in self.lock_written().drain() {
            if let Some(newer) = known.remove(&release).filter(|_| written > version) {
                fresh.insert(release, newer);
            }
        }
        *known = fresh;
    }

    fn insert_written(&self, record: Arc<AppliedRelease>, version: u64) {
        let mut known = self.lock_known();
        self.lock_written().insert(record.release, version);
        known.insert(record.release, record);
    }

    /// Handles a watch event; returns the release if its record changed. Only a change of the deletion state is
    /// applied: the engine is the only writer of the content.
    pub(crate) fn handle_upsert(&self, value: &Value) -> Option<ReleaseId> {
        let fresh = AppliedRelease::from_object(value)?;
        if self.is_foreign(&fresh) {
            self.lock_foreign().insert(fresh.name.clone(), fresh);
            return None;
        }
        let mut known = self.lock_known();
        let release = fresh.release;
        let is_changed = match known.get(&release) {
            Some(old) => old.deleting != fresh.deleting && old.uid == fresh.uid,
            None => false,
        };
        if is_changed && let Some(old) = known.get(&release) {
            let changed = AppliedRelease { deleting: fresh.deleting, ..(**old).clone() };
            known.insert(release, Arc::new(changed));
        }
        is_changed.then_some(release)
    }

    /// Handles the deletion of a record; returns the release if it was cached.
    pub(crate) fn handle_deletion(&self, value: &Value) -> Option<ReleaseId> {
        let deleted = AppliedRelease::from_object(value)?;
        if self.is_foreign(&deleted) {
            self.lock_foreign().remove(&deleted.name);
            return None;
        }
        let mut known = self.lock_known();
        let is_same = known.get(&deleted.release).is_some_and(|old| old.uid == deleted.uid);
        if is_same {
            known.remove(&deleted.release);
        }
        is_same.then_some(deleted.release)
    }

    /// Writes a record if its content changed.
    ///
    /// # Errors
    /// The API server rejects the write. The cached record stays, except on a conflict or 404, which drops it.
    pub(crate) async fn write(&self, record: AppliedRelease) -> Result<Arc<AppliedRelease>, Error> {
        let record = AppliedRelease { hub_hash: self.hub_hash.clone(), agent: self.agent.clone(), ..record };
        if let Some(old) = self.get(record.release)
            && old.has_same_content(&record)
            && !old.deleting
        {
            return Ok(old);
        }
        let object = match self.create_or_apply(&record).await {
            Err(error @ (Error::Conflict(_) | Error::NotFound(_))) => {
                self.remove_known(&record);
                return Err(error);
            }
            other => other?,
        };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
        let written = Arc::new(AppliedRelease { uid: uid.to_owned(), deleting, ..record });
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        self.insert_written(written.clone(), version.and_then(|version| version.parse().ok()).unwrap_or(0));
        Ok(written)
    }

    /// Creates a new record, which costs the API server a third less than an apply; an existing one is applied. The
    /// apply carries the uid, so a record deleted meanwhile causes a conflict and is not re-created.
    async fn create_or_apply(&self, record: &AppliedRelease) -> Result<Value, Error> {
        let mut manifest = record.to_manifest();
        if record.uid.is_empty() {
            match self.api.create(&served_kind().collection_path(""), &manifest).await {
                Err(Error::Conflict(_)) => {}
                created => return created,
            }
        }
        if !record.uid.is_empty() {
            manifest["metadata"]["uid"] = json!(record.uid);
        }
        let path = served_kind().object_path("", &record.name);
        Ok(self.api.apply(&path, manifest.to_string().into_bytes(), ForceConflicts::Yes, false).await?.object)
    }

    /// Removes a record from the cache.
    fn remove_known(&self, record: &AppliedRelease) {
        let mut known = self.lock_known();
        if known.get(&record.release).is_some_and(|old| old.uid == record.uid) {
            known.remove(&record.release);
        }
    }

    /// Requests the deletion of a record; its finalizer keeps it in existence.
    ///
    /// # Errors
    /// The API server rejects the request. A missing record is no error.
    pub(crate) async fn request_deletion(&self, record: &AppliedRelease) -> Result<(), Error> {
        if record.deleting {
            return Ok(());
        }
        let path = served_kind().object_path("", &record.name);
        match self.api.delete(&path, &record.uid, "Background").await {
            Ok(()) => {
                let marked = AppliedRelease { deleting: true, ..record.clone() };
                let state = json!({"metadata": {"uid": record.uid}, "spec": {"state": marked.state_label()}});
                if let Err(error) = self.api.merge_patch(&path, &state).await {
                    tracing::debug!(
                        reason = %error.reason(),
                        "the state column of the record could not be set to Removing"
                    );
                }
                self.lock_known().insert(record.release, Arc::new(marked));
                Ok(())
            }
            Err(Error::NotFound(_) | Error::Conflict(_)) => {
                self.lock_known().remove(&record.release);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the finalizer of a terminating record, which completes its deletion.
    ///
    /// # Errors
    /// The API server rejects the request. A missing record is no error.
    pub(crate) async fn remove_finalizer(&self, record: &AppliedRelease) -> Result<(), Error> {
        let patch = json!({"metadata": {"uid": record.uid, "finalizers": null}});
        match self.api.merge_patch(&served_kind().object_path("", &record.name), &patch).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => {
                self.lock_known().remove(&record.release);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
