//! Opening a database: its file and lock, its connections, its schema.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;
use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::{AnyConnection, AnyPool, Connection as _, Executor as _};

use crate::listen::{Wakeups, listen};
use crate::migrate::{self, MIGRATIONS};
use crate::statistics::{StatisticsCounters, StoreStatistics};
use crate::tx::{DatabaseEngine, Tx};
use crate::{Error, sql::sql};

/// Reader connections to SQLite, in addition to its one writer.
const SQLITE_READERS: u32 = 4;
/// Connections of one server to PostgreSQL.
const POSTGRES_CONNECTIONS: u32 = 16;
/// Maximum wait for a connection; then [`Error::DatabaseUnavailable`].
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);

/// Setup of every SQLite connection: durable commits, readers concurrent with the writer.
const SQLITE_SETUP: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
     PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;";
/// Setup of reader connections: writes fail.
const SQLITE_READER: &str = "PRAGMA query_only = ON;";
/// Setup of every PostgreSQL connection: limits on idle transactions, lock waits and statements.
const POSTGRES_SETUP: &str = "SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '10s'; \
     SET statement_timeout = '30s'; SET default_transaction_isolation = 'read committed';";

/// A database. Cheap to clone; all clones share its connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    engine: DatabaseEngine,
    reader: AnyPool,
    writer: AnyPool,
    url: String,
    statistics: Arc<StatisticsCounters>,
    /// The lock file of SQLite; closing it releases the lock.
    _lock: Option<File>,
}

impl Store {
    /// Opens a database and migrates its schema.
    ///
    /// `sqlite:///path/file.db` is a file that only its owner may read, used by one server at a time; it is created
    /// if it is missing. `postgres://user@host/database` may be shared by any number of servers.
    ///
    /// Errors: [`Error::Locked`] if another server uses the file, [`Error::NewerSchema`] if a newer server has
    /// written the database, [`Error::InvalidAddress`] for any other kind of address.
    pub async fn open(url: &str) -> Result<Self, Error> {
        install_default_drivers();
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            open_postgres(url).await
        } else if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !path.is_empty()) {
            open_sqlite(Path::new(path)).await
        } else {
            // Only the scheme is shown: an address may contain a password.
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            Err(Error::InvalidAddress(format!("{scheme}://…")))
        }
    }

    /// Begins a read-only transaction on one snapshot.
    pub async fn read(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            DatabaseEngine::Sqlite => "BEGIN",
            DatabaseEngine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        let inner = self.inner.reader.begin_with(begin).await?;
        Ok(Tx::new(inner, self.inner.engine, false, self.inner.statistics.clone()))
    }

    /// Begins a write transaction. SQLite has one at a time.
    pub async fn write(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            DatabaseEngine::Sqlite => "BEGIN IMMEDIATE",
            DatabaseEngine::Postgres => "BEGIN",
        };
        let inner = self.inner.writer.begin_with(begin).await?;
        Ok(Tx::new(inner, self.inner.engine, true, self.inner.statistics.clone()))
    }

    /// The transactions and statements since the store was opened.
    pub fn statistics(&self) -> StoreStatistics {
        self.inner.statistics.load()
    }

    /// Whether other servers may share this database.
    pub fn is_postgres(&self) -> bool {
        self.inner.engine == DatabaseEngine::Postgres
    }

    /// The clock of PostgreSQL; `None` on SQLite, which has none.
    pub async fn database_time(&self) -> Result<Option<Timestamp>, Error> {
        if !self.is_postgres() {
            return Ok(None);
        }
        let mut tx = self.read().await?;
        let now = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        Ok(Some(Timestamp::from_millis(sql(now).fetch_number(&mut tx).await?)))
    }

    /// Wake-ups from other servers; `None` on SQLite, where there are none.
    pub async fn listen(&self) -> Result<Option<Wakeups>, Error> {
        match self.inner.engine {
            DatabaseEngine::Sqlite => Ok(None),
            DatabaseEngine::Postgres => listen(&self.inner.url).await.map(Some),
        }
    }

    /// Closes all connections after their open transactions. Later calls fail.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        self.inner.reader.close().await;
    }
}

async fn open_sqlite(path: &Path) -> Result<Store, Error> {
    let lock = lock_database_file(path)?;
    open_private_file(path)?;
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let writer = sqlite_pool(&url, 1, SQLITE_SETUP.to_owned()).await?;
    migrate::sqlite(&writer, path, MIGRATIONS).await?;
    let reader = sqlite_pool(&url, SQLITE_READERS, format!("{SQLITE_SETUP}{SQLITE_READER}")).await?;
    Ok(Store {
        inner: Arc::new(StoreInner {
            engine: DatabaseEngine::Sqlite,
            reader,
            writer,
            url,
            statistics: Arc::default(),
            _lock: Some(lock),
        }),
    })
}

async fn sqlite_pool(url: &str, connections: u32, setup: String) -> Result<AnyPool, Error> {
    let options = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_reusable(connection)));
    Ok(pool_options(options, setup).connect(url).await?)
}

/// Whether a connection may be reused. On a full disk SQLite itself ends the transaction; the driver's rollback then
/// fails and the driver still counts the transaction as open, so that no other could begin on this connection.
async fn is_reusable(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    // Completes after the rollback that was queued when the transaction was dropped.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

async fn open_postgres(url: &str) -> Result<Store, Error> {
    migrate::postgres(url, MIGRATIONS).await?;
    let options =
        AnyPoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(ACQUIRE_TIMEOUT);
    let connections = pool_options(options, POSTGRES_SETUP.to_owned()).connect(url).await?;
    let inner = StoreInner {
        engine: DatabaseEngine::Postgres,
        reader: connections.clone(),
        writer: connections,
        url: url.to_owned(),
        statistics: Arc::default(),
        _lock: None,
    };
    Ok(Store { inner: Arc::new(inner) })
}

fn pool_options(options: AnyPoolOptions, setup: String) -> AnyPoolOptions {
    options.after_connect(move |connection, _| {
        let setup = setup.clone();
        Box::pin(async move { connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(setup))).await.map(drop) })
    })
}

/// Locks the file `….lock_database_file` next to the database, until the returned file is closed.
fn lock_database_file(path: &Path) -> Result<File, Error> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let file = open_private_file(&PathBuf::from(lock_path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: path.display().to_string() }),
        Err(TryLockError::Error(source)) => Err(Error::File { path: path.display().to_string(), source }),
    }
}

/// Opens a file with mode 0600, set at its creation, so that other users can never read it.
pub(crate) fn open_private_file(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| Error::File { path: path.display().to_string(), source })
}
