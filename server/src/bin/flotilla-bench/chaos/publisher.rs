//! The client of one workload: changes the draft or restores an earlier one, publishes it, unpublishes it, and reads, one after
//! the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::page::ListQuery;
use domain::release::ReleaseState;
use domain::workload::{NewWorkload, WorkloadSpec};
use rand::Rng as _;
use rand::rngs::StdRng;
use serde_json::json;
use testkit::history::{ClientOperation, HistoryRecorder, Outcome, ShownRelease, ShownRevision};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::{Client, Error, PublishRequest, RemovalOptions, RestoreRevisionRequest, WorkloadPut};

use super::environment::NAMESPACE;

/// Pause after a failed request.
const RETRY_PAUSE: Duration = Duration::from_millis(300);
/// Number of names of the second object, which changes with every publish so that the previous one is pruned.
const PARTS: u32 = 3;

/// How often the workload is unpublished before a publish, and how often an earlier revision is published again.
const UNPUBLISH_RATE: f64 = 0.15;
const ROLLBACK_RATE: f64 = 0.15;
/// Wait for a removal before the next publish.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A client with its workload.
pub struct ChaosPublisher {
    pub client: Client,
    pub recorder: Arc<HistoryRecorder>,
    pub workload: String,
    pub clusters: Vec<String>,
    /// Whether the workload is published in waves.
    pub has_waves: bool,
    pub random: StdRng,
    /// The contents of the accepted revisions, oldest first.
    pub accepted: Vec<AcceptedRevision>,
    /// Whether an unpublish has an unknown outcome since the last publish: it may be executed later.
    pub has_open_removal: bool,
}

/// A revision, and the content that every cluster has after its publish.
pub struct AcceptedRevision {
    number: u32,
    contents: BTreeMap<String, String>,
}

/// A stored draft.
struct StoredDraft {
    /// The revision of the workload, for the precondition of the publish.
    revision: i64,
    contents: BTreeMap<String, String>,
}

/// A draft and the content that every cluster has after its publish.
struct Draft {
    spec: WorkloadSpec,
    contents: BTreeMap<String, String>,
}

/// Publishes until it is stopped; the last request is completed.
pub async fn run(mut publisher: ChaosPublisher, stop: CancellationToken) {
    let mut number = 0;
    while !stop.is_cancelled() {
        number += 1;
        if !publisher.accepted.is_empty() && publisher.random.random_bool(UNPUBLISH_RATE) {
            publisher.unpublish().await;
        }
        let Some(draft) = publisher.prepare_draft(number, &stop).await else { return };
        publisher.publish(number, draft).await;
        read_revisions(&publisher.client, &publisher.recorder, &publisher.workload).await;
        read_releases(&publisher.client, &publisher.recorder, &publisher.workload).await;
        let pause = Duration::from_millis(publisher.random.random_range(50..800));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
    }
    publisher.publish_after_open_removal(number + 1).await;
}

impl ChaosPublisher {
    /// Stores a new draft, or restores that of an earlier revision.
    async fn prepare_draft(&mut self, number: u32, stop: &CancellationToken) -> Option<StoredDraft> {
        if let Some(restored) = self.restore_earlier().await {
            return Some(restored);
        }
        let Draft { spec, contents } = self.next_draft(number);
        let revision = self.store_draft(&spec, stop).await?;
        Some(StoredDraft { revision, contents })
    }

    /// Restores an earlier revision now and then; `None` if it does not, or if it fails.
    async fn restore_earlier(&mut self) -> Option<StoredDraft> {
        let (_, earlier) = self.accepted.split_last()?;
        if earlier.is_empty() || !self.random.random_bool(ROLLBACK_RATE) {
            return None;
        }
        let chosen = &earlier[self.random.random_range(0..earlier.len())];
        let request = RestoreRevisionRequest { revision: chosen.number };
        let restored = self.client.restore_revision(&self.workload, &request).await.ok()?;
        Some(StoredDraft { revision: restored.revision, contents: chosen.contents.clone() })
    }

