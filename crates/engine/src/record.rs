//! The record of a release on its cluster: one cluster-scoped `AppliedRelease` object (S3-7, S3-8, S3-11).
//!
//! It names every object of the release before the object is made and its uid after, so that whatever moment the
//! engine dies in, the next one knows what is there and what is ours. Its finalizer goes when the objects are gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use domain::object::ObjectRef;
use domain::{Digest, ReleaseId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Options;
use crate::api::{Api, Force, Resource};
use crate::error::Error;

mod claims;
mod definition;

pub(crate) use definition::ensure_definition;

/// API group of our own kinds.
const GROUP: &str = "flotilla.dev";
/// Version of our own kinds.
const VERSION: &str = "v1alpha1";
/// What holds the record until everything in it is gone.
const FINALIZER: &str = "flotilla.dev/applied-cleanup";
/// Marks the definition with the hash of what this engine wants it to be.
const HASH_ANNOTATION: &str = crate::wanted::HASH_ANNOTATION;

/// One object of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub object: ObjectRef,
    /// The plural in URLs.
    #[serde(default)]
    pub resource: String,
    /// Empty while the object is only intended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Hash of the content applied last; empty while the object is only intended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// It was there before us and others may live in it: it is never deleted by us.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// It has run to its end: when it is cleaned away it is not run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub name: String,
    pub uid: String,
    pub release: ReleaseId,
    pub workload: String,
    pub revision: u32,
    /// The hub's count of its wants, when this was written; 0 in records that were written before it was kept. A hub that
    /// wants an earlier one has forgotten something (P24).
    pub generation: i64,
    /// The bundle being applied.
    pub bundle: Option<Digest>,
    /// The bundle applied completely.
    pub applied: Option<Digest>,
    pub resources: Vec<Entry>,
    /// Hash of the hub whose release it is; empty in records that were written before there was one.
    pub hub_hash: String,
    /// The agent that wrote it; for people.
    pub agent: String,
    /// Since when the hub does not name the release any more, without having asked for its removal (S3-8). It is shown to
    /// people; nothing is removed by itself.
    pub eviction_start: Option<Timestamp>,
    /// Somebody asked the API server to delete it.
    pub deleting: bool,
}

/// What an engine finds on its cluster when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The release.
    pub release: ReleaseId,
    /// Name of its workload.
    pub workload: String,
    /// Number of the revision that was applied last.
    pub revision: u32,
    /// The bundle that is applied completely, if one is.
    pub applied: Option<Digest>,
    /// Since when the hub does not name it any more (S3-8).
    pub eviction_start: Option<Timestamp>,
}

impl Record {
    /// A record that is not on the cluster yet. Its name begins with the hash of the hub (S3-7).
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
            hub_hash: hub_hash.to_owned(),
            agent: String::new(),
            eviction_start: None,
            deleting: false,
        }
    }

    /// Reads a record; `None` if it is not one of ours.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let resources = value.pointer("/spec/resources").cloned().unwrap_or_else(|| json!([]));
        Some(Self {
            name: text("/metadata/name").to_owned(),
            uid: text("/metadata/uid").to_owned(),
            release: text("/spec/releaseId").parse().ok()?,
            workload: text("/spec/workload").to_owned(),
            revision: value.pointer("/spec/revision").and_then(Value::as_u64)?.try_into().ok()?,
            generation: value.pointer("/spec/generation").and_then(Value::as_i64).unwrap_or_default(),
            // `bundle` is what it was called before.
            bundle: text("/spec/specHash").parse().or_else(|_| text("/spec/bundle").parse()).ok(),
            applied: text("/spec/applied").parse().ok(),
            resources: serde_json::from_value(resources).ok()?,
            hub_hash: text("/spec/hubHash").to_owned(),
            agent: text("/spec/agentId").to_owned(),
            eviction_start: text("/spec/evictionStart").parse().ok(),
            deleting: value.pointer("/metadata/deletionTimestamp").is_some(),
        })
    }

    fn manifest(&self) -> Value {
        let mut manifest = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "AppliedRelease",
            "metadata": { "name": self.name, "finalizers": [FINALIZER] },
            "spec": {
                "releaseId": self.release,
                "workload": self.workload,
                "revision": self.revision,
                "generation": self.generation,
                "state": self.state(),
                "hubHash": self.hub_hash,
                "agentId": self.agent,
                "specHash": self.bundle.as_ref().map_or("", Digest::as_str),
                "applied": self.applied.as_ref().map_or("", Digest::as_str),
                "resources": self.resources,
            },
        });
        if let Some(since) = self.eviction_start {
            manifest["spec"]["evictionStart"] = json!(since.to_string());
        }
        manifest
    }

    /// For people who look at the cluster with kubectl; nothing reads it back.
    fn state(&self) -> &'static str {
        match (self.deleting, &self.applied) {
            (true, _) => "Removing",
            (false, Some(applied)) if self.bundle.as_ref() == Some(applied) => "Applied",
            (false, _) => "Applying",
        }
    }

    fn same_content(&self, other: &Self) -> bool {
        self.manifest() == other.manifest()
    }
}

