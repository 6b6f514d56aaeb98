//! Concurrent writers.

use domain::Digest;
use domain::chart::{ChartSource, ChartVersion};
use domain::cluster::Connectivity;
use domain::event::{EventKind, NewEvent};
use domain::workload::Source;

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, insert_fleet, insert_full_fleet, project_id, release_id, some_workload, workload_id,
};
use crate::queue::PLACER;
use crate::{Error, Store, chart, chart_repository, cluster, event, release, workload};

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
async fn p35_a_deletion_of_a_chart_waits_for_a_publish_that_uses_it_and_finds_the_use() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let stored = ChartVersion {
            repository: "local".to_owned(),
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            digest: Digest::compute(b"archive"),
            size: 7,
            app_version: String::new(),
            description: String::new(),
            kubernetes_range: String::new(),
            uses_capabilities: false,
            uses_release_phase: false,
            created_by: "ana".to_owned(),
            created_at: at(0),
        };
        chart::insert(&mut tx, project_id(), &stored).await.unwrap();
        tx.commit().await.unwrap();

        let mut publish = store.write().await.unwrap();
        let versions = chart::share_versions(&mut publish, project_id(), "local", "web").await.unwrap();
        assert_eq!(versions, ["1.0.0"]);
        let other = store.clone();
        let deletion = tokio::spawn(async move {
            let mut tx = other.write().await?;
            chart::lock_versions(&mut tx, project_id(), "local", "web").await?;
            let uses = chart_repository::list_uses(&mut tx, project_id(), "local").await?;
            Ok::<usize, Error>(uses.len())
        });
        // Time for a deletion that does not wait to find no use.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let mut user = some_workload(1, "web");
        user.draft.source = Source::Chart(ChartSource {
            chart: "local/web".to_owned(),
            version: "1.0.0".to_owned(),
            ..ChartSource::default()
        });
        workload::insert(&mut publish, &user).await.unwrap();
        publish.commit().await.unwrap();
        assert_eq!(deletion.await.unwrap().unwrap(), 1);
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
