//! The whole way at once: a server, agents in its process, three simulated clusters, and the client of the command line.

use std::time::Duration;

use domain::cluster::ClusterKind;
use domain::event::EventKind;
use domain::placement::{Placement, Predicate};
use domain::release::State;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, ActorKind, Clock, Config, Hub, Loops, NewCluster};
use kubesim::Cluster;
use serde_json::{Value, json};
use server::link::InProcess;
use server::{Options, Site};
use tokio_util::sync::CancellationToken;
use wire::{Client, EventQuery, PublishRequest, Status, UnpublishRequest, Watched, WorkloadPut};

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
const WEB: (&str, &str) = ("apps", "web");

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

struct Fleet {
    client: Client,
    clusters: Vec<Cluster>,
    hub: Hub,
    site: Site,
    loops: Loops,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Fleet {
    async fn start() -> Self {
        Self::of(&["eu-1", "eu-2", "us-1"].map(str::to_owned)).await
    }

    async fn of(names: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(Config { database, clock: Clock::system() }).await.unwrap();
        let loops = hub.spawn_loops();
        let stop = CancellationToken::new();
        let site = Site::new(Options { stop: stop.clone(), ..Options::bare(hub.clone()) });
        let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
        let actor = Actor::new("ada", ActorKind::Session(user));
        let token = hub.token_create(&actor, "test", 1).await.unwrap().secret;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), &token).unwrap();
        let serving = axum::serve(listener, server::build(&site).router.into_make_service());
        tokio::spawn(serving.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
        let mut fleet = Self { client, clusters: Vec::new(), hub, site, loops, stop, _folder: folder };
        for name in names {
            fleet.join(name).await;
        }
        fleet
    }

    /// One more cluster, whose region is the first part of its name.
    async fn join(&mut self, name: &str) {
        let cluster = Cluster::new(kubesim::Options { name: name.to_owned(), ..kubesim::Options::default() });
        let region = name.split('-').next().unwrap_or_default().to_owned();
        let labels = [("region".to_owned(), region)].into();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Simulated) };
        let id = self.hub.cluster_register(&Actor::system(), new).await.unwrap().id;
        let client = kube::Client::new(cluster.service(), "default");
        let (options, stop) = (server::serve::agent_options(&self.hub), self.stop.clone());
        tokio::spawn(agent::run(InProcess::new(self.site.clone(), id), client, options, stop));
        self.clusters.push(cluster);
    }

    async fn end(self) {
        self.stop.cancel();
        self.loops.stop().await;
    }

    /// The status, once it is as asked for; looks whenever something changes.
    async fn status_when(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        self.when("web", wanted).await
    }

    /// The same, of any workload.
    async fn when(&self, workload: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let mut watch = self.client.watch(None);
        loop {
            let status = self.client.workload_status(workload, None).await.unwrap();
            if wanted(&status) {
                return status;
            }
            watch.next().await.unwrap();
        }
    }

    fn deployment(&self, cluster: usize) -> Option<Value> {
        self.clusters[cluster].get(DEPLOYMENT, WEB)
    }
}

