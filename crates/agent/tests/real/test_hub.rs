//! The real server and the command line as processes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use domain::release::ReleaseState;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use serde_json::{Value, json};
use testkit::{ReservedPort, StartedServer};
use tokio::process::{Child, Command};
use tokio::time::Instant;
use wire::{Client, EventQuery, PublishRequest, RemovalOptions, TargetCluster, WorkloadPut};

/// Time limit of every wait, long enough for a loaded machine.
pub const WAIT_TIMEOUT: Duration = testkit::patience();

/// Result of a command.
pub struct CliOutput {
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A server process with its data directory and a client.
pub struct TestHub {
    folder: tempfile::TempDir,
    ports: ListenerPorts,
    server: Mutex<Option<Child>>,
    token: String,
    pub client: Client,
}

/// The ports of its listeners, which stay reserved while the server is stopped.
struct ListenerPorts {
    people: ReservedPort,
    agents: ReservedPort,
}

impl TestHub {
    /// Starts a server on free ports, signs up the first user and creates a token.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports = ListenerPorts { people: ReservedPort::reserve(), agents: ReservedPort::reserve() };
        let (child, setup_token) = start_server(folder.path(), &ports, "").await;
        wire::tls::install_crypto_provider();
        let url = format!("http://{}", ports.people.address());
        let token = create_first_token(&url, &setup_token).await;
        let client = Client::new(&url, &token).unwrap();
        Self { folder, ports, server: Mutex::new(Some(child)), token, client }
    }

    /// Kills the server with SIGKILL.
    pub async fn kill(&self) {
        let server = self.server.lock().unwrap().take();
        if let Some(mut server) = server {
            server.kill().await.unwrap();
        }
    }

    /// Restarts it with the same addresses and data. If a failpoint is named, the server is killed when it reaches it.
    pub async fn restart(&self, failpoint: &str) {
        self.kill().await;
        let (child, _) = start_server(self.folder.path(), &self.ports, failpoint).await;
        *self.server.lock().unwrap() = Some(child);
    }

    /// Waits until a failpoint has killed the server.
    pub async fn wait_for_exit(&self) {
        let server = self.server.lock().unwrap().take();
        let mut server = server.expect("a server is running");
        let status =
            tokio::time::timeout(WAIT_TIMEOUT, server.wait()).await.expect("the server exits").unwrap();
        assert!(!status.success(), "{status}");
    }

