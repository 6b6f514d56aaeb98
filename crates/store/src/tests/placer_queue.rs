//! The placer's queue: marks, claims, settling.

use std::collections::BTreeSet;

use domain::WorkloadId;
use domain::workload::Intent;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_fleet, some_release, some_workload, workload_id};
use crate::queue::{ClaimOrder, INCIDENTS, PLACER};
use crate::{Error, Store, release, workload};

async fn mark(store: &Store, ids: &[WorkloadId], millis: i64) {
    let mut tx = store.write().await.unwrap();
    PLACER.mark(&mut tx, ids, at(millis)).await.unwrap();
    tx.commit().await.unwrap();
}

async fn mark_requested(store: &Store, id: WorkloadId, millis: i64) {
    let mut tx = store.write().await.unwrap();
    PLACER.mark_requested(&mut tx, id, at(millis)).await.unwrap();
    tx.commit().await.unwrap();
}

async fn mark_all(store: &Store, millis: i64) {
    let mut tx = store.write().await.unwrap();
    PLACER.mark_all(&mut tx, at(millis)).await.unwrap();
    tx.commit().await.unwrap();
}

/// The workloads of the next claim, in its order.
async fn claim_ids(store: &Store, limit: u32, now: i64) -> Vec<WorkloadId> {
    claim(store, limit, now).await.into_iter().map(|(id, _)| id).collect()
}

async fn claim(store: &Store, limit: u32, now: i64) -> Vec<(WorkloadId, i64)> {
    let mut tx = store.write().await.unwrap();
    let claimed = PLACER.claim(&mut tx, limit, at(now), at(now + 1_000)).await.unwrap();
    tx.commit().await.unwrap();
    claimed
}

async fn settle(store: &Store, claim: (WorkloadId, i64)) -> Result<bool, Error> {
    let mut tx = store.write().await.unwrap();
    let settled = PLACER.settle(&mut tx, claim.0, claim.1).await?;
    tx.commit().await.unwrap();
    Ok(settled)
}

#[tokio::test]
async fn p1_a_marked_workload_is_claimed_once_and_settled() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 3).await;
        assert_eq!(claim(&store, 10, 0).await, [], "a new workload is not due");
        mark(&store, &[workload_id(2)], 5).await;
        mark(&store, &[workload_id(1), workload_id(2)], 7).await;
        assert_eq!(claim(&store, 10, 4).await, [], "not before its time");
        let claimed = claim(&store, 1, 10).await;
        assert_eq!(claimed[0].0, workload_id(2), "longest due first");
        let other = claim(&store, 10, 10).await;
        assert_eq!(other[0].0, workload_id(1));
        assert!(settle(&store, claimed[0]).await.unwrap());
        assert!(settle(&store, other[0]).await.unwrap());
        assert_eq!(claim(&store, 10, 1_000_000).await, []);
    })
    .await;
}

#[tokio::test]
async fn a_workload_that_is_marked_while_claimed_stays_due() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        mark(&store, &[workload_id(1)], 0).await;
        let claimed = claim(&store, 10, 10).await;
        mark(&store, &[workload_id(1)], 20).await;
        assert_eq!(claim(&store, 10, 30).await, [], "still claimed");
        assert!(!settle(&store, claimed[0]).await.unwrap(), "marked again");
        let again = claim(&store, 10, 30).await;
        assert_eq!(again.len(), 1);
        assert!(settle(&store, again[0]).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn p9_a_lost_claim_cannot_be_settled() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        mark(&store, &[workload_id(1)], 0).await;
        let slow = claim(&store, 10, 0).await;
        let fast = claim(&store, 10, 2_000).await;
        assert_eq!(fast.len(), 1, "the lease expired, so it is due again");
        assert!(matches!(settle(&store, slow[0]).await, Err(Error::ClaimLost { .. })));
        assert!(settle(&store, fast[0]).await.unwrap());
        assert!(matches!(settle(&store, fast[0]).await, Err(Error::ClaimLost { .. })), "once");
    })
    .await;
}

#[tokio::test]
async fn p9_a_lost_claim_cannot_be_extended_and_an_extended_one_is_not_due() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        mark(&store, &[workload_id(1)], 0).await;
        let slow = claim(&store, 10, 0).await;
        let fast = claim(&store, 10, 2_000).await;
        let mut tx = store.write().await.unwrap();
        assert!(matches!(PLACER.extend(&mut tx, slow[0], at(9_000)).await, Err(Error::ClaimLost { .. })));
        PLACER.extend(&mut tx, fast[0], at(9_000)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(claim(&store, 10, 8_000).await, []);
        assert_eq!(claim(&store, 10, 9_000).await.len(), 1, "the extended lease expired");
    })
    .await;
}

