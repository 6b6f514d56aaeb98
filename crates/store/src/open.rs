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
use crate::tx::{Engine, Tx};
use crate::{Error, sql::sql};

/// Readers beside the one writer of SQLite.
const SQLITE_READERS: u32 = 4;
/// Connections of one server to PostgreSQL.
const POSTGRES_CONNECTIONS: u32 = 16;
/// How long somebody waits for a connection before the store is busy.
const PATIENCE: Duration = Duration::from_secs(15);

/// Every connection to SQLite: durable after each commit, readers beside a writer.
const SQLITE_SETUP: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
     PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;";
/// Readers can't write, whatever they are asked.
const SQLITE_READER: &str = "PRAGMA query_only = ON;";
/// Every connection to PostgreSQL: nobody holds locks while idle, nobody waits for ever.
const POSTGRES_SETUP: &str = "SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '10s'; \
     SET statement_timeout = '30s'; SET default_transaction_isolation = 'read committed';";

/// A database. Cheap to clone; all clones share its connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    reader: AnyPool,
    writer: AnyPool,
    url: String,
    /// Held as long as the store is; the lock on the file ends with it.
    _lock: Option<File>,
}

impl Store {
    /// Opens a database and brings its schema up to date.
    ///
    /// `sqlite:///path/file.db` is a file that only its owner may read, used by one server at a time; it is made if it
    /// is missing. `postgres://user@host/database` may be shared by any number of servers.
    ///
    /// Errors: [`Error::Locked`] if another server uses the file, [`Error::NewerSchema`] if a newer server has written
    /// the database, [`Error::Address`] for anything else than these two.
    pub async fn open(url: &str) -> Result<Self, Error> {
        install_default_drivers();
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            open_postgres(url).await
        } else if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !path.is_empty()) {
            open_sqlite(Path::new(path)).await
        } else {
            // A scheme is all that is shown: an address may hold a password.
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            Err(Error::Address(format!("{scheme}://…")))
        }
    }

    /// A transaction that sees one state of everything and changes nothing.
    pub async fn read(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            Engine::Sqlite => "BEGIN",
            Engine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        Ok(Tx::new(self.inner.reader.begin_with(begin).await?, self.inner.engine, false))
    }

    /// A transaction that changes something. On SQLite there is one at a time.
    pub async fn write(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            Engine::Sqlite => "BEGIN IMMEDIATE",
            Engine::Postgres => "BEGIN",
        };
        Ok(Tx::new(self.inner.writer.begin_with(begin).await?, self.inner.engine, true))
    }

    /// Whether other servers may share this database.
    pub fn is_postgres(&self) -> bool {
        self.inner.engine == Engine::Postgres
    }

    /// What time it is for PostgreSQL; `None` on SQLite, which has no clock of its own.
    pub async fn time(&self) -> Result<Option<Timestamp>, Error> {
        if !self.is_postgres() {
            return Ok(None);
        }
        let mut tx = self.read().await?;
        let now = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
        Ok(Some(Timestamp::from_millis(sql(now).number(&mut tx).await?)))
    }

    /// Wake-ups from other servers; `None` on SQLite, where there are none.
    pub async fn listen(&self) -> Result<Option<Wakeups>, Error> {
        match self.inner.engine {
            Engine::Sqlite => Ok(None),
            Engine::Postgres => listen(&self.inner.url).await.map(Some),
        }
    }

    /// Whether the database answers.
    pub async fn check(&self) -> Result<(), Error> {
        let mut tx = self.read().await?;
        sql("SELECT value FROM counter WHERE name = 'event'").number(&mut tx).await.map(drop)
    }

    /// Ends all connections, after the transactions under way. Later calls fail.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        self.inner.reader.close().await;
    }
}

async fn open_sqlite(path: &Path) -> Result<Store, Error> {
    let lock = lock(path)?;
    private_file(path)?;
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let writer = sqlite_pool(&url, 1, SQLITE_SETUP.to_owned()).await?;
    migrate::sqlite(&writer, path, MIGRATIONS).await?;
    let reader = sqlite_pool(&url, SQLITE_READERS, format!("{SQLITE_SETUP}{SQLITE_READER}")).await?;
    Ok(Store { inner: Arc::new(Inner { engine: Engine::Sqlite, reader, writer, url, _lock: Some(lock) }) })
}

async fn sqlite_pool(url: &str, connections: u32, setup: String) -> Result<AnyPool, Error> {
    let options = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_clean(connection)));
    Ok(pool(options, setup).connect(url).await?)
}

/// Whether a connection may serve again. SQLite itself ends a transaction when the disk is full; the driver's own
/// rollback then fails and it goes on counting the transaction as open, so no other could begin on this connection.
async fn is_clean(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    // Answered after the rollback that was queued when the transaction was dropped.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

async fn open_postgres(url: &str) -> Result<Store, Error> {
    migrate::postgres(url, MIGRATIONS).await?;
    let options = AnyPoolOptions::new().max_connections(POSTGRES_CONNECTIONS).acquire_timeout(PATIENCE);
    let both = pool(options, POSTGRES_SETUP.to_owned()).connect(url).await?;
    let inner = Inner {
        engine: Engine::Postgres,
        reader: both.clone(),
        writer: both,
        url: url.to_owned(),
        _lock: None,
    };
    Ok(Store { inner: Arc::new(inner) })
}

fn pool(options: AnyPoolOptions, setup: String) -> AnyPoolOptions {
    options.after_connect(move |connection, _| {
        let setup = setup.clone();
        Box::pin(async move { connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(setup))).await.map(drop) })
    })
}

/// Takes the lock file beside the database, for as long as the returned file is open.
fn lock(path: &Path) -> Result<File, Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = private_file(&PathBuf::from(beside))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path: path.display().to_string() }),
        Err(TryLockError::Error(source)) => Err(Error::File { path: path.display().to_string(), source }),
    }
}

/// Opens a file that only its owner may read; made with these rights, so that there is no moment without them.
pub(crate) fn private_file(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| Error::File { path: path.display().to_string(), source })
}