    /// Runs `flotilla` with these arguments.
    pub async fn run_cli(&self, args: &[&str]) -> CliOutput {
        let mut command = Command::new(built_binary("flotilla"));
        command.args(args).env_clear().env("FLOTILLA_CONFIG", self.folder.path().join("config.yaml"));
        command
            .env("FLOTILLA_SERVER", format!("http://{}", self.ports.people.address()))
            .env("FLOTILLA_TOKEN", &self.token);
        let output =
            tokio::time::timeout(WAIT_TIMEOUT, command.stdin(Stdio::null()).kill_on_drop(true).output());
        let output = output.await.unwrap_or_else(|_| panic!("flotilla {args:?} does not end")).unwrap();
        CliOutput {
            exit_code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs `flotilla` successfully; returns its standard output.
    pub async fn run_cli_ok(&self, args: &[&str]) -> String {
        let result = self.run_cli(args).await;
        assert_eq!(result.exit_code, 0, "flotilla {args:?}\n{}{}", result.stdout, result.stderr);
        result.stdout
    }

    /// Creates or updates a workload of one object and publishes it.
    pub async fn publish_object(&self, name: &str, object: &Value, clusters: &[&str]) {
        let spec = workload_spec(object, clusters);
        let new = NewWorkload { name: name.to_owned(), spec: spec.clone(), ..NewWorkload::default() };
        if self.client.create_workload(&new).await.is_err() {
            let current = self.client.get_workload(name).await.unwrap().workload;
            let put = WorkloadPut { spec, ..WorkloadPut::default() };
            self.client.put_workload(name, &put, current.revision).await.unwrap();
        }
        self.client.publish_workload(name, &PublishRequest::default(), None).await.unwrap();
    }

    /// Deletes a workload without waiting.
    pub async fn delete_workload(&self, name: &str) {
        self.client.delete_workload(name, &RemovalOptions::default()).await.unwrap();
    }

    /// The status of a workload on a cluster.
    pub async fn target_cluster(&self, workload: &str, cluster: &str) -> Option<TargetCluster> {
        let status = self.client.get_workload_status(workload, None).await.ok()?;
        status.target_clusters.into_iter().find(|target| target.cluster_name == cluster)
    }

    /// Waits until the workload is in this state on each of these clusters.
    pub async fn wait_for_state(&self, workload: &str, clusters: &[&str], state: ReleaseState) {
        for cluster in clusters {
            let what = || async {
                format!("{workload} on {cluster}: {:#?}", self.target_cluster(workload, cluster).await)
            };
            wait_until(what, async || {
                self.target_cluster(workload, cluster).await.is_some_and(|target| target.state == state)
            })
            .await;
        }
    }

    /// Waits until the hub has deleted the workload.
    pub async fn wait_for_deletion(&self, workload: &str) {
        let what = || async { format!("{workload} is deleted") };
        wait_until(what, async || {
            self.client.get_workload(workload).await.is_err_and(|error| error.is_not_found())
        })
        .await;
    }

    /// Messages of the event log that contain all of `parts`, newest first.
    pub async fn events_containing(&self, parts: &[&str]) -> Vec<String> {
        let query = EventQuery { limit: Some(500), ..EventQuery::default() };
        let events = self.client.list_events(&query).await.unwrap().items;
        let messages = events.into_iter().map(|event| event.message);
        messages.filter(|message| parts.iter().all(|part| message.contains(part))).collect()
    }
}

/// A workload of one object on clusters by name.
fn workload_spec(object: &Value, clusters: &[&str]) -> WorkloadSpec {
    let file = SourceFile { name: "app.yaml".to_owned(), text: object.to_string() };
    let placement = json!({"predicates": [{"names": clusters}]});
    WorkloadSpec {
        namespace: object["metadata"]["namespace"].as_str().unwrap().to_owned(),
        source: Source::Yaml { files: vec![file] },
        placement: serde_json::from_value(placement).unwrap(),
        ..WorkloadSpec::default()
    }
}

/// A binary of the same build.
fn built_binary(name: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_flotilla-agent")).with_file_name(name);
    assert!(
        program.exists(),
        "{} does not exist: run `cargo build -p server -p cli` first",
        program.display()
    );
    program
}

/// Starts a server and waits until it is ready. Returns it with its setup token, which is empty after the first start.
async fn start_server(folder: &Path, ports: &ListenerPorts, failpoint: &str) -> (Child, String) {
    let (people, agents) = (ports.people.address().to_string(), ports.agents.address().to_string());
    let mut server = Command::new(built_binary("flotilla-server"));
    server.args(["--log", "error", "serve", "--listen", &people, "--agent-listen", &agents, "--data"]);
    server.arg(folder).env("FLOTILLA_FAILPOINT", failpoint);
    let StartedServer { child, output, .. } =
        StartedServer::spawn(&mut server).await.expect("the server starts");
    let token = output.iter().find_map(|line| line.split_once("/setup?token="));
    (child, token.map(|(_, token)| token.to_owned()).unwrap_or_default())
}

/// Signs up the first user and creates an API token, as the console does.
async fn create_first_token(url: &str, setup: &str) -> String {
    let http = reqwest::Client::new();
    let form = format!("token={setup}&name=ada&password=correct+horse+battery");
    let response = http
        .post(format!("{url}/api/fn/sign_up"))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", url)
        .body(form)
        .send()
        .await
        .unwrap();
    let cookies = response.headers().get_all("set-cookie").iter();
    let cookies: Vec<&str> = cookies.map(|one| one.to_str().unwrap().split(';').next().unwrap()).collect();
    let response = http
        .post(format!("{url}/api/v1/tokens"))
        .header("cookie", cookies.join("; "))
        .header("origin", url)
        .json(&json!({"name": "test", "days": 1}))
        .send()
        .await
        .unwrap();
    let token: Value = response.json().await.unwrap();
    token["secret"].as_str().unwrap_or_else(|| panic!("{token}")).to_owned()
}

/// Waits until `ok` holds; panics with the text of `what` after [`WAIT_TIMEOUT`].
pub async fn wait_until<F: Future<Output = String>>(what: impl Fn() -> F, ok: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !ok().await {
        if started.elapsed() > WAIT_TIMEOUT {
            panic!("not within {WAIT_TIMEOUT:?}: {}", what().await);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
