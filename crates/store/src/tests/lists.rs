//! Pages: no row is lost or returned twice while rows are inserted.

use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::page::{ListQuery, Page};
use domain::release::ReleaseState;
use domain::workload::{DeletionPolicy, WorkloadOrder};

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, complete_removal, insert_fleet, insert_full_fleet, project_id, release_id,
    release_report, some_cluster, some_release, some_workload, workload_id,
};
use crate::sql::sql;
use crate::{Error, Store, cluster, release, workload};

fn page_of(limit: u32, cursor: Option<String>) -> ListQuery {
    ListQuery { limit: Some(limit), cursor, ..ListQuery::default() }
}

/// Reads a list to its end, and runs `between` between the pages.
async fn collect_pages<T, F, G>(
    mut page: impl FnMut(ListQuery) -> F,
    mut between: impl FnMut(u128) -> G,
) -> Vec<T>
where
    F: Future<Output = Page<T>>,
    G: Future<Output = ()>,
{
    let (mut all, mut cursor) = (Vec::new(), None);
    for n in 0.. {
        let some = page(page_of(3, cursor)).await;
        all.extend(some.items);
        cursor = some.next;
        if cursor.is_none() {
            break;
        }
        between(n).await;
    }
    all
}

/// Adds one cluster before and one after the position of the reader.
async fn insert_more_clusters(store: &Store, n: u128) {
    let mut tx = store.write().await.unwrap();
    for (id, name) in [(500 + n, format!("a-{n:03}")), (600 + n, format!("z-{n:03}"))] {
        cluster::insert(&mut tx, &some_cluster(id, &name)).await.unwrap();
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn clusters_are_paged_by_name_while_others_join() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 10, 0).await;
        let page = |query: ListQuery| {
            let store = store.clone();
            async move { cluster::list(&mut store.read().await.unwrap(), &query).await.unwrap() }
        };
        let between = |n| {
            let store = store.clone();
            async move {
                if n < 3 {
                    insert_more_clusters(&store, n).await;
                }
            }
        };
        let names: Vec<String> =
            collect_pages(page, between).await.into_iter().map(|cluster| cluster.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        assert_eq!(names.iter().filter(|name| name.starts_with("c-")).count(), 10);
    })
    .await;
}

#[tokio::test]
async fn clusters_are_paged_worst_first_and_then_by_name() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 7, 2).await;
        let mut tx = store.write().await.unwrap();
        // On 3 both releases fail, on 5 one of them.
        for id in [1003, 2003, 1005] {
            let mut one = release::get(&mut tx, release_id(id)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, Health::new(HealthStatus::Degraded, "", "")), at(1))
                .unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        cluster::set_connectivity(&mut tx, cluster_id(7), Connectivity::Offline).await.unwrap();
        cluster::set_connectivity(&mut tx, cluster_id(2), Connectivity::Late).await.unwrap();
        cluster::begin_api_server_outage(&mut tx, cluster_id(6), "connection reset", at(2)).await.unwrap();
        tx.commit().await.unwrap();
        let page = |query: ListQuery| {
            let store = store.clone();
            async move { cluster::list_worst_first(&mut store.read().await.unwrap(), &query, None).await.unwrap() }
        };
        let names: Vec<String> =
            collect_pages(page, |_| async {}).await.into_iter().map(|cluster| cluster.name).collect();
        assert_eq!(names, ["c-007", "c-006", "c-002", "c-003", "c-005", "c-001", "c-004"]);
        let mut tx = store.read().await.unwrap();
        for (connectivity, total, first) in [
            (Connectivity::Online, 5, "c-006"),
            (Connectivity::Late, 1, "c-002"),
            (Connectivity::Offline, 1, "c-007"),
        ] {
            let page = cluster::list_worst_first(&mut tx, &page_of(1, None), Some(connectivity)).await.unwrap();
            assert_eq!((page.total, page.items[0].name.as_str()), (total, first), "{connectivity:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn releases_are_paged_worst_first_and_then_by_cluster() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 10, 1).await;
        let mut tx = store.write().await.unwrap();
        for n in [2, 5, 9] {
            let mut one = release::get(&mut tx, release_id(1000 + n)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, Health::new(HealthStatus::Degraded, "", "")), at(1))
                .unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        release::set_connectivity_by_cluster(&mut tx, cluster_id(7), Connectivity::Offline, at(2))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let page = |query: ListQuery| {
            let store = store.clone();
            async move {
                let mut tx = store.read().await.unwrap();
                release::list_by_workload(&mut tx, workload_id(1), &query).await.unwrap()
            }
        };
        let between = |n| {
            let store = store.clone();
            async move {
                if n < 3 {
                    insert_more_clusters(&store, n).await;
                    let mut tx = store.write().await.unwrap();
                    release::insert(&mut tx, &some_release(5000 + n, 1, 500 + n)).await.unwrap();
                    tx.commit().await.unwrap();
                }
            }
        };
        let all = collect_pages(page, between).await;
        let listed: Vec<_> = all.iter().map(|(one, name, _)| (one.state(), name.as_str())).collect();
        let head = [
            (ReleaseState::Degraded, "c-002"),
            (ReleaseState::Degraded, "c-005"),
            (ReleaseState::Degraded, "c-009"),
            (ReleaseState::Unknown, "c-007"),
        ];
        assert_eq!(listed[..4], head);
        let queued: Vec<_> =
            listed.iter().filter(|(_, name)| name.starts_with("c-")).skip(4).map(|(_, n)| *n).collect();
        assert_eq!(queued, ["c-001", "c-003", "c-004", "c-006", "c-008", "c-010"]);
    })
    .await;
}

