//! A hub with the agents' listener, simulated clusters, and agents that connect over TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agent::cache::{DiskCache, SecretCache, SharedCache};
use agent::{AgentIdentity, HttpLink, JoinConfig, Link, ReconnectBackoff};
use domain::event::EventKind;
use domain::join::NewJoinToken;
use domain::placement::{Placement, Predicate};
use domain::release::ReleaseState;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Authority, Clock, Hub, HubConfig, Loops, PublishOptions};
use kubesim::SimCluster;
use serde_json::{Value, json};
use server::agents::AgentEndpoint;
use server::listener::ConnectionLimits;
use server::{Site, SiteOptions};
use sqlx::ConnectOptions as _;
use testkit::ReservedPort;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wire::agent::JoinTokenParts;

const WAIT_TIMEOUT: Duration = testkit::patience();
pub const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
/// Lifetime of an agent's certificate, in milliseconds.
const AGENT_LIFETIME_MILLIS: i64 = 30 * 86_400_000;
/// Connections of one address that have no certificate.
pub const MAX_PER_ADDRESS: usize = 40;
/// Connections of all addresses together that have no certificate.
pub const MAX_WITHOUT_CERTIFICATE: usize = 120;
/// The agent's own namespace.
const AGENT_NAMESPACE: &str = "flotilla-agent";

/// The hub with its listener; it can be stopped and restarted.
pub struct TestServer {
    pub hub: Hub,
    pub actor: Actor,
    pub agent_endpoint: AgentEndpoint,
    /// Stays reserved while the hub is stopped.
    port: ReservedPort,
    agent_lifetime: i64,
    /// Offset of its clock, in milliseconds.
    clock_offset: Arc<AtomicI64>,
    tasks: Option<ServerTasks>,
    _folder: Arc<tempfile::TempDir>,
}

