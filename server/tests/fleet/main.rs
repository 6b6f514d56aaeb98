//! End to end: a server, in-process agents, three simulated clusters, and the REST client.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::ClusterId;
use domain::api_token::NewApiToken;
use domain::cluster::{ClusterKind, Connectivity, DEFAULT_LEASE_SECONDS};
use domain::event::EventKind;
use domain::placement::{Placement, Predicate};
use domain::release::ReleaseState;
use domain::role::Role;
use domain::server_status::SandboxMode;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, ActorKind, Clock, Hub, HubConfig, Loops, NewCluster};
use kubesim::SimCluster;
use serde_json::{Value, json};
use server::link::InProcessLink;
use server::{Site, SiteOptions};
use source::sandbox::Sandbox;
use source::scratch::ScratchFolder;
use sqlx::{Connection as _, SqliteConnection};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wire::{
    Client, EventQuery, PublishRequest, RemovalOptions, WatchEvent, WatchStream, WorkloadPut, WorkloadStatus,
};

mod canary;
mod chart_addons;
mod chart_options;
mod chart_repositories;
mod chart_runs;
mod chart_values;
mod charts;
mod copied_labels;
mod deployment_conversation;
mod deployment_names;
mod deployment_outcomes;
mod deployment_rollbacks;
mod deployment_statuses;
mod deployments;
mod draft_sources;
mod envelopes;
mod evaluation_budgets;
mod git_content;
mod git_over_ssh;
mod git_server;
mod git_sources;
mod hash_mismatch;
mod helm_releases;
mod hostile_charts;
mod ignored_fields;
mod incidents;
mod memory_limits;
mod oci_artifacts;
mod oci_charts;
mod openapi_conformance;
#[path = "../shared/openapi_document.rs"]
mod openapi_document;
mod override_facts;
mod project_locks;
mod publish_approvals;
mod raw_archive;
mod real_chart_fields;
mod real_charts;
mod real_clusters;
mod real_sources;
mod registry;
mod renderer_sandbox;
mod repeated_requests;
mod repository_urls;
mod requests;
mod retention;
mod revisions;
mod rollout_gates;
mod rollout_reports;
mod secrets;
mod slow_servers;
mod stages;
mod turns;

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
const WEB_KEY: (&str, &str) = ("apps", "web");

const MANIFESTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: apps
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: docker.io/library/nginx:1.29.3
          resources:
            requests: {cpu: 10m, memory: 16Mi}
            limits: {memory: 32Mi}
";

struct TestFleet {
    client: Client,
    url: String,
    token: String,
    clusters: Vec<SimCluster>,
    /// The agent of each cluster.
    agents: Vec<TestAgent>,
    hub: Hub,
    /// What the clock of the hub is ahead of the system's, in milliseconds.
    clock_offset: Arc<AtomicI64>,
    site: Site,
    loops: Loops,
    stop: CancellationToken,
    folder: tempfile::TempDir,
}

/// An agent that can be stopped, which takes its cluster offline.
struct TestAgent {
    cluster: ClusterId,
    client: kube::Client,
    stop: CancellationToken,
    /// `None` while it is stopped.
    running: Option<JoinHandle<()>>,
}

impl TestFleet {
    async fn start() -> Self {
        Self::start_with(&["eu-1", "eu-2", "us-1"].map(str::to_owned)).await
    }

    async fn start_with(names: &[String]) -> Self {
        Box::pin(Self::start_with_config(names, |config| config)).await
    }

    /// A fleet in which a workload that fails for this long is an incident.
    async fn start_with_delay(incident_delay: Duration) -> Self {
        let names = ["eu-1", "eu-2", "us-1"].map(str::to_owned);
        Self::start_with_config(&names, |config| HubConfig { incident_delay, ..config }).await
    }

