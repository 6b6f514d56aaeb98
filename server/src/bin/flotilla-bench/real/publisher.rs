//! A REST client that publishes and follows the event stream.
//!
//! The stream signals that there are events; the events are read from the event log, each once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use domain::event::{Event, EventDetail, EventKind};
use domain::placement::{Placement, Predicate};
use domain::release::ReleaseState;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use futures::StreamExt as _;
use wire::{Client, EventQuery, PublishRequest, SyncRequest, WatchEvent};

use super::environment::WORKLOAD_NAMESPACE;

/// Concurrent calls in a burst.
pub const CONCURRENCY: usize = 16;
/// Fails the benchmark if no event arrives for this long.
const EVENT_TIMEOUT: Duration = Duration::from_secs(180);
const PAGE_SIZE: u32 = 500;

/// A client with an API token.
pub struct Publisher {
    pub client: Client,
    watch: wire::client::WatchStream,
    /// Position of the newest event that was read.
    last_event: i64,
}

impl Publisher {
    pub fn new(client: Client) -> Self {
        Self { watch: client.watch(None), client, last_event: 0 }
    }

    /// Creates a draft that is placed on these clusters; on all if the list is empty.
    pub async fn create_draft(&self, name: &str, yaml: String, clusters: &[String]) -> anyhow::Result<()> {
        let spec = workload_spec(yaml, clusters);
        self.client
            .create_workload(&NewWorkload { name: name.into(), spec, ..NewWorkload::default() })
            .await?;
        Ok(())
    }

    /// Creates many drafts.
    pub async fn create_drafts(&self, all: Vec<(String, String)>) -> anyhow::Result<()> {
        let calls =
            all.into_iter().map(|(name, yaml)| async move { self.create_draft(&name, yaml, &[]).await });
        let mut calls = futures::stream::iter(calls).buffer_unordered(CONCURRENCY);
        while let Some(done) = calls.next().await {
            done?;
        }
        Ok(())
    }

    /// Changes a draft.
    pub async fn edit_draft(&self, name: &str, yaml: String) -> anyhow::Result<()> {
        let view = self.client.get_workload(name).await?;
        let put = wire::WorkloadPut { spec: workload_spec(yaml, &[]), ..wire::WorkloadPut::default() };
        self.client.put_workload(name, &put, view.workload.revision).await?;
        Ok(())
    }

    /// Requests a sync, which resets the back-off between repairs.
    pub async fn sync_workload(&self, name: &str) -> anyhow::Result<()> {
        self.client.sync_workload(name, &SyncRequest::default()).await?;
        Ok(())
    }

    /// Skips all events up to now.
    pub async fn skip_past_events(&mut self) -> anyhow::Result<()> {
        let newest = self.client.list_events(&EventQuery { limit: Some(1), ..EventQuery::default() }).await?;
        self.last_event = newest.items.first().map_or(self.last_event, |event| event.seq);
        self.watch = self.client.watch(Some(self.last_event));
        while !matches!(self.watch.next().await?, WatchEvent::Opened) {}
        Ok(())
    }

    /// One publish; returns the time until it is applied on this many clusters.
    pub async fn publish(&mut self, name: &str, clusters: usize) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.client.publish_workload(name, &PublishRequest::default(), None).await?;
        let durations = self.wait_until_applied(HashMap::from([(name.to_owned(), clusters)]), begun).await?;
        durations.last().copied().context("something was published")
    }

    /// Publishes all of them concurrently; returns for each the time from the first call until it was applied.
    pub async fn publish_all(&mut self, names: &[String]) -> anyhow::Result<Vec<Duration>> {
        let begun = Instant::now();
        let calls = self.start_publishing(names.to_vec());
        let durations =
            self.wait_until_applied(names.iter().map(|name| (name.clone(), 1)).collect(), begun).await?;
        calls.await??;
        Ok(durations)
    }

    /// Publishes all of them in the background.
    pub fn start_publishing(&self, names: Vec<String>) -> tokio::task::JoinHandle<anyhow::Result<()>> {
        let client = self.client.clone();
        tokio::spawn(async move {
            let request = PublishRequest::default();
            let publish = |name: String| {
                let (client, request) = (&client, &request);
                async move { client.publish_workload(&name, request, None).await }
            };
            let mut calls = futures::stream::iter(names).map(publish).buffer_unordered(CONCURRENCY);
            while let Some(done) = calls.next().await {
                done?;
            }
            Ok(())
        })
    }

    /// Waits until each of these workloads is applied on the given number of clusters; returns the times of the events
    /// since `begun`, in order of arrival.
    pub async fn wait_until_applied(
        &mut self,
        mut pending: HashMap<String, usize>,
        begun: Instant,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut durations = Vec::new();
        while !pending.is_empty() {
            let Ok(received) = tokio::time::timeout(EVENT_TIMEOUT, self.watch.next()).await else {
                bail!("{} workloads were never applied, such as {:?}", pending.len(), pending.keys().next());
            };
            let newest = match received? {
                WatchEvent::Changed(change) if change.kind != EventKind::ReleaseChanged.to_json_name() => {
                    continue;
                }
                WatchEvent::Changed(change) => change.seq,
                WatchEvent::Opened | WatchEvent::ResyncRequired => i64::MAX,
            };
            if newest <= self.last_event {
                continue;
            }
            for event in self.read_new_events(newest).await? {
                if let Some(left) = pending.get_mut(&event.workload_name).filter(|_| is_applied_event(&event))
                {
                    *left -= 1;
                    durations.push(begun.elapsed());
                    if *left == 0 {
                        pending.remove(&event.workload_name);
                    }
                }
            }
        }
        Ok(durations)
    }

    /// Reads the new events.
    async fn read_new_events(&mut self, newest: i64) -> anyhow::Result<Vec<Event>> {
        let mut query = EventQuery {
            // A margin, for events since the signal.
            limit: u32::try_from(newest - self.last_event + 10)
                .ok()
                .filter(|n| *n < PAGE_SIZE)
                .or(Some(PAGE_SIZE)),
            ..EventQuery::default()
        };
        let mut fresh = Vec::new();
        loop {
            let page = self.client.list_events(&query).await?;
            let all = page.items.len();
            fresh.extend(page.items.into_iter().filter(|event| event.seq > self.last_event));
            let oldest = fresh.last().map_or(0, |event| event.seq);
            if page.next.is_none() || fresh.len() < all || oldest <= self.last_event + 1 {
                break;
            }
            query.before = page.next;
        }
        self.last_event = fresh.first().map_or(self.last_event, |event| event.seq);
        Ok(fresh)
    }
}

fn workload_spec(yaml: String, clusters: &[String]) -> WorkloadSpec {
    let files = vec![SourceFile { name: "app.yaml".into(), text: yaml }];
    let predicate = Predicate { names: clusters.to_vec(), ..Predicate::default() };
    let placement = Placement { predicates: vec![predicate], ..Placement::default() };
    WorkloadSpec {
        namespace: WORKLOAD_NAMESPACE.into(),
        source: Source::Yaml { files },
        placement,
        ..WorkloadSpec::default()
    }
}

/// Whether the event reports the first state after Applied. No pods are created here, so the state does not change.
fn is_applied_event(event: &Event) -> bool {
    let applied = [ReleaseState::Progressing, ReleaseState::Healthy, ReleaseState::Degraded];
    matches!(&event.detail, Some(EventDetail::ReleaseState { to, .. }) if applied.contains(to))
}
