//! The drift inbox as rows.

use domain::drift::{DriftFieldRevert, DriftQuery, DriftSnooze, DriftState, DriftedObject};
use domain::object::ObjectRef;
use domain::report::{DriftedField, FieldRevertOutcome};
use domain::{Digest, DriftId, Timestamp};
use serde_json::json;

use super::databases::for_each_engine;
use super::fixtures::{at, insert_full_fleet, project_id, release_id};
use crate::drift::{count_open, end_snooze, get, list, replace, snooze};
use crate::retention::{RetainedTable, delete_batch};
use crate::{Error, Store, field_revert};

fn drifted(n: u128, live: &str, contested: bool) -> (DriftId, DriftedObject) {
    let object =
        ObjectRef { kind: "ConfigMap".to_owned(), name: format!("settings-{n}"), ..ObjectRef::default() };
    let field = DriftedField {
        path: "/data/colour".to_owned(),
        applied: Some(json!("blue")),
        live: Some(json!(live)),
        manager: "kubectl-edit".to_owned(),
        ..DriftedField::default()
    };
    let digest = Digest::compute(live.as_bytes());
    (
        DriftId::from_parts(9, n),
        DriftedObject { object, fields: vec![field], field_count: 1, contested, digest },
    )
}

/// Replaces the entries of release 1001: workload `w-001` on `c-001`.
async fn report(store: &Store, found: &[(DriftId, DriftedObject)], now: Timestamp) {
    let mut tx = store.write().await.unwrap();
    replace(&mut tx, release_id(1001), found, now).await.unwrap();
    tx.commit().await.unwrap();
}

/// The names of the objects of all pages with this filter.
async fn list_names(store: &Store, query: &DriftQuery, now: Timestamp) -> Vec<String> {
    let mut tx = store.read().await.unwrap();
    let mut query = DriftQuery { limit: Some(2), ..query.clone() };
    let mut names = Vec::new();
    loop {
        let page = list(&mut tx, project_id(), &query, now).await.unwrap();
        names.extend(page.items.into_iter().map(|row| row.item.object.name));
        query.cursor = page.next;
        if query.cursor.is_none() {
            return names;
        }
    }
}

#[tokio::test]
async fn e9_the_inbox_lists_contested_entries_first_then_the_oldest_page_by_page() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 2).await;
        report(&store, &[drifted(1, "red", false)], at(1)).await;
        let all = [drifted(1, "red", false), drifted(2, "red", false), drifted(3, "red", true)];
        report(&store, &all, at(2)).await;
        let mut tx = store.write().await.unwrap();
        replace(&mut tx, release_id(2002), &[drifted(4, "red", false)], at(0)).await.unwrap();
        tx.commit().await.unwrap();

        let names = list_names(&store, &DriftQuery::default(), at(3)).await;
        assert_eq!(names, ["settings-3", "settings-4", "settings-1", "settings-2"]);
        let of_one = DriftQuery { workload: "w-001".to_owned(), ..DriftQuery::default() };
        assert_eq!(list_names(&store, &of_one, at(3)).await.len(), 3);
        let elsewhere = DriftQuery { cluster: "c-002".to_owned(), ..of_one };
        assert_eq!(list_names(&store, &elsewhere, at(3)).await, [""; 0]);
        let mut tx = store.read().await.unwrap();
        let row = get(&mut tx, project_id(), DriftId::from_parts(9, 1), at(3)).await.unwrap().unwrap();
        assert_eq!((row.item.workload.as_str(), row.item.cluster.as_str()), ("w-001", "c-001"));
        assert_eq!((row.item.since, row.item.fields[0].live.clone()), (at(1), Some(json!("red"))));
        let foreign = DriftQuery { cursor: Some("00".to_owned()), ..DriftQuery::default() };
        let refused = list(&mut tx, project_id(), &foreign, at(3)).await;
        assert!(matches!(refused, Err(Error::InvalidQuery(_))), "{refused:?}");
    })
    .await;
}

/// The revert of fields that the entry of object 1 shows.
async fn shown_revert(store: &Store) -> Option<DriftFieldRevert> {
    let mut tx = store.read().await.unwrap();
    get(&mut tx, project_id(), DriftId::from_parts(9, 1), at(9)).await.unwrap().unwrap().item.revert
}