fn web() -> NewWorkload {
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

/// Only there so that a fleet that hangs fails the test.
async fn in_time(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(120), test).await.expect("the fleet gets there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_is_published_becomes_healthy_is_put_right_and_taken_back() {
    in_time(async {
        let fleet = Fleet::start().await;
        fleet.client.workload_create(&web()).await.unwrap();
        let published = fleet.client.workload_publish("web", &PublishRequest::default(), None).await.unwrap();
        assert_eq!((published.revision, published.clusters.len()), (1, 3));
        let status = fleet.status_when(|status| status.counts.healthy() == 3).await;
        assert_eq!(status.target_clusters.len(), 3);

        let before = fleet.deployment(1).unwrap();
        assert_eq!(before["spec"]["replicas"], 2);
        let by_hand = |object: &mut Value| object["spec"]["replicas"] = json!(7);
        fleet.clusters[1].touch(DEPLOYMENT, WEB, "kubectl-edit", by_hand).unwrap();
        healed(&fleet).await;
        assert_eq!(fleet.deployment(1).unwrap()["spec"]["replicas"], 2);

        fleet.client.workload_unpublish("web", &UnpublishRequest::default()).await.unwrap();
        fleet.status_when(|status| status.counts.of(State::Removed) == 3).await;
        for cluster in 0..3 {
            assert_eq!(fleet.deployment(cluster), None);
        }
        fleet.end().await;
    })
    .await;
}

async fn healed(fleet: &Fleet) {
    let mut watch = fleet.client.watch(None);
    let query = EventQuery { cluster: Some("eu-2".to_owned()), ..EventQuery::default() };
    loop {
        let events = fleet.client.event_list(&query).await.unwrap().items;
        if let Some(event) = events.iter().find(|event| event.kind == EventKind::DriftHealed) {
            assert!(event.message.contains("kubectl-edit"), "{}", event.message);
            return;
        }
        watch.next().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_a_cluster_that_is_cut_off_holds_nobody_up_and_catches_up() {
    in_time(async {
        let fleet = Fleet::start().await;
        let mut watch = fleet.client.watch(None);
        assert_eq!(watch.next().await.unwrap(), Watched::Open);
        fleet.clusters[2].faults().set_offline(true);
        fleet.client.workload_create(&web()).await.unwrap();
        fleet.client.workload_publish("web", &PublishRequest::default(), None).await.unwrap();
        let status = fleet.status_when(|status| status.counts.healthy() == 2).await;
        assert_eq!(status.target_clusters.len(), 3);
        assert_eq!(fleet.deployment(2), None);
        fleet.clusters[2].faults().set_offline(false);
        fleet.status_when(|status| status.counts.healthy() == 3).await;
        fleet.end().await;
    })
    .await;
}

const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");

fn addon(objects: &[&str]) -> NewWorkload {
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
async fn s4_4_s4_6_an_addon_is_whole_on_every_cluster_follows_new_ones_and_drops_what_it_no_longer_has() {
    in_time(async {
        let mut fleet = Fleet::start().await;
        fleet.client.workload_create(&addon(&["one", "two"])).await.unwrap();
        fleet.client.workload_publish("web", &PublishRequest::default(), None).await.unwrap();
        fleet.status_when(|status| status.counts.healthy() == 3).await;
        fleet.join("ap-1").await;
        let four = |fleet: &Fleet| {
            fleet.clusters.iter().all(|cluster| {
                let data = |name| cluster.get(CONFIG_MAP, ("apps", name)).map(|found| found["data"].clone());
                data("one").is_some_and(|one| {
                    one["peers"] == "ap-1,eu-1,eu-2,us-1" && data("two").as_ref() == Some(&one)
                })
            })
        };
        fleet.status_when(|status| status.counts.healthy() == 4 && four(&fleet)).await;
        let joined = fleet.clusters[3].get(CONFIG_MAP, ("apps", "one")).unwrap();
        assert_eq!(joined["data"]["region"], "ap");

        let there = fleet.client.workload_get("web").await.unwrap().workload;
        let put = WorkloadPut { spec: addon(&["two"]).spec, labels: None };
        fleet.client.workload_put("web", &put, there.revision).await.unwrap();
        fleet.client.workload_publish("web", &PublishRequest::default(), None).await.unwrap();
        let gone = |fleet: &Fleet| {
            fleet.clusters.iter().all(|cluster| cluster.get(CONFIG_MAP, ("apps", "one")).is_none())
        };
        fleet.status_when(|status| status.counts.healthy() == 4 && gone(&fleet)).await;
        assert!(fleet.clusters.iter().all(|cluster| cluster.get(CONFIG_MAP, ("apps", "two")).is_some()));
        fleet.end().await;
    })
    .await;
}

/// One ConfigMap, on these clusters.
fn settings(name: &str, clusters: &[String]) -> NewWorkload {
    let text = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"key": "1"}});
    let mut new = web();
    new.name = name.to_owned();
    new.spec.namespace = "default".to_owned();
    new.spec.source =
        Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text: text.to_string() }] };
    new.spec.placement.predicates[0].names = clusters.to_vec();
    new
}

#[tokio::test(flavor = "multi_thread")]
async fn p18_deletes_that_fifty_dead_clusters_owe_hold_up_no_new_work() {
    in_time(async {
        let dead: Vec<String> = (0..50).map(|number| format!("dead-{number}")).collect();
        let live = "live".to_owned();
        let fleet = Fleet::of(&[&dead[..], std::slice::from_ref(&live)].concat()).await;
        let (client, owed) = (&fleet.client, ["a", "b", "c", "d", "e", "f"]);
        for name in owed {
            client.workload_create(&settings(name, &dead)).await.unwrap();
            client.workload_publish(name, &PublishRequest::default(), None).await.unwrap();
        }
        for name in owed {
            fleet.when(name, |status| status.counts.healthy() == 50).await;
        }
        fleet.clusters[..50].iter().for_each(|cluster| cluster.faults().set_offline(true));
        for name in owed {
            client.workload_delete(name, &UnpublishRequest::default()).await.unwrap();
        }
        client.workload_create(&settings("new", &[live])).await.unwrap();
        client.workload_publish("new", &PublishRequest::default(), None).await.unwrap();
        fleet.when("new", |status| status.counts.healthy() == 1).await;
        for name in owed {
            let counts = client.workload_status(name, None).await.unwrap().counts;
            assert_eq!((counts.targeted(), counts.gone()), (50, 0), "{name} is still owed by all");
        }
        fleet.clusters[..50].iter().for_each(|cluster| cluster.faults().set_offline(false));
        for name in owed {
            let mut watch = client.watch(None);
            while client.workload_get(name).await.is_ok() {
                watch.next().await.unwrap();
            }
        }
        for cluster in &fleet.clusters[..50] {
            assert_eq!(cluster.get(CONFIG_MAP, ("default", "a")), None);
        }
        fleet.end().await;
    })
    .await;
}