#[tokio::test]
async fn p1_claims_of_a_server_that_died_are_due_when_it_restarts() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 3).await;
        mark(&store, &[workload_id(1), workload_id(2)], 5).await;
        let claimed = claim(&store, 1, 10).await;
        mark(&store, &[claimed[0].0], 60_000).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(PLACER.release_all_claims(&mut tx, at(10)).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert!(matches!(settle(&store, claimed[0]).await, Err(Error::ClaimLost { .. })));
        assert_eq!(claim(&store, 10, 10).await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn marking_everything_marks_the_published_workloads() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut draft = some_workload(3, "draft");
        draft.intent = Intent::Draft;
        workload::insert(&mut tx, &draft).await.unwrap();
        PLACER.mark_all(&mut tx, at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let claimed: Vec<_> = claim(&store, 10, 5).await.into_iter().map(|(id, _)| id).collect();
        assert_eq!(claimed, [workload_id(1), workload_id(2)]);
    })
    .await;
}

#[tokio::test]
async fn concurrent_claims_never_return_the_same_workload() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 120).await;
        let ids: Vec<_> = (1..=120).map(workload_id).collect();
        mark(&store, &ids, 0).await;
        let claimer = |store: Store| async move {
            let mut mine = Vec::new();
            loop {
                let some = claim(&store, 7, 10).await;
                if some.is_empty() {
                    return mine;
                }
                mine.extend(some.into_iter().map(|(id, _)| id));
            }
        };
        let tasks: Vec<_> = (0..6).map(|_| tokio::spawn(claimer(store.clone()))).collect();
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        let distinct: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!((all.len(), distinct.len()), (120, 120));
    })
    .await;
}

#[tokio::test]
async fn a_claim_skips_workloads_that_another_transaction_is_claiming() {
    for_each_engine(|store| async move {
        if !store.is_postgres() {
            return; // SQLite has one writer at a time.
        }
        insert_fleet(&store, 0, 2).await;
        mark(&store, &[workload_id(1), workload_id(2)], 0).await;
        let mut first = store.write().await.unwrap();
        let one = PLACER.claim(&mut first, 1, at(1), at(1_000)).await.unwrap();
        let two = claim(&store, 10, 1).await;
        assert_eq!((one[0].0, two.len(), two[0].0), (workload_id(1), 1, workload_id(2)));
        first.rollback().await.unwrap();
        assert_eq!(claim(&store, 10, 1).await[0].0, workload_id(1), "the first claim was rolled back");
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_shown_and_delays_the_next_claim_until_it_is_settled() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let id = workload_id(1);
        mark(&store, &[id], 0).await;
        let first = claim(&store, 1, 0).await[0];
        let mut tx = store.write().await.unwrap();
        assert!(PLACER.fail(&mut tx, first, "It is broken.", at(10)).await.unwrap(), "a new message");
        let shown = PLACER.get_failure(&mut tx, id).await.unwrap().unwrap();
        assert_eq!(
            (shown.message.as_str(), shown.attempts, shown.retry_at),
            ("It is broken.", 1, Some(at(5_010)))
        );
        assert!(tx.commit().await.unwrap().has_incident_marks, "it may become an incident");
        let mut tx = store.read().await.unwrap();
        assert!(INCIDENTS.has_due(&mut tx, at(10)).await.unwrap());
        drop(tx);
        assert_eq!(claim(&store, 1, 5_009).await, [], "not before the pause has passed");
        let second = claim(&store, 1, 5_010).await[0];
        let mut tx = store.write().await.unwrap();
        assert!(!PLACER.fail(&mut tx, second, "It is broken.", at(6_000)).await.unwrap(), "the same message");
        tx.commit().await.unwrap();
        // A mark ends the pause: something has changed.
        mark(&store, &[id], 7_000).await;
        let third = claim(&store, 1, 7_000).await[0];
        assert!(settle(&store, third).await.unwrap());
        let mut tx = store.write().await.unwrap();
        assert_eq!(PLACER.get_failure(&mut tx, id).await.unwrap(), None);
        let lost = PLACER.fail(&mut tx, third, "late", at(8_000)).await;
        assert!(matches!(lost, Err(Error::ClaimLost { .. })), "{lost:?}");
    })
    .await;
}

#[tokio::test]
async fn p28_a_mark_during_a_claim_repeats_the_pass_and_without_a_claim_starts_none() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 1).await;
        let id = some_workload(1, "").id;
        let mark_waiting = async |millis: i64| {
            let mut tx = store.write().await.unwrap();
            PLACER.mark_waiting(&mut tx, id, at(millis)).await.unwrap();
            tx.commit().await.unwrap().has_placer_marks
        };
        mark(&store, &[id], 10).await;
        let claims = claim(&store, 10, 20).await;
        assert!(mark_waiting(30).await);
        assert!(!settle(&store, claims[0]).await.unwrap(), "it stays due");
        let claims = claim(&store, 10, 40).await;
        assert!(settle(&store, claims[0]).await.unwrap());
        assert!(!mark_waiting(50).await);
        assert!(claim(&store, 10, 60).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_mark_for_a_cluster_is_for_workloads_on_it_and_for_those_that_are_placed_now() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 3).await;
        let ids = [1, 2, 3].map(workload_id);
        let mut tx = store.write().await.unwrap();
        release::insert(&mut tx, &some_release(11, 1, 1)).await.unwrap();
        release::insert(&mut tx, &some_release(22, 2, 2)).await.unwrap();
        tx.commit().await.unwrap();
        let mark_on_first = async |millis: i64| {
            let mut tx = store.write().await.unwrap();
            PLACER.mark_on(&mut tx, &ids, cluster_id(1), at(millis)).await.unwrap();
            tx.commit().await.unwrap().has_placer_marks
        };
        assert!(mark_on_first(10).await);
        assert_eq!(claim_ids(&store, 9, 9).await, [], "not before its time");
        let claims = claim(&store, 9, 10).await;
        assert_eq!(claims.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [workload_id(1)]);
        assert!(settle(&store, claims[0]).await.unwrap());
        // A pass that is running may create a release there.
        mark(&store, &ids[2..], 20).await;
        let claims = claim(&store, 9, 20).await;
        assert!(mark_on_first(30).await);
        assert!(!settle(&store, claims[0]).await.unwrap(), "it stays due");
        assert_eq!(claim_ids(&store, 9, 40).await, [1, 3].map(workload_id));
    })
    .await;
}

