//! The event log and its order.

use domain::Severity;
use domain::event::{EventDetail, EventKind, NewEvent};

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, release_id, workload_id};
use crate::event::EventFilter;
use crate::retention::{RetainedTable, delete_batch};
use crate::{Store, event};

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
        assert_eq!(seqs(event::list(&mut tx, &newest).await.unwrap()), [3, 2]);
        let before = EventFilter { before: Some(3), limit: 9, ..EventFilter::default() };
        assert_eq!(seqs(event::list(&mut tx, &before).await.unwrap()), [2, 1]);
        let of_cluster = EventFilter { cluster: Some(cluster_id(2)), limit: 9, ..EventFilter::default() };
        assert_eq!(seqs(event::list(&mut tx, &of_cluster).await.unwrap()), [1]);
        let of_other = EventFilter { workload: Some(workload_id(9)), limit: 9, ..EventFilter::default() };
        assert_eq!(event::list(&mut tx, &of_other).await.unwrap(), []);
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