    async fn start_with_config(names: &[String], change: impl FnOnce(HubConfig) -> HubConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let clock_offset = Arc::new(AtomicI64::new(0));
        let clock = clock_with_offset(clock_offset.clone());
        let hub = Hub::open(change(HubConfig::new(database, clock))).await.unwrap();
        let loops = hub.spawn_loops();
        let stop = CancellationToken::new();
        let site = Site::new(SiteOptions { stop: stop.clone(), ..SiteOptions::bare(hub.clone()) });
        let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
        let actor = Actor::new("ada", ActorKind::Session(user), Role::Admin);
        let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = Client::new(&url, &token).unwrap();
        let serving = axum::serve(listener, server::build_router(&site).router.into_make_service());
        tokio::spawn(serving.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
        let (clusters, agents) = (Vec::new(), Vec::new());
        let mut fleet =
            Self { client, url, token, clusters, agents, hub, clock_offset, site, loops, stop, folder };
        for name in names {
            fleet.add_cluster(name).await;
        }
        // Before the first report, a chart waits for the version and the APIs of its cluster.
        for name in names {
            fleet.wait_for_connectivity(name, Connectivity::Online).await;
        }
        fleet
    }

    /// A connection of its own to the database of the hub.
    async fn open_database(&self) -> SqliteConnection {
        let url = format!("sqlite://{}", self.folder.path().join("flotilla.db").display());
        SqliteConnection::connect(&url).await.unwrap()
    }

    /// A folder for renderings and fetches.
    fn scratch(&self) -> ScratchFolder {
        ScratchFolder::open(&self.folder.path().join("scratch")).unwrap()
    }

    /// The sandbox of the server's program.
    async fn sandbox(&self) -> Sandbox {
        let command = vec![env!("CARGO_BIN_EXE_flotilla-server").into(), source::sandbox::COMMAND.into()];
        Sandbox::measure(command, SandboxMode::Strict, self.scratch()).await
    }

    /// Adds a cluster, whose region is the first part of its name.
    async fn add_cluster(&mut self, name: &str) {
        let cluster =
            SimCluster::new(kubesim::SimOptions { name: name.to_owned(), ..kubesim::SimOptions::default() });
        let client = kube::Client::new(cluster.service(), "default");
        self.clusters.push(cluster);
        self.join_cluster(name, client).await;
    }

    /// Registers a cluster and starts its agent.
    async fn join_cluster(&mut self, name: &str, client: kube::Client) {
        let region = name.split('-').next().unwrap_or_default().to_owned();
        let labels = [("region".to_owned(), region)].into();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Simulated) };
        let cluster = self.hub.register_cluster(&Actor::system(), new).await.unwrap().id;
        self.agents.push(TestAgent { cluster, client, stop: self.stop.child_token(), running: None });
        self.start_agent(self.agents.len() - 1);
    }

    /// Starts the agent of a cluster, for the first time or again.
    fn start_agent(&mut self, index: usize) {
        let agent = &mut self.agents[index];
        agent.stop = self.stop.child_token();
        let link = InProcessLink::new(self.site.clone(), agent.cluster);
        let mut options = server::serve::agent_options(&self.hub);
        // An API server that a busy machine stalls is not down.
        options.engine.probe_deadline = options.engine.request_deadline;
        let running = agent::run(link, agent.client.clone(), options, agent.stop.clone());
        agent.running = Some(tokio::spawn(running));
    }

    /// Stops the agent of a cluster and moves the clock until the cluster is offline. The other clusters are heard meanwhile: no
    /// lease depends on how busy the machine is.
    async fn stop_agent(&mut self, index: usize, name: &str) {
        let agent = &mut self.agents[index];
        agent.stop.cancel();
        if let Some(running) = agent.running.take() {
            running.await.unwrap();
        }
        let step = i64::from(DEFAULT_LEASE_SECONDS) * 1_000 / 3;
        // Offline is after three leases.
        for _ in 0..10 {
            self.clock_offset.fetch_add(step, Ordering::SeqCst);
            for other in self.agents.iter().filter(|agent| agent.running.is_some()) {
                self.hub.record_heartbeat(other.cluster).await.unwrap();
            }
        }
        self.wait_for_connectivity(name, Connectivity::Offline).await;
    }

    async fn stop(self) {
        self.stop.cancel();
        self.loops.stop().await;
    }

    /// The status, once `condition` holds; checked at every change.
    async fn wait_for_web(&self, condition: impl Fn(&WorkloadStatus) -> bool) -> WorkloadStatus {
        self.wait_for_status("web", condition).await
    }

    /// The same for any workload.
    async fn wait_for_status(
        &self,
        workload: &str,
        condition: impl Fn(&WorkloadStatus) -> bool,
    ) -> WorkloadStatus {
        let mut watch = self.client.watch(None);
        loop {
            let status = self.client.get_workload_status(workload, None).await.unwrap();
            if condition(&status) {
                return status;
            }
            await_event(&mut watch).await;
        }
    }

    fn deployment(&self, cluster: usize) -> Option<Value> {
        self.clusters[cluster].get(DEPLOYMENT, WEB_KEY)
    }
}

