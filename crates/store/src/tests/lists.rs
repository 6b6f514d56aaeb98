//! Pages: nothing is lost or told twice while rows come and go.

use domain::cluster::Reach;
use domain::health::{Health, HealthStatus};
use domain::page::{ListQuery, Page};
use domain::release::State;

use super::both::{behind, for_both, for_both_addresses};
use super::fixtures::{
    at, cluster_id, fleet, full_fleet, project_id, release_id, report, some_cluster, some_release,
    some_workload, workload_id,
};
use crate::{Error, Store, cluster, release, workload};

fn page_of(limit: u32, cursor: Option<String>) -> ListQuery {
    ListQuery { limit: Some(limit), cursor, ..ListQuery::default() }
}

/// Reads a list to its end, and lets something happen between the pages.
async fn walk<T, F, G>(mut page: impl FnMut(ListQuery) -> F, mut between: impl FnMut(u128) -> G) -> Vec<T>
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

/// Adds one cluster before and one after wherever the reader is.
async fn more_clusters(store: &Store, n: u128) {
    let mut tx = store.write().await.unwrap();
    for (id, name) in [(500 + n, format!("a-{n:03}")), (600 + n, format!("z-{n:03}"))] {
        cluster::insert(&mut tx, &some_cluster(id, &name)).await.unwrap();
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn clusters_are_paged_by_name_while_others_join() {
    for_both(|store| async move {
        fleet(&store, 10, 0).await;
        let page = |query: ListQuery| {
            let store = store.clone();
            async move { cluster::list(&mut store.read().await.unwrap(), &query).await.unwrap() }
        };
        let between = |n| {
            let store = store.clone();
            async move {
                if n < 3 {
                    more_clusters(&store, n).await;
                }
            }
        };
        let names: Vec<String> = walk(page, between).await.into_iter().map(|cluster| cluster.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        assert_eq!(names.iter().filter(|name| name.starts_with("c-")).count(), 10);
    })
    .await;
}

#[tokio::test]
async fn releases_are_paged_worst_first_and_then_by_cluster() {
    for_both(|store| async move {
        full_fleet(&store, 10, 1).await;
        let mut tx = store.write().await.unwrap();
        for n in [2, 5, 9] {
            let mut one = release::get(&mut tx, release_id(1000 + n)).await.unwrap().unwrap();
            one.record(&report(&one, Health::new(HealthStatus::Degraded, "", "")), at(1)).unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        release::reach_of_cluster(&mut tx, cluster_id(7), Reach::Offline, at(2)).await.unwrap();
        tx.commit().await.unwrap();
        let page = |query: ListQuery| {
            let store = store.clone();
            async move {
                let mut tx = store.read().await.unwrap();
                release::of_workload(&mut tx, workload_id(1), &query).await.unwrap()
            }
        };
        let between = |n| {
            let store = store.clone();
            async move {
                if n < 3 {
                    more_clusters(&store, n).await;
                    let mut tx = store.write().await.unwrap();
                    release::insert(&mut tx, &some_release(5000 + n, 1, 500 + n)).await.unwrap();
                    tx.commit().await.unwrap();
                }
            }
        };
        let all = walk(page, between).await;
        let told: Vec<_> = all.iter().map(|(one, name, _)| (one.state(), name.as_str())).collect();
        let head = [
            (State::Degraded, "c-002"),
            (State::Degraded, "c-005"),
            (State::Degraded, "c-009"),
            (State::Unknown, "c-007"),
        ];
        assert_eq!(told[..4], head);
        let queued: Vec<_> =
            told.iter().filter(|(_, name)| name.starts_with("c-")).skip(4).map(|(_, n)| *n).collect();
        assert_eq!(queued, ["c-001", "c-003", "c-004", "c-006", "c-008", "c-010"]);
    })
    .await;
}

#[tokio::test]
async fn lists_of_releases_are_filtered_by_state_and_name() {
    for_both(|store| async move {
        full_fleet(&store, 3, 3).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(2001)).await.unwrap().unwrap();
        one.record(&report(&one, Health::healthy()), at(1)).unwrap();
        release::update(&mut tx, &one).await.unwrap();
        for (state, q, expected) in [
            ("Healthy", "", "w-002"),
            ("Queued", "", "w-001 w-003"),
            ("Healthy,Queued", "", "w-001 w-003 w-002"),
            ("", "03", "w-003"),
            ("Nonsense", "", ""),
        ] {
            let query = ListQuery { state: state.to_owned(), q: q.to_owned(), ..ListQuery::default() };
            let page = release::of_cluster(&mut tx, cluster_id(1), &query).await.unwrap();
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
        let page = workload::list(&mut tx, project_id(), &healthy, workload::Order::Name).await.unwrap();
        assert_eq!((page.items.len(), page.items[0].name.as_str()), (1, "w-002"));
        let page = cluster::list(&mut tx, &healthy).await.unwrap();
        assert_eq!((page.items.len(), page.items[0].name.as_str()), (1, "c-001"));
    })
    .await;
}

#[tokio::test]
async fn s1_19_workloads_are_paged_worst_first_with_their_counts() {
    for_both(|store| async move {
        full_fleet(&store, 2, 7).await;
        let mut tx = store.write().await.unwrap();
        workload::insert(&mut tx, &some_workload(8, "w-000")).await.unwrap();
        for n in [3001, 6002] {
            let mut one = release::get(&mut tx, release_id(n)).await.unwrap().unwrap();
            one.record(&report(&one, Health::new(HealthStatus::Degraded, "", "")), at(1)).unwrap();
            release::update(&mut tx, &one).await.unwrap();
        }
        tx.commit().await.unwrap();
        for (order, expected) in [
            (workload::Order::WorstFirst, "w-003 w-006 w-001 w-002 w-004 w-005 w-007 w-000"),
            (workload::Order::Name, "w-000 w-001 w-002 w-003 w-004 w-005 w-006 w-007"),
        ] {
            let page = |query: ListQuery| {
                let store = store.clone();
                async move {
                    let mut tx = store.read().await.unwrap();
                    workload::list(&mut tx, project_id(), &query, order).await.unwrap()
                }
            };
            let all = walk(page, |_| async {}).await;
            let names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.join(" "), expected);
            let third = all.iter().find(|one| one.name == "w-003").unwrap();
            assert_eq!((third.counts.of(State::Degraded), third.counts.of(State::Queued)), (1, 1));
        }
    })
    .await;
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    for_both(|store| async move {
        full_fleet(&store, 5, 1).await;
        let mut tx = store.read().await.unwrap();
        let cursor = cluster::list(&mut tx, &page_of(1, None)).await.unwrap().next;
        assert!(cursor.is_some());
        let refused = release::of_workload(&mut tx, workload_id(1), &page_of(1, cursor)).await;
        assert!(matches!(refused, Err(Error::Query(_))));
    })
    .await;
}

#[tokio::test]
async fn one_row_that_says_the_impossible_never_breaks_a_list() {
    for_both_addresses(|url| async move {
        let store = Store::open(&url).await.unwrap();
        full_fleet(&store, 7, 1).await;
        behind(&url, "UPDATE cluster SET taints = 'x' WHERE name IN ('c-003', 'c-004')").await;
        behind(&url, "UPDATE release SET stages = '[]' WHERE cluster_name = 'c-001'").await;
        behind(&url, "UPDATE release SET sync = 'Sideways' WHERE cluster_name = 'c-002'").await;
        let mut tx = store.read().await.unwrap();
        assert_eq!(cluster::all(&mut tx).await.unwrap().len(), 5);
        let page = cluster::list(&mut tx, &page_of(3, None)).await.unwrap();
        assert_eq!((page.items.len(), page.next.is_some()), (2, true), "the page goes on behind the bad rows");
        assert_eq!(release::all_of_workload(&mut tx, workload_id(1)).await.unwrap().len(), 5);
        let error = release::get(&mut tx, release_id(1001)).await.unwrap_err();
        assert!(matches!(&error, Error::Inconsistent { table: "release", id, .. } if *id == release_id(1001).to_string()));
        drop(tx);
        store.close().await;
    })
    .await;
}
