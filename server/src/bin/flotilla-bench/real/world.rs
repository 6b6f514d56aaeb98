//! Control planes, the server, one agent per cluster, and a person with a token.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use domain::cluster::Reach;
use domain::join::NewJoinToken;
use futures::future::join_all;
use hub::{Actor, ActorKind, Clock, Config, Hub};
use tempfile::TempDir;
use testkit::ControlPlane;
use wire::Client;

use super::Args;
use super::person::Person;
use super::spawn::{self, Addresses, Member, Process};
use super::table::{Idle, Usage};
use crate::figures::cpu_millis_of;

/// Where workloads go, and where the plain client's objects go.
pub const OURS: &str = "bench";
pub const BARE: &str = "bare";
/// Where the agent keeps its own things.
pub const AGENT_NAMESPACE: &str = "flotilla-agent";
/// Between two looks at something that is waited for before anything is measured.
const LOOK: Duration = Duration::from_millis(50);
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Everything that runs.
pub struct World {
    pub planes: Vec<ControlPlane>,
    pub person: Person,
    pub server: Process,
    pub agents: Vec<Process>,
    /// Whether the workloads that fill the first cluster are there.
    pub filled: bool,
    members: Vec<Member>,
    addresses: Addresses,
    folder: TempDir,
    level: String,
    keep: bool,
}

impl World {
    /// Starts everything and waits until every cluster is known.
    pub async fn start(args: &Args, clusters: usize) -> anyhow::Result<Self> {
        let mut kept = tempfile::Builder::new().prefix("flotilla-bench-").tempdir()?;
        kept.disable_cleanup(args.keep);
        let folder = kept.path();
        let planes = join_all((0..clusters).map(|_| ControlPlane::start(testkit::Options::default()))).await;
        for plane in &planes {
            for name in [OURS, BARE, AGENT_NAMESPACE] {
                plane.namespace(name).await;
            }
        }
        let secret = token(folder).await?;
        let (server, addresses) = spawn::server(folder, &args.log, None).await?;
        let client = Client::new(&addresses.people, &secret)?;
        let token = NewJoinToken { auto_accept: true, max_uses: 1000, ..NewJoinToken::default() };
        let token = client.join_token_create(&token).await?.token;
        let member = |(number, plane): (usize, &ControlPlane)| Member {
            name: format!("c{number}"),
            kubeconfig: plane.kubeconfig_file(),
            hub: addresses.agents.clone(),
            token: token.clone(),
        };
        let members: Vec<Member> = planes.iter().enumerate().map(member).collect();
        let agents: anyhow::Result<Vec<Process>> =
            members.iter().map(|member| spawn::agent(folder, &args.log, member)).collect();
        let (agents, person) = (agents?, Person::new(client));
        let world = Self {
            planes,
            person,
            server,
            agents,
            filled: false,
            members,
            addresses,
            folder: kept,
            level: args.log.clone(),
            keep: args.keep,
        };
        world.until_known().await?;
        Ok(world)
    }

    /// Every cluster is online and its facts are there; then the placer has seen what they mean.
    async fn until_known(&self) -> anyhow::Result<()> {
        let query = domain::page::ListQuery { limit: Some(500), ..Default::default() };
        let begun = tokio::time::Instant::now();
        loop {
            let page = self.person.client.cluster_list(&query).await?;
            let known = page.items.iter().filter(|one| {
                one.cluster.reach == Reach::Online && !one.cluster.facts.kubernetes_version.is_empty()
            });
            if known.count() == self.planes.len() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
            let logs = self.folder.path().display();
            anyhow::ensure!(begun.elapsed() < PATIENCE, "not every cluster has joined: see {logs}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Starts the agent of a cluster again.
    pub fn start_agent(&mut self, number: usize) -> anyhow::Result<()> {
        self.agents[number] = spawn::agent(self.folder.path(), &self.level, &self.members[number])?;
        Ok(())
    }

    /// Starts the server again, under the addresses it had.
    pub async fn start_server(&mut self) -> anyhow::Result<()> {
        let (server, _) = spawn::server(self.folder.path(), &self.level, Some(&self.addresses)).await?;
        self.server = server;
        Ok(())
    }

    /// What every kind of process has used so far.
    pub fn usage(&self) -> Usage {
        let of = |pids: &[u32]| pids.iter().map(|pid| cpu_millis_of(&pid.to_string())).sum();
        let agents: Vec<u32> = self.agents.iter().map(|agent| agent.pid).collect();
        let parts: Vec<(&str, u32)> = self.planes.iter().flat_map(ControlPlane::processes).collect();
        let named = |name: &str| -> Vec<u32> {
            parts.iter().filter(|(part, _)| *part == name).map(|(_, pid)| *pid).collect()
        };
        Usage(vec![
            ("client", cpu_millis_of("self")),
            ("server", of(&[self.server.pid])),
            ("agents", of(&agents)),
            ("apiserver", of(&named("kube-apiserver"))),
            ("etcd", of(&named("etcd"))),
        ])
    }

    /// What every kind of process uses at rest.
    pub async fn idle(&self, args: &Args) -> Idle {
        let rest = Duration::from_secs(if args.quick { 1 } else { 5 });
        let before = self.usage();
        tokio::time::sleep(rest).await;
        before.at_rest(&self.usage(), rest)
    }

    /// Ends everything.
    pub async fn end(mut self) {
        for process in self.agents.iter_mut().chain([&mut self.server]) {
            // One that ended by itself needs no end.
            let _ = process.kill().await;
        }
        if self.keep {
            println!("logs and database: {}", self.folder.path().display());
        }
    }
}

/// A token of a person who is made for this, before the server runs.
async fn token(folder: &Path) -> anyhow::Result<String> {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(Config { database, clock: Clock::system() }).await?;
    let user = hub.ensure_user("bench", &format!("{:032x}", rand::random::<u128>())).await?;
    let actor = Actor::new("bench", ActorKind::Session(user));
    let secret = hub.token_create(&actor, "bench", 1).await?.secret;
    drop(hub);
    // One server at a time has the database, and the connections of this one close on their own time.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).context("SQLite has a lock file")?;
    while lock.try_lock().is_err() {
        tokio::time::sleep(LOOK).await;
    }
    Ok(secret)
}
