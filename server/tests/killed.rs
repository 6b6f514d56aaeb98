//! The real server, killed at every place between the call to publish and the last confirmation (P1, P2).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use hub::{Actor, ActorKind, Clock, Config, Hub};
use kubesim::Cluster;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const CLUSTERS: [&str; 2] = ["eu-1", "us-1"];

const MANIFESTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: apps}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: 'docker.io/library/nginx:1.29.3'}
";

/// What outlives the server: its folder, its clusters.
struct World {
    folder: tempfile::TempDir,
    clusters: Vec<(Cluster, kubesim::Server)>,
    token: String,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token = token(folder.path()).await;
        let mut clusters = Vec::new();
        for name in CLUSTERS {
            let cluster =
                Cluster::new(kubesim::Options { name: name.to_owned(), ..kubesim::Options::default() });
            let server = cluster.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
            clusters.push((cluster, server));
        }
        let world = Self { folder, clusters, token };
        std::fs::write(world.kubeconfig(), world.contexts()).unwrap();
        world
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// One kubeconfig with a context per cluster. JSON is YAML.
    fn contexts(&self) -> String {
        let all = |make: &dyn Fn(&str, String) -> Value| -> Vec<Value> {
            self.clusters.iter().map(|(cluster, server)| make(cluster.name(), server.url())).collect()
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": all(&|name, url| json!({ "name": name, "cluster": { "server": url } })),
            "users": [{ "name": "nobody", "user": {} }],
            "contexts": all(&|name, _| json!({ "name": name, "context": { "cluster": name, "user": "nobody" } })),
        })
        .to_string()
    }

    /// Starts the server; without an address if it died before it was ready.
    async fn serve(&self, failpoint: &str) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_flotilla-server"))
            .args(["--log", "error", "serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(self.folder.path())
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .env("FLOTILLA_FAILPOINT", failpoint)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut url = None;
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(ready) = line.strip_prefix("Flotilla is ready at ") {
                url = Some(ready.to_owned());
                break;
            }
        }
        wire::tls::choose_provider();
        Server { child, url, http: reqwest::Client::new(), token: self.token.clone() }
    }
}

/// A token, made before the server runs.
async fn token(folder: &Path) -> String {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(Config { database, clock: Clock::system() }).await.unwrap();
    let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
    let actor = Actor::new("ada", ActorKind::Session(user));
    let secret = hub.token_create(&actor, "test", 1).await.unwrap().secret;
    drop(hub);
    // SQLite serves one server at a time, and the connections of this one close on their own time.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).unwrap();
    while lock.try_lock().is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    secret
}

struct Server {
    child: Child,
    url: Option<String>,
    http: reqwest::Client,
    token: String,
}

impl Server {
    /// Sends it; `None` if the connection broke.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Option<(u16, Value)> {
        let url = format!("{}/api/v1/projects/default/{path}", self.url.as_ref()?);
        let request = self.http.post(url).bearer_auth(&self.token).header("idempotency-key", key).json(body);
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().await.ok()?))
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("{}/api/v1/projects/default/{path}", self.url.as_ref().unwrap());
        self.http.get(url).bearer_auth(&self.token).send().await.unwrap().json().await.unwrap()
    }

    /// Makes and publishes the workload, each under its own key however often this is called.
    async fn publish(&self) -> Option<(u16, Value)> {
        let made = self.post("workloads", "create-1", &web()).await?;
        assert_eq!(made.0, 201, "{}", made.1);
        self.post("workloads/web:publish", "publish-1", &json!({ "message": "once" })).await
    }
}

fn web() -> Value {
    json!({
        "name": "web",
        "spec": {
            "namespace": "apps",
            "source": { "type": "yaml", "files": [{ "name": "web.yaml", "text": MANIFESTS }] },
            "placement": { "predicates": [{ "names": CLUSTERS }] },
            "rollout": { "waves": [{ "name": "canary", "take": 1 }, { "name": "rest" }] }
        }
    })
}

/// Publishes on a server that dies at `failpoint`, starts it again, and sees that everything was done once.
async fn survives(failpoint: &str) {
    let world = World::new().await;
    let mut armed = world.serve(failpoint).await;
    let lost = armed.publish().await;
    let died = tokio::time::timeout(Duration::from_secs(60), armed.child.wait()).await;
    let died = died.unwrap_or_else(|_| panic!("{failpoint}: the server did not die")).unwrap();
    assert!(!died.success(), "{failpoint}: {died}");

    let server = world.serve("").await;
    let accepted = server.publish().await.unwrap();
    assert_eq!((accepted.0, &accepted.1["revision"]), (202, &json!(1)), "{failpoint}: {}", accepted.1);
    if let Some(first) = lost {
        assert_eq!(first, accepted, "{failpoint}: the answer of the first try is repeated");
    }
    loop {
        let status = server.get("workloads/web/status").await;
        if status["counts"]["Healthy"] == CLUSTERS.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let revisions = server.get("workloads/web/revisions").await;
    assert_eq!(revisions["total"], 1, "{failpoint}: one revision per accepted publish");
    for (cluster, _) in &world.clusters {
        let deployment = cluster.get(("apps/v1", "Deployment"), ("apps", "web")).unwrap();
        assert_eq!(
            deployment["metadata"]["generation"],
            1,
            "{failpoint}: applied once on {}",
            cluster.name()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_server_killed_at_any_place_of_a_publish_loses_nothing_and_does_nothing_twice() {
    for failpoint in hub::FAILPOINTS {
        let done = tokio::time::timeout(Duration::from_secs(120), survives(failpoint)).await;
        done.unwrap_or_else(|_| panic!("{failpoint}: not everything became healthy"));
    }
}

#[tokio::test]
async fn a_server_told_to_end_ends_in_order() {
    let world = World::new().await;
    let mut server = world.serve("").await;
    server.publish().await.unwrap();
    let pid = server.child.id().unwrap();
    let told = Command::new("kill").args(["-TERM", &pid.to_string()]).status().await.unwrap();
    assert!(told.success());
    let ended = tokio::time::timeout(Duration::from_secs(30), server.child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused_and_says_why() {
    let world = World::new().await;
    let first = world.serve("").await;
    let mut second = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
    second.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(world.folder.path()).kill_on_drop(true);
    let ended = tokio::time::timeout(Duration::from_secs(60), second.output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("another server uses ") && said.contains("PostgreSQL serves many"), "{said}");
    assert_eq!(first.publish().await.unwrap().0, 202, "the first one is not disturbed");
}
