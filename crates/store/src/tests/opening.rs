//! Opening: schema, locks, permissions of the file.

use std::os::unix::fs::PermissionsExt as _;

use super::databases::{execute_directly, for_each_address, on_postgres, on_sqlite};
use super::fixtures::{at, project_id};
use crate::{Error, Store, cluster, project};

#[tokio::test]
async fn p22_an_up_to_date_schema_is_not_changed() {
    for_each_address(|url| async move {
        for _ in 0..2 {
            let store = Store::open_for_test(&url).await.unwrap();
            cluster::list_all(&mut store.read().await.unwrap()).await.unwrap();
            let mut tx = store.write().await.unwrap();
            project::ensure_default(&mut tx, project_id(), at(0)).await.unwrap();
            tx.commit().await.unwrap();
            store.close().await;
        }
    })
    .await;
}

#[tokio::test]
async fn p22_five_servers_that_start_concurrently_migrate_postgres_once() {
    on_postgres(|url| async move {
        let opened = futures::future::join_all((0..5).map(|_| Store::open_for_test(&url))).await;
        for store in opened {
            let store = store.unwrap();
            cluster::list_all(&mut store.read().await.unwrap()).await.unwrap();
            store.close().await;
        }
    })
    .await;
}

#[tokio::test]
async fn one_of_five_servers_that_open_the_same_sqlite_file_succeeds() {
    on_sqlite(|url| async move {
        let opened = futures::future::join_all((0..5).map(|_| Store::open_for_test(&url))).await;
        let rejected = opened.iter().filter(|store| matches!(store, Err(Error::Locked { .. }))).count();
        assert_eq!((opened.iter().filter(|store| store.is_ok()).count(), rejected), (1, 4));
    })
    .await;
}

#[tokio::test]
async fn a_sqlite_file_is_unlocked_when_its_store_is_dropped() {
    on_sqlite(|url| async move {
        let first = Store::open_for_test(&url).await.unwrap();
        let clone = first.clone();
        drop(first);
        assert!(
            matches!(Store::open_for_test(&url).await, Err(Error::Locked { .. })),
            "a clone still holds it"
        );
        drop(clone);
        Store::open_for_test(&url).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn p22_an_older_server_rejects_a_newer_schema() {
    for_each_address(|url| async move {
        Store::open_for_test(&url).await.unwrap().close().await;
        execute_directly(&url, "INSERT INTO schema_migration (version, checksum) VALUES (999, 'x')").await;
        let error = Store::open_for_test(&url).await.err().unwrap();
        assert!(matches!(error, Error::NewerSchema { found: 999, .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_migration_that_was_edited_after_it_was_applied_is_rejected() {
    for_each_address(|url| async move {
        Store::open_for_test(&url).await.unwrap().close().await;
        execute_directly(&url, "UPDATE schema_migration SET checksum = 'x' WHERE version = 1").await;
        assert!(matches!(Store::open_for_test(&url).await, Err(Error::ChangedMigration { version: 1 })));
    })
    .await;
}

#[tokio::test]
async fn a_sqlite_database_is_readable_only_by_its_owner() {
    on_sqlite(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let mut tx = store.write().await.unwrap();
        project::ensure_default(&mut tx, project_id(), at(0)).await.unwrap();
        tx.commit().await.unwrap();
        let path = url.strip_prefix("sqlite://").unwrap();
        for name in [path.to_owned(), format!("{path}-wal"), format!("{path}-shm"), format!("{path}.lock")] {
            let mode = std::fs::metadata(&name).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_invalid_address_is_rejected_without_showing_its_password() {
    for bad in ["", "flotilla.db", "sqlite://", "mysql://root:secret@host/db"] {
        let error = Store::open_for_test(bad).await.err().unwrap().to_string();
        assert!(error.contains("postgres://host/database") && !error.contains("secret"), "{error}");
    }
}
