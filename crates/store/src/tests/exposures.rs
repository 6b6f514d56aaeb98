//! Exposures of workloads.

use domain::Digest;
use domain::workload::DeletionPolicy;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, complete_removal, insert_full_fleet, workload_id};
use crate::exposure::{self, ExposureRow};
use crate::{Store, Tx, cluster, release, workload};

fn exposure_key(n: usize) -> Digest {
    Digest::compute(&n.to_be_bytes())
}

fn exposure_row(n: usize) -> ExposureRow {
    (exposure_key(n), String::new())
}

/// Workload 1 has exposure 1 on the clusters 1 and 2, and exposure 2 with a class on cluster 1.
async fn insert_fleet_with_exposures(store: &Store) -> Tx {
    insert_full_fleet(store, 3, 3).await;
    let mut tx = store.write().await.unwrap();
    let rows = [
        (cluster_id(1), exposure_row(1)),
        (cluster_id(2), exposure_row(1)),
        (cluster_id(1), (exposure_key(2), "nginx".to_owned())),
    ];
    exposure::add(&mut tx, workload_id(1), rows).await.unwrap();
    tx
}

async fn exposed_clusters(tx: &mut Tx, n: u128) -> Vec<domain::ClusterId> {
    exposure::list_by_workload(tx, workload_id(n)).await.unwrap().into_keys().collect()
}

#[tokio::test]
async fn g305_exposures_of_other_workloads_are_found_by_key_and_cluster() {
    for_each_engine(|store| async move {
        let mut tx = insert_fleet_with_exposures(&store).await;
        exposure::add(&mut tx, workload_id(2), [(cluster_id(1), exposure_row(1))]).await.unwrap();
        let requested = [
            (cluster_id(1), exposure_key(1)),
            (cluster_id(3), exposure_key(1)),
            (cluster_id(1), exposure_key(2)),
        ];
        let all = exposure::list_conflicts(&mut tx, None, &requested).await.unwrap();
        let mut all: Vec<_> =
            all.iter().map(|one| (&*one.workload, one.cluster, one.key.clone(), &*one.class)).collect();
        all.sort();
        let mut expected = [
            ("w-001", cluster_id(1), exposure_key(1), ""),
            ("w-001", cluster_id(1), exposure_key(2), "nginx"),
            ("w-002", cluster_id(1), exposure_key(1), ""),
        ];
        expected.sort();
        assert_eq!(all, expected);
        let others = exposure::list_conflicts(&mut tx, Some(workload_id(1)), &requested).await.unwrap();
        assert_eq!(others.iter().map(|one| &*one.workload).collect::<Vec<_>>(), ["w-002"]);
        assert_eq!(exposure::list_conflicts(&mut tx, None, &[]).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn g305_thousands_of_exposures_are_written_and_queried_in_batches() {
    for_each_engine(|store| async move {
        let mut tx = insert_fleet_with_exposures(&store).await;
        let many = || (10..2_010).map(|n| (cluster_id(3), exposure_row(n)));
        for _ in 0..2 {
            exposure::add(&mut tx, workload_id(2), many()).await.unwrap();
        }
        let requested: Vec<_> = many().map(|(cluster, (point, _))| (cluster, point)).collect();
        let conflicts = exposure::list_conflicts(&mut tx, Some(workload_id(1)), &requested).await.unwrap();
        assert_eq!(conflicts.len(), 2_000);
    })
    .await;
}

#[tokio::test]
async fn the_exposures_of_a_workload_on_a_cluster_are_replaced_as_a_whole() {
    for_each_engine(|store| async move {
        let mut tx = insert_fleet_with_exposures(&store).await;
        exposure::replace(&mut tx, workload_id(1), cluster_id(1), vec![exposure_row(7)]).await.unwrap();
        let exposures = exposure::list_by_workload(&mut tx, workload_id(1)).await.unwrap();
        assert_eq!(
            exposures,
            [(cluster_id(1), vec![exposure_row(7)]), (cluster_id(2), vec![exposure_row(1)])].into()
        );
        exposure::replace(&mut tx, workload_id(1), cluster_id(1), Vec::new()).await.unwrap();
        assert_eq!(exposed_clusters(&mut tx, 1).await, [cluster_id(2)]);
    })
    .await;
}

#[tokio::test]
async fn g305_exposures_are_deleted_with_the_release_the_cluster_and_the_workload() {
    for_each_engine(|store| async move {
        let mut tx = insert_fleet_with_exposures(&store).await;
        exposure::add(
            &mut tx,
            workload_id(2),
            [(cluster_id(2), exposure_row(1)), (cluster_id(3), exposure_row(1))],
        )
        .await
        .unwrap();
        let mut all = release::list_all_by_workload(&mut tx, workload_id(1)).await.unwrap();
        complete_removal(&mut all[0], DeletionPolicy::Foreground, at(1));
        release::update_many(&mut tx, &all).await.unwrap();
        assert_eq!(
            exposed_clusters(&mut tx, 1).await,
            [cluster_id(2)],
            "the exposures of a present release are retained"
        );
        release::delete_by_cluster(&mut tx, cluster_id(2)).await.unwrap();
        cluster::delete(&mut tx, cluster_id(2)).await.unwrap();
        assert_eq!(exposed_clusters(&mut tx, 1).await, []);
        assert_eq!(exposed_clusters(&mut tx, 2).await, [cluster_id(3)]);
        workload::delete(&mut tx, workload_id(2)).await.unwrap();
        assert_eq!(exposed_clusters(&mut tx, 2).await, []);
    })
    .await;
}
