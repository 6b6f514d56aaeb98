//! A hub on SQLite and simulated clusters served by the agent's own code, all in this process.

use std::path::PathBuf;
use std::time::Duration;

use agent::EngineOptions;
use domain::cluster::ClusterKind;
use domain::labels::Labels;
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Clock, Config, Hub, Loops, NewCluster};
use kubesim::Cluster;
use server::Site;
use server::link::InProcess;
use server::site::Options;
use tokio_util::sync::CancellationToken;

pub struct Fleet {
    pub hub: Hub,
    pub clusters: Vec<Cluster>,
    pub actor: Actor,
    stop: CancellationToken,
    loops: Loops,
    dir: PathBuf,
}

impl Fleet {
    /// Starts everything; the clusters' own controllers are off if `alive` is false, so that only ours is measured.
    pub async fn start(count: usize, alive: bool) -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("flotilla-bench-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let database = format!("sqlite://{}", dir.join("flotilla.db").display());
        let hub = Hub::open(Config { database, clock: Clock::system() }).await?;
        let site = Site::new(Options::bare(hub.clone()));
        let fleet = Self {
            loops: hub.spawn_loops(),
            stop: CancellationToken::new(),
            actor: Actor::system(),
            clusters: (0..count).map(|n| simulated(&format!("c{n}"), alive)).collect(),
            hub,
            dir,
        };
        for cluster in &fleet.clusters {
            let new = NewCluster::new(cluster.name(), ClusterKind::Simulated);
            let id = fleet.hub.cluster_register(&fleet.actor, new).await?.id;
            let clock = fleet.hub.clock().clone();
            let options = agent::Options::new(EngineOptions::new(move || clock.now()));
            let link = InProcess::new(site.clone(), id);
            tokio::spawn(agent::run(link, client(cluster), options, fleet.stop.clone()));
        }
        fleet.until_online().await?;
        Ok(fleet)
    }

    async fn until_online(&self) -> anyhow::Result<()> {
        let query = domain::page::ListQuery { limit: Some(500), ..Default::default() };
        loop {
            let page = self.hub.cluster_list(&query).await?;
            let ready = |cluster: &domain::cluster::ClusterSummary| {
                cluster.cluster.reach == domain::cluster::Reach::Online
                    && !cluster.cluster.facts.kubernetes_version.is_empty()
            };
            if page.items.iter().all(ready) {
                // The placer looks at what the new facts mean; nothing is published yet, so that is soon over.
                tokio::time::sleep(Duration::from_millis(500)).await;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Makes a draft that goes everywhere.
    pub async fn draft(&self, name: &str, yaml: String) -> anyhow::Result<()> {
        let files = vec![SourceFile { name: "app.yaml".into(), text: yaml }];
        let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
        let source = Source::Yaml { files };
        let spec = WorkloadSpec { namespace: "bench".into(), source, placement, ..WorkloadSpec::default() };
        self.hub
            .workload_create(&self.actor, NewWorkload { name: name.into(), labels: Labels::new(), spec })
            .await?;
        Ok(())
    }

    pub async fn end(self) {
        self.stop.cancel();
        self.loops.stop().await;
        // Only scratch files of this run.
        let _ = std::fs::remove_dir_all(self.dir);
    }
}

/// A client of a simulated cluster, in this process.
pub fn client(cluster: &Cluster) -> kube::Client {
    kube::Client::new(cluster.service(), "default")
}

/// A simulated cluster.
pub fn simulated(name: &str, alive: bool) -> Cluster {
    Cluster::new(kubesim::Options {
        name: name.into(),
        clockwork: alive,
        pod_start: Duration::from_millis(20),
        ..kubesim::Options::default()
    })
}

/// A ServiceAccount and a Deployment, as B1 of the performance scenarios has them.
pub fn manifests(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 1\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
         spec:\n      serviceAccountName: {name}\n      containers:\n        - name: web\n          \
         image: registry.example/web:1.0\n"
    )
}
