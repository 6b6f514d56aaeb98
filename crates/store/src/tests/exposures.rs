//! What workloads expose.

use domain::Digest;
use domain::release::ReleaseGoal;

use super::both::for_both;
use super::fixtures::{at, cluster_id, full_fleet, workload_id};
use crate::exposure::{self, Row};
use crate::{Store, Tx, cluster, release, workload};

fn point(n: usize) -> Digest {
    Digest::of(&n.to_be_bytes())
}

fn row(n: usize) -> Row {
    (point(n), String::new())
}

/// Workload 1 holds the point 1 on the clusters 1 and 2, and the point 2 of a class on cluster 1.
async fn fleet(store: &Store) -> Tx {
    full_fleet(store, 3, 3).await;
    let mut tx = store.write().await.unwrap();
    let rows =
        [(cluster_id(1), row(1)), (cluster_id(2), row(1)), (cluster_id(1), (point(2), "nginx".to_owned()))];
    exposure::add(&mut tx, workload_id(1), rows).await.unwrap();
    tx
}

async fn clusters(tx: &mut Tx, n: u128) -> Vec<domain::ClusterId> {
    exposure::of_workload(tx, workload_id(n)).await.unwrap().into_keys().collect()
}

#[tokio::test]
async fn g305_what_others_hold_is_found_by_point_and_cluster() {
    for_both(|store| async move {
        let mut tx = fleet(&store).await;
        exposure::add(&mut tx, workload_id(2), [(cluster_id(1), row(1))]).await.unwrap();
        let wanted = [(cluster_id(1), point(1)), (cluster_id(3), point(1)), (cluster_id(1), point(2))];
        let all = exposure::held_by_others(&mut tx, None, &wanted).await.unwrap();
        let mut all: Vec<_> =
            all.iter().map(|one| (&*one.workload, one.cluster, one.key.clone(), &*one.class)).collect();
        all.sort();
        let mut expected = [
            ("w-001", cluster_id(1), point(1), ""),
            ("w-001", cluster_id(1), point(2), "nginx"),
            ("w-002", cluster_id(1), point(1), ""),
        ];
        expected.sort();
        assert_eq!(all, expected);
        let others = exposure::held_by_others(&mut tx, Some(workload_id(1)), &wanted).await.unwrap();
        assert_eq!(others.iter().map(|one| &*one.workload).collect::<Vec<_>>(), ["w-002"]);
        assert_eq!(exposure::held_by_others(&mut tx, None, &[]).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn g305_thousands_are_written_and_asked_for_in_parts() {
    for_both(|store| async move {
        let mut tx = fleet(&store).await;
        let many = || (10..2_010).map(|n| (cluster_id(3), row(n)));
        for _ in 0..2 {
            exposure::add(&mut tx, workload_id(2), many()).await.unwrap();
        }
        let wanted: Vec<_> = many().map(|(cluster, (point, _))| (cluster, point)).collect();
        let held = exposure::held_by_others(&mut tx, Some(workload_id(1)), &wanted).await.unwrap();
        assert_eq!(held.len(), 2_000);
    })
    .await;
}

#[tokio::test]
async fn what_a_workload_exposes_on_a_cluster_is_replaced_whole() {
    for_both(|store| async move {
        let mut tx = fleet(&store).await;
        exposure::replace(&mut tx, workload_id(1), cluster_id(1), vec![row(7)]).await.unwrap();
        let held = exposure::of_workload(&mut tx, workload_id(1)).await.unwrap();
        assert_eq!(held, [(cluster_id(1), vec![row(7)]), (cluster_id(2), vec![row(1)])].into());
        exposure::replace(&mut tx, workload_id(1), cluster_id(1), Vec::new()).await.unwrap();
        assert_eq!(clusters(&mut tx, 1).await, [cluster_id(2)]);
    })
    .await;
}

#[tokio::test]
async fn g305_exposures_go_with_the_release_the_cluster_and_the_workload() {
    for_both(|store| async move {
        let mut tx = fleet(&store).await;
        exposure::add(&mut tx, workload_id(2), [(cluster_id(2), row(1)), (cluster_id(3), row(1))])
            .await
            .unwrap();
        let mut all = release::all_of_workload(&mut tx, workload_id(1)).await.unwrap();
        all[0].goal = ReleaseGoal::Removed { since: at(1) };
        release::update_many(&mut tx, &all).await.unwrap();
        assert_eq!(clusters(&mut tx, 1).await, [cluster_id(2)], "one that is there keeps what it has");
        release::delete_of_cluster(&mut tx, cluster_id(2)).await.unwrap();
        cluster::delete(&mut tx, cluster_id(2)).await.unwrap();
        assert_eq!(clusters(&mut tx, 1).await, []);
        assert_eq!(clusters(&mut tx, 2).await, [cluster_id(3)]);
        workload::delete(&mut tx, workload_id(2)).await.unwrap();
        assert_eq!(clusters(&mut tx, 2).await, []);
    })
    .await;
}
