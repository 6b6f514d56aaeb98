//! The audit log: its chain of hashes, and what a transaction adds to it.

use domain::audit::{AuditHead, AuditOutcome, AuditQuery, AuditRecord, BrokenAuditChain};
use domain::event::{EventDetail, EventKind, NewEvent};

use super::databases::{execute_directly, for_each_address, for_each_engine};
use super::fixtures::{at, workload_id};
use crate::audit::ListedEntries;
use crate::page_bytes::VALUES_PAGE_BYTES;
use crate::sql::sql;
use crate::{Error, Store, audit, event};

fn record(actor: &str, action: &str) -> AuditRecord {
    AuditRecord {
        actor: actor.to_owned(),
        credential: "session 0a1b2c3d".to_owned(),
        address: "192.0.2.1".to_owned(),
        request_id: "r-1".to_owned(),
        action: action.to_owned(),
        outcome: AuditOutcome::Succeeded,
        subject: String::new(),
        message: String::new(),
        changes: Vec::new(),
    }
}

/// A record of a change that has no event.
fn described(actor: &str, action: &str) -> AuditRecord {
    AuditRecord {
        subject: "workload api".to_owned(),
        message: "api was changed.".to_owned(),
        ..record(actor, action)
    }
}

async fn commit(store: &Store, record: AuditRecord, events: &[NewEvent], millis: i64) {
    let mut tx = store.write().await.unwrap();
    tx.record_audit(record, at(millis));
    event::append(&mut tx, events, at(millis)).await.unwrap();
    tx.commit().await.unwrap();
}

async fn verify(store: &Store) -> Result<AuditHead, BrokenAuditChain> {
    let mut tx = store.read().await.unwrap();
    let mut head = AuditHead::default();
    for entry in audit::list_after(&mut tx, 0, 1000).await.unwrap() {
        head.advance(&entry)?;
    }
    head.check_end(audit::last_seq(&mut tx).await.unwrap())?;
    Ok(head)
}

#[tokio::test]
async fn a_committed_transaction_is_recorded_with_its_events_and_a_rolled_back_one_is_not() {
    for_each_engine(|store| async move {
        let published = NewEvent::new(EventKind::WorkloadPublished, "ana", "web r4 was published.")
            .with_workload(workload_id(1), "web");
        let published = NewEvent { detail: Some(EventDetail::RolledBack { revision: 4 }), ..published };
        commit(&store, record("ana", "publish"), &[published], 5).await;
        let mut tx = store.write().await.unwrap();
        tx.record_audit(record("ana", "edit"), at(6));
        tx.rollback().await.unwrap();
        commit(&store, described("bob", "sync"), &[], 7).await;

        let mut tx = store.read().await.unwrap();
        let entries = audit::list(&mut tx, &AuditQuery::default(), 10).await.unwrap().entries;
        assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [2, 1]);
        let first = &entries[1];
        assert_eq!((first.at, &*first.record.subject), (at(5), "workload web"));
        assert_eq!(first.record.message, "web r4 was published.");
        assert_eq!(first.record.changes.len(), 1, "{:?}", first.record.changes);
        assert_eq!(entries[0].previous, first.hash);
        let query = AuditQuery { subject: "WEB".into(), before: Some(2), ..AuditQuery::default() };
        assert_eq!(audit::list(&mut tx, &query, 10).await.unwrap().entries.len(), 1);
        let query = AuditQuery { actor: "bob".into(), action: "publish".into(), ..AuditQuery::default() };
        assert_eq!(audit::list(&mut tx, &query, 10).await.unwrap(), ListedEntries::default());
        assert!(audit::is_recorded_since(&mut tx, &record("bob", "sync"), at(6)).await.unwrap());
        assert!(!audit::is_recorded_since(&mut tx, &record("bob", "sync"), at(7)).await.unwrap());
        drop(tx);
        assert_eq!(verify(&store).await.unwrap().seq, 2);
    })
    .await;
}

