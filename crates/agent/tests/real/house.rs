//! The real server as a process, and the command line as one.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use domain::release::State;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;
use wire::{Client, EventQuery, PublishRequest, TargetCluster, UnpublishRequest, WorkloadPut};

/// Longer than anything here may take, on a machine that is busy; a test that waits so long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);
const ANY: &str = "127.0.0.1:0";

/// What a command said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A server and what belongs to it.
pub struct House {
    folder: tempfile::TempDir,
    /// Where it listens: for people, for agents.
    listen: Mutex<(String, String)>,
    server: Mutex<Option<Child>>,
    token: String,
    pub client: Client,
}

/// What a server says when it starts.
#[derive(Default)]
struct Greeting {
    people: String,
    agents: String,
    setup: String,
}

impl House {
    /// Starts a server on free ports; its first person signs up and makes a token.
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, said) = start(folder.path(), (ANY, ANY), "").await;
        wire::tls::choose_provider();
        let url = format!("http://{}", said.people);
        let token = first_token(&url, &said.setup).await;
        let client = Client::new(&url, &token).unwrap();
        let listen = Mutex::new((said.people, said.agents));
        Self { folder, listen, server: Mutex::new(Some(child)), token, client }
    }

    /// Kills the server as a power cut would.
    pub async fn kill(&self) {
        let server = self.server.lock().unwrap().take();
        if let Some(mut server) = server {
            server.kill().await.unwrap();
        }
    }

    /// Starts it again, on the addresses and the data it had; a failpoint kills it when it passes there.
    pub async fn restart(&self, failpoint: &str) {
        self.kill().await;
        let (people, agents) = self.listen.lock().unwrap().clone();
        let (child, _) = start(self.folder.path(), (&people, &agents), failpoint).await;
        *self.server.lock().unwrap() = Some(child);
    }

    /// Waits until the server has died by itself.
    pub async fn until_dead(&self) {
        let server = self.server.lock().unwrap().take();
        let mut server = server.expect("a server runs");
        let died = tokio::time::timeout(PATIENCE, server.wait()).await.expect("it dies").unwrap();
        assert!(!died.success(), "{died}");
    }

    /// Runs a command of the command line.
    pub async fn run(&self, args: &[&str]) -> Said {
        let people = self.listen.lock().unwrap().0.clone();
        let mut command = Command::new(beside("flotilla"));
        command.args(args).env_clear().env("FLOTILLA_CONFIG", self.folder.path().join("config.yaml"));
        command.env("FLOTILLA_SERVER", format!("http://{people}")).env("FLOTILLA_TOKEN", &self.token);
        let ended = tokio::time::timeout(PATIENCE, command.stdin(Stdio::null()).kill_on_drop(true).output());
        let ended = ended.await.unwrap_or_else(|_| panic!("flotilla {args:?} does not end")).unwrap();
        Said {
            code: ended.status.code().unwrap_or(-1),
            out: String::from_utf8(ended.stdout).unwrap(),
            err: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    /// Runs a command that must work; returns what it printed.
    pub async fn flotilla(&self, args: &[&str]) -> String {
        let said = self.run(args).await;
        assert_eq!(said.code, 0, "flotilla {args:?}\n{}{}", said.out, said.err);
        said.out
    }

    /// Makes or changes a workload of one object and publishes it.
    pub async fn publish(&self, name: &str, object: &Value, clusters: &[&str]) {
        let spec = spec(object, clusters);
        let new = NewWorkload { name: name.to_owned(), spec: spec.clone(), ..NewWorkload::default() };
        if self.client.workload_create(&new).await.is_err() {
            let there = self.client.workload_get(name).await.unwrap().workload;
            let put = WorkloadPut { labels: None, spec };
            self.client.workload_put(name, &put, there.revision).await.unwrap();
        }
        self.client.workload_publish(name, &PublishRequest::default(), None).await.unwrap();
    }

    /// Takes a workload back and waits for nothing.
    pub async fn delete(&self, name: &str) {
        self.client.workload_delete(name, &UnpublishRequest::default()).await.unwrap();
    }

    /// How a workload does on a cluster.
    pub async fn target(&self, workload: &str, cluster: &str) -> Option<TargetCluster> {
        let status = self.client.workload_status(workload, None).await.ok()?;
        status.target_clusters.into_iter().find(|target| target.cluster_name == cluster)
    }

    /// Waits until the workload is in this state on each of these clusters.
    pub async fn until_state(&self, workload: &str, clusters: &[&str], state: State) {
        for cluster in clusters {
            let what =
                || async { format!("{workload} on {cluster}: {:#?}", self.target(workload, cluster).await) };
            until(what, async || {
                self.target(workload, cluster).await.is_some_and(|target| target.state == state)
            })
            .await;
        }
    }

    /// Waits until the hub has forgotten the workload.
    pub async fn until_forgotten(&self, workload: &str) {
        let what = || async { format!("{workload} is forgotten") };
        until(what, async || {
            self.client.workload_get(workload).await.is_err_and(|error| error.is_not_found())
        })
        .await;
    }

    /// The sentences of the log that say all of this, newest first.
    pub async fn events_with(&self, parts: &[&str]) -> Vec<String> {
        let query = EventQuery { limit: Some(500), ..EventQuery::default() };
        let events = self.client.event_list(&query).await.unwrap().items;
        let all = events.into_iter().map(|event| event.message);
        all.filter(|message| parts.iter().all(|part| message.contains(part))).collect()
    }
}

/// One object, on clusters by name.
fn spec(object: &Value, clusters: &[&str]) -> WorkloadSpec {
    let file = SourceFile { name: "app.yaml".to_owned(), text: object.to_string() };
    let placement = json!({"predicates": [{"names": clusters}]});
    WorkloadSpec {
        namespace: object["metadata"]["namespace"].as_str().unwrap().to_owned(),
        source: Source::Yaml { files: vec![file] },
        placement: serde_json::from_value(placement).unwrap(),
        ..WorkloadSpec::default()
    }
}

/// A program that the same build made.
fn beside(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_flotilla-agent")).with_file_name(name);
    assert!(program.exists(), "there is no {}: run `cargo build -p server -p cli` first", program.display());
    program
}

async fn start(folder: &Path, (people, agents): (&str, &str), failpoint: &str) -> (Child, Greeting) {
    let mut child = Command::new(beside("flotilla-server"))
        .args(["--log", "error", "serve", "--listen", people, "--agent-listen", agents, "--data"])
        .arg(folder)
        .env("FLOTILLA_FAILPOINT", failpoint)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Greeting::default();
    loop {
        let line = lines.next_line().await.unwrap().expect("the server says that it is ready");
        if let Some(url) = line.strip_prefix("Agents dial https://") {
            said.agents = url.to_owned();
        } else if let Some((_, token)) = line.split_once("/setup?token=") {
            said.setup = token.to_owned();
        } else if let Some(url) = line.strip_prefix("Flotilla is ready at http://") {
            said.people = url.trim_end_matches('/').to_owned();
            return (child, said);
        }
    }
}

/// The first person signs up and makes an API token, as the console does.
async fn first_token(url: &str, setup: &str) -> String {
    let http = reqwest::Client::new();
    let form = format!("token={setup}&name=ada&password=correct+horse+battery");
    let signed = http
        .post(format!("{url}/api/fn/sign_up"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", url)
        .body(form)
        .send()
        .await
        .unwrap();
    let cookie = signed.headers().get("set-cookie").unwrap_or_else(|| panic!("{signed:?}"));
    let cookie = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
    let made = http
        .post(format!("{url}/api/v1/tokens"))
        .header("cookie", cookie)
        .header("origin", url)
        .json(&json!({"name": "test", "days": 1}))
        .send()
        .await
        .unwrap();
    let made: Value = made.json().await.unwrap();
    made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

/// Waits for a condition; `what` is said when it does not come.
pub async fn until<F: Future<Output = String>>(what: impl Fn() -> F, ok: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !ok().await {
        if begun.elapsed() > PATIENCE {
            panic!("not: {}", what().await);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
