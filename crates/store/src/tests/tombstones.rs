//! Tombstones outlive what they are about.

use domain::release::{Release, Tombstone};
use domain::workload::DeletionPolicy;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_fleet, some_cluster, some_release, workload_id};
use crate::retention::{self, RetainedTable};
use crate::{Store, cluster, release, tombstone, workload};

/// Inserts a release and its tombstone.
async fn insert_with_tombstone(store: &Store, mut given_up: Release) -> Tombstone {
    let mut tx = store.write().await.unwrap();
    given_up.remove(DeletionPolicy::Foreground, "gone", at(1));
    let tombstone = given_up.to_tombstone(("w-001", "c-001"), "ana", at(2)).unwrap();
    assert!(given_up.abandon(at(2)));
    release::insert(&mut tx, &given_up).await.unwrap();
    tombstone::insert(&mut tx, &tombstone).await.unwrap();
    tombstone::insert(&mut tx, &tombstone).await.unwrap();
    tx.commit().await.unwrap();
    tombstone
}

#[tokio::test]
async fn s1_23_a_tombstone_outlives_its_workload_and_its_cluster() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        let stone = insert_with_tombstone(&store, some_release(1, 1, 1)).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(
            tombstone::list_desired_by_cluster(&mut tx, cluster_id(1)).await.unwrap(),
            [stone.desired_release()]
        );
        assert_eq!(
            tombstone::assign(&mut tx, cluster_id(9), &[stone.release]).await.unwrap(),
            0,
            "it exists"
        );
        assert_eq!(tombstone::list_of_deleted_clusters(&mut tx, workload_id(1)).await.unwrap(), []);
        workload::delete(&mut tx, workload_id(1)).await.unwrap();
        cluster::delete(&mut tx, cluster_id(1)).await.unwrap();
        let owed = tombstone::list_of_deleted_clusters(&mut tx, workload_id(1)).await.unwrap();
        assert_eq!(owed, std::slice::from_ref(&stone));
        assert_eq!(tombstone::get(&mut tx, stone.release).await.unwrap().as_ref(), Some(&stone));
        // It joined again, under another id.
        cluster::insert(&mut tx, &some_cluster(2, "again")).await.unwrap();
        assert_eq!(tombstone::assign(&mut tx, cluster_id(2), &[stone.release]).await.unwrap(), 1);
        assert_eq!(tombstone::list_desired_by_cluster(&mut tx, cluster_id(2)).await.unwrap().len(), 1);
        assert_eq!(tombstone::list_of_deleted_clusters(&mut tx, workload_id(1)).await.unwrap(), []);
        assert_eq!(
            retention::delete_batch(&mut tx, RetainedTable::ReleaseTombstone, at(2), 10).await.unwrap(),
            0
        );
        assert!(tombstone::delete(&mut tx, stone.release).await.unwrap());
        assert!(!tombstone::delete(&mut tx, stone.release).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_release_that_is_desired_again_is_not_removed_by_its_tombstone() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        let stone = insert_with_tombstone(&store, some_release(1, 1, 1)).await;
        let mut tx = store.write().await.unwrap();
        release::update(&mut tx, &some_release(1, 1, 1)).await.unwrap();
        assert_eq!(tombstone::list_desired_by_cluster(&mut tx, cluster_id(1)).await.unwrap(), []);
        assert_eq!(
            retention::delete_batch(&mut tx, RetainedTable::ReleaseTombstone, at(3), 10).await.unwrap(),
            1
        );
        assert_eq!(tombstone::get(&mut tx, stone.release).await.unwrap(), None);
    })
    .await;
}