#[tokio::test]
async fn a_change_without_a_subject_or_a_message_is_not_stored() {
    for_each_engine(|store| async move {
        let try_commit = async |record: AuditRecord, events: &[NewEvent]| {
            let mut tx = store.write().await.unwrap();
            tx.record_audit(record, at(1));
            event::append(&mut tx, events, at(1)).await.unwrap();
            tx.commit().await
        };
        let without_subject = NewEvent::new(EventKind::UserChanged, "ana", "bob was disabled.");
        let without_message = NewEvent::new(EventKind::UserChanged, "ana", "").with_object("user", "bob");
        for events in [Vec::new(), vec![without_subject.clone()], vec![without_message]] {
            let refused = try_commit(record("ana", "manage-users"), &events).await;
            assert!(
                matches!(&refused, Err(Error::UndescribedChange { action }) if action == "manage-users"),
                "{refused:?}"
            );
        }
        let described = without_subject.with_object("user", "bob");
        try_commit(record("ana", "manage-users"), &[described]).await.unwrap();
        let mut tx = store.read().await.unwrap();
        let entries = audit::list(&mut tx, &AuditQuery::default(), 10).await.unwrap().entries;
        assert_eq!(entries.len(), 1, "nothing of the refused ones is stored");
        let stored = &entries[0].record;
        assert_eq!((&*stored.subject, &*stored.message), ("user bob", "bob was disabled."));
        assert_eq!(event::list_after(&mut tx, 0, 10).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_description_is_completed_by_the_events_and_all_of_it_is_bounded() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        tx.record_audit(record("ana", "edit"), at(1));
        tx.describe_audit("cluster group eu".to_owned(), "The feature deployment was disabled.");
        let clusters: Vec<String> = (0..40_000).map(|n| format!("cluster-{n}")).collect();
        let large = EventDetail::RemovalsCancelled { clusters };
        let small = EventDetail::RolledBack { revision: 4 };
        let events: Vec<NewEvent> = [small.clone(), large.clone(), large]
            .into_iter()
            .map(|detail| {
                let event = NewEvent::new(EventKind::WorkloadEdited, "ana", "é".repeat(1_500));
                NewEvent { detail: Some(detail), ..event }.with_workload(workload_id(1), "web")
            })
            .collect();
        event::append(&mut tx, &events, at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let page = audit::list(&mut tx, &AuditQuery::default(), 1).await.unwrap();
        let stored = &page.entries[0].record;
        assert_eq!(stored.subject, "cluster group eu");
        assert!(stored.message.starts_with("The feature deployment was disabled. é"), "{}", stored.message);
        assert!(stored.message.chars().count() <= 2_000, "{}", stored.message.len());
        let small = serde_json::to_value(small).unwrap();
        assert_eq!(stored.changes.first(), Some(&small), "{}", stored.changes.len());
        let names = |change: usize| stored.changes[change]["clusters"].as_array().unwrap();
        assert_eq!((stored.changes.len(), names(1).len()), (3, 40_000), "the first one is complete");
        assert_eq!(names(2).last().unwrap(), "… 39951 more", "the second one is cut as its event");
        drop(tx);
        verify(&store).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn concurrent_transactions_make_one_chain() {
    for_each_engine(|store| async move {
        let writers = (0..20).map(|n| {
            let store = store.clone();
            tokio::spawn(async move { commit(&store, described(&format!("u{n}"), "edit"), &[], n).await })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        assert_eq!(verify(&store).await.unwrap().seq, 20);
    })
    .await;
}

#[tokio::test]
async fn a_changed_and_a_deleted_row_are_found() {
    for_each_engine(|store| async move {
        for n in 1..=4 {
            commit(&store, described("ana", "edit"), &[], n).await;
        }
        let change = async |statement: &'static str| {
            let mut tx = store.write().await.unwrap();
            sql(statement).execute(&mut tx).await.unwrap();
            tx.commit().await.unwrap();
        };
        change("DELETE FROM audit_entry WHERE seq = 4").await;
        assert_eq!(verify(&store).await.unwrap_err().seq, 4, "the last one too");
        change("UPDATE audit_entry SET actor = 'bob' WHERE seq = 2").await;
        assert_eq!(verify(&store).await.unwrap_err().seq, 2);
        change("DELETE FROM audit_entry WHERE seq = 1").await;
        assert_eq!(verify(&store).await.unwrap_err().seq, 1);
    })
    .await;
}

#[tokio::test]
async fn p19_pages_of_long_entries_end_early_and_continue_without_a_gap() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        for n in 1..=4 {
            commit(&store, described("ana", "edit"), &[], n).await;
        }
        let long = "x".repeat(usize::try_from(VALUES_PAGE_BYTES).unwrap());
        execute_directly(&url, &format!("UPDATE audit_entry SET message = '{long}' WHERE seq > 1")).await;
        let mut tx = store.read().await.unwrap();
        let (mut query, mut found) = (AuditQuery::default(), Vec::new());
        loop {
            let page = audit::list(&mut tx, &query, 10).await.unwrap();
            found.push(page.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>());
            query.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(found, [vec![4], vec![3], vec![2], vec![1]]);
        let exported = audit::list_after(&mut tx, 0, 10).await.unwrap();
        assert_eq!(exported.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1]);
        drop(tx);
        store.close().await;
    })
    .await;
}
