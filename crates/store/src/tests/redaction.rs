//! Rows with values that servers of earlier versions have stored.

use domain::event::{DriftDetail, EventDetail, EventKind, EventSubject, NewEvent};
use domain::object::ObjectRef;
use domain::report::{DriftOutcome, DriftedField};

use super::databases::{execute_directly, for_each_address, for_each_engine};
use super::fixtures::{at, insert_full_fleet};
use crate::redaction::{
    MESSAGE_COLUMNS, count_due_passes, list_marked, list_reported, record_pass, replace_marked,
};
use crate::{Store, event};

#[tokio::test]
async fn messages_with_values_are_listed_in_pages_and_replaced_unless_they_have_changed() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_full_fleet(&store, 3, 1).await;
        let breaking = "UPDATE release SET message = 'x canary{1}' WHERE cluster_name <> 'c-002'";
        execute_directly(&url, breaking).await;
        let mut tx = store.write().await.unwrap();
        let column = MESSAGE_COLUMNS[0];
        let marks = ["nothing{", "canary{"];
        let found = list_marked(&mut tx, column, &marks, ("", 1)).await.unwrap();
        let [(id, before)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(before, "x canary{1}");
        assert_eq!(list_marked(&mut tx, column, &marks, (id, 9)).await.unwrap().len(), 1);
        assert!(!replace_marked(&mut tx, column, id, ("another one", "x")).await.unwrap());
        assert!(replace_marked(&mut tx, column, id, (before, "x")).await.unwrap());
        assert_eq!(list_marked(&mut tx, column, &marks, ("", 9)).await.unwrap().len(), 1);
        for column in MESSAGE_COLUMNS {
            list_marked(&mut tx, column, &marks, ("", 9)).await.unwrap();
        }
        list_reported(&mut tx, None, 9).await.unwrap();
        assert_eq!(count_due_passes(&mut tx).await.unwrap(), 2);
        // Of two servers one records the pass.
        for _ in 0..2 {
            record_pass(&mut tx, 2).await.unwrap();
            assert_eq!(count_due_passes(&mut tx).await.unwrap(), 1);
        }
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn events_of_drift_and_events_with_values_in_their_message_are_listed_and_replaced() {
    for_each_engine(|store| async move {
        let drift = |path: &str| {
            EventDetail::Drift(DriftDetail {
                object: ObjectRef::default(),
                fields: vec![path.to_owned()],
                values: vec![DriftedField::from_path(path)],
                manager: String::new(),
                outcome: DriftOutcome::Healed,
                more: 0,
            })
        };
        let of_drift = NewEvent::from_detail(drift("/data/a"), "kubectl", EventSubject::default(), at(1));
        let other = |message: &str| NewEvent::new(EventKind::WorkloadEdited, "ana", message);
        let mut tx = store.write().await.unwrap();
        let events = [other("one"), of_drift, other("canary{1}"), other("canary")];
        event::append(&mut tx, &events, at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        let (found, last) = event::list_with_values(&mut tx, 0, &["canary{"], 9).await.unwrap();
        assert_eq!((found.iter().map(|one| one.seq).collect::<Vec<_>>(), last), (vec![2, 3], Some(3)));
        let (found, last) = event::list_with_values(&mut tx, 3, &["canary{"], 9).await.unwrap();
        assert_eq!((found.len(), last), (0, None));
        event::replace_content(&mut tx, 2, "shown", Some(&drift("/data/b"))).await.unwrap();
        event::replace_content(&mut tx, 3, "shown too", None).await.unwrap();
        let all = event::list_after(&mut tx, 1, 2).await.unwrap();
        let read: Vec<_> = all.iter().map(|one| (one.message.as_str(), one.detail.clone())).collect();
        assert_eq!(read, [("shown", Some(drift("/data/b"))), ("shown too", None)]);
    })
    .await;
}
