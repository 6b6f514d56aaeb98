//! A hub with the agents' listener, simulated clusters, and agents that dial in.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::keep::{Folder, Keeper, Secrets};
use agent::{HttpLink, Identity, Invitation, Link, Reconnect};
use domain::event::EventKind;
use domain::join::NewJoinToken;
use domain::placement::{Placement, Predicate};
use domain::release::State;
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Authority, Clock, Config, Hub, Loops, Terms};
use kubesim::Cluster;
use serde_json::{Value, json};
use server::agents::{AgentAccess, AgentListener, Peer};
use server::{Options, Site};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wire::agent::JoinTokenText;

const PATIENCE: Duration = Duration::from_secs(60);
pub const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
/// How long an agent's certificate lasts, in milliseconds.
const AGENT_LIFE: i64 = 30 * 86_400_000;
/// The agent's own namespace.
const OWN: &str = "flotilla-agent";

/// The hub's side; it can go away and come back.
pub struct House {
    pub hub: Hub,
    pub actor: Actor,
    pub access: AgentAccess,
    address: SocketAddr,
    agent_life: i64,
    clock: Clock,
    up: Option<Up>,
    _folder: Arc<tempfile::TempDir>,
}

struct Up {
    loops: Loops,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl House {
    pub async fn open() -> Self {
        Self::with_agent_life(AGENT_LIFE).await
    }

    pub async fn with_agent_life(agent_life: i64) -> Self {
        Self::anew(agent_life, Clock::system()).await
    }

    /// A hub whose clock goes wrong by so many milliseconds.
    pub async fn with_clock_off(millis: i64) -> Self {
        Self::anew(AGENT_LIFE, clock_off(millis)).await
    }

    async fn anew(agent_life: i64, clock: Clock) -> Self {
        let kept = Arc::new(tempfile::tempdir().unwrap());
        let any = "127.0.0.1:0".parse().unwrap();
        Self::start(kept, any, (agent_life, clock)).await
    }

    async fn start(
        kept: Arc<tempfile::TempDir>,
        address: SocketAddr,
        (agent_life, clock): (i64, Clock),
    ) -> Self {
        let folder = kept.path();
        let database = format!("sqlite://{}", folder.join("flotilla.db").display());
        let hub = opened(database, &clock).await;
        let authority = Authority::open(folder, clock.clone()).unwrap().with_agent_life(agent_life);
        let authority = Arc::new(authority);
        let names = vec!["127.0.0.1".to_owned()];
        let listener = AgentListener::bind(address, authority.clone(), names, clock.clone()).await.unwrap();
        let address = listener.address();
        let access = AgentAccess { authority, url: format!("https://{address}") };
        let stop = CancellationToken::new();
        let options =
            Options { stop: stop.clone(), agents: Some(access.clone()), ..Options::bare(hub.clone()) };
        let router = server::agents::build(&Site::new(options), &access).router;
        let service = router.into_make_service_with_connect_info::<Peer>();
        let serving = axum::serve(listener, service).with_graceful_shutdown(stop.clone().cancelled_owned());
        let serving = tokio::spawn(async move { serving.await.unwrap() });
        let up = Some(Up { loops: hub.spawn_loops(), stop, serving });
        Self { hub, actor: Actor::system(), access, address, agent_life, clock, up, _folder: kept }
    }

    /// The hub goes away; its address and its database stay.
    pub async fn go_away(&mut self) {
        let Some(up) = self.up.take() else { return };
        up.stop.cancel();
        up.serving.await.unwrap();
        up.loops.stop().await;
    }

    /// Another process takes up the same database under the same address.
    pub async fn come_back(mut self) -> Self {
        self.go_away().await;
        let Self { hub, _folder: kept, address, agent_life, clock, .. } = self;
        drop(hub);
        Self::start(kept, address, (agent_life, clock)).await
    }

    /// A copy of the database of a hub that has gone away.
    pub fn backup(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for file in database_files(self._folder.path()) {
            std::fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
        copy
    }

    /// Another process takes up what was copied then, under the same address.
    pub async fn restored(mut self, backup: &tempfile::TempDir) -> Self {
        self.go_away().await;
        let Self { hub, _folder: kept, address, agent_life, clock, .. } = self;
        drop(hub);
        // Its connections close on their own time.
        let lock = std::fs::File::open(kept.path().join("flotilla.db.lock")).unwrap();
        until("the database is free", async || lock.try_lock().is_ok()).await;
        drop(lock);
        database_files(kept.path()).iter().for_each(|file| std::fs::remove_file(file).unwrap());
        for file in database_files(backup.path()) {
            std::fs::copy(&file, kept.path().join(file.file_name().unwrap())).unwrap();
        }
        Self::start(kept, address, (agent_life, clock)).await
    }

    pub async fn token(&self, new: NewJoinToken) -> JoinTokenText {
        let made = self.hub.join_token_create(&self.actor, new).await.unwrap();
        JoinTokenText { id: made.id, secret: made.secret, authority: self.access.authority.fingerprint() }
    }

    /// A token that lets in without a person's word.
    pub async fn open_token(&self) -> JoinTokenText {
        self.token(NewJoinToken { auto_accept: true, max_uses: 100, ..NewJoinToken::default() }).await
    }

    pub fn invitation(&self, name: &str, token: &JoinTokenText) -> Invitation {
        Invitation { hub: self.access.url.clone(), name: name.to_owned(), token: token.clone() }
    }

    /// A cluster with an agent that joined.
    pub async fn joined(&self, name: &str) -> Member {
        let token = self.open_token().await;
        let member = Member::new(name);
        member.start(Some(self.invitation(name, &token)));
        self.until_condition(name, "AgentCame").await;
        member
    }

    pub async fn until_condition(&self, name: &str, reason: &str) {
        until(reason, async || {
            let found = self.hub.cluster_view(name).await;
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
        if self.hub.workload_create(&self.actor, new).await.is_err() {
            let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
            self.hub.workload_edit(&self.actor, name, edit, None).await.unwrap();
        }
        self.hub.workload_publish(&self.actor, name, "", Terms::default()).await.unwrap();
    }

    /// Waits until the release of this workload on this cluster is in this state.
    pub async fn until_state(&self, workload: &str, cluster: &str, state: State) {
        let what = format!("{workload} on {cluster} is {}", state.word());
        until(&what, async || {
            let page = self.hub.cluster_releases(cluster, &domain::page::ListQuery::default()).await.unwrap();
            page.items.iter().any(|one| one.workload_name == workload && one.state == state)
        })
        .await;
    }

    /// Waits until the release says this.
    pub async fn until_message(&self, workload: &str, cluster: &str, part: &str) {
        until(part, async || {
            let view = self.hub.release_view(workload, cluster).await.unwrap();
            view.message.contains(part)
        })
        .await;
    }

    pub async fn until_event(&self, kind: EventKind) {
        until(&kind.word(), async || {
            self.hub.events_after(0, 500).await.unwrap().iter().any(|event| event.kind == kind)
        })
        .await;
    }
}

/// A cluster and the place where its agent keeps things.
pub struct Member {
    pub cluster: Cluster,
    pub keeper: Keeper,
    /// By how many milliseconds the agent's clock goes wrong.
    clock_off: i64,
    running: std::sync::Mutex<Option<(CancellationToken, JoinHandle<()>)>>,
}

impl Member {
    /// A simulated cluster; its agent keeps its things in Secrets there.
    pub fn new(name: &str) -> Self {
        let cluster = Cluster::new(kubesim::Options { name: name.to_owned(), ..Default::default() });
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}});
        cluster.create(namespace, "test").unwrap();
        let keeper = Keeper::new(Secrets::new(client(&cluster), OWN));
        Self { cluster, keeper, clock_off: 0, running: std::sync::Mutex::default() }
    }

    /// The same, with an agent whose clock goes wrong by so many milliseconds.
    pub fn with_clock_off(mut self, millis: i64) -> Self {
        self.clock_off = millis;
        self
    }

    pub fn options(&self) -> agent::Options {
        options(&self.keeper, clock_off(self.clock_off))
    }

    /// Starts the agent: it joins if need be.
    pub fn start(&self, invitation: Option<Invitation>) {
        self.start_over(invitation, |link| link);
    }

    /// The same with other settings.
    pub fn start_with(&self, invitation: Option<Invitation>, options: agent::Options) {
        self.begin(invitation, options, |link| link);
    }

    /// The same, over a link that is made of the one over HTTP.
    pub fn start_over<L: Link>(
        &self,
        invitation: Option<Invitation>,
        over: impl FnOnce(HttpLink) -> L + Send + 'static,
    ) {
        self.begin(invitation, self.options(), over);
    }

    fn begin<L: Link>(
        &self,
        invitation: Option<Invitation>,
        options: agent::Options,
        over: impl FnOnce(HttpLink) -> L + Send + 'static,
    ) {
        let (keeper, client) = (self.keeper.clone(), client(&self.cluster));
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let work = tokio::spawn(async move {
            let joined = tokio::select! {
                joined = agent::join(&keeper, invitation.as_ref(), &options) => joined,
                () = stop.cancelled() => return,
            };
            let Ok(identity) = joined.inspect_err(|error| eprintln!("{error}")) else { return };
            let link = HttpLink::new(identity, keeper, &options, quick()).unwrap();
            agent::run(over(link), client, options, stop).await;
        });
        *self.running.lock().unwrap() = Some((cancel, work));
    }

    /// Ends the agent; what it keeps stays.
    pub async fn stop(&self) {
        let running = self.running.lock().unwrap().take();
        if let Some((cancel, work)) = running {
            cancel.cancel();
            work.await.unwrap();
        }
    }

    pub fn value(&self, name: &str) -> Option<String> {
        let found = self.cluster.get(CONFIG_MAP, ("default", name))?;
        Some(found["data"]["value"].as_str()?.to_owned())
    }

    pub async fn until_value(&self, name: &str, value: Option<&str>) {
        until(&format!("{name} is {value:?}"), async || self.value(name).as_deref() == value).await;
    }

    /// Waits until the agent keeps a list that names so many releases.
    pub async fn until_kept(&self, releases: usize) {
        until("the list is kept", async || {
            let kept = self.keeper.get("wants").await.unwrap().unwrap_or_default();
            let list: Value = serde_json::from_slice(&kept).unwrap_or_default();
            list["releases"].as_array().is_some_and(|list| list.len() == releases)
        })
        .await;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some((cancel, _)) = self.running.lock().unwrap().take() {
            cancel.cancel();
        }
    }
}

/// The database, with what is not in its main file yet.
fn database_files(folder: &Path) -> Vec<PathBuf> {
    let files = ["flotilla.db", "flotilla.db-wal", "flotilla.db-shm"].map(|name| folder.join(name));
    files.into_iter().filter(|file| file.exists()).collect()
}

/// Opens the database; the last requests of a hub that went away may hold it for a moment.
async fn opened(database: String, clock: &Clock) -> Hub {
    let begun = tokio::time::Instant::now();
    loop {
        match Hub::open(Config { database: database.clone(), clock: clock.clone() }).await {
            Ok(hub) => return hub,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn client(cluster: &Cluster) -> kube::Client {
    kube::Client::new(cluster.service(), "default")
}

fn quick() -> Reconnect {
    Reconnect { first: Duration::from_millis(50), max: Duration::from_millis(300) }
}

/// The system's clock, wrong by so many milliseconds.
fn clock_off(millis: i64) -> Clock {
    let right = Clock::system();
    Clock::from_fn(move || right.now().plus_millis(millis))
}

fn options(keeper: &Keeper, clock: Clock) -> agent::Options {
    let mut options = agent::Options::new(agent::EngineOptions::new(move || clock.now()));
    options.keep = Some(keeper.clone());
    options.heartbeat = Duration::from_millis(300);
    (options.retry_first, options.retry_max) = (Duration::from_millis(50), Duration::from_millis(300));
    options.engine.heal_first = Duration::from_millis(50);
    options
}

/// Joins without a cluster: what is wanted is only the certificate.
pub async fn certificate(house: &House, name: &str, token: &JoinTokenText) -> Result<Identity, String> {
    let folder = tempfile::tempdir().unwrap();
    let keeper = Keeper::new(Folder::open(folder.path()).unwrap());
    let invitation = house.invitation(name, token);
    let joined = agent::join(&keeper, Some(&invitation), &options(&keeper, Clock::system())).await;
    joined.map_err(|error| error.to_string())
}

pub async fn until(what: &str, ok: impl AsyncFn() -> bool) {
    let begun = tokio::time::Instant::now();
    while !ok().await {
        assert!(begun.elapsed() < PATIENCE, "not: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