struct ServerTasks {
    loops: Loops,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl TestServer {
    pub async fn open() -> Self {
        Self::start_with_agent_lifetime(AGENT_LIFETIME_MILLIS).await
    }

    pub async fn start_with_agent_lifetime(agent_life: i64) -> Self {
        Self::start_new(agent_life, 0).await
    }

    /// A hub whose clock is off by this many milliseconds.
    pub async fn start_with_clock_offset(millis: i64) -> Self {
        Self::start_new(AGENT_LIFETIME_MILLIS, millis).await
    }

    async fn start_new(agent_life: i64, clock_offset: i64) -> Self {
        let clock_offset = Arc::new(AtomicI64::new(clock_offset));
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::start_on(folder, ReservedPort::reserve(), (agent_life, clock_offset)).await
    }

    async fn start_on(
        data: Arc<tempfile::TempDir>,
        port: ReservedPort,
        (agent_life, clock_offset): (i64, Arc<AtomicI64>),
    ) -> Self {
        let clock = clock_with_offset(clock_offset.clone());
        let folder = data.path();
        let database = format!("sqlite://{}", folder.join("flotilla.db").display());
        let hub = open_hub(database, &clock).await;
        let authority = Authority::open(folder, clock.clone()).unwrap().with_agent_lifetime(agent_life);
        let authority = Arc::new(authority);
        let names = vec!["127.0.0.1".to_owned()];
        let limits = ConnectionLimits {
            max_per_address: MAX_PER_ADDRESS,
            max_without_certificate: MAX_WITHOUT_CERTIFICATE,
            ..ConnectionLimits::agents()
        };
        let listener = server::agents::bind(port.address(), authority.clone(), names, clock.clone(), limits);
        let listener = listener.await.unwrap();
        let access = AgentEndpoint { authority, url: format!("https://{}", port.address()) };
        let stop = CancellationToken::new();
        let options = SiteOptions {
            stop: stop.clone(),
            agent_endpoint: Some(access.clone()),
            ..SiteOptions::bare(hub.clone())
        };
        let router = server::agents::build_router(&Site::new(options), &access).router;
        let serving = tokio::spawn(listener.serve(router, stop.clone()));
        let up = Some(ServerTasks { loops: hub.spawn_loops(), stop, serving });
        Self {
            hub,
            actor: Actor::system(),
            agent_endpoint: access,
            port,
            agent_lifetime: agent_life,
            clock_offset,
            tasks: up,
            _folder: data,
        }
    }

    /// Advances the hub's clock.
    pub fn advance_clock(&self, duration: Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap();
        self.clock_offset.fetch_add(millis, Ordering::SeqCst);
    }

    /// Stops the hub; its address and its database stay.
    pub async fn stop(&mut self) {
        let Some(up) = self.tasks.take() else { return };
        up.stop.cancel();
        up.serving.await.unwrap();
        up.loops.stop().await;
    }

    /// Restarts the hub on the same database and address.
    pub async fn restart(mut self) -> Self {
        self.stop().await;
        let Self { hub, _folder: data, port, agent_lifetime: agent_life, clock_offset, .. } = self;
        drop(hub);
        Self::start_on(data, port, (agent_life, clock_offset)).await
    }

    /// Copies the database of a stopped hub.
    pub async fn copy_database(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        // One consistent state: file by file, a checkpoint in between would lose what it moves from one to the other.
        let options =
            sqlx::sqlite::SqliteConnectOptions::new().filename(self._folder.path().join("flotilla.db"));
        let mut connection = options.connect().await.unwrap();
        let file = copy.path().join("flotilla.db").display().to_string();
        sqlx::query("VACUUM INTO $1").bind(file).execute(&mut connection).await.unwrap();
        copy
    }

    /// Deletes the bytes of all bundles, as damage of the database does.
    pub async fn delete_bundles(&self) {
        const BUNDLES: &str = "DELETE FROM artifact WHERE digest IN (SELECT released FROM release)";
        let file = self._folder.path().join("flotilla.db");
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
        let mut connection = options.connect().await.unwrap();
        let deleted = sqlx::query(BUNDLES).execute(&mut connection).await.unwrap();
        assert!(deleted.rows_affected() > 0);
    }

    /// Stores bytes as an earlier version did, which had other limits.
    pub async fn store_artifact(&self, digest: &domain::Digest, bytes: &[u8]) {
        const INSERT: &str = "INSERT INTO artifact (digest, last_put_at, body) VALUES ($1, $2, $3)";
        let options =
            sqlx::sqlite::SqliteConnectOptions::new().filename(self._folder.path().join("flotilla.db"));
        let mut connection = options.connect().await.unwrap();
        let insert = sqlx::query(INSERT).bind(digest.to_string()).bind(i64::MAX / 2).bind(bytes.to_vec());
        insert.execute(&mut connection).await.unwrap();
    }

    /// Restarts the hub on the backup, on the same address.
    pub async fn restore(mut self, backup: &tempfile::TempDir) -> Self {
        self.stop().await;
        let Self { hub, _folder: data, port, agent_lifetime: agent_life, clock_offset, .. } = self;
        drop(hub);
        // The connections close asynchronously.
        let lock = std::fs::File::open(data.path().join("flotilla.db.lock")).unwrap();
        wait_until("the database is free", async || lock.try_lock().is_ok()).await;
        drop(lock);
        database_files(data.path()).iter().for_each(|file| std::fs::remove_file(file).unwrap());
        for file in database_files(backup.path()) {
            std::fs::copy(&file, data.path().join(file.file_name().unwrap())).unwrap();
        }
        Self::start_on(data, port, (agent_life, clock_offset)).await
    }

    pub async fn create_join_token(&self, new: NewJoinToken) -> JoinTokenParts {
        let secret = self.hub.create_join_token(&self.actor, new).await.unwrap();
        JoinTokenParts {
            id: secret.id,
            secret: secret.secret,
            authority: self.agent_endpoint.authority.fingerprint(),
        }
    }

    /// A token that is accepted automatically.
    pub async fn create_auto_accept_token(&self) -> JoinTokenParts {
        self.create_join_token(NewJoinToken { auto_accept: true, max_uses: 100, ..NewJoinToken::default() })
            .await
    }

    pub fn join_config(&self, name: &str, token: &JoinTokenParts) -> JoinConfig {
        JoinConfig { hub: self.agent_endpoint.url.clone(), name: name.to_owned(), token: token.clone() }
    }

    /// A cluster whose agent has joined.
    pub async fn join_cluster(&self, name: &str) -> MemberCluster {
        let token = self.create_auto_accept_token().await;
        let member = MemberCluster::new(name);
        member.start(Some(self.join_config(name, &token)));
        self.wait_for_condition(name, "AgentConnected").await;
        member
    }

    pub async fn wait_for_condition(&self, name: &str, reason: &str) {
        wait_until(reason, async || {
            let found = self.hub.get_cluster(name).await;
            found.is_ok_and(|view| view.conditions.iter().any(|condition| condition.reason == reason))
        })
        .await;
    }

    /// Publishes a workload with one ConfigMap on these clusters.
    pub async fn publish(&self, name: &str, value: &str, clusters: &[&str]) {
        let text = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"}, "data": {"value": value}});
        let file = SourceFile { name: "app.yaml".to_owned(), text: text.to_string() };
        let names = clusters.iter().map(|&name| name.to_owned()).collect();
        let spec = WorkloadSpec {
            namespace: "default".to_owned(),
            source: Source::Yaml { files: vec![file] },
            placement: Placement {
                predicates: vec![Predicate { names, ..Predicate::default() }],
                ..Placement::default()
            },
            ..WorkloadSpec::default()
        };
        let new = NewWorkload { name: name.to_owned(), spec: spec.clone(), ..NewWorkload::default() };
        if self.hub.create_workload(&self.actor, new).await.is_err() {
            let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
            self.hub.edit_workload(&self.actor, name, edit, None).await.unwrap();
        }
        self.hub.publish_workload(&self.actor, name, "", PublishOptions::default()).await.unwrap();
    }

    /// Waits until the release of this workload on this cluster is in this state.
    pub async fn wait_for_state(&self, workload: &str, cluster: &str, state: ReleaseState) {
        let what = format!("{workload} on {cluster} is {}", state.as_str());
        wait_until(&what, async || {
            let page =
                self.hub.list_cluster_releases(cluster, &domain::page::ListQuery::default()).await.unwrap();
            page.items.iter().any(|one| one.workload_name == workload && one.state == state)
        })
        .await;
    }

    /// Waits until the release's message contains this text.
    pub async fn wait_for_message(&self, workload: &str, cluster: &str, part: &str) {
        let begun = tokio::time::Instant::now();
        loop {
            let view = self.hub.get_release(workload, cluster).await.unwrap();
            if view.message.contains(part) {
                return;
            }
            let release = view.release;
            assert!(begun.elapsed() < WAIT_TIMEOUT, "timeout: {part} in {:?}: {release:#?}", view.message);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn wait_for_event(&self, kind: EventKind) {
        wait_until(&kind.to_json_name(), async || {
            self.hub.list_events_after(0, 500).await.unwrap().iter().any(|event| event.kind == kind)
        })
        .await;
    }
}

/// A simulated cluster and its agent's cache.
pub struct MemberCluster {
    pub cluster: SimCluster,
    pub cache: SharedCache,
    /// Offset of the agent's clock, in milliseconds.
    clock_offset: i64,
    running: std::sync::Mutex<Option<(CancellationToken, JoinHandle<()>)>>,
}

impl MemberCluster {
    /// A simulated cluster; its agent's cache is in Secrets of the cluster.
    pub fn new(name: &str) -> Self {
        Self::with_node_labels(name, Vec::new())
    }

    /// The same, with nodes in a region.
    pub fn in_region(name: &str, region: &str) -> Self {
        let label = ("topology.kubernetes.io/region".to_owned(), region.to_owned());
        Self::with_node_labels(name, vec![label])
    }

    fn with_node_labels(name: &str, node_labels: Vec<(String, String)>) -> Self {
        let options = kubesim::SimOptions { name: name.to_owned(), node_labels, ..Default::default() };
        let cluster = SimCluster::new(options);
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}});
        cluster.create(namespace, "test").unwrap();
        let cache = SharedCache::new(SecretCache::new(client(&cluster), AGENT_NAMESPACE));
        Self { cluster, cache, clock_offset: 0, running: std::sync::Mutex::default() }
    }

