//! Migrations: numbered files, one run, one transaction (P22; the rules are in `migrations/README.md`).
//!
//! sqlx's own migrator takes no lock on SQLite and commits after each file; here a run holds the engine's lock and is
//! atomic.

use std::path::Path;

use domain::Digest;
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Connection as _, Executor as _, Row as _};

use crate::Error;
use crate::open::open_private_file;
use crate::tx::DatabaseEngine;

/// One migration file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    version: i64,
    text: &'static str,
}

/// All migrations, oldest first.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, text: include_str!("../../../migrations/0001_schema.sql") },
    Migration { version: 2, text: include_str!("../../../migrations/0002_sign_in_attempt.sql") },
    Migration { version: 3, text: include_str!("../../../migrations/0003_confirmed_facts.sql") },
    Migration { version: 4, text: include_str!("../../../migrations/0004_chart.sql") },
    Migration { version: 5, text: include_str!("../../../migrations/0005_operation.sql") },
    Migration { version: 6, text: include_str!("../../../migrations/0006_chart_repository.sql") },
    Migration { version: 7, text: include_str!("../../../migrations/0007_git.sql") },
    Migration { version: 8, text: include_str!("../../../migrations/0008_installed_revision.sql") },
    Migration { version: 9, text: include_str!("../../../migrations/0009_helm_release_request.sql") },
    Migration { version: 10, text: include_str!("../../../migrations/0010_session_details.sql") },
    Migration { version: 11, text: include_str!("../../../migrations/0011_roles.sql") },
    Migration { version: 12, text: include_str!("../../../migrations/0012_password_link.sql") },
    Migration { version: 13, text: include_str!("../../../migrations/0013_encryption.sql") },
    Migration { version: 14, text: include_str!("../../../migrations/0014_audit.sql") },
    Migration { version: 15, text: include_str!("../../../migrations/0015_incident.sql") },
    Migration { version: 16, text: include_str!("../../../migrations/0016_rendered_facts.sql") },
    Migration { version: 17, text: include_str!("../../../migrations/0017_generated_values.sql") },
    Migration { version: 18, text: include_str!("../../../migrations/0018_repository_identity.sql") },
    Migration { version: 19, text: include_str!("../../../migrations/0019_helm_versions_and_project.sql") },
    Migration { version: 20, text: include_str!("../../../migrations/0020_response_headers.sql") },
    Migration { version: 21, text: include_str!("../../../migrations/0021_drift_inbox.sql") },
    Migration { version: 22, text: include_str!("../../../migrations/0022_identity_provider.sql") },
    Migration { version: 23, text: include_str!("../../../migrations/0023_sessions_and_redaction.sql") },
    Migration { version: 24, text: include_str!("../../../migrations/0024_deadlines_and_messages.sql") },
    Migration { version: 25, text: include_str!("../../../migrations/0025_approvals_and_rollbacks.sql") },
    Migration {
        version: 26,
        text: include_str!("../../../migrations/0026_suspension_and_cluster_owners.sql"),
    },
    Migration { version: 27, text: include_str!("../../../migrations/0027_channel_text.sql") },
    Migration { version: 28, text: include_str!("../../../migrations/0028_token_actions_and_elevation.sql") },
];

/// The migration since which columns are encrypted.
const ENCRYPTION: i64 = 13;

/// Key of the advisory lock: arbitrary, and unlikely to be used by another program on the same database.
const ADVISORY_LOCK: i64 = 0x666c_6f74_696c_6c61;

const CREATE_HISTORY: &str =
    "CREATE TABLE IF NOT EXISTS schema_migration (version BIGINT PRIMARY KEY, checksum TEXT NOT NULL)";

