//! The event log and its order.

use domain::Severity;
use domain::audit::{AuditOutcome, AuditQuery, AuditRecord};
use domain::event::{EditAction, EventDetail, EventKind, MAX_MESSAGE_BYTES, NewEvent};

use super::databases::{execute_directly, for_each_address, for_each_engine};
use super::fixtures::{at, cluster_id, release_id, workload_id};
use crate::event::{EventFilter, ListedEvents};
use crate::page_bytes::VALUES_PAGE_BYTES;
use crate::retention::{RetainedTable, delete_batch};
use crate::{Store, audit, event};

fn new_event(message: &str) -> NewEvent {
    NewEvent::new(EventKind::WorkloadEdited, "ana", message)
}

async fn append_events(store: &Store, events: &[NewEvent], millis: i64) -> i64 {
    let mut tx = store.write().await.unwrap();
    event::append(&mut tx, events, at(millis)).await.unwrap();
    tx.commit().await.unwrap().last_event.unwrap()
}

#[tokio::test]
async fn events_read_back_and_are_filtered_by_workload_and_cluster() {
    for_each_engine(|store| async move {
        let detail = EventDetail::RolledBack { revision: 4 };
        let about = NewEvent { detail: Some(detail), ..new_event("one") }
            .with_workload(workload_id(1), "web")
            .with_cluster(cluster_id(2), "edge")
            .with_release(release_id(3))
            .with_severity(Severity::Warning);
        assert_eq!(append_events(&store, &[about.clone(), new_event("two"), new_event("three")], 5).await, 3);
        let mut tx = store.read().await.unwrap();
        assert_eq!(event::last_seq(&mut tx).await.unwrap(), 3);
        let all = event::list_after(&mut tx, 0, 10).await.unwrap();
        let first = &all[0];
        assert_eq!((first.seq, first.at, first.kind, first.severity), (1, at(5), about.kind, about.severity));
        assert_eq!(
            (first.workload, &*first.cluster_name, first.release),
            (Some(workload_id(1)), "edge", about.subject.release)
        );
        assert_eq!(first.detail, about.detail);
        assert_eq!((all[1].workload, &all[1].detail), (None, &None));
        assert_eq!(event::list_after(&mut tx, 1, 1).await.unwrap()[0].message, "two");
        let newest = EventFilter { limit: 2, ..EventFilter::default() };
        let seqs = |all: Vec<domain::event::Event>| all.into_iter().map(|one| one.seq).collect::<Vec<_>>();
        assert_eq!(seqs(event::list(&mut tx, &newest).await.unwrap().events), [3, 2]);
        let before = EventFilter { before: Some(3), limit: 9, ..EventFilter::default() };
        assert_eq!(seqs(event::list(&mut tx, &before).await.unwrap().events), [2, 1]);
        let of_cluster = EventFilter { cluster: Some(cluster_id(2)), limit: 9, ..EventFilter::default() };
        assert_eq!(seqs(event::list(&mut tx, &of_cluster).await.unwrap().events), [1]);
        let of_other = EventFilter { workload: Some(workload_id(9)), limit: 9, ..EventFilter::default() };
        assert_eq!(event::list(&mut tx, &of_other).await.unwrap(), ListedEvents::default());
    })
    .await;
}

#[tokio::test]
async fn positions_continue_after_old_events_are_deleted() {
    for_each_engine(|store| async move {
        let many: Vec<_> = (0..120).map(|n| new_event(&n.to_string())).collect();
        assert_eq!(append_events(&store, &many, 1).await, 120);
        let mut tx = store.write().await.unwrap();
        assert_eq!(delete_batch(&mut tx, RetainedTable::Event, at(2), 1_000).await.unwrap(), 120);
        tx.commit().await.unwrap();
        assert_eq!(append_events(&store, &[new_event("next")], 3).await, 121);
    })
    .await;
}

#[tokio::test]
async fn an_event_of_a_dropped_transaction_allocates_no_position() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        event::append(&mut tx, &[new_event("never")], at(1)).await.unwrap();
        drop(tx);
        assert_eq!(append_events(&store, &[new_event("first")], 2).await, 1);
    })
    .await;
}

#[tokio::test]
async fn positions_follow_the_order_of_commits_of_interleaved_transactions() {
    for_each_engine(|store| async move {
        if !store.is_postgres() {
            return; // SQLite has one writer at a time.
        }
        let (mut first, mut second) = (store.write().await.unwrap(), store.write().await.unwrap());
        event::append(&mut first, &[new_event("begun first")], at(1)).await.unwrap();
        event::append(&mut second, &[new_event("begun second")], at(1)).await.unwrap();
        assert_eq!(second.commit().await.unwrap().last_event, Some(1));
        let position = event::last_seq(&mut store.read().await.unwrap()).await.unwrap();
        assert_eq!(first.commit().await.unwrap().last_event, Some(2));
        let later = event::list_after(&mut store.read().await.unwrap(), position, 10).await.unwrap();
        assert_eq!(later[0].message, "begun first", "a reader that resumes does not miss it");
    })
    .await;
}

