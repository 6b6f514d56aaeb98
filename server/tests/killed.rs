//! The real server, killed at every failpoint between the publish call and the last report (P1, P2).

use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::api_token::NewApiToken;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig, KeySource};
use kubesim::SimCluster;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use testkit::StartedServer;
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

/// What outlives the server process: database and clusters.
struct TestEnvironment {
    folder: tempfile::TempDir,
    /// URL of the database.
    database: String,
    clusters: Vec<(SimCluster, kubesim::ServerHandle)>,
    token: String,
}

impl TestEnvironment {
    /// On SQLite.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        Self::with_database(folder, database).await
    }

    async fn with_database(folder: tempfile::TempDir, database: String) -> Self {
        let token = create_token(folder.path(), &database).await;
        let mut clusters = Vec::new();
        for name in CLUSTERS {
            let cluster = SimCluster::new(kubesim::SimOptions {
                name: name.to_owned(),
                ..kubesim::SimOptions::default()
            });
            let server = cluster.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
            clusters.push((cluster, server));
        }
        let fixture = Self { folder, database, clusters, token };
        std::fs::write(fixture.kubeconfig_path(), fixture.kubeconfig_json()).unwrap();
        fixture
    }

    fn kubeconfig_path(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The file that names the point at which the server stops, from the time when it is written.
    fn stop_file(&self) -> PathBuf {
        self.folder.path().join("stop")
    }

    /// One kubeconfig with a context per cluster. JSON is YAML.
    fn kubeconfig_json(&self) -> String {
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

    /// Starts the server; without a URL if it died before it was ready.
    async fn serve(&self, failpoint: &str) -> ServerProcess {
        let mut server = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
        server.args(["--log", "error", "serve", "--listen", "127.0.0.1:0", "--database", &self.database]);
        server.arg("--kubeconfig").arg(self.kubeconfig_path());
        server.env("FLOTILLA_FAILPOINT", failpoint).env("FLOTILLA_KEY", KEY);
        server.env("FLOTILLA_STOP_FILE", self.stop_file());
        wire::tls::install_crypto_provider();
        let (child, url) = match StartedServer::spawn(&mut server).await {
            Ok(started) => (started.child, Some(started.url)),
            Err(ended) => (ended, None),
        };
        ServerProcess { child, url, http: reqwest::Client::new(), token: self.token.clone() }
    }
}

/// The key of the encrypted columns.
const KEY: &str = "flotilla-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// An API token, created before the server runs.
async fn create_token(folder: &Path, database: &str) -> String {
    let keys = Some(KeySource::Value(KEY.to_owned()));
    let hub = Hub::open(HubConfig { keys, ..HubConfig::new(database, Clock::system()) }).await.unwrap();
    let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
    let actor = Actor::new("ada", ActorKind::Session(user), Role::Admin);
    let secret = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
    drop(hub);
    // SQLite allows one server at a time, and the connections of this one close asynchronously.
    if let Ok(lock) = std::fs::File::open(folder.join("flotilla.db.lock")) {
        tokio::task::spawn_blocking(move || lock.lock().unwrap()).await.unwrap();
    }
    secret
}

struct ServerProcess {
    child: Child,
    url: Option<String>,
    http: reqwest::Client,
    token: String,
}

impl ServerProcess {
    /// Sends a request; `None` if the connection broke.
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

    /// Creates and publishes the workload, each with a constant idempotency key.
    async fn create_and_publish(&self) -> Option<(u16, Value)> {
        let created = self.post("workloads", "create-1", &web_workload()).await?;
        assert_eq!(created.0, 201, "{}", created.1);
        self.post("workloads/web:publish", "publish-1", &json!({ "message": "once" })).await
    }
}

fn web_workload() -> Value {
    json!({
        "name": "web",
        "spec": {
            "namespace": "apps",
            "source": { "type": "yaml", "files": [{ "name": "web.yaml", "text": MANIFESTS }] },
            "placement": { "predicates": [{ "names": CLUSTERS }] },
            "rollout": { "waves": [{ "name": "canary", "maxClusters": 1 }, { "name": "rest" }] }
        }
    })
}

/// Publishes on a server that dies at `failpoint`, restarts it, and asserts that everything was executed once.
async fn assert_survives(failpoint: &str) {
    let fixture = TestEnvironment::new().await;
    let mut armed = fixture.serve(failpoint).await;
    let lost = armed.create_and_publish().await;
    let died = tokio::time::timeout(testkit::patience(), armed.child.wait()).await;
    let died = died.unwrap_or_else(|_| panic!("{failpoint}: the server did not die")).unwrap();
    assert!(!died.success(), "{failpoint}: {died}");

    let server = fixture.serve("").await;
    let accepted = server.create_and_publish().await.unwrap();
    assert_eq!((accepted.0, &accepted.1["revision"]), (202, &json!(1)), "{failpoint}: {}", accepted.1);
    if let Some(first) = lost {
        assert_eq!(first, accepted, "{failpoint}: the first response is replayed");
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
    for (cluster, _) in &fixture.clusters {
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
async fn p1_a_server_killed_at_any_failpoint_of_a_publish_loses_nothing_and_repeats_nothing() {
    for failpoint in hub::FAILPOINTS {
        let done = tokio::time::timeout(testkit::patience(), assert_survives(failpoint)).await;
        done.unwrap_or_else(|_| panic!("{failpoint}: not everything became healthy"));
    }
}

/// Publishes a second revision whose image can't be pulled on a server that dies at `failpoint` of its rollback, restarts it, and asserts
/// that the canary has the first revision again, and that the other cluster never got the second one.
async fn assert_rollback_survives(failpoint: &str) {
    let fixture = TestEnvironment::new().await;
    let mut armed = fixture.serve(failpoint).await;
    assert_eq!(armed.create_and_publish().await.unwrap().0, 202);
    while armed.get("workloads/web/status").await["counts"]["Healthy"] != CLUSTERS.len() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let client = wire::Client::new(armed.url.as_ref().unwrap(), &fixture.token).unwrap();
    let mut spec = web_workload()["spec"].clone();
    spec["source"]["files"][0]["text"] = MANIFESTS.replace("library/nginx", "library/does-not-exist").into();
    spec["rollout"]["failAfter"] = "1s".into();
    spec["rollout"]["onFailure"] = "rollbackAll".into();
    let put =
        wire::WorkloadPut { spec: serde_json::from_value(spec).unwrap(), ..wire::WorkloadPut::default() };
    let current = client.get_workload("web").await.unwrap().workload.revision;
    client.put_workload("web", &put, current).await.unwrap();
    let published = armed.post("workloads/web:publish", "publish-2", &json!({ "message": "broken" })).await;
    assert!(published.is_none_or(|answer| answer.0 == 202), "{failpoint}");
    assert!(!armed.child.wait().await.unwrap().success(), "{failpoint}");

    let server = fixture.serve("").await;
    let ended = json!(["rolledBack", "notStarted"]);
    loop {
        let rollout = server.get("workloads/web/rollout").await;
        let clusters = server.get("workloads/web/rollout/clusters").await;
        let statuses: Vec<&Value> =
            clusters["items"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
        if rollout["state"]["type"] == "rolledBack" && json!(statuses) == ended {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (cluster, _) in &fixture.clusters {
        let deployment = cluster.get(("apps/v1", "Deployment"), ("apps", "web")).unwrap();
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "docker.io/library/nginx:1.29.3", "{failpoint}: {}", cluster.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_server_killed_in_a_rollback_continues_it_after_its_restart() {
    for failpoint in hub::ROLLBACK_FAILPOINTS {
        let done = tokio::time::timeout(testkit::patience(), assert_rollback_survives(failpoint)).await;
        done.unwrap_or_else(|_| panic!("{failpoint}: the rollback did not end"));
    }
}

/// Creates a database of this test; `None` if the tests run without PostgreSQL.
async fn create_postgres_database() -> Option<String> {
    let server = match std::env::var("FLOTILLA_TEST_POSTGRES") {
        Ok(off) if off == "off" => {
            eprintln!("FLOTILLA_TEST_POSTGRES=off: this test did not run");
            return None;
        }
        Ok(server) => server,
        Err(_) => panic!("set FLOTILLA_TEST_POSTGRES to the address of a PostgreSQL server, or to `off`"),
    };
    let name = format!("flotilla_killed_{}", std::process::id());
    let mut admin = server.parse::<sqlx::postgres::PgConnectOptions>().unwrap().connect().await.unwrap();
    for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
        admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
    Some(format!("{}/{name}", server.rsplit_once('/').unwrap().0))
}

/// Lets the claims of servers that died expire now, instead of after 30 s: other servers may share the database.
async fn expire_claims(database: &str) {
    let mut connection =
        database.parse::<sqlx::postgres::PgConnectOptions>().unwrap().connect().await.unwrap();
    for statement in [
        "UPDATE placer_queue SET due_at = 0 WHERE claimed = 1",
        "UPDATE rollout_queue SET due_at = 0 WHERE claimed = 1",
    ] {
        connection.execute(statement).await.unwrap();
    }
}

/// The workload of one round: the replicas of eu-1 are an override, and every second round removes it from us-1.
fn web_change(round: usize) -> (Value, u64, bool) {
    let (replicas, on_both) = (u64::try_from(round % 3).unwrap() + 1, round.is_multiple_of(2));
    let mut spec = web_workload()["spec"].clone();
    if !on_both {
        spec["placement"]["predicates"][0]["names"] = json!(&CLUSTERS[..1]);
        spec["rollout"]["waves"] = json!([{ "name": "all" }]);
    }
    spec["overrides"] = json!([{
        "id": "01J00000000000000000000000", "name": "eu", "target": { "clusters": ["eu-1"] },
        "patches": [
            { "object": { "kind": "Deployment" }, "op": "set", "path": "/spec/replicas", "value": replicas },
            { "object": { "kind": "Deployment" }, "op": "merge",
              "value": { "metadata": { "annotations": { "round": round.to_string() } } } }
        ]
    }]);
    (spec, replicas, on_both)
}

/// Waits until a process is stopped.
async fn wait_until_stopped(pid: u32) {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        if status.rsplit(") ").next().unwrap().starts_with('T') {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Publishes a change on a server that is killed at `failpoint`, restarts it, and asserts that it was executed once. The point
/// is armed only after the start, at which agents report what is there.
async fn assert_change_survives(fixture: &TestEnvironment, failpoint: &str, round: usize) {
    let (spec, replicas, on_both) = web_change(round);
    let mut armed = fixture.serve("").await;
    let client = wire::Client::new(armed.url.as_ref().unwrap(), &fixture.token).unwrap();
    let put =
        wire::WorkloadPut { spec: serde_json::from_value(spec).unwrap(), ..wire::WorkloadPut::default() };
    let current = client.get_workload("web").await.unwrap().workload.revision;
    client.put_workload("web", &put, current).await.unwrap();
    let (key, publish) = (format!("publish-{failpoint}"), json!({ "message": failpoint, "confirm": 1 }));
    std::fs::write(fixture.stop_file(), failpoint).unwrap();
    let pid = armed.child.id().unwrap();
    let mut lost = None;
    tokio::select! {
        answer = armed.post("workloads/web:publish", &key, &publish) => {
            lost = answer;
            wait_until_stopped(pid).await;
        }
        () = wait_until_stopped(pid) => {}
    }
    armed.child.kill().await.unwrap();
    expire_claims(&fixture.database).await;

    let mut server = fixture.serve("").await;
    let accepted = server.post("workloads/web:publish", &key, &publish).await.unwrap();
    assert_eq!((accepted.0, &accepted.1["revision"]), (202, &json!(round)), "{failpoint}: {}", accepted.1);
    assert!(lost.is_none_or(|first| first == accepted), "{failpoint}: the first response is replayed");
    let deployment = |index: usize| fixture.clusters[index].0.get(("apps/v1", "Deployment"), ("apps", "web"));
    let expected = [if on_both { "Healthy" } else { "Removed" }, "Healthy"];
    loop {
        let status = server.get("workloads/web/status").await;
        let targets = status["targetClusters"].as_array().unwrap();
        let state = |cluster: &str| targets.iter().find(|one| one["clusterName"] == cluster);
        let is_done =
            |cluster: &str, expected: &str| state(cluster).is_some_and(|one| one["state"] == expected);
        let is_current = state("eu-1").is_some_and(|one| one["revision"] == round);
        if is_current && is_done("us-1", expected[0]) && is_done("eu-1", expected[1]) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let eu = deployment(0).unwrap();
    assert_eq!(
        (&eu["spec"]["replicas"], &eu["metadata"]["annotations"]["round"]),
        (&json!(replicas), &json!(round.to_string()))
    );
    assert_eq!(deployment(1).is_some(), on_both, "{failpoint}: on us-1");
    let revisions = server.get("workloads/web/revisions").await;
    assert_eq!(revisions["total"], round, "{failpoint}: one revision per accepted publish");
    server.child.kill().await.unwrap();
    expire_claims(&fixture.database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_overrides_removals_and_rollouts_survive_every_failpoint_on_postgresql() {
    let Some(database) = create_postgres_database().await else { return };
    let fixture = TestEnvironment::with_database(tempfile::tempdir().unwrap(), database).await;
    let mut first = fixture.serve("").await;
    assert_eq!(first.create_and_publish().await.unwrap().0, 202);
    first.child.kill().await.unwrap();
    expire_claims(&fixture.database).await;
    for (number, failpoint) in hub::FAILPOINTS.iter().enumerate() {
        let done = assert_change_survives(&fixture, failpoint, number + 2);
        let done = tokio::time::timeout(testkit::patience(), done).await;
        done.unwrap_or_else(|_| panic!("{failpoint}: the change did not converge"));
    }
}

/// Publishes a revision that eu-1 rejects on a server that is killed at `failpoint` of the pass that rolls it back, restarts it, and
/// asserts that it was rolled back once.
async fn assert_cluster_rollback_survives(failpoint: &str) {
    let fixture = TestEnvironment::new().await;
    let mut armed = fixture.serve("").await;
    let mut new = web_workload();
    new["spec"]["rollout"] =
        json!({ "waves": [{ "name": "all" }], "failAfter": "1s", "onFailure": "rollbackCluster" });
    assert_eq!(armed.post("workloads", "create-1", &new).await.unwrap().0, 201);
    assert_eq!(armed.post("workloads/web:publish", "publish-1", &json!({})).await.unwrap().0, 202);
    let state_of = async |server: &ServerProcess, cluster: &str| {
        let status = server.get("workloads/web/status").await;
        let targets = status["targetClusters"].as_array().cloned().unwrap_or_default();
        targets.into_iter().find(|target| target["clusterName"] == cluster).unwrap_or_default()
    };
    for cluster in CLUSTERS {
        while state_of(&armed, cluster).await["state"] != "Healthy" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fixture.clusters[0].0.faults().set_admission_rules(vec![kubesim::AdmissionRule {
        webhook: "policy.example.com".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "flag".to_owned(),
        message: "no flag here".to_owned(),
        ..kubesim::AdmissionRule::default()
    }]);
    let flag = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: flag, namespace: apps}\n";
    let changed = format!("{}{flag}", MANIFESTS.replace("1.29.3", "1.29.4"));
    new["spec"]["source"]["files"][0]["text"] = changed.into();
    let client = wire::Client::new(armed.url.as_ref().unwrap(), &fixture.token).unwrap();
    let spec = serde_json::from_value(new["spec"].clone()).unwrap();
    let put = wire::WorkloadPut { spec, ..wire::WorkloadPut::default() };
    let current = client.get_workload("web").await.unwrap().workload.revision;
    client.put_workload("web", &put, current).await.unwrap();
    // Other points are passed before the cluster fails too.
    let is_of_rollback = hub::ROLLBACK_FAILPOINTS.contains(&failpoint);
    if is_of_rollback {
        std::fs::write(fixture.stop_file(), failpoint).unwrap();
    }
    assert_eq!(armed.post("workloads/web:publish", "publish-2", &json!({})).await.unwrap().0, 202);
    if !is_of_rollback {
        while state_of(&armed, "eu-1").await["state"] != "Failed" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::fs::write(fixture.stop_file(), failpoint).unwrap();
    }
    wait_until_stopped(armed.child.id().unwrap()).await;
    armed.child.kill().await.unwrap();

    let server = fixture.serve("").await;
    let cause = "Revision 2 failed here, and it was rolled back to revision 1.";
    let client = wire::Client::new(server.url.as_ref().unwrap(), &fixture.token).unwrap();
    let is_applied = async || {
        let release = client.get_release("web", "eu-1").await.unwrap().release;
        release.rollback_cause().is_some_and(|text| text.starts_with(cause))
            && release.applied_revision() == Some(1)
            && !release.is_rolling_back()
    };
    while !is_applied().await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let image = |index: usize| {
        let deployment = fixture.clusters[index].0.get(("apps/v1", "Deployment"), ("apps", "web")).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(image(0), "docker.io/library/nginx:1.29.3", "{failpoint}");
    while image(1) != "docker.io/library/nginx:1.29.4" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let events = client.list_events(&wire::EventQuery::default()).await.unwrap().items;
    let rolled_back = events.iter().filter(|event| event.message.starts_with(&format!("eu-1: {cause}")));
    assert_eq!(rolled_back.count(), 1, "{failpoint}: once");
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_server_killed_while_it_rolls_back_a_cluster_does_it_once() {
    for failpoint in ["rollback.before_commit", "rollouts.before_settle"] {
        let done = assert_cluster_rollback_survives(failpoint);
        let done = tokio::time::timeout(testkit::patience(), done).await;
        done.unwrap_or_else(|_| panic!("{failpoint}: the cluster was not rolled back"));
    }
}

#[tokio::test]
async fn a_server_shuts_down_in_order_on_sigterm() {
    let fixture = TestEnvironment::new().await;
    let mut server = fixture.serve("").await;
    server.create_and_publish().await.unwrap();
    let pid = server.child.id().unwrap();
    let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status().await.unwrap();
    assert!(sent.success());
    let ended = tokio::time::timeout(testkit::patience(), server.child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_fails_with_the_reason() {
    let fixture = TestEnvironment::new().await;
    let first = fixture.serve("").await;
    let mut second = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
    second.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(fixture.folder.path()).kill_on_drop(true);
    let ended = tokio::time::timeout(testkit::patience(), second.output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(stderr.contains("another server uses ") && stderr.contains("PostgreSQL serves many"), "{stderr}");
    assert_eq!(first.create_and_publish().await.unwrap().0, 202, "the first server is not affected");
}