#[tokio::test]
async fn lists_of_releases_are_filtered_by_state_and_name() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 3, 3).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(2001)).await.unwrap().unwrap();
        one.apply_report(&release_report(&one, Health::healthy()), at(1)).unwrap();
        release::update(&mut tx, &one).await.unwrap();
        for (state, q, expected) in [
            ("Healthy", "", "w-002"),
            ("Queued", "", "w-001 w-003"),
            ("Healthy,Queued", "", "w-001 w-003 w-002"),
            ("", "03", "w-003"),
            ("Nonsense", "", ""),
        ] {
            let query = ListQuery { state: state.to_owned(), q: q.to_owned(), ..ListQuery::default() };
            let page = release::list_by_cluster(&mut tx, cluster_id(1), &query).await.unwrap();
            let names: Vec<_> = page.items.iter().map(|(_, name)| name.as_str()).collect();
            assert_eq!(
                (names.join(" ").as_str(), page.total as usize),
                (expected, names.len()),
                "{state} {q}"
            );
        }
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let healthy = ListQuery { state: "Healthy".to_owned(), ..ListQuery::default() };
        let page = workload::list(&mut tx, project_id(), &healthy, WorkloadOrder::Name).await.unwrap();
        assert_eq!((page.items.len(), page.items[0].name.as_str()), (1, "w-002"));
        let page = cluster::list(&mut tx, &healthy).await.unwrap();
        assert_eq!((page.items.len(), page.items[0].name.as_str()), (1, "c-001"));
    })
    .await;
}

#[tokio::test]
async fn s1_19_workloads_are_paged_worst_first_with_their_counts() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 7).await;
        let mut tx = store.write().await.unwrap();
        workload::insert(&mut tx, &some_workload(8, "w-000")).await.unwrap();
        for n in [3001, 6002] {
            let mut one = release::get(&mut tx, release_id(n)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, Health::new(HealthStatus::Degraded, "", "")), at(1))
                .unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        for (change, name) in [
            ("UPDATE workload SET updated_at = updated_at + 1 WHERE name = $1", "w-004"),
            ("UPDATE workload SET published_revision = 7 WHERE name = $1", "w-005"),
            ("UPDATE workload SET published_revision = NULL WHERE name = $1", "w-000"),
            ("UPDATE workload SET namespace = 'a' WHERE name = $1", "w-007"),
        ] {
            sql(change).bind_text(name).execute(&mut tx).await.unwrap();
        }
        // w-002 is healthy on one of two clusters, w-007 on its only one; it was removed from the other.
        for n in [2001, 7001] {
            let mut one = release::get(&mut tx, release_id(n)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, Health::healthy()), at(1)).unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        let mut gone = release::get(&mut tx, release_id(7002)).await.unwrap().unwrap();
        complete_removal(&mut gone, DeletionPolicy::Foreground, at(1));
        release::update(&mut tx, &gone).await.unwrap();
        tx.commit().await.unwrap();
        for (order, expected) in [
            (WorkloadOrder::WorstFirst, "w-003 w-006 w-001 w-002 w-004 w-005 w-007 w-000"),
            (WorkloadOrder::LeastHealthy, "w-001 w-003 w-004 w-005 w-006 w-002 w-007 w-000"),
            (WorkloadOrder::Revision, "w-005 w-001 w-002 w-003 w-004 w-006 w-007 w-000"),
            (WorkloadOrder::Namespace, "w-007 w-000 w-001 w-002 w-003 w-004 w-005 w-006"),
            (WorkloadOrder::Newest, "w-004 w-000 w-001 w-002 w-003 w-005 w-006 w-007"),
            (WorkloadOrder::Name, "w-000 w-001 w-002 w-003 w-004 w-005 w-006 w-007"),
        ] {
            let page = |query: ListQuery| {
                let store = store.clone();
                async move {
                    let mut tx = store.read().await.unwrap();
                    workload::list(&mut tx, project_id(), &query, order).await.unwrap()
                }
            };
            let all = collect_pages(page, |_| async {}).await;
            let names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.join(" "), expected);
            let third = all.iter().find(|one| one.name == "w-003").unwrap();
            assert_eq!(
                (third.counts.count(ReleaseState::Degraded), third.counts.count(ReleaseState::Queued)),
                (1, 1)
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_cursor_of_another_list_is_rejected() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 5, 1).await;
        let mut tx = store.read().await.unwrap();
        let cursor = cluster::list(&mut tx, &page_of(1, None)).await.unwrap().next;
        assert!(cursor.is_some());
        let result = release::list_by_workload(&mut tx, workload_id(1), &page_of(1, cursor)).await;
        assert!(matches!(result, Err(Error::InvalidQuery(_))));
    })
    .await;
}