    /// Unpublishes the workload and waits until it is removed, or for some seconds.
    async fn unpublish(&mut self) {
        let id = self.recorder.invoke(ClientOperation::Unpublish { workload: self.workload.clone() });
        let removal = RemovalOptions::default();
        let outcome = match self.client.unpublish_workload(&self.workload, &removal).await {
            Ok(_) => Outcome::Unpublished,
            Err(error) if is_rejection(&error) => Outcome::Rejected { reason: error.to_string() },
            Err(error) => Outcome::Unknown { reason: error.to_string() },
        };
        self.has_open_removal |= matches!(outcome, Outcome::Unknown { .. });
        self.recorder.complete(id, outcome);
        let query = ListQuery { limit: Some(500), ..ListQuery::default() };
        let begun = Instant::now();
        while begun.elapsed() < REMOVAL_TIMEOUT {
            let page = self.client.list_releases(&self.workload, &query).await;
            if page.is_ok_and(|page| page.items.iter().all(|one| one.state == ReleaseState::Removed)) {
                return;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Publishes once more when all faults have ended, if an unpublish may have been executed after the last publish.
    async fn publish_after_open_removal(&mut self, number: u32) {
        if !self.has_open_removal {
            return;
        }
        if let Some(draft) = self.prepare_draft(number, &CancellationToken::new()).await {
            self.publish(number, draft).await;
            read_revisions(&self.client, &self.recorder, &self.workload).await;
        }
    }

    fn next_draft(&mut self, number: u32) -> Draft {
        let (base, part) = (format!("{number}"), number % PARTS);
        let object = |name: String| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE},
                "data": {"value": base}})
        };
        let text = format!(
            "{}\n---\n{}",
            object(self.workload.clone()),
            object(format!("{}-part-{part}", self.workload))
        );
        let mut contents: BTreeMap<String, String> =
            self.clusters.iter().map(|cluster| (cluster.clone(), base.clone())).collect();
        let mut overrides = Vec::new();
        for (index, cluster) in self.clusters.iter().enumerate() {
            if self.random.random_bool(0.3) {
                let value = format!("{number}-{cluster}");
                overrides.push(json!({
                    // A ULID that does not change.
                    "id": format!("01J0000000000000000000000{}", index % 10),
                    "name": format!("on-{cluster}"),
                    "target": {"clusters": [cluster]},
                    "patches": [{"object": {"name": self.workload}, "op": "set", "path": "/data/value", "value": value}],
                }));
                contents.insert(cluster.clone(), value);
            }
        }
        let waves = json!([{"name": "canary", "maxClusters": 1}, {"name": "rest"}]);
        let spec = json!({
            "namespace": NAMESPACE,
            "source": {"type": "yaml", "files": [{"name": "app.yaml", "text": text}]},
            "placement": {"predicates": [{"names": self.clusters}]},
            "overrides": overrides,
            "rollout": {"waves": if self.has_waves { waves } else { json!([]) }},
        });
        // The value is constructed here: what can't be read is an empty draft, which no publish accepts.
        Draft { spec: serde_json::from_value(spec).unwrap_or_default(), contents }
    }

    /// Stores the draft, again until it succeeds; returns its revision for the precondition of the publish. Without that, a
    /// publish that a suspended server executes later would publish another draft.
    async fn store_draft(&self, spec: &WorkloadSpec, stop: &CancellationToken) -> Option<i64> {
        loop {
            match self.try_store_draft(spec).await {
                Ok(revision) => return Some(revision),
                Err(_) if stop.is_cancelled() => return None,
                Err(error) if error.problem().is_some_and(|problem| problem.status == 422) => {
                    println!("{} is rejected: {error}", self.workload);
                    return None;
                }
                Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }

    async fn try_store_draft(&self, spec: &WorkloadSpec) -> Result<i64, Error> {
        let revision = match self.client.get_workload(&self.workload).await {
            Ok(view) => view.workload.revision,
            Err(error) if error.is_not_found() => {
                let new =
                    NewWorkload { name: self.workload.clone(), spec: spec.clone(), ..NewWorkload::default() };
                return Ok(self.client.create_workload(&new).await?.revision);
            }
            Err(error) => return Err(error),
        };
        let put = WorkloadPut { spec: spec.clone(), ..WorkloadPut::default() };
        Ok(self.client.put_workload(&self.workload, &put, revision).await?.revision)
    }

    async fn publish(&mut self, number: u32, StoredDraft { revision, contents }: StoredDraft) {
        let (workload, message) = (self.workload.clone(), format!("publish {number}"));
        let request = PublishRequest { message: message.clone(), ..PublishRequest::default() };
        let operation = ClientOperation::Publish { workload, message, contents: contents.clone() };
        let id = self.recorder.invoke(operation);
        let outcome = match self.client.publish_workload(&self.workload, &request, Some(revision)).await {
            Ok(accepted) => Outcome::Accepted { revision: accepted.revision },
            Err(error) if is_rejection(&error) => Outcome::Rejected { reason: error.to_string() },
            Err(error) => Outcome::Unknown { reason: error.to_string() },
        };
        if let Outcome::Accepted { revision: number } = outcome {
            self.accepted.push(AcceptedRevision { number, contents });
        }
        self.recorder.complete(id, outcome);
    }
}

/// Whether the request had no effect for certain.
fn is_rejection(error: &Error) -> bool {
    let is_doubt =
        matches!(error.code(), "CommitOutcomeUnknown" | "Timeout" | "RequestInProgress" | "Internal");
    !is_doubt && error.problem().is_some()
}

/// Reads and records all revisions of a workload; a failed read has no completion. Returns whether it succeeded.
pub async fn read_revisions(client: &Client, recorder: &HistoryRecorder, workload: &str) -> bool {
    let id = recorder.invoke(ClientOperation::ReadRevisions { workload: workload.to_owned() });
    let mut revisions = Vec::new();
    let mut query = ListQuery { limit: Some(500), ..ListQuery::default() };
    loop {
        let Ok(page) = client.list_revisions(workload, &query).await else { return false };
        revisions.extend(
            page.items.into_iter().map(|one| ShownRevision { number: one.number, message: one.message }),
        );
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    recorder.complete(id, Outcome::Revisions(revisions));
    true
}

/// Reads and records all releases of a workload. Returns whether it succeeded.
pub async fn read_releases(client: &Client, recorder: &HistoryRecorder, workload: &str) -> bool {
    let id = recorder.invoke(ClientOperation::ReadReleases { workload: workload.to_owned() });
    let query = ListQuery { limit: Some(500), ..ListQuery::default() };
    let Ok(page) = client.list_releases(workload, &query).await else { return false };
    let releases = page.items.into_iter().map(|view| ShownRelease {
        release: view.release.id().to_string(),
        cluster: view.cluster_name.clone(),
        state: view.state.as_str().to_owned(),
        generation: view.release.generation(),
        applied: view.release.applied().map(ToString::to_string),
        sync: format!("{:?}", view.release.sync()),
        health: format!("{:?}", view.release.health().status),
    });
    recorder.complete(id, Outcome::Releases(releases.collect()));
    true
}
