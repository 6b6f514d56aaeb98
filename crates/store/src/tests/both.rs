//! One test, two databases: SQLite in a file, and PostgreSQL in a database made for it.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt as _;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};

use crate::Store;

/// Address of a PostgreSQL server whose user may make databases, or `off`.
const SERVER: &str = "FLOTILLA_TEST_POSTGRES";

static MADE: AtomicU32 = AtomicU32::new(0);

/// Runs a test on an empty store of each engine.
pub(super) async fn for_both<F: Future<Output = ()>>(test: impl Fn(Store) -> F) {
    for_both_addresses(|url| {
        let test = &test;
        async move {
            let store = Store::open(&url).await.unwrap();
            test(store.clone()).await;
            store.close().await;
        }
    })
    .await;
}

/// Runs a test on the address of an empty database of each engine.
pub(crate) async fn for_both_addresses<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    on_sqlite(&test).await;
    on_postgres(&test).await;
}

/// Runs a test on SQLite alone, for what only a file can do.
pub(crate) async fn on_sqlite<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let folder = tempfile::tempdir().unwrap();
    test(format!("sqlite://{}/flotilla.db", folder.path().display())).await;
}

/// Runs a test on PostgreSQL alone, for what only a server can do.
pub(super) async fn on_postgres<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let server = match std::env::var(SERVER) {
        Ok(off) if off == "off" => {
            eprintln!("{SERVER}=off: this test ran on SQLite only");
            return;
        }
        Ok(server) => server,
        Err(_) => panic!(
            "this half of the test needs PostgreSQL: run `cargo xtask test`, which starts one, or set {SERVER} to the \
             address of a server (or to `off` to leave PostgreSQL out)"
        ),
    };
    let name = format!("flotilla_test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let mut admin = admin(&server).await;
    for statement in [drop_database(&name), format!("CREATE DATABASE {name}")] {
        admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
    let result = AssertUnwindSafe(test(address_of(&server, &name))).catch_unwind().await;
    admin.execute(sqlx::raw_sql(AssertSqlSafe(drop_database(&name)))).await.unwrap();
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn drop_database(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

async fn admin(server: &str) -> PgConnection {
    let options: sqlx::postgres::PgConnectOptions = server.parse().unwrap();
    options.connect().await.expect("FLOTILLA_TEST_POSTGRES names no server that answers")
}

/// The server's address with another database.
fn address_of(server: &str, database: &str) -> String {
    let (address, options) = server.split_once('?').unwrap_or((server, ""));
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    let mark = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{host}/{database}{mark}{options}")
}

/// Runs statements behind the store's back.
pub(super) async fn behind(url: &str, statements: &str) {
    sqlx::any::install_default_drivers();
    let mut connection = <sqlx::AnyConnection as sqlx::Connection>::connect(url).await.unwrap();
    connection.execute(sqlx::raw_sql(AssertSqlSafe(statements.to_owned()))).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
}
