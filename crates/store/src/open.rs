//! Opening a database: its file and lock, its connections, its schema.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use domain::Timestamp;
use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Executor as _};
use tokio::sync::watch;

use crate::decode::decode_row;
use crate::encryption::APPLICATION_NAME;
use crate::listen::{Wakeups, listen};
use crate::migrate::{self, MIGRATIONS};
use crate::outage_monitor::OutageMonitor;
use crate::sealed::{KeySource, Keyring};
use crate::statistics::{StatisticsCounters, StoreStatistics};
use crate::tx::{DatabaseEngine, Tx, TxContext};
use crate::{DatabaseOutage, Error, sql::sql};

/// Reader connections to SQLite, in addition to its one writer.
const SQLITE_READERS: u32 = 4;
/// Connections of one server to PostgreSQL.
const POSTGRES_CONNECTIONS: u32 = 16;
/// Maximum wait for a connection; then [`Error::Unavailable`].
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum wait until a connection to PostgreSQL that is no longer used has answered; then it is closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest number of pages that SQLite accepts as limit.
const UNLIMITED_PAGES: u32 = 4_294_967_294;

/// Setup of every SQLite connection: durable commits, readers concurrent with the writer, deleted content overwritten.
const SQLITE_SETUP: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
     PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;";
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
    outages: Arc<OutageMonitor>,
    keyring: Arc<Keyring>,
    key_source: KeySource,
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "only tests limit the size"))]
    page_limit: Arc<AtomicU32>,
    #[cfg(debug_assertions)]
    fault: Arc<crate::injected_fault::InjectedFault>,
    /// The lock file of SQLite; closing it releases the lock.
    _lock: Option<File>,
}

impl Store {
    /// Opens a database, migrates its schema and reads the keys of its encrypted columns, which `keys` unwraps.
    ///
    /// `sqlite:///path/file.db` is a file that only its owner may read, used by one server at a time; it is created
    /// if it is missing. `postgres://user@host/database` may be shared by any number of servers.
    ///
    /// Errors: [`Error::Locked`] if another server uses the file, [`Error::NewerSchema`] if a newer server has
    /// written the database, [`Error::InvalidAddress`] for any other kind of address, [`Error::Key`] if the keys can't be
    /// unwrapped.
    pub async fn open(url: &str, keys: &KeySource, now: Timestamp) -> Result<Self, Error> {
        let store = connect(url, keys, Opening::Migrate).await?;
        store.prepare_keys(now).await?;
        Ok(store)
    }

    /// Opens a database that a server may use at the same time, to read or change its keys. Its schema must be that of this version.
    pub async fn open_beside_server(url: &str, keys: &KeySource) -> Result<Self, Error> {
        connect(url, keys, Opening::BesideServer).await
    }

    /// Begins a read-only transaction on one snapshot.
    pub async fn read(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            DatabaseEngine::Sqlite => "BEGIN",
            DatabaseEngine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.context().begin(&self.inner.reader, begin, false).await
    }

    /// Begins a write transaction. SQLite has one at a time.
    pub async fn write(&self) -> Result<Tx, Error> {
        let begin = match self.inner.engine {
            DatabaseEngine::Sqlite => "BEGIN IMMEDIATE",
            DatabaseEngine::Postgres => "BEGIN",
        };
        self.context().begin(&self.inner.writer, begin, true).await
    }

    fn context(&self) -> TxContext {
        TxContext {
            engine: self.inner.engine,
            statistics: self.inner.statistics.clone(),
            outages: self.inner.outages.clone(),
            keyring: self.inner.keyring.clone(),
            #[cfg(debug_assertions)]
            fault: self.inner.fault.clone(),
        }
    }

    pub(crate) fn keyring(&self) -> &Arc<Keyring> {
        &self.inner.keyring
    }

    pub(crate) fn key_source(&self) -> &KeySource {
        &self.inner.key_source
    }

    /// The file of an SQLite database.
    pub(crate) fn sqlite_path(&self) -> Option<PathBuf> {
        let path = self.inner.url.strip_prefix("sqlite://")?;
        Some(PathBuf::from(path.split_once('?').map_or(path, |(path, _)| path)))
    }

    /// The connection of the writer, outside of transactions.
    pub(crate) async fn writer_connection(&self) -> Result<PoolConnection<Any>, Error> {
        Ok(self.inner.writer.acquire().await?)
    }

    /// Follows whether the database is in an outage; the value is that of now.
    pub fn subscribe_outage(&self) -> watch::Receiver<Option<DatabaseOutage>> {
        self.inner.outages.subscribe()
    }

    /// How many statements and commits failed with this outage since the store was opened.
    pub fn count_outage_failures(&self, outage: DatabaseOutage) -> u64 {
        self.inner.outages.count(outage)
    }

    /// Ends an outage of which nothing was seen for a minute.
    pub fn expire_outage(&self) {
        self.inner.outages.expire();
    }