/// The system's clock with an offset in milliseconds.
fn clock_with_offset(millis: Arc<AtomicI64>) -> Clock {
    let system = Clock::system();
    Clock::from_fn(move || system.now().plus_millis(millis.load(Ordering::SeqCst))).with_counted_leaps()
}

fn web_workload() -> NewWorkload {
    let file = SourceFile { name: "web.yaml".to_owned(), text: MANIFESTS.to_owned() };
    let names = vec!["eu-1".to_owned(), "eu-2".to_owned(), "us-1".to_owned()];
    NewWorkload {
        name: "web".to_owned(),
        spec: WorkloadSpec {
            namespace: "apps".to_owned(),
            source: Source::Yaml { files: vec![file] },
            placement: Placement {
                predicates: vec![Predicate { names, ..Predicate::default() }],
                ..Placement::default()
            },
            ..WorkloadSpec::default()
        },
        ..NewWorkload::default()
    }
}

/// Waits for the next event, but not for long: not everything that a test waits for has an event of its own, as the reason of a
/// health, and what happens before the stream is open has none in it.
async fn await_event(watch: &mut WatchStream) {
    if let Ok(event) = tokio::time::timeout(Duration::from_millis(250), watch.next()).await {
        event.unwrap();
    }
}

/// A timeout, so that a hanging test fails.
async fn with_timeout(test: impl Future<Output = ()>) {
    tokio::time::timeout(testkit::patience(), test).await.expect("the scenario completes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_is_published_becomes_healthy_is_self_healed_and_unpublished() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        let published = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        assert_eq!((published.revision, published.clusters.len()), (1, 3));
        let status = fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert_eq!(status.target_clusters.len(), 3);

        let before = fleet.deployment(1).unwrap();
        assert_eq!(before["spec"]["replicas"], 2);
        let by_hand = |object: &mut Value| object["spec"]["replicas"] = json!(7);
        fleet.clusters[1].edit(DEPLOYMENT, WEB_KEY, "kubectl-edit", by_hand).unwrap();
        wait_for_self_heal(&fleet).await;
        assert_eq!(fleet.deployment(1).unwrap()["spec"]["replicas"], 2);

        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 3).await;
        for cluster in 0..3 {
            assert_eq!(fleet.deployment(cluster), None);
        }
        fleet.stop().await;
    })
    .await;
}

async fn wait_for_self_heal(fleet: &TestFleet) {
    let mut watch = fleet.client.watch(None);
    let query = EventQuery { cluster: Some("eu-2".to_owned()), ..EventQuery::default() };
    loop {
        let events = fleet.client.list_events(&query).await.unwrap().items;
        if let Some(event) = events.iter().find(|event| event.kind == EventKind::DriftHealed) {
            assert!(event.message.contains("kubectl-edit"), "{}", event.message);
            return;
        }
        await_event(&mut watch).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_an_offline_cluster_blocks_no_other_and_catches_up() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let mut watch = fleet.client.watch(None);
        assert_eq!(watch.next().await.unwrap(), WatchEvent::Opened);
        fleet.clusters[2].faults().set_offline(true);
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let status = fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
        assert_eq!(status.target_clusters.len(), 3);
        assert_eq!(fleet.deployment(2), None);
        fleet.clusters[2].faults().set_offline(false);
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.stop().await;
    })
    .await;
}

const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");