#[tokio::test]
async fn a_resuming_reader_misses_no_event_while_many_writers_append() {
    for_each_engine(|store| async move {
        let (writers, each) = (6, 25);
        let write = |store: Store| async move {
            for n in 0..each {
                append_events(&store, &[new_event("a"), new_event("b")], n).await;
            }
        };
        let tasks: Vec<_> = (0..writers).map(|_| tokio::spawn(write(store.clone()))).collect();
        let mut position = 0;
        while position < writers * each * 2 {
            let mut tx = store.read().await.unwrap();
            for event in event::list_after(&mut tx, position, 40).await.unwrap() {
                assert_eq!(event.seq, position + 1, "no position is skipped, so none can be filled in later");
                position = event.seq;
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await;
}

/// A saved group with so many members.
fn saved_group(members: usize) -> NewEvent {
    let joined = (0..members).map(|number| format!("cluster-{number:05}")).collect();
    let name = "eu".to_owned();
    let detail = EventDetail::ClusterGroup { name, action: EditAction::Saved, joined, left: Vec::new() };
    NewEvent { detail: Some(detail), ..new_event("Cluster group eu was saved.") }
}

fn joined_names(detail: Option<&EventDetail>) -> &[String] {
    let Some(EventDetail::ClusterGroup { joined, .. }) = detail else { panic!("{detail:?}") };
    joined
}

#[tokio::test]
async fn p19_a_long_event_is_cut_when_it_is_stored_and_complete_in_the_audit_log() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let record = AuditRecord {
            actor: "ana".to_owned(),
            credential: String::new(),
            address: String::new(),
            request_id: String::new(),
            action: "save-group".to_owned(),
            outcome: AuditOutcome::Succeeded,
            subject: String::new(),
            message: String::new(),
            changes: Vec::new(),
        };
        tx.record_audit(record, at(1));
        event::append(&mut tx, &[saved_group(5_000)], at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let stored = event::list_after(&mut tx, 0, 10).await.unwrap();
        let joined = joined_names(stored[0].detail.as_ref());
        assert_eq!((joined.len(), joined[49].as_str()), (50, "… 4951 more"));
        let audited = audit::list(&mut tx, &AuditQuery::default(), 10).await.unwrap();
        assert_eq!(audited.entries[0].record.changes[0]["joined"].as_array().unwrap().len(), 5_000);
    })
    .await;
}

#[tokio::test]
async fn p19_pages_of_long_events_of_an_earlier_version_end_early_and_continue_without_a_gap() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let many: Vec<NewEvent> = (1..=9).map(|n| new_event(&n.to_string())).collect();
        append_events(&store, &many, 1).await;
        let long = "x".repeat(usize::try_from(VALUES_PAGE_BYTES / 3).unwrap());
        execute_directly(&url, &format!("UPDATE event SET message = '{long}' WHERE seq > 2")).await;
        let huge = "x".repeat(3 * usize::try_from(VALUES_PAGE_BYTES).unwrap());
        execute_directly(&url, &format!("UPDATE event SET message = '{huge}' WHERE seq = 5")).await;

        let mut tx = store.read().await.unwrap();
        let (mut query, mut pages) = (EventFilter { limit: 500, ..EventFilter::default() }, Vec::new());
        loop {
            let page = event::list(&mut tx, &query).await.unwrap();
            assert!(page.events.iter().all(|event| event.message.len() <= MAX_MESSAGE_BYTES));
            pages.push(page.events.iter().map(|event| event.seq).collect::<Vec<_>>());
            query.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(pages, [vec![9, 8], vec![7, 6], vec![5], vec![4, 3, 2, 1]]);

        let (mut position, mut batches) = (0, Vec::new());
        while position < 9 {
            let batch = event::list_after(&mut tx, position, 500).await.unwrap();
            batches.push(batch.iter().map(|event| event.seq).collect::<Vec<_>>());
            position = batch.last().unwrap().seq;
        }
        assert_eq!(batches, [vec![1, 2, 3, 4], vec![5], vec![6, 7], vec![8, 9]]);

        let changes = event::list_changes_after(&mut tx, 0, 500).await.unwrap();
        assert_eq!(changes.len(), 9, "without texts all of them fit");
        assert!(changes.iter().all(|change| change.message.is_empty() && change.detail.is_none()));
        assert_eq!(changes[8].kind, EventKind::WorkloadEdited);
        drop(tx);
        store.close().await;
    })
    .await;
}
