//! Clusters that do not report, with the last known states of their releases.

use domain::Timestamp;
use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::workload::DeletionPolicy;

use super::databases::{execute_directly, for_each_address, for_each_engine};
use super::fixtures::{at, cluster_id, complete_removal, insert_full_fleet, release_id, release_report};
use crate::sql::sql;
use crate::{Store, cluster, release};

#[tokio::test]
async fn clusters_that_do_not_report_are_listed_with_their_releases_by_last_known_state() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 3).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(cluster::list_not_reporting(&mut tx, 10).await.unwrap(), []);
        let healths = [Health::healthy(), Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "crashes")];
        for (id, health) in [release_id(1002), release_id(2002)].into_iter().zip(healths) {
            let mut one = release::get(&mut tx, id).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, health), at(5)).unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        let mut gone = release::get(&mut tx, release_id(3002)).await.unwrap().unwrap();
        complete_removal(&mut gone, DeletionPolicy::Foreground, at(6));
        release::update(&mut tx, &gone).await.unwrap();
        cluster::set_connectivity(&mut tx, cluster_id(2), Connectivity::Offline).await.unwrap();
        release::set_connectivity_by_cluster(&mut tx, cluster_id(2), Connectivity::Offline, at(7))
            .await
            .unwrap();
        let listed = cluster::list_not_reporting(&mut tx, 10).await.unwrap();
        let [one] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!(
            (&*one.name, one.connectivity, one.last_seen),
            ("c-002", Connectivity::Offline, Some(at(0)))
        );
        let states = [ReleaseState::Healthy, ReleaseState::Degraded, ReleaseState::Removed];
        assert_eq!(one.last_known, ReleaseCounts::from_iter(states));
        assert_eq!((one.last_known.targeted(), one.last_known.worst()), (2, Some(ReleaseState::Degraded)));
    })
    .await;
}

#[tokio::test]
async fn the_longest_outage_is_first_and_a_cluster_that_never_connected_last() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 5, 1).await;
        let mut tx = store.write().await.unwrap();
        for (n, seen) in [(1, at(30)), (2, at(10)), (3, at(50)), (4, at(50))] {
            cluster::record_heartbeats(&mut tx, &[cluster_id(n)], seen).await.unwrap();
        }
        sql("UPDATE cluster_heartbeat SET connectivity = 'Offline', last_seen = NULL WHERE cluster_id = $1")
            .bind_text(cluster_id(5))
            .execute(&mut tx)
            .await
            .unwrap();
        cluster::set_connectivity(&mut tx, cluster_id(1), Connectivity::Late).await.unwrap();
        cluster::set_connectivity(&mut tx, cluster_id(2), Connectivity::Offline).await.unwrap();
        // Online: its API server is down.
        cluster::begin_api_server_outage(&mut tx, cluster_id(3), "refused", at(20)).await.unwrap();
        let listed = cluster::list_not_reporting(&mut tx, 10).await.unwrap();
        let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["c-002", "c-003", "c-001", "c-005"], "c-004 reports");
        let down: Vec<Option<Timestamp>> = listed.iter().map(|one| one.api_server_down_since).collect();
        assert_eq!(down, [None, Some(at(20)), None, None]);
        assert_eq!(listed[3].last_seen, None);
        assert_eq!(cluster::list_not_reporting(&mut tx, 2).await.unwrap(), &listed[..2]);
        assert_eq!(cluster::count_not_online(&mut tx).await.unwrap(), 4, "the number covers all of them");
    })
    .await;
}

#[tokio::test]
async fn a_last_known_state_of_a_later_version_counts_as_unknown_and_not_as_no_release() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 1, 2).await;
        execute_directly(&url, "UPDATE cluster_heartbeat SET connectivity = 'Offline'").await;
        execute_directly(
            &url,
            "UPDATE release SET last_known_state = 'Hibernating' WHERE workload_name = 'w-001'",
        )
        .await;
        let mut tx = store.read().await.unwrap();
        let listed = cluster::list_not_reporting(&mut tx, 10).await.unwrap();
        assert_eq!(
            listed[0].last_known,
            ReleaseCounts::from_iter([ReleaseState::Queued, ReleaseState::Unknown])
        );
        drop(tx);
        store.close().await;
    })
    .await;
}
