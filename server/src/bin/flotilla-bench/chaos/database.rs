//! The database of a run. Triggers write what the servers commit into a table, from which the history is read at the end: it
//! does not depend on what the servers say.

use std::path::Path;
use std::time::Duration;

use domain::event::EventKind;
use serde_json::Value;
use sqlx::any::install_default_drivers;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _, Row as _};
use testkit::history::DatabaseChange;

/// The triggers, per engine.
const POSTGRES_LOG: &str = include_str!("log_postgres.sql");
const SQLITE_LOG: &str = include_str!("log_sqlite.sql");

/// A SQLite file, or a database of its own on a PostgreSQL server.
pub struct ChaosDatabase {
    url: String,
    /// Address of the server's own database, and the name of this one.
    postgres: Option<(String, String)>,
}

impl ChaosDatabase {
    /// A new database on this server, or a file in the folder.
    pub async fn create(folder: &Path, server: Option<&str>) -> anyhow::Result<Self> {
        install_default_drivers();
        let Some(server) = server else {
            let url = format!("sqlite://{}", folder.join("flotilla.db").display());
            return Ok(Self { url, postgres: None });
        };
        let name = format!("flotilla_chaos_{}", std::process::id());
        let (address, _) =
            server.rsplit_once('/').ok_or_else(|| anyhow::anyhow!("the URL names no database"))?;
        let database =
            Self { url: format!("{address}/{name}"), postgres: Some((server.to_owned(), name.clone())) };
        database.administrate(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        database.administrate(&format!("CREATE DATABASE {name}")).await?;
        Ok(database)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn is_postgres(&self) -> bool {
        self.postgres.is_some()
    }

    /// The arguments of the server of this name. PostgreSQL learns the name, and the log contains it.
    pub fn server_args(&self, name: &str) -> Vec<String> {
        let url = match self.postgres {
            Some(_) => format!("{}?application_name={name}", self.url),
            None => self.url.clone(),
        };
        vec!["--database".to_owned(), url]
    }

    /// Creates the table and the triggers.
    pub async fn install_log(&self) -> anyhow::Result<()> {
        self.execute(&self.url, if self.is_postgres() { POSTGRES_LOG } else { SQLITE_LOG }).await
    }

    /// Lets all claims expire now, as if their time had passed.
    pub async fn expire_claims(&self) -> anyhow::Result<()> {
        let sql = "UPDATE placer_queue SET due_at = 0 WHERE claimed = 1; UPDATE rollout_queue SET due_at = 0 WHERE claimed = 1";
        self.execute(&self.url, sql).await
    }

    /// Ends all connections and accepts none for this time, as a restart of the database does.
    pub async fn interrupt(&self, duration: Duration) -> anyhow::Result<()> {
        let Some((_, name)) = &self.postgres else { return Ok(()) };
        self.administrate(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await?;
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ";
        self.administrate(&format!("{end}'{name}'")).await?;
        tokio::time::sleep(duration).await;
        self.administrate(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await
    }

    /// Whether no workload waits for the placer or the rollouts loop.
    pub async fn is_idle(&self) -> anyhow::Result<bool> {
        if !self.is_postgres() {
            // The server has the file; the states of the releases have to suffice.
            return Ok(true);
        }
        let mut connection = AnyConnection::connect(&self.url).await?;
        let sql = "SELECT COUNT(*) FROM placer_queue WHERE due_at IS NOT NULL";
        let row = sqlx::query(sql).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(row.try_get::<i64, _>(0)? == 0)
    }

    /// How many transactions PostgreSQL cancelled because they waited for each other; none on SQLite. Complete once the servers are closed.
    pub async fn count_deadlocks(&self) -> anyhow::Result<u64> {
        if !self.is_postgres() {
            return Ok(0);
        }
        let mut connection = AnyConnection::connect(&self.url).await?;
        let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        let row = sqlx::query(sql).fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(u64::try_from(row.try_get::<i64, _>(0)?)?)
    }

    /// What was committed, in the order of the writes. No server may run.
    pub async fn read_log(&self) -> anyhow::Result<Vec<DatabaseChange>> {
        let mut connection = AnyConnection::connect(&self.url).await?;
        let rows = sqlx::query("SELECT kind, holder, detail FROM chaos_log ORDER BY seq");
        let rows = rows.fetch_all(&mut connection).await?;
        connection.close().await?;
        rows.iter()
            .map(|row| {
                let (kind, holder): (String, String) = (row.try_get(0)?, row.try_get(1)?);
                let detail: Value = serde_json::from_str(&row.try_get::<String, _>(2)?)?;
                database_change(&kind, holder, &detail)
                    .ok_or_else(|| anyhow::anyhow!("unknown row {kind} in the log: {detail}"))
            })
            .collect()
    }

    pub async fn drop_database(&self) -> anyhow::Result<()> {
        let Some((_, name)) = &self.postgres else { return Ok(()) };
        self.administrate(&format!("DROP DATABASE {name} WITH (FORCE)")).await
    }

    async fn administrate(&self, statement: &str) -> anyhow::Result<()> {
        let Some((server, _)) = &self.postgres else { return Ok(()) };
        self.execute(server, statement).await
    }

    async fn execute(&self, url: &str, sql: &str) -> anyhow::Result<()> {
        let mut connection = AnyConnection::connect(url).await?;
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await?;
        Ok(connection.close().await?)
    }
}

fn database_change(kind: &str, holder: String, detail: &Value) -> Option<DatabaseChange> {
    let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| detail[name].as_i64();
    Some(match kind {
        "claimTaken" => DatabaseChange::ClaimTaken { row: text("row"), epoch: number("epoch")?, holder },
        "claimEnded" => DatabaseChange::ClaimEnded { row: text("row"), epoch: number("epoch")?, holder },
        "desired" => DatabaseChange::DesiredWritten {
            row: text("row"),
            release: text("release"),
            revision: number("revision")?,
            holder,
        },
        "generation" => {
            DatabaseChange::GenerationWritten { release: text("release"), generation: number("generation")? }
        }
        "state" => DatabaseChange::StateChanged {
            release: text("release"),
            workload: text("workload"),
            cluster: text("cluster"),
            from: text("from"),
            to: text("to"),
        },
        "event" => {
            let (workload, message) = (text("workload"), text("message"));
            let is_publish = text("kind") == EventKind::WorkloadPublished.to_json_name();
            DatabaseChange::EventWritten {
                published: is_publish.then(|| published_revision(&workload, &message)).flatten(),
                workload,
                cluster: text("cluster"),
                release: text("release"),
                message,
            }
        }
        _ => return None,
    })
}

/// The revision in the message of a publish: the details of events are encrypted. Without it, I7 counts no event of the
/// revision and fails.
fn published_revision(workload: &str, message: &str) -> Option<u32> {
    message.strip_prefix(workload)?.strip_prefix(" revision ")?.split(' ').next()?.parse().ok()
}