fn addon_workload(objects: &[&str]) -> NewWorkload {
    let text: String = objects
        .iter()
        .map(|name| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n\
                 data: {{region: '${{{{ cluster.labels.region }}}}', peers: '${{{{ fleet.targets }}}}'}}\n"
            )
        })
        .collect();
    let file = SourceFile { name: "edge.yaml".to_owned(), text };
    NewWorkload {
        name: "web".to_owned(),
        spec: WorkloadSpec {
            namespace: "apps".to_owned(),
            addon: true,
            source: Source::Yaml { files: vec![file] },
            placement: Placement { predicates: vec![Predicate::default()], ..Placement::default() },
            ..WorkloadSpec::default()
        },
        ..NewWorkload::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_s4_6_an_addon_is_complete_on_every_cluster_follows_new_ones_and_prunes_removed_objects() {
    with_timeout(async {
        let mut fleet = TestFleet::start().await;
        fleet.client.create_workload(&addon_workload(&["one", "two"])).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.add_cluster("ap-1").await;
        let four = |fleet: &TestFleet| {
            fleet.clusters.iter().all(|cluster| {
                let data = |name| cluster.get(CONFIG_MAP, ("apps", name)).map(|found| found["data"].clone());
                data("one").is_some_and(|one| {
                    one["peers"] == "ap-1,eu-1,eu-2,us-1" && data("two").as_ref() == Some(&one)
                })
            })
        };
        fleet.wait_for_web(|status| status.counts.healthy() == 4 && four(&fleet)).await;
        let joined = fleet.clusters[3].get(CONFIG_MAP, ("apps", "one")).unwrap();
        assert_eq!(joined["data"]["region"], "ap");

        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: addon_workload(&["two"]).spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let gone = |fleet: &TestFleet| {
            fleet.clusters.iter().all(|cluster| cluster.get(CONFIG_MAP, ("apps", "one")).is_none())
        };
        fleet.wait_for_web(|status| status.counts.healthy() == 4 && gone(&fleet)).await;
        assert!(fleet.clusters.iter().all(|cluster| cluster.get(CONFIG_MAP, ("apps", "two")).is_some()));
        fleet.stop().await;
    })
    .await;
}

/// One ConfigMap, on these clusters.
fn config_map_workload(name: &str, clusters: &[String]) -> NewWorkload {
    let text = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"key": "1"}});
    let mut new = web_workload();
    new.name = name.to_owned();
    new.spec.namespace = "default".to_owned();
    new.spec.source =
        Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text: text.to_string() }] };
    new.spec.placement.predicates[0].names = clusters.to_vec();
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn p18_pending_deletes_of_fifty_offline_clusters_block_no_new_work() {
    with_timeout(async {
        let offline: Vec<String> = (0..50).map(|number| format!("offline-{number}")).collect();
        let live = "live".to_owned();
        let fleet = TestFleet::start_with(&[&offline[..], std::slice::from_ref(&live)].concat()).await;
        let (client, pending) = (&fleet.client, ["a", "b", "c", "d", "e", "f"]);
        for name in pending {
            client.create_workload(&config_map_workload(name, &offline)).await.unwrap();
            client.publish_workload(name, &PublishRequest::default(), None).await.unwrap();
        }
        for name in pending {
            fleet.wait_for_status(name, |status| status.counts.healthy() == 50).await;
        }
        fleet.clusters[..50].iter().for_each(|cluster| cluster.faults().set_offline(true));
        for name in pending {
            client.delete_workload(name, &RemovalOptions::default()).await.unwrap();
        }
        client.create_workload(&config_map_workload("new", &[live])).await.unwrap();
        client.publish_workload("new", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_status("new", |status| status.counts.healthy() == 1).await;
        for name in pending {
            let counts = client.get_workload_status(name, None).await.unwrap().counts;
            assert_eq!(
                (counts.targeted(), counts.gone()),
                (50, 0),
                "{name} is still pending on all clusters"
            );
        }
        fleet.clusters[..50].iter().for_each(|cluster| cluster.faults().set_offline(false));
        for name in pending {
            let mut watch = client.watch(None);
            while client.get_workload(name).await.is_ok() {
                await_event(&mut watch).await;
            }
        }
        for cluster in &fleet.clusters[..50] {
            assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")), None);
        }
        fleet.stop().await;
    })
    .await;
}