/// Migrates a SQLite database. The caller holds the file lock.
pub(crate) async fn sqlite(pool: &AnyPool, path: &Path, migrations: &[Migration]) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    connection.execute(CREATE_HISTORY).await?;
    let done = list_applied(&mut connection).await?;
    let todo = list_pending(&done, migrations, DatabaseEngine::Sqlite)?;
    if let (Some(first), false) = (todo.first(), done.is_empty()) {
        back_up(&mut connection, path, first.version).await?;
    }
    connection.execute("BEGIN IMMEDIATE").await?;
    let applied = apply(&mut connection, &todo, DatabaseEngine::Sqlite, done.is_empty()).await;
    let end = if applied.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute(end).await?;
    applied
}

/// Migrates a PostgreSQL database. If several servers start concurrently, one migrates and the others wait.
pub(crate) async fn postgres(url: &str, migrations: &[Migration]) -> Result<(), Error> {
    let mut connection = AnyConnection::connect(url).await?;
    let mut tx = connection.begin().await?;
    // Released when the transaction ends, also after a crash of this server.
    let lock = format!("SELECT pg_advisory_xact_lock({ADVISORY_LOCK})");
    tx.execute(sqlx::raw_sql(AssertSqlSafe(lock))).await?;
    tx.execute(CREATE_HISTORY).await?;
    let done = list_applied(&mut tx).await?;
    let todo = list_pending(&done, migrations, DatabaseEngine::Postgres)?;
    apply(&mut tx, &todo, DatabaseEngine::Postgres, done.is_empty()).await?;
    tx.commit().await?;
    Ok(connection.close().await?)
}

/// [`Error::NotMigrated`] unless all migrations are applied.
pub(crate) async fn check_is_current(pool: &AnyPool, engine: DatabaseEngine) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    // Without the table nothing was ever migrated.
    let done = list_applied(&mut connection).await.map_err(|_| Error::NotMigrated)?;
    let todo = list_pending(&done, MIGRATIONS, engine)?;
    if todo.is_empty() { Ok(()) } else { Err(Error::NotMigrated) }
}