#[tokio::test]
async fn e9_a_refusal_to_revert_fields_ends_with_other_values_and_an_open_request_stays() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        report(&store, &[drifted(1, "red", false)], at(1)).await;
        let paths = vec!["/data/colour".to_owned()];
        let revert = DriftFieldRevert { paths, by: "ana".to_owned(), at: at(2), error: None };
        let mut tx = store.write().await.unwrap();
        field_revert::put(&mut tx, DriftId::from_parts(9, 1), "one", &revert).await.unwrap();
        tx.commit().await.unwrap();
        report(&store, &[drifted(1, "green", false)], at(3)).await;
        assert_eq!(shown_revert(&store).await, Some(revert.clone()), "it waits for its answer");

        let error = Some("The server keeps it.".to_owned());
        let refused = FieldRevertOutcome { id: "one".to_owned(), error: error.clone() };
        let mut tx = store.write().await.unwrap();
        assert_eq!(field_revert::list_open(&mut tx, release_id(1001)).await.unwrap(), ["one"]);
        let foreign = field_revert::record_outcome(&mut tx, release_id(2002), &refused).await.unwrap();
        assert!(!foreign, "the answer of another release");
        assert!(field_revert::record_outcome(&mut tx, release_id(1001), &refused).await.unwrap());
        assert_eq!(field_revert::list_open(&mut tx, release_id(1001)).await.unwrap(), [""; 0]);
        tx.commit().await.unwrap();
        report(&store, &[drifted(1, "green", true)], at(4)).await;
        assert_eq!(shown_revert(&store).await, Some(DriftFieldRevert { error, ..revert }), "the same values");
        report(&store, &[drifted(1, "white", true)], at(5)).await;
        assert_eq!(shown_revert(&store).await, None);
    })
    .await;
}

#[tokio::test]
async fn p26_an_entry_keeps_its_id_and_begin_and_a_repeated_report_writes_nothing() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        report(&store, &[drifted(1, "red", false)], at(1)).await;
        let (_, object) = drifted(1, "red", false);
        let mut tx = store.write().await.unwrap();
        let again = [(DriftId::from_parts(9, 8), object)];
        assert_eq!(replace(&mut tx, release_id(1001), &again, at(2)).await.unwrap(), 0);
        tx.commit().await.unwrap();
        report(&store, &[drifted(1, "green", true)], at(3)).await;
        let mut tx = store.read().await.unwrap();
        let row = get(&mut tx, project_id(), DriftId::from_parts(9, 1), at(4)).await.unwrap().unwrap();
        assert_eq!((row.item.since, row.item.contested), (at(1), true));
        assert_eq!(row.item.fields[0].live, Some(json!("green")));
        drop(tx);
        report(&store, &[], at(5)).await;
        assert_eq!(list_names(&store, &DriftQuery::default(), at(6)).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn e9_a_snooze_ends_with_its_time_or_with_other_values() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        report(&store, &[drifted(1, "red", false)], at(1)).await;
        let in_state = |state| DriftQuery { state: Some(state), ..DriftQuery::default() };
        let until = |until| DriftSnooze { until, by: "ana".to_owned(), at: at(2) };
        let mut tx = store.write().await.unwrap();
        let row = get(&mut tx, project_id(), DriftId::from_parts(9, 1), at(2)).await.unwrap().unwrap();
        snooze(&mut tx, &row, &until(at(100))).await.unwrap();
        tx.commit().await.unwrap();

        assert_eq!(list_names(&store, &in_state(DriftState::Open), at(99)).await, [""; 0]);
        assert_eq!(list_names(&store, &in_state(DriftState::Snoozed), at(99)).await, ["settings-1"]);
        assert_eq!(list_names(&store, &in_state(DriftState::Open), at(100)).await, ["settings-1"]);
        let mut tx = store.read().await.unwrap();
        assert_eq!(count_open(&mut tx, project_id(), at(99)).await.unwrap(), 0);
        let snoozed = get(&mut tx, project_id(), row.item.id, at(99)).await.unwrap().unwrap();
        assert_eq!(snoozed.item.snooze, Some(until(at(100))));
        drop(tx);

        report(&store, &[drifted(1, "green", false)], at(50)).await;
        assert_eq!(list_names(&store, &in_state(DriftState::Open), at(51)).await, ["settings-1"]);
        report(&store, &[drifted(1, "red", false)], at(52)).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(count_open(&mut tx, project_id(), at(53)).await.unwrap(), 0, "the same values again");
        end_snooze(&mut tx, &row).await.unwrap();
        assert_eq!(count_open(&mut tx, project_id(), at(53)).await.unwrap(), 1);
        snooze(&mut tx, &row, &until(at(60))).await.unwrap();
        assert_eq!(delete_batch(&mut tx, RetainedTable::DriftSnooze, at(60), 10).await.unwrap(), 0);
        assert_eq!(delete_batch(&mut tx, RetainedTable::DriftSnooze, at(61), 10).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn p19_a_page_of_the_inbox_ends_early_where_its_entries_have_many_bytes() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let long = "x".repeat(100_000);
        let all: Vec<(DriftId, DriftedObject)> = (1..=4).map(|n| drifted(n, &long, false)).collect();
        report(&store, &all, at(1)).await;
        let mut tx = store.read().await.unwrap();
        let query = DriftQuery { limit: Some(500), ..DriftQuery::default() };
        let page = list(&mut tx, project_id(), &query, at(2)).await.unwrap();
        assert_eq!((page.items.len(), page.total), (2, 4));
        let query = DriftQuery { cursor: page.next, ..query };
        let page = list(&mut tx, project_id(), &query, at(2)).await.unwrap();
        assert_eq!((page.items.len(), page.next), (2, None));
    })
    .await;
}
