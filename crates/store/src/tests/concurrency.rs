//! Writers that meet.

use domain::event::{EventKind, NewEvent};

use super::both::for_both;
use super::fixtures::{at, cluster_id, full_fleet, release_id, workload_id};
use crate::queue::PLACER;
use crate::{Error, Store, cluster, event, release};

#[tokio::test]
async fn writers_that_touch_the_same_in_opposite_orders_do_not_deadlock() {
    for_both(|store| async move {
        full_fleet(&store, 6, 2).await;
        let writer = |store: Store, backwards: bool| async move {
            for n in 0..20 {
                let mut tx = store.write().await.unwrap();
                let mut ids: Vec<_> = (1..=6).map(cluster_id).collect();
                let mut workloads = [workload_id(1), workload_id(2)];
                if backwards {
                    ids.reverse();
                    workloads.reverse();
                }
                // Each its own release, but the same counts, wants, marks and log.
                let mine = if backwards { [1001, 2001] } else { [2002, 1002] };
                for id in mine {
                    let mut one = release::get(&mut tx, release_id(id)).await?.unwrap();
                    let reach = [domain::cluster::Reach::Offline, domain::cluster::Reach::Online][n % 2];
                    one.reached(reach, at(n as i64));
                    release::update(&mut tx, &one).await?;
                }
                for id in &ids {
                    cluster::bump_wants(&mut tx, &[*id]).await?;
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
        assert_eq!(cluster::wants_version(&mut tx, cluster_id(6)).await.unwrap(), 41);
        assert_eq!(event::last_seq(&mut tx).await.unwrap(), 40);
    })
    .await;
}

#[tokio::test]
async fn a_release_that_two_read_and_change_loses_neither_change() {
    for_both(|store| async move {
        full_fleet(&store, 1, 1).await;
        let ask = |store: Store| async move {
            for _ in 0..25 {
                let mut tx = store.write().await.unwrap();
                let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
                one.sync_now();
                release::update(&mut tx, &one).await.unwrap();
                tx.commit().await.unwrap();
            }
        };
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(ask(store.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let one = release::get(&mut store.read().await.unwrap(), release_id(1001)).await.unwrap().unwrap();
        assert_eq!(one.sync_nonce, 100);
    })
    .await;
}

#[tokio::test]
async fn one_batch_of_reports_sent_twice_at_once_is_taken_once() {
    for_both(|store| async move {
        full_fleet(&store, 1, 1).await;
        let take = |store: Store| async move {
            let mut tx = store.write().await.unwrap();
            let taken = cluster::take_report_mark(&mut tx, cluster_id(1), 5, 1).await.unwrap();
            tx.commit().await.unwrap();
            taken
        };
        let tasks: Vec<_> = (0..6).map(|_| tokio::spawn(take(store.clone()))).collect();
        let mut taken = 0;
        for task in tasks {
            taken += usize::from(task.await.unwrap());
        }
        assert_eq!(taken, 1);
    })
    .await;
}
