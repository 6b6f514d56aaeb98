//! The servers of a run: one on SQLite, or one or two on a PostgreSQL database, with all their loops.

use std::path::Path;
use std::time::Duration;

use domain::server_status::SandboxMode;
use hub::{Clock, Hub, HubConfig, KeySource, Loops};
use source::RemoteAccess;
use source::helm::Helm;
use source::repository::RepositoryClient;
use source::sandbox::{self, Sandbox};
use source::scratch::ScratchFolder;
use tempfile::TempDir;

use crate::chaos::{ChaosDatabase, KEY};

/// Servers and database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// One server; SQLite has one at a time.
    Sqlite,
    /// One server on PostgreSQL.
    OneOnPostgres,
    /// Two servers on one PostgreSQL database.
    TwoOnPostgres,
}

impl Topology {
    /// As results name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite, one server",
            Self::OneOnPostgres => "PostgreSQL, one server",
            Self::TwoOnPostgres => "PostgreSQL, two servers",
        }
    }

    const fn count_servers(self) -> usize {
        match self {
            Self::Sqlite | Self::OneOnPostgres => 1,
            Self::TwoOnPostgres => 2,
        }
    }
}

/// The running servers.
pub struct RaceServers {
    /// Both, or the same one twice.
    pub servers: [Hub; 2],
    topology: Topology,
    loops: Vec<Loops>,
    database: ChaosDatabase,
    _folder: TempDir,
}

impl RaceServers {
    /// Opens a new database and starts the loops.
    ///
    /// # Errors
    /// The database or Helm can't be used.
    pub async fn start(topology: Topology, postgres: Option<&str>, helm: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("flotilla-races-").tempdir()?;
        let postgres = postgres.filter(|_| topology != Topology::Sqlite);
        let database = ChaosDatabase::create(folder.path(), postgres).await?;
        let one = open_server(database.url(), helm).await?;
        let other = match topology {
            Topology::TwoOnPostgres => open_server(database.url(), helm).await?,
            Topology::Sqlite | Topology::OneOnPostgres => one.clone(),
        };
        let servers = [one, other];
        let loops = servers.iter().take(topology.count_servers()).map(Hub::spawn_loops).collect();
        Ok(Self { servers, topology, loops, database, _folder: folder })
    }

    /// The loops that do not run. None may have stopped.
    pub fn list_stopped_loops(&self) -> Vec<&'static str> {
        self.servers.iter().take(self.topology.count_servers()).flat_map(Hub::list_stopped_loops).collect()
    }

    /// Stops everything; returns the number of deadlocks that the servers and the database have counted.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn stop(self) -> anyhow::Result<u64> {
        let Self { servers, topology, loops, database, _folder } = self;
        for some in loops {
            some.stop().await;
        }
        let mut counted = 0;
        for hub in servers.iter().take(topology.count_servers()) {
            counted += hub.store_statistics().deadlocks;
            hub.close().await;
        }
        // The database also counts deadlocks of transactions whose requests were abandoned.
        let counted = counted.max(database.count_deadlocks().await?);
        database.drop_database().await?;
        Ok(counted)
    }
}

/// A server that renders charts, fetches them from repositories of this machine, and opens an incident as soon as a release fails.
async fn open_server(database: &str, helm: &Path) -> anyhow::Result<Hub> {
    let config = HubConfig {
        keys: Some(KeySource::Value(KEY.to_owned())),
        incident_delay: Duration::ZERO,
        ..HubConfig::new(database, Clock::system())
    };
    let hub = Hub::open(config).await?;
    let command = vec![std::env::current_exe()?.into(), sandbox::COMMAND.into()];
    let scratch = ScratchFolder::open(&ScratchFolder::default_parent())?;
    let sandbox = Sandbox::measure(command, SandboxMode::BestEffort, scratch).await;
    hub.set_helm(Helm::find(Some(helm), sandbox).await?);
    // The repositories of the scenarios are in this process.
    hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp)?);
    Ok(hub)
}