/// All records of the cluster, as last written or read.
pub(crate) struct Records {
    api: Api,
    hub_hash: String,
    agent: String,
    known: Mutex<HashMap<ReleaseId, Arc<Record>>>,
    /// What was written since the last list was asked for, with its version: maybe missing or older in that list.
    written: Mutex<HashMap<ReleaseId, u64>>,
    /// Records of other hubs, by name: only what they claim is of interest.
    foreign: Mutex<HashMap<String, Record>>,
}

pub(crate) fn resource() -> Resource {
    Resource::known(GROUP, VERSION, "AppliedRelease", "appliedreleases", false)
}

impl Records {
    pub(crate) fn new(api: Api, options: &Options) -> Self {
        let hash = Digest::of(options.hub.as_bytes());
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
    pub(crate) fn blank(&self, release: ReleaseId, workload: &str) -> Record {
        Record::new(release, workload, &self.hub_hash)
    }

    fn foreign(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        self.foreign.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn is_foreign(&self, record: &Record) -> bool {
        !record.hub_hash.is_empty() && record.hub_hash != self.hub_hash
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ReleaseId, Arc<Record>>> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The record of a release.
    pub(crate) fn get(&self, release: ReleaseId) -> Option<Arc<Record>> {
        self.known().get(&release).cloned()
    }

    /// What there is, sorted by release.
    pub(crate) fn all(&self) -> Vec<Recorded> {
        let mut all: Vec<Recorded> = self
            .known()
            .values()
            .map(|record| Recorded {
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

    fn written(&self) -> MutexGuard<'_, HashMap<ReleaseId, u64>> {
        self.written.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A list is asked for.
    pub(crate) fn listing(&self) {
        self.written().clear();
    }

    /// Takes a full list, made at `version`. What was written after it stands.
    pub(crate) fn listed(&self, values: &[Value], version: u64) {
        let (foreign, ours): (Vec<Record>, Vec<Record>) =
            values.iter().filter_map(Record::read).partition(|record| self.is_foreign(record));
        *self.foreign() = foreign.into_iter().map(|record| (record.name.clone(), record)).collect();
        let fresh = ours.into_iter().map(|record| (record.release, Arc::new(record)));
        let mut fresh: HashMap<ReleaseId, Arc<Record>> = fresh.collect();
        let mut known = self.known();
        for (release, written) in self.written().drain() {
            if let Some(mine) = known.remove(&release).filter(|_| written > version) {
                fresh.insert(release, mine);
            }
        }
        *known = fresh;
    }

    fn keep(&self, record: Arc<Record>, version: u64) {
        let mut known = self.known();
        self.written().insert(record.release, version);
        known.insert(record.release, record);
    }

    /// Takes what a watch says; returns the release concerned. Only what a write of ours cannot have caused is taken:
    /// the engine is the only author of a record's content.
    pub(crate) fn seen(&self, value: &Value) -> Option<ReleaseId> {
        let fresh = Record::read(value)?;
        if self.is_foreign(&fresh) {
            self.foreign().insert(fresh.name.clone(), fresh);
            return None;
        }
        let mut known = self.known();
        let release = fresh.release;
        let news = match known.get(&release) {
            Some(old) => old.deleting != fresh.deleting && old.uid == fresh.uid,
            None => false,
        };
        if news && let Some(old) = known.get(&release) {
            let changed = Record { deleting: fresh.deleting, ..(**old).clone() };
            known.insert(release, Arc::new(changed));
        }
        news.then_some(release)
    }

    /// Takes that a record is gone; returns the release concerned.
    pub(crate) fn vanished(&self, value: &Value) -> Option<ReleaseId> {
        let gone = Record::read(value)?;
        if self.is_foreign(&gone) {
            self.foreign().remove(&gone.name);
            return None;
        }
        let mut known = self.known();
        let same = known.get(&gone.release).is_some_and(|old| old.uid == gone.uid);
        if same {
            known.remove(&gone.release);
        }
        same.then_some(gone.release)
    }

    /// Writes a record, if it says anything new.
    ///
    /// # Errors
    /// When the API server refuses; what is known stays.
    pub(crate) async fn write(&self, record: Record) -> Result<Arc<Record>, Error> {
        let record = Record { hub_hash: self.hub_hash.clone(), agent: self.agent.clone(), ..record };
        if let Some(old) = self.get(record.release)
            && old.same_content(&record)
            && !old.deleting
        {
            return Ok(old);
        }
        let object = match self.put(&record).await {
            Err(error @ (Error::Conflict(_) | Error::NotFound(_))) => {
                self.forget(&record);
                return Err(error);
            }
            other => other?,
        };
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
        let written = Arc::new(Record { uid: uid.to_owned(), deleting, ..record });
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        self.keep(written.clone(), version.and_then(|version| version.parse().ok()).unwrap_or(0));
        Ok(written)
    }

    /// A new one is created, which costs the API server a third less than an apply; one that is there after all is
    /// applied, and so is every change. What is known may be gone by now: then this is a conflict, and makes nothing anew.
    async fn put(&self, record: &Record) -> Result<Value, Error> {
        let mut manifest = record.manifest();
        if record.uid.is_empty() {
            match self.api.create(&resource().collection(""), &manifest).await {
                Err(Error::Conflict(_)) => {}
                created => return created,
            }
        }
        if !record.uid.is_empty() {
            manifest["metadata"]["uid"] = json!(record.uid);
        }
        let path = resource().object("", &record.name);
        Ok(self.api.apply(&path, manifest.to_string().into_bytes(), Force::Yes, false).await?.object)
    }

    /// What was known of a record is not so any more.
    fn forget(&self, record: &Record) {
        let mut known = self.known();
        if known.get(&record.release).is_some_and(|old| old.uid == record.uid) {
            known.remove(&record.release);
        }
    }

    /// Asks for the deletion of a record; its finalizer holds it.
    ///
    /// # Errors
    /// When the API server refuses; a record that is gone is no error.
    pub(crate) async fn mark_deleted(&self, record: &Record) -> Result<(), Error> {
        if record.deleting {
            return Ok(());
        }
        let path = resource().object("", &record.name);
        match self.api.delete(&path, &record.uid, "Background").await {
            Ok(()) => {
                let marked = Record { deleting: true, ..record.clone() };
                let state = json!({"metadata": {"uid": record.uid}, "spec": {"state": marked.state()}});
                if let Err(error) = self.api.merge(&path, &state).await {
                    tracing::debug!(
                        reason = error.label(),
                        "the record does not say that it is being removed"
                    );
                }
                self.known().insert(record.release, Arc::new(marked));
                Ok(())
            }
            Err(Error::NotFound(_) | Error::Conflict(_)) => {
                self.known().remove(&record.release);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Takes the finalizer off a record that is being deleted, which ends it.
    ///
    /// # Errors
    /// When the API server refuses; a record that is gone is no error.
    pub(crate) async fn let_go(&self, record: &Record) -> Result<(), Error> {
        let patch = json!({"metadata": {"uid": record.uid, "finalizers": null}});
        match self.api.merge(&resource().object("", &record.name), &patch).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => {
                self.known().remove(&record.release);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_8_a_record_reads_back_as_it_was_written() {
        let mut record = Record::new(ReleaseId::from_parts(1, 2), "shop", &"a".repeat(64));
        record.agent = "agent".into();
        record.eviction_start = Some(Timestamp::from_millis(5_000));
        record.revision = 4;
        record.generation = 6;
        record.bundle = Some(Digest::of(b"b"));
        record.resources.push(Entry {
            object: ObjectRef {
                version: "v1".into(),
                kind: "ConfigMap".into(),
                name: "a".into(),
                ..Default::default()
            },
            resource: "configmaps".into(),
            uid: "u".into(),
            hash: "h".into(),
            ..Entry::default()
        });
        assert_eq!(Record::read(&record.manifest()), Some(record.clone()));
        assert_eq!(record.name, format!("{}-{}", "a".repeat(64), record.release.to_string().to_lowercase()));
        assert!(domain::name::is_subdomain(&record.name));
    }

    #[tokio::test]
    async fn a_list_made_before_a_write_does_not_make_the_record_forgotten() {
        let records = Records::new(Api::deaf(), &Options::new(|| Timestamp::from_millis(0)));
        let record = Arc::new(records.blank(ReleaseId::from_parts(1, 2), "shop"));
        records.listing();
        records.keep(record.clone(), 7);
        records.listed(&[], 6);
        assert_eq!(records.get(record.release), Some(record.clone()));
        records.listing();
        records.listed(&[], 8);
        assert_eq!(records.get(record.release), None, "the next list is newer");
        records.listing();
        records.keep(record.clone(), 9);
        records.listed(&[], 10);
        assert_eq!(records.get(record.release), None, "somebody removed it before the list was made");
    }

    #[test]
    fn s3_7_a_record_of_before_there_was_a_hub_hash_is_still_ours() {
        let old = json!({"metadata": {"name": "shop-1", "uid": "u"}, "spec": {"releaseId": ReleaseId::from_parts(1, 2),
            "workload": "shop", "revision": 1, "bundle": Digest::of(b"b").as_str(), "resources": []}});
        let read = Record::read(&old).unwrap();
        assert_eq!((read.hub_hash.as_str(), read.bundle.clone()), ("", Some(Digest::of(b"b"))));
        assert_eq!(read.name, "shop-1", "it keeps its name");
    }

    #[test]
    fn objects_of_the_kind_that_make_no_sense_are_left_alone() {
        assert_eq!(Record::read(&json!({"metadata": {"name": "x"}, "spec": {"releaseId": "no"}})), None);
    }
}
