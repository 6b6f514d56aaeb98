//! Who publishes: calls over REST, and the event stream to see what came of them.
//!
//! The stream says that there is news; the news itself is read from the event log, each event once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use domain::event::{Event, EventKind};
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use futures::StreamExt as _;
use wire::{Client, EventQuery, PublishRequest, SyncRequest, Watched};

use super::world::OURS;

/// Calls under way at once in a burst.
pub const CONCURRENCY: usize = 16;
/// Something is wrong if nothing is heard for so long.
const PATIENCE: Duration = Duration::from_secs(180);
const PAGE: u32 = 500;

/// A person with a token.
pub struct Person {
    pub client: Client,
    watch: wire::client::Watch,
    /// Position of the newest event that was read.
    seen: i64,
}

impl Person {
    pub fn new(client: Client) -> Self {
        Self { watch: client.watch(None), client, seen: 0 }
    }

    /// Makes a draft that goes to these clusters; to all if none is named.
    pub async fn draft(&self, name: &str, yaml: String, clusters: &[String]) -> anyhow::Result<()> {
        let spec = spec(yaml, clusters);
        self.client
            .workload_create(&NewWorkload { name: name.into(), spec, ..NewWorkload::default() })
            .await?;
        Ok(())
    }

    /// Makes many drafts.
    pub async fn drafts(&self, all: Vec<(String, String)>) -> anyhow::Result<()> {
        let calls = all.into_iter().map(|(name, yaml)| async move { self.draft(&name, yaml, &[]).await });
        let mut calls = futures::stream::iter(calls).buffer_unordered(CONCURRENCY);
        while let Some(done) = calls.next().await {
            done?;
        }
        Ok(())
    }

    /// Changes a draft.
    pub async fn edit(&self, name: &str, yaml: String) -> anyhow::Result<()> {
        let view = self.client.workload_get(name).await?;
        let put = wire::WorkloadPut { spec: spec(yaml, &[]), labels: None };
        self.client.workload_put(name, &put, view.workload.revision).await?;
        Ok(())
    }

    /// Asks the cluster to compare now, which ends every pause between repairs.
    pub async fn sync(&self, name: &str) -> anyhow::Result<()> {
        self.client.workload_sync(name, &SyncRequest::default()).await?;
        Ok(())
    }

    /// Reads past everything that has happened so far.
    pub async fn catch_up(&mut self) -> anyhow::Result<()> {
        let newest = self.client.event_list(&EventQuery { limit: Some(1), ..EventQuery::default() }).await?;
        self.seen = newest.items.first().map_or(self.seen, |event| event.seq);
        self.watch = self.client.watch(Some(self.seen));
        while !matches!(self.watch.next().await?, Watched::Open) {}
        Ok(())
    }

    /// One publish; how long until it is applied on so many clusters.
    pub async fn publish(&mut self, name: &str, clusters: usize) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.client.workload_publish(name, &PublishRequest::default(), None).await?;
        let told = self.until_applied(HashMap::from([(name.to_owned(), clusters)]), begun).await?;
        told.last().copied().context("something was published")
    }

    /// Publishes all of them at once; for each, how long after the first call it was applied.
    pub async fn publish_all(&mut self, names: &[String]) -> anyhow::Result<Vec<Duration>> {
        let begun = Instant::now();
        let calls = self.start_publishing(names.to_vec());
        let told = self.until_applied(names.iter().map(|name| (name.clone(), 1)).collect(), begun).await?;
        calls.await??;
        Ok(told)
    }

    /// Publishes all of them in the background.
    pub fn start_publishing(&self, names: Vec<String>) -> tokio::task::JoinHandle<anyhow::Result<()>> {
        let client = self.client.clone();
        tokio::spawn(async move {
            let request = PublishRequest::default();
            let publish = |name: String| {
                let (client, request) = (&client, &request);
                async move { client.workload_publish(&name, request, None).await }
            };
            let mut calls = futures::stream::iter(names).map(publish).buffer_unordered(CONCURRENCY);
            while let Some(done) = calls.next().await {
                done?;
            }
            Ok(())
        })
    }

    /// Waits until the stream has said of each of these that it is applied, on so many clusters; how long after `begun`
    /// each was told, in that order.
    pub async fn until_applied(
        &mut self,
        mut waited: HashMap<String, usize>,
        begun: Instant,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut told = Vec::new();
        while !waited.is_empty() {
            let Ok(watched) = tokio::time::timeout(PATIENCE, self.watch.next()).await else {
                bail!("{} workloads were never applied, such as {:?}", waited.len(), waited.keys().next());
            };
            let newest = match watched? {
                Watched::Change(change) if change.kind != EventKind::ReleaseChanged.word() => continue,
                Watched::Change(change) => change.seq,
                Watched::Open | Watched::Resync => i64::MAX,
            };
            if newest <= self.seen {
                continue;
            }
            for event in self.news(newest).await? {
                if let Some(left) = waited.get_mut(&event.workload_name).filter(|_| says_applied(&event)) {
                    *left -= 1;
                    told.push(begun.elapsed());
                    if *left == 0 {
                        waited.remove(&event.workload_name);
                    }
                }
            }
        }
        Ok(told)
    }

    /// Events that were not read yet.
    async fn news(&mut self, newest: i64) -> anyhow::Result<Vec<Event>> {
        let mut query = EventQuery {
            // Some more than were told: others may have come since.
            limit: u32::try_from(newest - self.seen + 10).ok().filter(|n| *n < PAGE).or(Some(PAGE)),
            ..EventQuery::default()
        };
        let mut fresh = Vec::new();
        loop {
            let page = self.client.event_list(&query).await?;
            let all = page.items.len();
            fresh.extend(page.items.into_iter().filter(|event| event.seq > self.seen));
            let oldest = fresh.last().map_or(0, |event| event.seq);
            if page.next.is_none() || fresh.len() < all || oldest <= self.seen + 1 {
                break;
            }
            query.before = page.next;
        }
        self.seen = fresh.first().map_or(self.seen, |event| event.seq);
        Ok(fresh)
    }
}

fn spec(yaml: String, clusters: &[String]) -> WorkloadSpec {
    let files = vec![SourceFile { name: "app.yaml".into(), text: yaml }];
    let predicate = Predicate { names: clusters.to_vec(), ..Predicate::default() };
    let placement = Placement { predicates: vec![predicate], ..Placement::default() };
    WorkloadSpec {
        namespace: OURS.into(),
        source: Source::Yaml { files },
        placement,
        ..WorkloadSpec::default()
    }
}

/// The first state after everything is applied; nobody makes pods here, so that it stays the state.
fn says_applied(event: &Event) -> bool {
    let after = ["→ Progressing", "→ Healthy", "→ Degraded"];
    event.kind == EventKind::ReleaseChanged && after.iter().any(|word| event.message.contains(word))
}