    /// Keeps an SQLite database from growing beyond this number of pages, which has the effect of a full disk; `None` ends it.
    /// For tests.
    ///
    /// # Errors
    /// The connection of the writer can't be acquired.
    #[cfg(debug_assertions)]
    pub async fn limit_pages(&self, pages: Option<u32>) -> Result<(), Error> {
        self.inner.page_limit.store(pages.unwrap_or(UNLIMITED_PAGES), Relaxed);
        let mut connection = self.inner.writer.acquire().await?;
        let statement = page_limit_statement(&self.inner.page_limit);
        connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(statement))).await?;
        Ok(())
    }

    /// Lets all transactions after the next `skipped` fail with this outage; `None` ends it. For tests.
    #[cfg(debug_assertions)]
    pub fn inject_outage(&self, fault: Option<(DatabaseOutage, u64)>) {
        self.inner.fault.set(fault);
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

    /// The engine of the database, with its version.
    pub async fn describe_engine(&self) -> Result<String, Error> {
        let (name, version) = match self.inner.engine {
            DatabaseEngine::Sqlite => ("SQLite", "SELECT sqlite_version() AS version"),
            DatabaseEngine::Postgres => ("PostgreSQL", "SELECT current_setting('server_version') AS version"),
        };
        let mut tx = self.read().await?;
        let row = sql(version).fetch_optional(&mut tx).await?;
        let version = decode_row(row, "version", |row| row.text("version"))?.unwrap_or_default();
        Ok(format!("{name} {version}"))
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

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// By a server, which migrates it.
    Migrate,
    /// By a command, while a server may use it.
    BesideServer,
}

async fn connect(url: &str, keys: &KeySource, opening: Opening) -> Result<Store, Error> {
    install_default_drivers();
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        open_postgres(&with_application_name(url), keys, opening).await
    } else if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !path.is_empty()) {
        open_sqlite(Path::new(path), keys, opening).await
    } else {
        // Only the scheme is shown: an address may contain a password.
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        Err(Error::InvalidAddress(format!("{scheme}://…")))
    }
}

/// The address with the name by which other servers recognise connections of this release.
fn with_application_name(url: &str) -> String {
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    let mut name = APPLICATION_NAME.to_owned();
    let mut kept = String::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.strip_prefix("application_name=") {
            // Given by an administrator, to tell servers from each other.
            Some(given) => name = format!("{APPLICATION_NAME}@{given}"),
            None => kept = format!("{kept}{option}&"),
        }
    }
    format!("{address}?{kept}application_name={name}")
}

async fn open_sqlite(path: &Path, keys: &KeySource, opening: Opening) -> Result<Store, Error> {
    let lock = (opening == Opening::Migrate).then(|| lock_database_file(path)).transpose()?;
    let mode = if opening == Opening::Migrate { "rwc" } else { "rw" };
    if opening == Opening::Migrate {
        open_private_file(path)?;
    }
    let url = format!("sqlite://{}?mode={mode}", path.display());
    let page_limit = Arc::new(AtomicU32::new(UNLIMITED_PAGES));
    let writer = sqlite_pool(&url, 1, SQLITE_SETUP.to_owned(), &page_limit).await?;
    match opening {
        Opening::Migrate => migrate::sqlite(&writer, path, MIGRATIONS).await?,
        Opening::BesideServer => migrate::check_is_current(&writer, DatabaseEngine::Sqlite).await?,
    }
    let reader =
        sqlite_pool(&url, SQLITE_READERS, format!("{SQLITE_SETUP}{SQLITE_READER}"), &page_limit).await?;
    Ok(Store {
        inner: Arc::new(StoreInner {
            engine: DatabaseEngine::Sqlite,
            reader,
            writer,
            url,
            statistics: Arc::default(),
            outages: Arc::default(),
            keyring: Arc::default(),
            key_source: keys.clone(),
            page_limit,
            #[cfg(debug_assertions)]
            fault: Arc::default(),
            _lock: lock,
        }),
    })
}

async fn sqlite_pool(
    url: &str,
    connections: u32,
    setup: String,
    page_limit: &Arc<AtomicU32>,
) -> Result<AnyPool, Error> {
    let page_limit = page_limit.clone();
    let options = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_release(|connection, _| Box::pin(is_reusable(connection)));
    let setup = move || format!("{setup}{}", page_limit_statement(&page_limit));
    Ok(pool_options(options, setup).connect(url).await?)
}

/// The statement that limits the size of an SQLite database.
fn page_limit_statement(pages: &AtomicU32) -> String {
    format!("PRAGMA max_page_count = {};", pages.load(Relaxed))
}

/// Whether a connection may be reused. On a full disk SQLite itself ends the transaction; the driver's rollback then
/// fails and the driver still counts the transaction as open, so that no other could begin on this connection.
async fn is_reusable(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    // Completes after the rollback that was queued when the transaction was dropped.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Whether a connection still answers. Without the limit a connection to a host that failed would count as used until TCP
/// gives up after a quarter of an hour, and 16 of them would leave none.
async fn has_answered(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    let answered = tokio::time::timeout(RELEASE_TIMEOUT, connection.ping()).await;
    answered.unwrap_or_else(|_| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))).map(|()| true)
}

async fn open_postgres(url: &str, keys: &KeySource, opening: Opening) -> Result<Store, Error> {
    if opening == Opening::Migrate {
        migrate::postgres(url, MIGRATIONS).await?;
    }
    let options = AnyPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_release(|connection, _| Box::pin(has_answered(connection)));
    let connections = pool_options(options, || POSTGRES_SETUP.to_owned()).connect(url).await?;
    if opening == Opening::BesideServer {
        migrate::check_is_current(&connections, DatabaseEngine::Postgres).await?;
    }
    let inner = StoreInner {
        engine: DatabaseEngine::Postgres,
        reader: connections.clone(),
        writer: connections,
        url: url.to_owned(),
        statistics: Arc::default(),
        outages: Arc::default(),
        keyring: Arc::default(),
        key_source: keys.clone(),
        page_limit: Arc::default(),
        #[cfg(debug_assertions)]
        fault: Arc::default(),
        _lock: None,
    };
    Ok(Store { inner: Arc::new(inner) })
}

/// Options with statements that every new connection executes.
fn pool_options(
    options: AnyPoolOptions,
    setup: impl Fn() -> String + Send + Sync + 'static,
) -> AnyPoolOptions {
    options.after_connect(move |connection, _| {
        let setup = setup();
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