    /// The same, with an agent whose clock is off by this many milliseconds.
    pub fn with_clock_offset(mut self, millis: i64) -> Self {
        self.clock_offset = millis;
        self
    }

    pub fn options(&self) -> agent::AgentOptions {
        agent_options(&self.cache, clock_with_offset(Arc::new(AtomicI64::new(self.clock_offset))))
    }

    /// Starts the agent; it joins if it has no identity.
    pub fn start(&self, join_config: Option<JoinConfig>) {
        self.start_over_link(join_config, |link| link);
    }

    /// The same with other options.
    pub fn start_with(&self, join_config: Option<JoinConfig>, options: agent::AgentOptions) {
        self.spawn_agent(join_config, options, |link| link);
    }

    /// The same, over a link that wraps the HTTP link.
    pub fn start_over_link<L: Link>(
        &self,
        join_config: Option<JoinConfig>,
        over: impl FnOnce(HttpLink) -> L + Send + 'static,
    ) {
        self.spawn_agent(join_config, self.options(), over);
    }

    fn spawn_agent<L: Link>(
        &self,
        join_config: Option<JoinConfig>,
        options: agent::AgentOptions,
        over: impl FnOnce(HttpLink) -> L + Send + 'static,
    ) {
        let (keeper, client) = (self.cache.clone(), client(&self.cluster));
        let for_facts = client.clone();
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let work = tokio::spawn(async move {
            let joined = tokio::select! {
                joined = agent::join(&keeper, join_config.as_ref(), &options, Some(for_facts)) => joined,
                () = stop.cancelled() => return,
            };
            let Ok(identity) = joined.inspect_err(|error| eprintln!("{error}")) else { return };
            let link = HttpLink::new(identity, keeper, &options, fast_backoff()).unwrap();
            agent::run(over(link), client, options, stop).await;
        });
        *self.running.lock().unwrap() = Some((cancel, work));
    }

