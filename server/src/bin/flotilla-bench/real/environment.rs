//! Control planes, the server, one agent per cluster, and a client with an API token.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use domain::api_token::NewApiToken;
use domain::cluster::Connectivity;
use domain::join::NewJoinToken;
use domain::role::Role;
use futures::future::join_all;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig};
use tempfile::TempDir;
use testkit::ControlPlane;
use wire::Client;

use super::RealArgs;
use super::publisher::Publisher;
use super::spawn::{self, AgentSpec, Process, ServerUrls};
use super::table::{CpuUsage, IdleUsage};
use crate::figures::process_cpu_millis;

/// Namespaces of the workloads and of the plain client's objects.
pub const WORKLOAD_NAMESPACE: &str = "bench";
pub const BASELINE_NAMESPACE: &str = "bare";
/// Namespace of the agent's cache.
pub const AGENT_NAMESPACE: &str = "flotilla-agent";
/// Polling interval outside of measurements.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time limit for the start of all clusters, for a busy machine.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(180);

/// All processes of a benchmark.
pub struct BenchEnvironment {
    pub planes: Vec<ControlPlane>,
    pub publisher: Publisher,
    pub server: Process,
    pub agents: Vec<Process>,
    /// Whether the workloads that fill the first cluster are published.
    pub filled: bool,
    agent_specs: Vec<AgentSpec>,
    urls: ServerUrls,
    folder: TempDir,
    level: String,
    keep: bool,
}

impl BenchEnvironment {
    /// Starts everything and waits until every cluster has joined.
    pub async fn start(args: &RealArgs, clusters: usize) -> anyhow::Result<Self> {
        let mut folder_guard = tempfile::Builder::new().prefix("flotilla-bench-").tempdir()?;
        folder_guard.disable_cleanup(args.keep);
        let folder = folder_guard.path();
        let planes =
            join_all((0..clusters).map(|_| ControlPlane::start(testkit::ControlPlaneOptions::default())))
                .await;
        for plane in &planes {
            for name in [WORKLOAD_NAMESPACE, BASELINE_NAMESPACE, AGENT_NAMESPACE] {
                plane.create_namespace(name).await;
            }
        }
        let secret = create_token(folder).await?;
        let (server, addresses) = spawn::start_server(folder, &args.log, None).await?;
        let client = Client::new(&addresses.people, &secret)?;
        let token = NewJoinToken { auto_accept: true, max_uses: 1000, ..NewJoinToken::default() };
        let token = client.create_join_token(&token).await?.token;
        let member = |(number, plane): (usize, &ControlPlane)| AgentSpec {
            name: format!("c{number}"),
            kubeconfig: plane.kubeconfig_path(),
            hub: addresses.agents.clone(),
            token: token.clone(),
        };
        let members: Vec<AgentSpec> = planes.iter().enumerate().map(member).collect();
        let agents: anyhow::Result<Vec<Process>> =
            members.iter().map(|member| spawn::start_agent(folder, &args.log, member)).collect();
        let (agents, person) = (agents?, Publisher::new(client));
        let world = Self {
            planes,
            publisher: person,
            server,
            agents,
            filled: false,
            agent_specs: members,
            urls: addresses,
            folder: folder_guard,
            level: args.log.clone(),
            keep: args.keep,
        };
        world.wait_until_known().await?;
        Ok(world)
    }

    /// Waits until every cluster is online with facts, and a second for the placer.
    async fn wait_until_known(&self) -> anyhow::Result<()> {
        let query = domain::page::ListQuery { limit: Some(500), ..Default::default() };
        let begun = tokio::time::Instant::now();
        loop {
            let page = self.publisher.client.list_clusters(&query).await?;
            let known = page.items.iter().filter(|one| {
                one.cluster.connectivity == Connectivity::Online
                    && !one.cluster.facts.kubernetes_version.is_empty()
            });
            if known.count() == self.planes.len() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
            let logs = self.folder.path().display();
            anyhow::ensure!(begun.elapsed() < STARTUP_TIMEOUT, "not every cluster has joined: see {logs}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Restarts the agent of a cluster.
    pub fn start_agent(&mut self, number: usize) -> anyhow::Result<()> {
        self.agents[number] = spawn::start_agent(self.folder.path(), &self.level, &self.agent_specs[number])?;
        Ok(())
    }

    /// Restarts the server on the same ports.
    pub async fn start_server(&mut self) -> anyhow::Result<()> {
        let (server, _) = spawn::start_server(self.folder.path(), &self.level, Some(&self.urls)).await?;
        self.server = server;
        Ok(())
    }

    /// CPU time of each kind of process so far.
    pub fn cpu_usage(&self) -> CpuUsage {
        let of = |pids: &[u32]| pids.iter().map(|pid| process_cpu_millis(&pid.to_string())).sum();
        let agents: Vec<u32> = self.agents.iter().map(|agent| agent.pid).collect();
        let parts: Vec<(&str, u32)> = self.planes.iter().flat_map(ControlPlane::processes).collect();
        let named = |name: &str| -> Vec<u32> {
            parts.iter().filter(|(part, _)| *part == name).map(|(_, pid)| *pid).collect()
        };
        CpuUsage(vec![
            ("client", process_cpu_millis("self")),
            ("server", of(&[self.server.pid])),
            ("agents", of(&agents)),
            ("apiserver", of(&named("kube-apiserver"))),
            ("etcd", of(&named("etcd"))),
        ])
    }

    /// Measures the idle CPU of each kind of process.
    pub async fn measure_idle(&self, args: &RealArgs) -> IdleUsage {
        let rest = Duration::from_secs(if args.quick { 1 } else { 5 });
        let before = self.cpu_usage();
        tokio::time::sleep(rest).await;
        before.at_rest(&self.cpu_usage(), rest)
    }

    /// Stops all processes.
    pub async fn stop(mut self) {
        for process in self.agents.iter_mut().chain([&mut self.server]) {
            // Fails only if the process has exited.
            let _ = process.kill().await;
        }
        if self.keep {
            println!("logs and database: {}", self.folder.path().display());
        }
    }
}

/// Creates a user and an API token, before the server runs.
async fn create_token(folder: &Path) -> anyhow::Result<String> {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await?;
    let user = hub.ensure_user("bench", &format!("{:032x}", rand::random::<u128>())).await?;
    let actor = Actor::new("bench", ActorKind::Session(user), Role::Admin);
    let secret = hub.create_token(&actor, &NewApiToken::new("bench", 1)).await?.secret;
    drop(hub);
    // SQLite allows one server at a time, and the connections of this hub close asynchronously.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).context("SQLite has a lock file")?;
    while lock.try_lock().is_err() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(secret)
}
