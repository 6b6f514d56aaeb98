//! Runs a test on two databases: SQLite in a file, and PostgreSQL in a database created for the test.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use domain::Timestamp;
use futures::FutureExt as _;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};

use crate::{Error, KeySource, Store};

/// Environment variable: address of a PostgreSQL server whose user may create databases, or `off`.
const SERVER_VARIABLE: &str = "FLOTILLA_TEST_POSTGRES";

static CREATED_COUNT: AtomicU32 = AtomicU32::new(0);

/// Runs a test on an empty store of each engine.
pub(super) async fn for_each_engine<F: Future<Output = ()>>(test: impl Fn(Store) -> F) {
    for_each_address(|url| {
        let test = &test;
        async move {
            let store = Store::open_for_test(&url).await.unwrap();
            test(store.clone()).await;
            store.close().await;
        }
    })
    .await;
}

/// Runs a test on the address of an empty database of each engine.
pub(crate) async fn for_each_address<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    on_sqlite(&test).await;
    on_postgres(&test).await;
}

/// Runs a test on SQLite only, for behaviour of files.
pub(crate) async fn on_sqlite<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let directory = tempfile::tempdir().unwrap();
    test(format!("sqlite://{}/flotilla.db", directory.path().display())).await;
}

/// Runs a test on PostgreSQL only, for behaviour of servers.
pub(crate) async fn on_postgres<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let server = match std::env::var(SERVER_VARIABLE) {
        Ok(off) if off == "off" => {
            eprintln!("{SERVER_VARIABLE}=off: this test ran on SQLite only");
            return;
        }
        Ok(server) => server,
        Err(_) => panic!(
            "this part of the test needs PostgreSQL: run `cargo xtask test`, which starts a server, or set {SERVER_VARIABLE} to the \
             address of one (or to `off` to skip PostgreSQL)"
        ),
    };
    let name =
        format!("flotilla_test_{}_{}", std::process::id(), CREATED_COUNT.fetch_add(1, Ordering::Relaxed));
    let mut admin = connect_admin(&server).await;
    for statement in [drop_database(&name), format!("CREATE DATABASE {name}")] {
        admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
    let result = AssertUnwindSafe(test(address_of_database(&server, &name))).catch_unwind().await;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(drop_database(&name)))).await.unwrap();
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

/// The keys of the tests.
pub(crate) fn test_keys() -> KeySource {
    KeySource::Value(format!("flotilla-key-1:{}", "A".repeat(43)))
}

impl Store {
    /// Opens a database with the keys of the tests.
    pub(crate) async fn open_for_test(url: &str) -> Result<Self, Error> {
        Self::open(url, &test_keys(), Timestamp::from_millis(0)).await
    }
}

fn drop_database(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

async fn connect_admin(server: &str) -> PgConnection {
    let options: sqlx::postgres::PgConnectOptions = server.parse().unwrap();
    options.connect().await.expect("FLOTILLA_TEST_POSTGRES does not name a reachable server")
}

/// The server's address with another database.
fn address_of_database(server: &str, database: &str) -> String {
    let (address, options) = server.split_once('?').unwrap_or((server, ""));
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{host}/{database}{mark}{options}")
}

/// Executes statements on a connection of its own, not through the store.
pub(crate) async fn execute_directly(url: &str, statements: &str) {
    sqlx::any::install_default_drivers();
    let mut connection = <sqlx::AnyConnection as sqlx::Connection>::connect(url).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(statements.to_owned()))).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
}