async fn list_applied(connection: &mut AnyConnection) -> Result<Vec<(i64, String)>, Error> {
    let rows =
        connection.fetch_all("SELECT version, checksum FROM schema_migration ORDER BY version").await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// The migrations that are not applied yet.
fn list_pending(
    done: &[(i64, String)],
    migrations: &[Migration],
    engine: DatabaseEngine,
) -> Result<Vec<Migration>, Error> {
    let known = migrations.last().map_or(0, |migration| migration.version);
    if let Some((found, _)) = done.iter().find(|(version, _)| *version > known) {
        return Err(Error::NewerSchema { found: *found, known });
    }
    let mut todo = Vec::new();
    for migration in migrations {
        match done.iter().find(|(version, _)| *version == migration.version) {
            Some((_, checksum)) if *checksum == migration.checksum(engine) => {}
            Some(_) => return Err(Error::ChangedMigration { version: migration.version }),
            None => todo.push(*migration),
        }
    }
    Ok(todo)
}

async fn apply(
    connection: &mut AnyConnection,
    todo: &[Migration],
    engine: DatabaseEngine,
    is_new: bool,
) -> Result<(), Error> {
    for migration in todo {
        connection.execute(sqlx::raw_sql(AssertSqlSafe(migration.sql(engine)))).await?;
        let note = sqlx::query("INSERT INTO schema_migration (version, checksum) VALUES ($1, $2)");
        note.bind(migration.version).bind(migration.checksum(engine)).execute(&mut *connection).await?;
        tracing::info!(version = migration.version, "applied a migration");
    }
    if is_new && todo.iter().any(|migration| migration.version >= ENCRYPTION) {
        // No server of an earlier release uses it, and nothing is in clear text.
        connection.execute("UPDATE setting SET value = 'complete' WHERE name = 'encryption'").await?;
    }
    Ok(())
}

/// Copies the database file to `….before-NNNN` before migration NNNN; replaces an earlier copy with this name.
async fn back_up(connection: &mut AnyConnection, path: &Path, version: i64) -> Result<(), Error> {
    let copy = format!("{}.before-{version:04}", path.display());
    // `VACUUM INTO` accepts an empty file and preserves its permissions.
    let file = open_private_file(Path::new(&copy))?;
    file.set_len(0).map_err(|source| Error::File { path: copy.clone(), source })?;
    sqlx::query("VACUUM INTO $1").bind(copy).execute(connection).await?;
    Ok(())
}

impl Migration {
    fn sql(self, engine: DatabaseEngine) -> String {
        let (bytes, bytewise) = match engine {
            DatabaseEngine::Sqlite => ("BLOB", ""),
            DatabaseEngine::Postgres => ("BYTEA", " COLLATE \"C\""),
        };
        self.text.replace("{{bytes}}", bytes).replace("{{bytewise}}", bytewise)
    }

    fn checksum(self, engine: DatabaseEngine) -> String {
        Digest::compute(self.sql(engine).as_bytes()).to_string()
    }
}

/// Migrates the database with this address, of either engine.
#[cfg(test)]
pub(crate) async fn migrate_to(url: &str, migrations: &[Migration]) -> Result<(), Error> {
    sqlx::any::install_default_drivers();
    let Some(path) = url.strip_prefix("sqlite://") else { return postgres(url, migrations).await };
    let pool = AnyPool::connect(&format!("{url}?mode=rwc")).await?;
    let result = sqlite(&pool, Path::new(path), migrations).await;
    pool.close().await;
    result
}

#[cfg(test)]
impl Migration {
    /// A migration that follows all others.
    pub(crate) const fn following(text: &'static str) -> Self {
        Self { version: MIGRATIONS[MIGRATIONS.len() - 1].version + 1, text }
    }

    pub(crate) const fn text(&self) -> &'static str {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Store, project, tests::databases};
    use domain::{ProjectId, Timestamp};

    #[test]
    fn every_migration_file_is_embedded_in_order() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let names = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
        let mut versions: Vec<i64> = names
            .filter_map(|name| name.to_str().unwrap().strip_suffix(".sql")?.split('_').next()?.parse().ok())
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, MIGRATIONS.iter().map(|migration| migration.version).collect::<Vec<_>>());
        versions.dedup();
        assert_eq!(versions.len(), MIGRATIONS.len(), "no two with the same number");
    }

    /// Creates a database with the current schema and one project.
    async fn create_used_database(url: &str) {
        let store = Store::open_for_test(url).await.unwrap();
        let mut tx = store.write().await.unwrap();
        let id = ProjectId::from_parts(1, 1);
        project::ensure_default(&mut tx, id, Timestamp::from_millis(0)).await.unwrap();
        tx.commit().await.unwrap();
        store.close().await;
    }

    async fn has_column(url: &str) -> bool {
        let mut connection = AnyConnection::connect(url).await.unwrap();
        let found = connection.fetch_all("SELECT motto FROM project").await.is_ok();
        connection.close().await.unwrap();
        found
    }

    const LATEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;
    const GOOD: Migration =
        Migration { version: LATEST + 1, text: "ALTER TABLE project ADD COLUMN motto TEXT;" };
    const BAD: Migration =
        Migration { version: LATEST + 2, text: "CREATE TABLE a (b TEXT); INSERT INTO nowhere VALUES (1);" };

    fn all_migrations_and(more: &[Migration]) -> Vec<Migration> {
        [MIGRATIONS, more].concat()
    }

    #[tokio::test]
    async fn p22_a_failed_run_does_not_change_the_schema() {
        databases::for_each_address(|url| async move {
            create_used_database(&url).await;
            migrate_to(&url, &all_migrations_and(&[GOOD, BAD])).await.unwrap_err();
            assert!(!has_column(&url).await, "not even the part that would have succeeded");
            Store::open_for_test(&url).await.unwrap().close().await;
            migrate_to(&url, &all_migrations_and(&[GOOD])).await.unwrap();
            assert!(has_column(&url).await);
            let result = Store::open_for_test(&url).await;
            assert!(
                matches!(result, Err(Error::NewerSchema { found, known }) if (found, known) == (LATEST + 1, LATEST))
            );
        })
        .await;
    }

    #[tokio::test]
    async fn facts_that_were_reported_before_the_upgrade_are_confirmed_by_it() {
        databases::for_each_address(|url| async move {
            migrate_to(&url, &MIGRATIONS[..1]).await.unwrap();
            let mut connection = AnyConnection::connect(&url).await.unwrap();
            let id = domain::ClusterId::from_parts(1, 1);
            let facts = r#"{"kubernetesVersion":"v1.33.4","region":"eu-west-1","zones":["a"],"apis":[],"storageClasses":[],
                "ingressClasses":[],"nodePools":[{"architecture":"amd64","os":"linux","nodes":1,"ready":1,"cpu":"4",
                "memory":"8Gi","largestCpu":"4","largestMemory":"8Gi"}]}"#;
            for insert in [
                format!("INSERT INTO cluster (id, name, kind, region, labels, taints, schedulable, lease_seconds, created_at, \
                         resource_version) VALUES ('{id}', 'eu', 'agent', '', '{{}}', '[]', 1, 60, 0, 1)"),
                format!("INSERT INTO cluster_facts (cluster_id, facts, apis, namespaces) VALUES ('{id}', '{facts}', '[]', '[]')"),
                format!("INSERT INTO cluster_heartbeat (cluster_id, connectivity, api_server_error, incarnation, seq) \
                         VALUES ('{id}', 'Online', '', 0, 0)"),
            ] {
                connection.execute(sqlx::raw_sql(AssertSqlSafe(insert))).await.unwrap();
            }
            connection.close().await.unwrap();
            let store = Store::open_for_test(&url).await.unwrap();
            let mut tx = store.write().await.unwrap();
            let cluster = crate::cluster::get_by_name(&mut tx, "eu").await.unwrap().unwrap();
            assert_eq!(cluster.confirmed_facts, domain::cluster::ConfirmedFacts::from_reported(&cluster.facts));
            assert_eq!((cluster.confirmed_facts.region.as_str(), cluster.pending_facts().len()), ("eu-west-1", 0));
            drop(tx);
            store.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn repositories_with_one_url_that_were_added_before_the_upgrade_do_not_stop_it() {
        databases::for_each_address(|url| async move {
            migrate_to(&url, &MIGRATIONS[..16]).await.unwrap();
            let project = ProjectId::from_parts(1, 1);
            let mut inserts =
                vec![format!("INSERT INTO project (id, name, created_at) VALUES ('{project}', 'default', 0)")];
            for (name, at) in [("a", "https://git.test/x"), ("b", "https://git.test/x.git")] {
                inserts.push(format!(
                    "INSERT INTO git_repository (project_id, name, url, credentials_format, allowed_signers, created_by, created_at, \
                     resource_version) VALUES ('{project}', '{name}', '{at}', 'plain', '', 'ada', 0, 1)"
                ));
                inserts.push(format!(
                    "INSERT INTO chart_repository (project_id, name, url, plain_http, credentials_format, created_by, created_at, \
                     resource_version, status) VALUES ('{project}', '{name}', '{at}', 0, 'plain', 'ada', 0, 1, '{{}}')"
                ));
            }
            databases::execute_directly(&url, &inserts.join(";")).await;
            let store = Store::open_for_test(&url).await.unwrap();
            let mut tx = store.write().await.unwrap();
            let mut rows = crate::git_repository::list(&mut tx, project).await.unwrap();
            assert_eq!((rows.len(), &rows[0].url_identity), (2, &None));
            assert_eq!(crate::chart_repository::list(&mut tx, project).await.unwrap().len(), 2);
            for row in &mut rows {
                row.url_identity = Some("https://git.test/x".to_owned());
            }
            assert!(crate::git_repository::update(&mut tx, &rows[0], 1).await.unwrap());
            let taken = crate::git_repository::update(&mut tx, &rows[1], 1).await;
            assert!(matches!(taken, Err(Error::AlreadyExists { .. })), "{taken:?}");
            drop(tx);
            store.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_sqlite_file_is_copied_before_it_is_upgraded() {
        databases::on_sqlite(|url| async move {
            create_used_database(&url).await;
            let copy = format!("{url}.before-{:04}", LATEST + 1);
            let path = copy.strip_prefix("sqlite://").unwrap().to_owned();
            assert!(!Path::new(&path).exists(), "the first migration of a new file makes no copy");
            migrate_to(&url, &all_migrations_and(&[GOOD])).await.unwrap();
            let store = Store::open_for_test(&copy).await.unwrap();
            let mut tx = store.write().await.unwrap();
            let found =
                project::ensure_default(&mut tx, ProjectId::from_parts(9, 9), Timestamp::from_millis(0));
            assert_eq!(found.await.unwrap(), ProjectId::from_parts(1, 1));
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        })
        .await;
    }

    /// The statements of a migration.
    fn statements(migration: Migration, engine: DatabaseEngine) -> Vec<String> {
        let text = migration.sql(engine);
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        let statements = code.join("\n");
        statements.split(';').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn p22_a_sqlite_file_of_a_server_killed_after_any_statement_of_a_migration_is_migrated_by_the_next()
    {
        databases::on_sqlite(|url| async move {
            sqlx::any::install_default_drivers();
            let path = url.strip_prefix("sqlite://").unwrap();
            let mut connection = AnyConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
            // A tiny cache: uncommitted pages go to the write-ahead log, as in a large migration.
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = 2;").await.unwrap();
            connection.execute(CREATE_HISTORY).await.unwrap();
            connection.execute("BEGIN IMMEDIATE").await.unwrap();
            let (mut killed, mut is_logged) = (0, false);
            for migration in MIGRATIONS {
                for statement in statements(*migration, DatabaseEngine::Sqlite) {
                    connection.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
                    killed += 1;
                    let copy = tempfile::tempdir().unwrap();
                    for end in ["", "-wal"] {
                        let target = copy.path().join(format!("flotilla.db{end}"));
                        std::fs::copy(format!("{path}{end}"), target).unwrap();
                    }
                    let size = std::fs::metadata(format!("{path}-wal")).unwrap().len();
                    is_logged |= size > 200_000;
                    let copied = format!("sqlite://{}", copy.path().join("flotilla.db").display());
                    create_used_database(&copied).await;
                }
            }
            assert!(killed > 70 && is_logged, "{killed} statements, in the log: {is_logged}");
            connection.close().await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn p22_a_connection_that_ends_after_any_statement_of_a_migration_leaves_nothing_in_postgresql() {
        databases::on_postgres(|url| async move {
            let trigger = "CREATE TABLE kill_at (statement INT); INSERT INTO kill_at VALUES (0);
                CREATE FUNCTION kill_at() RETURNS event_trigger LANGUAGE plpgsql AS $$
                DECLARE
                    done INT := COALESCE(NULLIF(current_setting('test.done', true), ''), '0')::INT + 1;
                BEGIN
                    PERFORM set_config('test.done', done::TEXT, false);
                    IF done = (SELECT statement FROM kill_at) THEN
                        PERFORM pg_terminate_backend(pg_backend_pid());
                    END IF;
                END $$;
                CREATE EVENT TRIGGER kill_at ON ddl_command_end EXECUTE FUNCTION kill_at();";
            databases::execute_directly(&url, trigger).await;
            let mut connection = AnyConnection::connect(&url).await.unwrap();
            let mut statement = 0;
            loop {
                statement += 1;
                let update = sqlx::query("UPDATE kill_at SET statement = $1").bind(statement);
                update.execute(&mut connection).await.unwrap();
                if postgres(&url, MIGRATIONS).await.is_ok() {
                    break;
                }
                let count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'public'";
                let tables: i64 = connection.fetch_one(count).await.unwrap().try_get(0).unwrap();
                assert_eq!(tables, 1, "only the table of this test, after statement {statement}");
            }
            assert!(statement > 70, "it was ended only after {statement} statements");
            connection.close().await.unwrap();
            create_used_database(&url).await;
        })
        .await;
    }
}
