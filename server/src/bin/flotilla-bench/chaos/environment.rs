//! Everything of a run: database, servers, balancer, clusters with agents.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::JoinConfig;
use domain::api_token::NewApiToken;
use domain::cluster::Connectivity;
use domain::join::NewJoinToken;
use domain::page::ListQuery;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig, KeySource};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tempfile::TempDir;
use testkit::history::HistoryRecorder;
use tokio::time::Instant;
use wire::Client;

use super::ChaosArgs;
use super::agents::ChaosCluster;
use super::balancer::Balancer;
use super::database::ChaosDatabase;
use super::publisher::ChaosPublisher;
use super::servers::ChaosServer;

/// Namespace of the workloads.
pub const NAMESPACE: &str = "chaos";
/// Largest offset of an agent's clock, in milliseconds (P10).
const MAX_CLOCK_OFFSET: i64 = 3_600_000;
/// Time limit until every cluster has joined, before the first fault.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);

/// The processes and clusters of a run.
pub struct ChaosEnvironment {
    pub servers: Vec<ChaosServer>,
    pub members: Vec<ChaosCluster>,
    pub database: ChaosDatabase,
    pub client: Client,
    pub recorder: Arc<HistoryRecorder>,
    pub workloads: Vec<String>,
    _balancer: Balancer,
    _folder: TempDir,
}

impl ChaosEnvironment {
    /// Starts everything. The log of the database begins before the first server.
    pub async fn start(args: &ChaosArgs, recorder: Arc<HistoryRecorder>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("flotilla-chaos-").tempdir()?;
        let database = ChaosDatabase::create(folder.path(), args.postgres.as_deref()).await?;
        let secret = create_token(database.url(), folder.path()).await?;
        database.install_log().await?;
        let names: &[&str] = if database.is_postgres() { &["one", "two"] } else { &["one"] };
        let mut servers: Vec<ChaosServer> = names
            .iter()
            .map(|name| ChaosServer::new(name, folder.path(), &args.log, database.server_args(name)))
            .collect();
        // One after the other: the first creates the authority of the agents.
        for server in &mut servers {
            server.start().await?;
        }
        let balancer = Balancer::start(servers.iter().map(|server| server.api.clone()).collect()).await?;
        wire::tls::install_crypto_provider();
        let client = Client::new(&format!("http://{}", balancer.address), &secret)?;
        let mut world = Self {
            servers,
            members: Vec::new(),
            database,
            client,
            recorder,
            workloads: (0..args.workloads).map(|number| format!("web-{number}")).collect(),
            _balancer: balancer,
            _folder: folder,
        };
        world.start_clusters(args.clusters).await?;
        Ok(world)
    }

    async fn start_clusters(&mut self, count: usize) -> anyhow::Result<()> {
        let new = NewJoinToken { auto_accept: true, max_uses: 1000, ..NewJoinToken::default() };
        let created = self.client.create_join_token(&new).await?;
        let token = created.token.parse::<wire::agent::JoinTokenParts>()?;
        let mut random = StdRng::seed_from_u64(self.recorder.seed());
        for number in 0..count {
            let link =
                Balancer::start(self.servers.iter().map(|server| server.agents.clone()).collect()).await?;
            let join = JoinConfig {
                hub: format!("https://{}", link.address),
                name: format!("eu-{number}"),
                token: token.clone(),
            };
            let offset = random.random_range(-MAX_CLOCK_OFFSET..=MAX_CLOCK_OFFSET);
            let mut member = ChaosCluster::new(join, link, offset, self.recorder.clone())?;
            member.start()?;
            self.members.push(member);
        }
        self.wait_until_online().await
    }

    /// Waits until every cluster has joined and has reported its facts.
    async fn wait_until_online(&self) -> anyhow::Result<()> {
        let query = ListQuery { limit: Some(500), ..ListQuery::default() };
        let begun = Instant::now();
        loop {
            let page = self.client.list_clusters(&query).await?;
            let online = page.items.iter().filter(|one| {
                one.cluster.connectivity == Connectivity::Online
                    && !one.cluster.facts.kubernetes_version.is_empty()
            });
            if online.count() == self.members.len() {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < JOIN_TIMEOUT, "not every cluster has joined");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The client of one workload.
    pub fn publisher(&self, number: usize, seed: u64) -> ChaosPublisher {
        ChaosPublisher {
            client: self.client.clone(),
            recorder: self.recorder.clone(),
            workload: self.workloads[number].clone(),
            clusters: self.members.iter().map(|member| member.cluster.name().to_owned()).collect(),
            has_waves: number % 2 == 1,
            random: StdRng::seed_from_u64(seed.wrapping_add(number as u64 + 1)),
            accepted: Vec::new(),
            has_open_removal: false,
        }
    }

    /// Ends all processes.
    pub async fn stop(&mut self) {
        for member in &mut self.members {
            // Its panics are in the output.
            let _ = member.kill().await;
        }
        for server in &mut self.servers {
            // Fails only if the process has exited.
            let _ = server.kill().await;
        }
    }
}

/// The key of the encrypted columns.
pub const KEY: &str = "flotilla-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Creates the schema, a user and an API token.
async fn create_token(database: &str, folder: &Path) -> anyhow::Result<String> {
    let hub = Hub::open(HubConfig {
        keys: Some(KeySource::Value(KEY.to_owned())),
        ..HubConfig::new(database, Clock::system())
    })
    .await?;
    let user = hub.ensure_user("chaos", &format!("{:032x}", rand::random::<u128>())).await?;
    let secret = hub
        .create_token(
            &Actor::new("chaos", ActorKind::Session(user), Role::Admin),
            &NewApiToken::new("chaos", 1),
        )
        .await?
        .secret;
    drop(hub);
    // SQLite allows one server at a time, and the connections of this hub close asynchronously.
    if let Ok(lock) = std::fs::File::open(folder.join("flotilla.db.lock")) {
        tokio::task::spawn_blocking(move || lock.lock()).await??;
    }
    Ok(secret)
}
