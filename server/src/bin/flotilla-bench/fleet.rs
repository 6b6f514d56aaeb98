//! A hub on SQLite, simulated clusters and in-process agents.

use std::path::PathBuf;
use std::time::Duration;

use agent::EngineOptions;
use domain::cluster::ClusterKind;
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Clock, Hub, HubConfig, Loops, NewCluster};
use kubesim::SimCluster;
use server::Site;
use server::link::InProcessLink;
use server::site::SiteOptions;
use tokio_util::sync::CancellationToken;

pub struct BenchFleet {
    pub hub: Hub,
    pub clusters: Vec<SimCluster>,
    pub actor: Actor,
    stop: CancellationToken,
    loops: Loops,
    dir: PathBuf,
}

impl BenchFleet {
    /// Starts everything. With `alive` false the clusters' simulated controllers are off, so that they don't add load.
    pub async fn start(count: usize, alive: bool) -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("flotilla-bench-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let database = format!("sqlite://{}", dir.join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await?;
        let site = Site::new(SiteOptions::bare(hub.clone()));
        let fleet = Self {
            loops: hub.spawn_loops(),
            stop: CancellationToken::new(),
            actor: Actor::system(),
            clusters: (0..count).map(|n| simulated_cluster(&format!("c{n}"), alive)).collect(),
            hub,
            dir,
        };
        for cluster in &fleet.clusters {
            let new = NewCluster::new(cluster.name(), ClusterKind::Simulated);
            let id = fleet.hub.register_cluster(&fleet.actor, new).await?.id;
            let clock = fleet.hub.clock().clone();
            let options = agent::AgentOptions::new(EngineOptions::new(move || clock.now()));
            let link = InProcessLink::new(site.clone(), id);
            tokio::spawn(agent::run(link, cluster_client(cluster), options, fleet.stop.clone()));
        }
        fleet.wait_until_online().await?;
        Ok(fleet)
    }

    async fn wait_until_online(&self) -> anyhow::Result<()> {
        let query = domain::page::ListQuery { limit: Some(500), ..Default::default() };
        loop {
            let page = self.hub.list_clusters(&query).await?;
            let ready = |cluster: &domain::cluster::ClusterSummary| {
                cluster.cluster.connectivity == domain::cluster::Connectivity::Online
                    && !cluster.cluster.facts.kubernetes_version.is_empty()
            };
            if page.items.iter().all(ready) {
                // The placer processes the new facts; without workloads this takes less than 500 ms.
                tokio::time::sleep(Duration::from_millis(500)).await;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Creates a draft that is placed on every cluster.
    pub async fn create_draft(&self, name: &str, yaml: String) -> anyhow::Result<()> {
        let files = vec![SourceFile { name: "app.yaml".into(), text: yaml }];
        let placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
        let source = Source::Yaml { files };
        let spec = WorkloadSpec { namespace: "bench".into(), source, placement, ..WorkloadSpec::default() };
        self.hub
            .create_workload(&self.actor, NewWorkload { name: name.into(), spec, ..NewWorkload::default() })
            .await?;
        Ok(())
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.loops.stop().await;
        // Only temporary files of this run.
        let _ = std::fs::remove_dir_all(self.dir);
    }
}

/// An in-process client of a simulated cluster.
pub fn cluster_client(cluster: &SimCluster) -> kube::Client {
    kube::Client::new(cluster.service(), "default")
}

/// A simulated cluster.
pub fn simulated_cluster(name: &str, alive: bool) -> SimCluster {
    SimCluster::new(kubesim::SimOptions {
        name: name.into(),
        run_controllers: alive,
        pod_start: Duration::from_millis(20),
        ..kubesim::SimOptions::default()
    })
}

/// A ServiceAccount and a Deployment, as in scenario B1.
pub fn manifests(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 1\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
         spec:\n      serviceAccountName: {name}\n      containers:\n        - name: web\n          \
         image: registry.example/web:1.0\n"
    )
}