    /// Stops the agent; its cache stays.
    pub async fn stop(&self) {
        let running = self.running.lock().unwrap().take();
        if let Some((cancel, work)) = running {
            cancel.cancel();
            work.await.unwrap();
        }
    }

    pub fn config_value(&self, name: &str) -> Option<String> {
        let found = self.cluster.get(CONFIG_MAP, ("default", name))?;
        Some(found["data"]["value"].as_str()?.to_owned())
    }

    pub async fn wait_for_value(&self, name: &str, value: Option<&str>) {
        wait_until(&format!("{name} is {value:?}"), async || self.config_value(name).as_deref() == value)
            .await;
    }

    /// Waits until the cached desired state has this many releases.
    pub async fn wait_for_cached_releases(&self, releases: usize) {
        wait_until("the desired state is cached", async || {
            let cached = self.cache.get("desired-state").await.unwrap().unwrap_or_default();
            let list: Value = serde_json::from_slice(&cached).unwrap_or_default();
            list["releases"].as_array().is_some_and(|list| list.len() == releases)
        })
        .await;
    }
}

impl Drop for MemberCluster {
    fn drop(&mut self) {
        if let Some((cancel, _)) = self.running.lock().unwrap().take() {
            cancel.cancel();
        }
    }
}

/// The files of the database, including the write-ahead log.
fn database_files(folder: &Path) -> Vec<PathBuf> {
    let files = ["flotilla.db", "flotilla.db-wal", "flotilla.db-shm"].map(|name| folder.join(name));
    files.into_iter().filter(|file| file.exists()).collect()
}

/// Opens the database; pending requests of a stopped hub may lock it for a moment.
async fn open_hub(database: String, clock: &Clock) -> Hub {
    let begun = tokio::time::Instant::now();
    loop {
        match Hub::open(HubConfig::new(database.clone(), clock.clone())).await {
            Ok(hub) => return hub,
            Err(error) => assert!(begun.elapsed() < WAIT_TIMEOUT, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn client(cluster: &SimCluster) -> kube::Client {
    kube::Client::new(cluster.service(), "default")
}

fn fast_backoff() -> ReconnectBackoff {
    ReconnectBackoff { initial: Duration::from_millis(50), max: Duration::from_millis(300) }
}

/// The system clock with an offset in milliseconds.
fn clock_with_offset(millis: Arc<AtomicI64>) -> Clock {
    let system = Clock::system();
    Clock::from_fn(move || system.now().plus_millis(millis.load(Ordering::SeqCst))).with_counted_leaps()
}

fn agent_options(keeper: &SharedCache, clock: Clock) -> agent::AgentOptions {
    let mut options = agent::AgentOptions::new(agent::EngineOptions::new(move || clock.now()));
    options.cache = Some(keeper.clone());
    options.heartbeat_interval = Duration::from_millis(300);
    (options.retry_initial_delay, options.retry_max_delay) =
        (Duration::from_millis(50), Duration::from_millis(300));
    options.engine.heal_first = Duration::from_millis(50);
    options
}

/// Joins without a cluster, only to get a certificate.
pub async fn join_for_certificate(
    server: &TestServer,
    name: &str,
    token: &JoinTokenParts,
) -> Result<AgentIdentity, String> {
    let folder = tempfile::tempdir().unwrap();
    let keeper = SharedCache::new(DiskCache::open(folder.path()).unwrap());
    let join_config = server.join_config(name, token);
    let options = agent_options(&keeper, Clock::system());
    let joined = agent::join(&keeper, Some(&join_config), &options, None).await;
    joined.map_err(|error| error.to_string())
}

pub async fn wait_until(what: &str, ok: impl AsyncFn() -> bool) {
    let begun = tokio::time::Instant::now();
    while !ok().await {
        assert!(begun.elapsed() < WAIT_TIMEOUT, "timeout: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
