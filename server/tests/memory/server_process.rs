//! The server as a process of its own, its REST client, an agent with a certificate, and what the process uses.

use std::path::Path;
use std::time::Duration;

use agent::cache::{DiskCache, SharedCache};
use agent::{AgentOptions, EngineOptions, JoinConfig};
use domain::api_token::NewApiToken;
use domain::cluster::ClusterKind;
use domain::join::NewJoinToken;
use domain::placement::{Placement, Predicate};
use domain::role::Role;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use hub::{Actor, ActorKind, Authority, Clock, Hub, HubConfig, NewCluster};
use testkit::StartedServer;
use tokio::process::{Child, Command};
use wire::agent::JoinTokenParts;
use wire::{AgentClient, Client};

use crate::control_group::ControlGroup;

const WAIT_TIMEOUT: Duration = testkit::patience();

/// A server; killed when dropped.
pub struct ServerProcess {
    child: Child,
    pub client: Client,
    /// Address of the console, without a scheme.
    pub console: String,
    /// The API token of the client.
    pub token: String,
    /// The client of another user.
    pub other_client: Client,
    agents_url: String,
    join_token: JoinTokenParts,
    folder: tempfile::TempDir,
    _alone: tokio::sync::MutexGuard<'static, ()>,
}

/// Held by the running server: its memory is measured, and another one would take the time for which it waits.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What must exist before the server starts, because SQLite allows one server at a time.
async fn prepare_database(folder: &Path, clusters: usize) -> ([String; 2], JoinTokenParts) {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
    let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
    let actor = Actor::new("ada", ActorKind::Session(user), Role::Admin);
    let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
    let other = hub.ensure_user("grace", "correct horse battery").await.unwrap();
    let other = Actor::new("grace", ActorKind::Session(other), Role::Admin);
    let other_token = hub.create_token(&other, &NewApiToken::new("test", 1)).await.unwrap().secret;
    for number in 0..clusters {
        let new = NewCluster::new(&format!("offline-{number}"), ClusterKind::Agent);
        hub.register_cluster(&actor, new).await.unwrap();
    }
    let new = NewJoinToken { auto_accept: true, max_uses: 10, ..NewJoinToken::default() };
    let joining = hub.create_join_token(&actor, new).await.unwrap();
    let authority = Authority::open(folder, Clock::system()).unwrap().fingerprint();
    drop(hub);
    // Its connections close asynchronously.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).unwrap();
    tokio::task::spawn_blocking(move || lock.lock().unwrap()).await.unwrap();
    ([token, other_token], JoinTokenParts { id: joining.id, secret: joining.secret, authority })
}

impl ServerProcess {
    /// Starts a server with this many clusters that are offline.
    pub async fn start(clusters: usize) -> Self {
        Self::start_in(clusters, None).await
    }

    /// The same in a control group, whose limit of memory it has.
    pub async fn start_in(clusters: usize, group: Option<&ControlGroup>) -> Self {
        wire::tls::install_crypto_provider();
        let alone = ALONE.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let ([token, other_token], join_token) = prepare_database(folder.path(), clusters).await;
        let program = env!("CARGO_BIN_EXE_flotilla-server");
        let mut server = match group {
            Some(group) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", r#"echo $$ > "$0" && exec "$@""#]);
                shell.arg(group.processes_file()).arg(program);
                shell
            }
            None => Command::new(program),
        };
        server.args(["--log", "error", "serve", "--listen", "127.0.0.1:0", "--agent-listen", "127.0.0.1:0"]);
        // Arenas of threads grow without a leak.
        server.arg("--data").arg(folder.path()).env("MALLOC_ARENA_MAX", "1");
        let started = StartedServer::spawn(&mut server).await.expect("the server starts");
        let StartedServer { child, url, agents_url, .. } = started;
        let client = Client::new(&url, &token).unwrap();
        let other_client = Client::new(&url, &other_token).unwrap();
        let console = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { child, client, console, token, other_client, agents_url, join_token, folder, _alone: alone }
    }

    /// Joins a cluster; its agent sends what the test sends.
    pub async fn join_agent(&self, name: &str) -> AgentClient {
        let cache = tempfile::tempdir().unwrap();
        let cache = SharedCache::new(DiskCache::open(cache.path()).unwrap());
        let config = JoinConfig {
            hub: self.agents_url.clone(),
            name: name.to_owned(),
            token: self.join_token.clone(),
        };
        let clock = Clock::system();
        let options = AgentOptions::new(EngineOptions::new(move || clock.now()));
        agent::join(&cache, Some(&config), &options, None).await.unwrap().client().unwrap()
    }

    /// A value of `/proc/PID/status` in KiB: `VmRSS`, the resident memory, or `VmHWM`, its peak so far.
    pub fn memory_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    pub fn count_file_descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id().unwrap())).unwrap().count()
    }

    pub fn database_file(&self) -> std::path::PathBuf {
        self.folder.path().join("flotilla.db")
    }
}

/// A workload of these manifests on the clusters with these names, or on all.
pub fn workload_spec(text: String, clusters: &[&str]) -> WorkloadSpec {
    let names = clusters.iter().map(|&name| name.to_owned()).collect();
    WorkloadSpec {
        namespace: "default".to_owned(),
        source: Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] },
        placement: Placement {
            predicates: vec![Predicate { names, ..Predicate::default() }],
            ..Placement::default()
        },
        ..WorkloadSpec::default()
    }
}

pub async fn wait_until(what: &str, ok: impl AsyncFn() -> bool) {
    let started = tokio::time::Instant::now();
    while !ok().await {
        assert!(started.elapsed() < WAIT_TIMEOUT, "timeout: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
