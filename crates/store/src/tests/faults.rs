//! Behaviour under faults.

use domain::Digest;
use futures::StreamExt as _;
use sqlx::postgres::PgListener;

use super::databases::{execute_directly, for_each_engine, on_postgres, on_sqlite};
use super::fixtures::{at, insert_fleet, project_id, some_cluster};
use crate::sql::sql;
use crate::{DatabaseOutage, Error, Store, artifact, cluster, project};

#[tokio::test]
async fn p1_a_transaction_that_is_dropped_changes_nothing() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &some_cluster(2, "late")).await.unwrap();
        cluster::bump_desired_state(&mut tx, &[some_cluster(1, "").id]).await.unwrap();
        drop(tx);
        let mut tx = store.write().await.unwrap();
        assert_eq!(cluster::list_all(&mut tx).await.unwrap().len(), 1);
        assert_eq!(cluster::desired_state_version(&mut tx, some_cluster(1, "").id).await.unwrap(), 1);
    })
    .await;
}

/// Callers are cancelled anywhere: a request whose client is gone, a loop that is stopped.
#[tokio::test]
async fn p21_a_begin_that_is_cancelled_leaves_no_open_transaction_in_the_pool() {
    on_postgres(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
        let mut other = sqlx::ConnectOptions::connect(&options).await.unwrap();
        let open = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
        // As many as the pool has connections, all cancelled at the same stage.
        drop(futures::future::join_all((0..16).map(|_| store.read())).await);
        for round in 0..150 {
            let polls = 1 + round % 3;
            let mut reads: Vec<_> = (0..16).map(|_| Box::pin(store.read())).collect();
            let mut begun = Vec::new();
            for _ in 0..polls {
                for mut read in std::mem::take(&mut reads) {
                    match futures::poll!(read.as_mut()) {
                        std::task::Poll::Ready(tx) => begun.push(tx),
                        std::task::Poll::Pending => reads.push(read),
                    }
                }
                tokio::task::yield_now().await;
            }
            drop((reads, begun));
            let begun = std::time::Instant::now();
            let mut found = 1;
            while begun.elapsed() < testkit::patience() {
                found = sqlx::query_scalar::<_, i64>(open).fetch_one(&mut other).await.unwrap();
                if found == 0 {
                    break;
                }
                // Rollbacks of the connections that were returned last.
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            assert_eq!(found, 0, "connections in a transaction that nobody has, cancelled after {polls} polls");
        }
        sqlx::Connection::close(other).await.unwrap();
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_read_transaction_sees_one_snapshot_and_cannot_write() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let mut reader = store.read().await.unwrap();
        assert_eq!(cluster::list_all(&mut reader).await.unwrap().len(), 1);
        let mut writer = store.write().await.unwrap();
        cluster::insert(&mut writer, &some_cluster(2, "late")).await.unwrap();
        writer.commit().await.unwrap();
        assert_eq!(
            cluster::list_all(&mut reader).await.unwrap().len(),
            1,
            "the snapshot of the beginning of the read"
        );
        let result = cluster::insert(&mut reader, &some_cluster(3, "never")).await;
        assert!(matches!(result, Err(Error::Database(_))), "{result:?}");
    })
    .await;
}

#[tokio::test]
async fn p21_a_full_disk_fails_whole_transactions_and_reads_continue() {
    on_sqlite(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_fleet(&store, 1, 0).await;
        let mut tx = store.write().await.unwrap();
        sql("PRAGMA max_page_count = 200").fetch_all(&mut tx).await.unwrap();
        cluster::insert(&mut tx, &some_cluster(2, "late")).await.unwrap();
        let big = vec![7; 4_000_000];
        let full = artifact::put(&mut tx, &Digest::compute(&big), &big, at(0)).await.unwrap_err();
        assert!(matches!(full, Error::Unavailable(DatabaseOutage::DiskFull, _)), "{full:?}");
        drop(tx);
        let mut tx = store.read().await.unwrap();
        assert_eq!(
            cluster::list_all(&mut tx).await.unwrap().len(),
            1,
            "nothing of the transaction was written"
        );
        drop(tx);
        // The page limit belonged to a connection that is not reused after such a failure.
        let mut tx = store.write().await.unwrap();
        artifact::put(&mut tx, &Digest::compute(&big), &big, at(0)).await.unwrap();
        tx.commit().await.unwrap();
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn p21_the_store_recovers_from_lost_connections_and_a_read_only_server() {
    on_postgres(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_fleet(&store, 1, 0).await;
        let name = url.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
        let end_all = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let mut open = store.write().await.unwrap();
        cluster::insert(&mut open, &some_cluster(2, "late")).await.unwrap();
        execute_directly(&url, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on; {end_all}")).await;
        let lost = open.commit().await.unwrap_err();
        assert!(matches!(lost, Error::CommitOutcomeUnknown(_)), "its connection was terminated: {lost:?}");
        assert_eq!(cluster::list_all(&mut store.read().await.unwrap()).await.unwrap().len(), 1, "reads continue");
        let mut tx = store.write().await.unwrap();
        let error = project::ensure_default(&mut tx, project_id(), at(0)).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(DatabaseOutage::ReadOnly, _)), "{error:?}");
        drop(tx);
        let writable = format!(
            "BEGIN READ WRITE; ALTER DATABASE {name} SET default_transaction_read_only = off; COMMIT; {end_all}"
        );
        execute_directly(&url, &writable).await;
        let mut tx = store.write().await.unwrap();
        cluster::insert(&mut tx, &some_cluster(2, "late")).await.unwrap();
        tx.commit().await.unwrap();
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_commit_wakes_other_servers_once() {
    on_sqlite(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        assert!(store.listen().await.unwrap().is_none(), "one server has the file");
        store.close().await;
    })
    .await;
    on_postgres(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let mut wakeups = store.listen().await.unwrap().unwrap();
        let mut listener = PgListener::connect(&url).await.unwrap();
        listener.listen("flotilla").await.unwrap();
        let mut dropped = store.write().await.unwrap();
        dropped.notify_on_commit();
        drop(dropped);
        for _ in 0..2 {
            let mut tx = store.write().await.unwrap();
            tx.notify_on_commit();
            tx.notify_on_commit();
            tx.commit().await.unwrap();
        }
        // Notifications arrive in the order of the commits: what is not before this one was not sent.
        execute_directly(&url, "NOTIFY flotilla, 'end'").await;
        let mut before_end = 0;
        while listener.recv().await.unwrap().payload() != "end" {
            before_end += 1;
        }
        assert_eq!(before_end, 2, "two commits, two notifications");
        for _ in 0..3 {
            wakeups.next().await.unwrap();
        }
        store.close().await;
    })
    .await;
}
