//! Rows that can't be read: an error in everything that decides, left out only of lists that are displayed.

use domain::cluster::Connectivity;
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, Predicate};
use domain::release::ReleaseState;
use domain::report::ResourceStatus;

use super::databases::{execute_directly, for_each_address};
use super::fixtures::{
    at, cluster_id, insert_full_fleet, project_id, release_id, some_release, some_workload, workload_id,
};
use crate::{Error, Store, cluster, dependency, group, release, revision, workload};

/// Asserts that the operation failed because of this row.
#[track_caller]
fn assert_invalid<T: std::fmt::Debug>(result: Result<T, Error>, expected_table: &str, expected_id: &str) {
    let error = result.expect_err("a list without the unreadable row");
    let found = matches!(&error, Error::InvalidRow { table, id, .. } if *table == expected_table && id == expected_id);
    assert!(found, "{error:?}");
}

fn page_of(limit: u32) -> ListQuery {
    ListQuery { limit: Some(limit), ..ListQuery::default() }
}

#[tokio::test]
async fn an_unreadable_cluster_is_an_error_for_decisions_and_left_out_of_pages() {
    for_each_address(|url| async move {
        for breaking in [
            "UPDATE cluster SET labels = 'x' WHERE name = 'c-003'",
            "UPDATE cluster_heartbeat SET connectivity = 'Hibernating' WHERE cluster_id = (SELECT id FROM cluster WHERE name = 'c-003')",
        ] {
            let store = Store::open_for_test(&url).await.unwrap();
            if cluster::list(&mut store.read().await.unwrap(), &ListQuery::default()).await.unwrap().total == 0 {
                insert_full_fleet(&store, 5, 1).await;
            }
            execute_directly(&url, breaking).await;
            let (bad, id) = (cluster_id(3), cluster_id(3).to_string());
            let mut tx = store.read().await.unwrap();
            assert_invalid(cluster::list_all(&mut tx).await, "cluster", &id);
            assert_invalid(cluster::get_many_with_facts(&mut tx, &[cluster_id(1), bad]).await, "cluster", &id);
            assert_invalid(cluster::get_by_id(&mut tx, bad).await, "cluster", &id);
            let exist = cluster::filter_existing_ids(&mut tx, &[bad, cluster_id(99)]).await.unwrap();
            assert_eq!(exist, [bad].into());
            let page = cluster::list(&mut tx, &page_of(3)).await.unwrap();
            assert_eq!((page.items.len(), page.total, page.next.is_some()), (2, 5, true));
            drop(tx);
            execute_directly(&url, "UPDATE cluster SET labels = '{}'").await;
            store.close().await;
        }
        let store = Store::open_for_test(&url).await.unwrap();
        let mut tx = store.write().await.unwrap();
        let heartbeat = cluster::record_heartbeats(&mut tx, &[cluster_id(3)], at(1)).await;
        assert_invalid(heartbeat, "cluster_heartbeat", &cluster_id(3).to_string());
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_release_is_an_error_for_decisions_and_left_out_of_pages() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 7, 1).await;
        execute_directly(&url, "UPDATE release SET goal = 'x' WHERE cluster_name = 'c-001'").await;
        let id = release_id(1001).to_string();
        let mut tx = store.read().await.unwrap();
        assert_invalid(release::list_all_by_workload(&mut tx, workload_id(1)).await, "release", &id);
        let many = [release_id(1001), release_id(1002)];
        assert_invalid(release::get_many(&mut tx, &many).await, "release", &id);
        assert_invalid(release::get(&mut tx, release_id(1001)).await, "release", &id);
        assert_invalid(release::list_desired_by_cluster(&mut tx, cluster_id(1)).await, "release", &id);
        let names = ["w-001".to_owned()];
        let known = dependency::load_known(&mut tx, project_id(), &names, &[cluster_id(1)].into()).await;
        assert_invalid(known, "release", &id);
        // Only the releases on these clusters are read.
        let on = [cluster_id(2)].into();
        let known = dependency::load_known(&mut tx, project_id(), &names, &on).await.unwrap();
        assert_eq!(known.clusters["w-001"], Some(on));
        let page = release::list_by_workload(&mut tx, workload_id(1), &page_of(3)).await.unwrap();
        assert_eq!((page.items.len(), page.total, page.next.is_some()), (2, 7, true));
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_release_in_a_state_of_a_later_version_is_counted_as_unknown_and_not_written() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 2, 1).await;
        execute_directly(
            &url,
            "UPDATE release SET state = 'Paused', last_known_state = 'Paused' WHERE cluster_name = 'c-001'",
        )
        .await;
        let id = release_id(1001).to_string();
        let mut tx = store.write().await.unwrap();
        let counts = release::counts_by_cluster(&mut tx, &[cluster_id(1)]).await.unwrap();
        assert_eq!(counts[&cluster_id(1)].count(ReleaseState::Unknown), 1);
        assert_invalid(release::update(&mut tx, &some_release(1001, 1, 1)).await, "release", &id);
        assert_invalid(release::delete_by_cluster(&mut tx, cluster_id(1)).await, "release", &id);
        drop(tx);
        let mut tx = store.write().await.unwrap();
        let offline =
            release::set_connectivity_by_cluster(&mut tx, cluster_id(1), Connectivity::Offline, at(1)).await;
        assert_invalid(offline, "release", &id);
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_release_that_is_marked_as_desired_and_desires_nothing_is_an_error() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 1, 1).await;
        execute_directly(&url, "UPDATE release SET released = NULL").await;
        let mut tx = store.read().await.unwrap();
        let desired = release::list_desired_by_cluster(&mut tx, cluster_id(1)).await;
        assert_invalid(desired, "release", &release_id(1001).to_string());
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_group_or_draft_and_a_missing_revision_are_errors() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        for name in ["edge", "shops"] {
            group::insert(&mut tx, &ClusterGroup { name: name.to_owned(), ..ClusterGroup::default() })
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        execute_directly(&url, "UPDATE cluster_group SET members = 'x' WHERE name = 'shops'").await;
        let mut tx = store.write().await.unwrap();
        let mut spec = some_workload(1, "w-001").draft;
        spec.placement.predicates =
            vec![Predicate { groups: vec!["shops".to_owned()], ..Predicate::default() }];
        workload::replace_draft(&mut tx, workload_id(1), &spec).await.unwrap();
        tx.commit().await.unwrap();
        execute_directly(&url, "UPDATE workload SET draft = '\"x\"'").await;
        let mut tx = store.read().await.unwrap();
        assert_invalid(group::list(&mut tx).await, "cluster_group", "shops");
        assert_invalid(group::list_memberships(&mut tx).await, "cluster_group", "shops");
        // What it referenced last is known.
        assert_eq!(workload::list_names_by_group(&mut tx, "shops").await.unwrap(), ["w-001"]);
        assert_eq!(workload::list_names_by_group(&mut tx, "edge").await.unwrap(), [""; 0]);
        let missing = revision::get_existing(&mut tx, workload_id(1), 1).await.unwrap_err();
        assert_eq!(missing.to_string(), format!("row {}/1 of revision is missing", workload_id(1)));
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn labels_and_owners_are_written_without_the_draft_of_the_workload() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 1, 1).await;
        let mut tx = store.read().await.unwrap();
        let mut edited = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap().unwrap();
        drop(tx);
        execute_directly(&url, "UPDATE workload SET draft = '\"x\"'").await;
        let before = edited.revision;
        edited.labels.insert("team".to_owned(), "a".to_owned());
        edited.revision += 1;
        let mut tx = store.write().await.unwrap();
        assert!(workload::update_metadata(&mut tx, &edited, before, "ben").await.unwrap());
        assert!(!workload::update_metadata(&mut tx, &edited, before, "cy").await.unwrap(), "it was changed");
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let head = workload::get_head_by_id(&mut tx, workload_id(1)).await.unwrap().unwrap();
        assert_eq!(head.revision, before + 1);
        let subject = workload::get_incident_subject(&mut tx, workload_id(1)).await.unwrap().unwrap();
        assert_eq!(subject.labels, edited.labels);
        // Otherwise it would be readable again.
        let error = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap_err();
        assert!(matches!(&error, Error::InvalidRow { table, .. } if *table == "workload"), "{error:?}");
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn drifted_fields_of_unreadable_objects_are_not_counted_and_those_of_others_are() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 2, 1).await;
        let ids = [release_id(1001), release_id(1002)];
        let drifted = ResourceStatus { drifted: vec!["/data/a".to_owned()], ..ResourceStatus::default() };
        let mut tx = store.write().await.unwrap();
        for id in ids {
            release::set_resources(&mut tx, id, std::slice::from_ref(&drifted)).await.unwrap();
        }
        tx.commit().await.unwrap();
        let breaking =
            format!("UPDATE release_resources SET resources = 'x' WHERE release_id = '{}'", ids[0]);
        execute_directly(&url, &breaking).await;
        let mut tx = store.read().await.unwrap();
        assert_invalid(
            release::get_resources(&mut tx, ids[0]).await,
            "release_resources",
            &ids[0].to_string(),
        );
        let fields = release::count_drifted_fields(&mut tx, &ids).await.unwrap();
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), [(ids[1], 1)]);
        drop(tx);
        store.close().await;
    })
    .await;
}
