//! The audit log: its chain of hashes, and what a transaction adds to it.

use domain::audit::{AuditHead, AuditOutcome, AuditQuery, AuditRecord, BrokenAuditChain};
use domain::event::{EventDetail, EventKind, NewEvent};

use super::databases::{execute_directly, for_each_address, for_each_engine};
use super::fixtures::{at, workload_id};
use crate::audit::ListedEntries;
use crate::page_bytes::VALUES_PAGE_BYTES;
use crate::sql::sql;
use crate::{Store, audit, event};

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
        commit(&store, record("bob", "sync"), &[], 7).await;

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
async fn concurrent_transactions_make_one_chain() {
    for_each_engine(|store| async move {
        let writers = (0..20).map(|n| {
            let store = store.clone();
            tokio::spawn(async move { commit(&store, record(&format!("u{n}"), "edit"), &[], n).await })
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
            commit(&store, record("ana", "edit"), &[], n).await;
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
            commit(&store, record("ana", "edit"), &[], n).await;
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
