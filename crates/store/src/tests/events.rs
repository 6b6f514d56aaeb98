//! The log and its order.

use domain::Severity;
use domain::event::{EventKind, NewEvent};

use super::both::for_both;
use super::fixtures::{at, cluster_id, release_id, workload_id};
use crate::event::EventQuery;
use crate::{Store, event};

fn said(message: &str) -> NewEvent {
    NewEvent::new(EventKind::WorkloadEdited, "ana", message)
}

async fn say(store: &Store, events: &[NewEvent], millis: i64) -> i64 {
    let mut tx = store.write().await.unwrap();
    event::append(&mut tx, events, at(millis)).await.unwrap();
    tx.commit().await.unwrap().last_event.unwrap()
}

#[tokio::test]
async fn events_read_back_and_are_found_by_what_they_are_about() {
    for_both(|store| async move {
        let about = said("one")
            .workload(workload_id(1), "web")
            .cluster(cluster_id(2), "edge")
            .release(release_id(3))
            .weighing(Severity::Warning);
        assert_eq!(say(&store, &[about.clone(), said("two"), said("three")], 5).await, 3);
        let mut tx = store.read().await.unwrap();
        assert_eq!(event::last_seq(&mut tx).await.unwrap(), 3);
        let all = event::after(&mut tx, 0, 10).await.unwrap();
        let first = &all[0];
        assert_eq!((first.seq, first.at, first.kind, first.severity), (1, at(5), about.kind, about.severity));
        assert_eq!(
            (first.workload, &*first.cluster_name, first.release),
            (Some(workload_id(1)), "edge", about.release)
        );
        assert_eq!(all[1].workload, None);
        assert_eq!(event::after(&mut tx, 1, 1).await.unwrap()[0].message, "two");
        let newest = EventQuery { limit: 2, ..EventQuery::default() };
        let seqs = |all: Vec<domain::event::Event>| all.into_iter().map(|one| one.seq).collect::<Vec<_>>();
        assert_eq!(seqs(event::list(&mut tx, &newest).await.unwrap()), [3, 2]);
        let before = EventQuery { before: Some(3), limit: 9, ..EventQuery::default() };
        assert_eq!(seqs(event::list(&mut tx, &before).await.unwrap()), [2, 1]);
        let of_cluster = EventQuery { cluster: Some(cluster_id(2)), limit: 9, ..EventQuery::default() };
        assert_eq!(seqs(event::list(&mut tx, &of_cluster).await.unwrap()), [1]);
        let of_other = EventQuery { workload: Some(workload_id(9)), limit: 9, ..EventQuery::default() };
        assert_eq!(event::list(&mut tx, &of_other).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn positions_go_on_after_old_events_are_forgotten() {
    for_both(|store| async move {
        let many: Vec<_> = (0..120).map(|n| said(&n.to_string())).collect();
        assert_eq!(say(&store, &many, 1).await, 120);
        let mut tx = store.write().await.unwrap();
        assert_eq!(event::delete_before(&mut tx, at(2)).await.unwrap(), 120);
        tx.commit().await.unwrap();
        assert_eq!(say(&store, &[said("next")], 3).await, 121);
    })
    .await;
}

#[tokio::test]
async fn an_event_of_a_dropped_transaction_takes_no_position() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        event::append(&mut tx, &[said("never")], at(1)).await.unwrap();
        drop(tx);
        assert_eq!(say(&store, &[said("first")], 2).await, 1);
    })
    .await;
}

#[tokio::test]
async fn of_two_interleaved_transactions_the_one_that_commits_later_is_later_in_the_log() {
    for_both(|store| async move {
        if !store.is_postgres() {
            return; // SQLite has one writer at a time.
        }
        let (mut first, mut second) = (store.write().await.unwrap(), store.write().await.unwrap());
        event::append(&mut first, &[said("begun first")], at(1)).await.unwrap();
        event::append(&mut second, &[said("begun second")], at(1)).await.unwrap();
        assert_eq!(second.commit().await.unwrap().last_event, Some(1));
        let seen = event::last_seq(&mut store.read().await.unwrap()).await.unwrap();
        assert_eq!(first.commit().await.unwrap().last_event, Some(2));
        let later = event::after(&mut store.read().await.unwrap(), seen, 10).await.unwrap();
        assert_eq!(later[0].message, "begun first", "a reader that resumes does not miss it");
    })
    .await;
}

#[tokio::test]
async fn a_reader_who_resumes_misses_nothing_while_many_append() {
    for_both(|store| async move {
        let (writers, each) = (6, 25);
        let write = |store: Store| async move {
            for n in 0..each {
                say(&store, &[said("a"), said("b")], n).await;
            }
        };
        let tasks: Vec<_> = (0..writers).map(|_| tokio::spawn(write(store.clone()))).collect();
        let mut seen = 0;
        while seen < writers * each * 2 {
            let mut tx = store.read().await.unwrap();
            for event in event::after(&mut tx, seen, 40).await.unwrap() {
                assert_eq!(event.seq, seen + 1, "no position is skipped, so none can be filled in later");
                seen = event.seq;
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await;
}
