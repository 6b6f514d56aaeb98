//! Concurrent writers.

use domain::cluster::Connectivity;
use domain::event::{EventKind, NewEvent};

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_full_fleet, release_id, workload_id};
use crate::queue::PLACER;
use crate::{Error, Store, cluster, event, release, workload};

#[tokio::test]
async fn writers_of_the_same_rows_in_opposite_orders_do_not_deadlock() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 6, 2).await;
        let writer = |store: Store, backwards: bool| async move {
            for n in 0..20 {
                let mut tx = store.write().await.unwrap();
                let mut ids: Vec<_> = (1..=6).map(cluster_id).collect();
                let mut workloads = [workload_id(1), workload_id(2)];
                if backwards {
                    ids.reverse();
                    workloads.reverse();
                }
                // Each writer has its own releases, but shares counts, desired-state versions, marks and the log.
                let mine = if backwards { [1001, 2001] } else { [2002, 1002] };
                for id in mine {
                    let mut one = release::get(&mut tx, release_id(id)).await?.unwrap();
                    let reach =
                        [domain::cluster::Connectivity::Offline, domain::cluster::Connectivity::Online]
                            [n % 2];
                    one.set_connectivity(reach, at(n as i64));
                    release::update(&mut tx, &one).await?;
                }
                for id in &ids {
                    cluster::bump_desired_state(&mut tx, &[*id]).await?;
                }
                event::append(&mut tx, &[NewEvent::new(EventKind::ReleaseChanged, "x", "y")], at(0)).await?;
                PLACER.mark(&mut tx, &workloads, at(n as i64)).await?;
                tx.commit().await?;
            }
            Ok::<(), Error>(())
        };
        let tasks: Vec<_> = (0..2).map(|n| tokio::spawn(writer(store.clone(), n == 1))).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let mut tx = store.read().await.unwrap();
        assert_eq!(cluster::desired_state_version(&mut tx, cluster_id(6)).await.unwrap(), 41);
        assert_eq!(event::last_seq(&mut tx).await.unwrap(), 40);
    })
    .await;
}

#[tokio::test]
async fn p35_changes_of_clusters_and_of_several_workloads_at_once_do_not_deadlock() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 3, 3).await;
        let change_cluster = |store: Store, cluster: u128| async move {
            for n in 0..30 {
                let reach = [Connectivity::Offline, Connectivity::Online][n % 2];
                let mut tx = store.write().await?;
                release::set_connectivity_by_cluster(&mut tx, cluster_id(cluster), reach, at(n as i64))
                    .await?;
                PLACER.mark_all(&mut tx, at(n as i64)).await?;
                tx.commit().await?;
            }
            Ok::<(), Error>(())
        };
        let change_workloads = |store: Store, ids: [u128; 3]| async move {
            let ids = ids.map(workload_id);
            for n in 0..30 {
                let mut tx = store.write().await?;
                workload::lock_many(&mut tx, &ids).await?;
                release::lock_by_workloads(&mut tx, &ids).await?;
                for id in ids {
                    PLACER.mark(&mut tx, &[id], at(n)).await?;
                    for mut one in release::list_all_by_workload(&mut tx, id).await? {
                        one.request_sync();
                        release::update(&mut tx, &one).await?;
                    }
                }
                tx.commit().await?;
            }
            Ok::<(), Error>(())
        };
        let mut tasks: Vec<_> = (1..=3).map(|n| tokio::spawn(change_cluster(store.clone(), n))).collect();
        for ids in [[1, 2, 3], [3, 2, 1]] {
            tasks.push(tokio::spawn(change_workloads(store.clone(), ids)));
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(store.statistics().deadlocks, 0);
        let one = release::get(&mut store.read().await.unwrap(), release_id(1001)).await.unwrap().unwrap();
        assert_eq!(one.sync_nonce(), 60);
    })
    .await;
}

#[tokio::test]
async fn concurrent_changes_of_a_release_are_not_lost() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let sync = |store: Store| async move {
            for _ in 0..25 {
                let mut tx = store.write().await.unwrap();
                let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
                one.request_sync();
                release::update(&mut tx, &one).await.unwrap();
                tx.commit().await.unwrap();
            }
        };
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(sync(store.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let one = release::get(&mut store.read().await.unwrap(), release_id(1001)).await.unwrap().unwrap();
        assert_eq!(one.sync_nonce(), 100);
    })
    .await;
}

#[tokio::test]
async fn a_batch_of_reports_sent_several_times_concurrently_is_accepted_once() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        cluster::begin_incarnation(&mut tx, cluster_id(1)).await.unwrap();
        tx.commit().await.unwrap();
        let accept = |store: Store| async move {
            let mut tx = store.write().await.unwrap();
            let position = cluster::advance_report_position(&mut tx, cluster_id(1), 1, 1).await.unwrap();
            tx.commit().await.unwrap();
            position == cluster::ReportPosition::Next
        };
        let tasks: Vec<_> = (0..6).map(|_| tokio::spawn(accept(store.clone()))).collect();
        let mut accepted = 0;
        for task in tasks {
            accepted += usize::from(task.await.unwrap());
        }
        assert_eq!(accepted, 1);
    })
    .await;
}