#[tokio::test]
async fn p20_what_users_requested_is_claimed_before_a_change_of_the_fleet_and_in_their_order() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 6).await;
        mark_all(&store, 10).await;
        mark_requested(&store, workload_id(6), 20).await;
        mark_requested(&store, workload_id(2), 21).await;
        mark_requested(&store, workload_id(4), 22).await;
        // A later change of the fleet takes no priority away.
        mark_all(&store, 30).await;
        assert_eq!(claim_ids(&store, 2, 40).await, [6, 2].map(workload_id));
        assert_eq!(claim_ids(&store, 9, 40).await, [4, 1, 3, 5].map(workload_id));
    })
    .await;
}

#[tokio::test]
async fn a_request_during_a_claim_stays_first_after_it_is_settled() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 3).await;
        mark_all(&store, 10).await;
        let claimed = claim(&store, 3, 10).await;
        let third = *claimed.iter().find(|(id, _)| *id == workload_id(3)).unwrap();
        mark_requested(&store, third.0, 20).await;
        mark_all(&store, 30).await;
        for one in claimed {
            assert!(!settle(&store, one).await.unwrap(), "it was marked again");
        }
        assert_eq!(claim_ids(&store, 3, 40).await, [3, 1, 2].map(workload_id));
    })
    .await;
}

#[tokio::test]
async fn a_released_claim_is_due_as_before_and_a_lost_one_is_left() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 3).await;
        mark_all(&store, 10).await;
        mark_requested(&store, workload_id(3), 20).await;
        let claimed = claim(&store, 3, 30).await;
        // One that is due later delays nothing.
        mark(&store, &[workload_id(2)], 60_000).await;
        let mut tx = store.write().await.unwrap();
        PLACER.release_claims(&mut tx, &claimed, at(30)).await.unwrap();
        tx.commit().await.unwrap();
        let again = claim(&store, 3, 30).await;
        let order: Vec<WorkloadId> = again.iter().map(|(id, _)| *id).collect();
        assert_eq!(order, [3, 1, 2].map(workload_id), "due at once, with the same priority");
        let mut tx = store.write().await.unwrap();
        PLACER.release_claims(&mut tx, &claimed, at(30)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(claim(&store, 3, 30).await, [], "the newer claims hold");
        for one in again {
            assert!(settle(&store, one).await.unwrap());
        }
    })
    .await;
}

#[tokio::test]
async fn p20_a_turn_of_the_longest_due_takes_what_requests_of_users_delay() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 3).await;
        mark(&store, &[workload_id(1)], 10).await;
        mark_requested(&store, workload_id(2), 20).await;
        mark_requested(&store, workload_id(3), 21).await;
        let mut tx = store.write().await.unwrap();
        let longest = PLACER.claim_in_order(&mut tx, ClaimOrder::LongestDueFirst, 2, (at(30), at(1_000)));
        let longest: Vec<WorkloadId> = longest.await.unwrap().into_iter().map(|(id, _)| id).collect();
        tx.commit().await.unwrap();
        // A claim lists its workloads with those that users requested first.
        assert_eq!(BTreeSet::from_iter(longest), BTreeSet::from([1, 2].map(workload_id)));
    })
    .await;
}

#[tokio::test]
async fn the_age_of_a_request_and_the_time_of_a_retry_are_shown_without_its_priority() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 2).await;
        mark(&store, &[workload_id(1)], 30).await;
        mark_requested(&store, workload_id(2), 20).await;
        let mut tx = store.write().await.unwrap();
        assert_eq!(PLACER.count_due(&mut tx, at(40)).await.unwrap(), (2, Some(at(20))));
        drop(tx);
        let failed = *claim(&store, 1, 40).await.first().unwrap();
        assert_eq!(failed.0, workload_id(2));
        let mut tx = store.write().await.unwrap();
        PLACER.fail(&mut tx, failed, "It is broken.", at(50)).await.unwrap();
        tx.commit().await.unwrap();
        mark_requested(&store, workload_id(2), 60).await;
        let mut tx = store.read().await.unwrap();
        let shown = PLACER.get_failure(&mut tx, workload_id(2)).await.unwrap().unwrap();
        assert_eq!(shown.retry_at, Some(at(60)));
    })
    .await;
}
